//! The course of a life: started, spoken to, ended, taken up again.

use std::time::Duration;

use artel_programs::life::{State, Warning};
use artel_programs::runner::{Doing, Error};
use tokio::time::{Instant, sleep, timeout};

use crate::stage::{LONG, LineKind, Script};
use crate::{DONE, is_alive};

const IDLE: State = State::Running(Doing::Idle);

/// CA-2.1: one process for many messages, and what it remembers stays in it.
#[tokio::test]
async fn one_process_answers_all_messages() {
    let stage = Script::default().play().await;
    assert_eq!(stage.life.status().state, State::Init);
    for count in 1..=5 {
        assert_eq!(stage.say("hello").await, (format!("{count}: hello\n"), DONE));
    }
    assert_eq!(stage.starts(), 1);
    let status = stage.life.status();
    assert_eq!(
        (status.version.as_deref(), status.session.as_deref()),
        (Some("1.0"), Some("fresh"))
    );
    assert!(stage.life.uses().await.is_some());
}

/// CA-2.2, CA-2.5: the states on the way, in order, and nothing is left at the end.
#[tokio::test]
async fn states_are_told_in_order() {
    let stage = Script::default().play().await;
    stage.life.start().await.unwrap();
    let pid = stage.pid();
    assert!(is_alive(pid));
    let turn = stage.life.turn("!wait".to_owned()).await.unwrap();
    stage.reach(State::Running(Doing::Working)).await;
    stage.life.interrupt().await.unwrap();
    assert_eq!(turn.outcome().await, artel_programs::codec::Outcome::Interrupted);
    stage.reach(IDLE).await;
    stage.life.stop("enough").await.unwrap();
    assert_eq!(stage.life.status().state, State::Stopped);
    assert_eq!(stage.life.status().reason.as_deref(), Some("enough"));
    assert!(!is_alive(pid));
    let working = State::Running(Doing::Working);
    let states = [State::Starting, IDLE, working, IDLE, State::Stopping, State::Stopped];
    assert_eq!(stage.states(), states);
    // A message starts it again, where it was.
    assert_eq!(stage.say("again").await, ("1: again\n".to_owned(), DONE));
    assert_eq!(stage.starts(), 2);
}

/// CA-2.3: nothing is said before it is ready, and its lines before that are kept.
#[tokio::test]
async fn a_message_waits_until_it_is_ready() {
    let script = "echo warming up; sleep 0.3; echo almost >&2; exec \"$1\"";
    let stage = Script::default().shell(script).play().await;
    assert_eq!(stage.say("hello").await, ("1: hello\n".to_owned(), DONE));
    let page = stage.log.page(10, 0).await.unwrap();
    let lines: Vec<_> = page.entries.iter().map(|entry| entry.line.as_str()).collect();
    assert!(lines.contains(&"warming up") && lines.contains(&"almost"), "{lines:?}");
}

/// CA-2.4: writing to what is not there is an error with its reason.
#[tokio::test]
async fn writing_to_an_agent_that_has_ended_is_an_error() {
    let stage = Script::default().play().await;
    let error = stage.life.steer("hello".to_owned()).await.unwrap_err();
    assert_eq!(error, Error::Ended("it is not running".to_owned()));
    stage.life.start().await.unwrap();
    let pid = stage.pid();
    stage.life.kill().await.unwrap();
    assert!(!is_alive(pid));
    assert_eq!(stage.life.status().state, State::Killed);
    assert!(stage.life.interrupt().await.is_err());
    let error = stage.try_say("hello").await.unwrap_err();
    assert_eq!(error, "it has ended: it was killed; start it again");
    stage.life.start().await.unwrap();
    assert_eq!(stage.say("hello").await.1, DONE);
}

/// CA-2.5: whoever ends nothing by itself is ended, with everything that it started.
#[tokio::test]
async fn what_ignores_every_word_is_killed_with_its_children() {
    let stage = Script::default().shell("trap '' TERM INT; exec \"$1\" stubborn").play().await;
    let (child, _) = stage.say("!fork").await;
    let (pid, child) = (stage.pid(), child.trim().parse().unwrap());
    assert!(is_alive(child));
    timeout(LONG, stage.life.stop("enough")).await.unwrap().unwrap();
    assert_eq!(stage.life.status().state, State::Stopped);
    assert!(!is_alive(pid));
    gone(child).await;
}

/// CA-2.5: dropping an agent kills what runs, and who reads its turn hears of it.
#[tokio::test]
async fn dropping_an_agent_kills_its_process() {
    let stage = Script::default().play().await;
    let turn = stage.life.turn("!hang".to_owned()).await.unwrap();
    let pid = stage.pid();
    drop(stage);
    assert!(matches!(turn.outcome().await, artel_programs::codec::Outcome::Failed { .. }));
    gone(pid).await;
}

