//! Programs that do what they should not (CA-8.3): each ends in a clear state, and nobody else is slowed.

use std::time::Duration;

use artel_programs::codec::{Fault, Outcome};
use artel_programs::life::State;
use artel_programs::runner::Doing;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};

use crate::DONE;
use crate::stage::{LONG, LineKind, Script, Stage};

const SHORT: Duration = Duration::from_millis(300);

fn failed(outcome: Outcome) -> (Fault, String) {
    match outcome {
        Outcome::Failed { fault, why } => (fault, why),
        Outcome::Completed { .. } | Outcome::Interrupted => panic!("{outcome:?}"),
    }
}

async fn refusal(stage: &Stage) -> String {
    stage.try_say("hello").await.unwrap_err()
}

/// CA-8.3: a program that never becomes ready.
#[tokio::test]
async fn a_program_that_is_never_ready_is_given_up() {
    let kind = LineKind { ready_within: Duration::from_millis(50), ..LineKind::default() };
    let stage = Script { kind, ..Script::default() }.mode(&["mute"]).play().await;
    let error = refusal(&stage).await;
    assert!(error.contains("it was not ready within"), "{error}");
    assert_eq!(stage.life.status().state, State::Failed);
}

/// CA-8.3: a program that ends at once.
#[tokio::test]
async fn a_program_that_ends_at_once_is_given_up() {
    let stage = Script::default().mode(&["exit", "3"]).play().await;
    let error = refusal(&stage).await;
    assert!(error.contains("exit code 3; its last words: leaving at once"), "{error}");
}

/// CA-8.3: what is not there, and what cannot even be tried.
#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_with_its_reason() {
    let script = Script { command: vec!["/no/such/program".to_owned()], ..Script::default() };
    let error = refusal(&script.play().await).await;
    assert!(error.contains("No such file"), "{error}");
    let stage = Script { command: vec![], ..Script::default() }.play().await;
    let error = refusal(&stage).await;
    assert!(error.contains("there is no command: set `command`"), "{error}");
    assert_eq!(stage.starts(), 0);
    // One that says itself that trying is no use is not tried again.
    for script in ["echo __UNFIT__; sleep 100", "echo __UNFIT__; exit 1"] {
        let stage = Script::default().shell(script).play().await;
        let error = refusal(&stage).await;
        assert!(error.contains("no key"), "{error}");
        assert_eq!(stage.starts(), 1);
    }
}

/// CA-2.4: a program that does not read is told so, and holds up nobody.
#[tokio::test]
async fn a_program_that_does_not_read_holds_up_nobody() {
    let mut script = Script::default();
    script.policy.patience.input = SHORT;
    let stage = script.mode(&["deaf"]).play().await;
    let other = Script::default().play().await;
    let turn = stage.life.turn("x".repeat(1 << 20)).await.unwrap();
    assert_eq!(other.say("hello").await.1, DONE);
    let (_, why) = failed(timeout(LONG, turn.outcome()).await.unwrap());
    assert!(why.contains("did not read its input"), "{why}");
    let error = stage.life.turn("x".repeat(9 << 20)).await.unwrap_err().to_string();
    assert!(error.contains("put the rest into a file"), "{error}");
}

/// CA-8.3: silence in a turn ends it; so does a model that cannot be reached.
#[tokio::test]
async fn silence_ends_a_turn() {
    let mut script = Script::default();
    script.policy.patience.silence = SHORT;
    script.policy.patience.unreachable = SHORT;
    let stage = script.play().await;
    // Interrupted, and it obeys.
    let (fault, why) = failed(stage.say("!wait").await.1);
    assert_eq!((fault, why.as_str()), (Fault::Other, "nothing came from it for 0 s"));
    assert_eq!(stage.starts(), 1);
    // It does not obey.
    let (_, why) = failed(stage.say("!hang").await.1);
    assert_eq!(why, "nothing came from it for 0 s");
    stage.reach(State::Running(Doing::Idle)).await;
    let (fault, why) = failed(stage.say("!retry").await.1);
    assert_eq!(fault, Fault::Unreachable, "{why}");
}

/// CA-8.3: killed from outside, as by the kernel when memory runs out.
#[tokio::test]
async fn a_killed_process_is_started_again() {
    let stage = Script::default().play().await;
    for signal in [Signal::KILL, Signal::SEGV] {
        let turn = stage.life.turn("!hang".to_owned()).await.unwrap();
        let pid = Pid::from_raw(stage.pid().cast_signed()).unwrap();
        // The first segmentation fault is taken by the program's own handler.
        kill_process(pid, signal).unwrap();
        sleep(Duration::from_millis(50)).await;
        let _ = kill_process(pid, signal);
        let (fault, _) = failed(timeout(LONG, turn.outcome()).await.unwrap());
        assert_eq!(fault, Fault::Died);
        assert_eq!(stage.say("hello").await, ("1: hello\n".to_owned(), DONE));
    }
    assert_eq!(stage.starts(), 3);
}

/// CA-8.3: bytes that are no text, a last line without newline, calls that are none.
#[tokio::test]
async fn strange_output_ends_nothing() {
    let stage = Script::default().play().await;
    let (text, outcome) = stage.say("!garble").await;
    assert!(text.contains("not") && text.contains('\u{fffd}'), "{text:?}");
    assert_eq!(outcome, DONE);
    let (text, outcome) = stage.say("!forge").await;
    assert_eq!((text.matches("this is no call").count(), outcome), (5, DONE));
    assert!(text.contains("a file says __TOOL_CALL__"));
    let (text, outcome) = stage.say("!last").await;
    assert_eq!(text, "last words\n");
    assert!(failed(outcome).1.contains("exit code 0"));
}

/// CA-8.3: a line of more than is taken as one is passed over, and the turn goes on.
#[tokio::test]
async fn a_line_too_long_is_passed_over() {
    let stage = Script::default().play().await;
    let (text, outcome) = stage.say(&format!("!unbroken {}", 20 << 20)).await;
    assert_eq!(text, "a line of more than 16777216 bytes was passed over");
    assert_eq!(outcome, DONE);
    assert_eq!(stage.say("hello").await, ("2: hello\n".to_owned(), DONE));
    let entry = &stage.log.page(1, 3).await.unwrap().entries[0];
    assert!(entry.line.starts_with("xxx") && entry.line.ends_with("(cut)"));
}

/// CA-8.3: much on standard error blocks nothing, and is not taken for a sign of life.
#[tokio::test]
async fn noise_on_standard_error_blocks_nothing() {
    let stage = Script::default().play().await;
    assert_eq!(stage.say(&format!("!noise {}", 10 << 20)).await, (String::new(), DONE));
}