/// CA-2.2: what dies is started again and takes up its conversation; a crash in a turn is told with the last words.
#[tokio::test]
async fn a_crash_is_told_and_made_good() {
    let kind = LineKind { resume: true, ready_within: LONG, ..LineKind::default() };
    let session = Some("earlier".to_owned());
    let stage = Script { kind, session, secret: Some("hunter2-token"), ..Script::default() };
    let stage = stage.play().await;
    let (_, outcome) = stage.say("!crash it hurts, hunter2-token").await;
    let artel_programs::codec::Outcome::Failed { fault, why } = outcome else { panic!() };
    assert_eq!(fault, artel_programs::codec::Fault::Died);
    assert_eq!(why, "it was ended by signal 6; its last words: it hurts, [redacted]");
    // Without anybody's doing.
    stage.reach(IDLE).await;
    assert_eq!(stage.say("hello").await, ("1: hello\n".to_owned(), DONE));
    assert_eq!(stage.life.status().session.as_deref(), Some("earlier"));
    assert_eq!(stage.starts(), 2);
    assert!(stage.states().contains(&State::Crashed));
    assert_eq!(stage.warnings(), []);
}

/// CA-2.2: a conversation is not taken up before the program allows that.
#[tokio::test]
async fn a_young_conversation_is_left_alone_for_a_while() {
    let resume_after = Duration::from_millis(400);
    let kind = LineKind { resume: true, resume_after, ready_within: LONG, ..LineKind::default() };
    let stage = Script { kind, ..Script::default() }.play().await;
    let began = Instant::now();
    stage.say("!crash").await;
    assert_eq!(stage.say("hello").await.1, DONE);
    assert!(began.elapsed() >= resume_after);
    assert_eq!((stage.starts(), stage.warnings()), (2, vec![]));
}

/// CA-2.2: a conversation that cannot be taken up is begun anew, and that is said.
#[tokio::test]
async fn a_conversation_that_is_lost_is_begun_anew() {
    let kind = LineKind { resume: true, ready_within: LONG, ..LineKind::default() };
    let script = "test -z \"$RESUMES\" || { echo no such session >&2; exit 1; }; exec \"$1\"";
    let stage = Script { kind, session: Some("lost".to_owned()), ..Script::default() };
    let stage = stage.shell(script).play().await;
    assert_eq!(stage.say("hello").await.1, DONE);
    assert_eq!(stage.life.status().session.as_deref(), Some("fresh"));
    let why = "it ended with exit code 1; its last words: no such session".to_owned();
    assert_eq!(stage.warnings(), [Warning::Forgotten { why }]);
}

/// CA-2.2: what dies again and again is given up, with its reason, until somebody starts it.
#[tokio::test]
async fn a_crash_loop_comes_to_an_end() {
    let stage = Script::default().play().await;
    for _ in 0..4 {
        stage.reach_or_start().await;
        stage.say("!crash").await;
    }
    stage.reach(State::Failed).await;
    let error = stage.try_say("hello").await.unwrap_err();
    assert!(error.contains("it failed 4 times within 1 min: it was ended by signal 6"), "{error}");
    assert!(matches!(stage.warnings().as_slice(), [Warning::GivenUp { .. }]));
    assert_eq!(stage.starts(), 4);
    stage.life.start().await.unwrap();
    assert_eq!(stage.say("hello").await.1, DONE);
}

/// CA-2.7: what cannot be kept up answers each message with a process of its own, and that is said.
#[tokio::test]
async fn without_a_lasting_process_each_message_has_one() {
    let kind = LineKind { single: true, ready_within: LONG, ..LineKind::default() };
    let stage = Script { kind, ..Script::default() }.mode(&["exit", "3"]).play().await;
    for text in ["one", "two"] {
        let answer =
            artel_programs::codec::Outcome::Completed { text: Some(format!("once: {text}")) };
        assert_eq!(stage.say(text).await, (format!("once: {text}\n"), answer));
        stage.reach(IDLE).await;
    }
    let status = stage.life.status();
    assert!(status.single && status.reason.unwrap().contains("exit code 3"));
    assert!(matches!(stage.warnings().as_slice(), [Warning::Single { .. }]));
    assert_eq!(stage.starts(), 4 + 2);
    stage.life.stop("enough").await.unwrap();
    assert_eq!(stage.life.status().state, State::Stopped);
}

impl crate::stage::Stage {
    async fn reach_or_start(&self) {
        if self.life.status().state == State::Init {
            self.life.start().await.unwrap();
        }
        self.reach(IDLE).await;
    }
}

/// Waits until a process is gone that another one reaps.
async fn gone(pid: u32) {
    let gone = async {
        while is_alive(pid) {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(LONG, gone).await.expect("it is still there");
}
