//! Turns: one at a time, given up when nobody reads them, and none lost among many agents.

use std::time::Duration;

use artel_programs::codec::{CallId, Event, Outcome, Refused};
use artel_programs::life::State;
use artel_programs::runner::{Doing, Error};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::DONE;
use crate::stage::{LONG, Script};

/// CA-2.4: a second message in a turn is refused; a turn that was dropped is interrupted and makes room for the next.
#[tokio::test]
async fn there_is_one_turn_at_a_time() {
    let stage = Script::default().play().await;
    let turn = stage.life.turn("!wait".to_owned()).await.unwrap();
    let refused = stage.life.turn("hello".to_owned()).await.unwrap_err();
    assert_eq!(refused, Error::Refused(Refused::Busy));
    drop(turn);
    assert_eq!(stage.say("hello").await, ("2: hello\n".to_owned(), DONE));
    // One that does not end when it is dropped costs the process.
    drop(stage.life.turn("!hang".to_owned()).await.unwrap());
    assert_eq!(stage.say("hello").await, ("1: hello\n".to_owned(), DONE));
    assert_eq!(stage.starts(), 2);
}

/// CA-2.4: whoever reads slowly makes the process wait, and gets everything.
#[tokio::test]
async fn a_slow_reader_gets_everything() {
    let stage = Script::default().play().await;
    let bytes = 32 << 20;
    let mut turn = stage.life.turn(format!("!flood {bytes}")).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.life.status().state, State::Running(Doing::Working));
    let (mut read, mut last) = (0, None);
    while let Some(event) = timeout(LONG, turn.next()).await.unwrap() {
        if let Event::Text(text) = &event {
            read += text.len();
        }
        last = Some(event);
    }
    assert_eq!((read, last), (bytes / 100 * 100, Some(Event::Ended(DONE))));
    // One that is never read does not keep it from being stopped.
    let _unread = stage.life.turn(format!("!flood {bytes}")).await.unwrap();
    timeout(LONG, stage.life.stop("enough")).await.unwrap().unwrap();
    assert_eq!(stage.life.status().state, State::Stopped);
}

/// CA-4.4: a call waits for its answer, and an answer to what is not open is refused.
#[tokio::test]
async fn a_call_is_returned() {
    let stage = Script::default().play().await;
    let call = r#"!call {"tool":"ask","args":{"question":"which?"}}"#;
    let mut turn = stage.life.turn(call.to_owned()).await.unwrap();
    let Some(Event::Call { call, tool, arguments }) = turn.next().await else { panic!() };
    assert_eq!((tool.as_str(), &arguments["question"]), ("ask", &"which?".into()));
    stage.reach(State::Running(Doing::Tool)).await;
    let wrong = stage.life.return_call(CallId("9".to_owned()), Ok(String::new())).await;
    assert_eq!(wrong, Err(Error::Refused(Refused::Unknown)));
    stage.life.return_call(call, Ok("this one".to_owned())).await.unwrap();
    assert_eq!(turn.next().await, Some(Event::Text("__TOOL_RESULT__:this one\n".to_owned())));
    assert_eq!(turn.next().await, Some(Event::Ended(DONE)));
    assert_eq!(turn.next().await, None);
}

/// CA-3.3, CA-8.2: twenty agents with a hundred messages each, among them some that misbehave, and none is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_agents_lose_nothing() {
    let flooder = Script::default().play().await;
    let flood = flooder.life.turn(format!("!flood {}", 1_u64 << 40)).await.unwrap();
    let deaf = Script::default().mode(&["deaf"]).play().await;
    let _deaf_turn = deaf.life.turn("x".repeat(1 << 20)).await.unwrap();
    let mut agents = JoinSet::new();
    for agent in 0..20 {
        agents.spawn(async move {
            let stage = Script::default().play().await;
            for count in 1..=100 {
                let text = format!("message {count} to {agent}");
                let expected = format!("{count}: {text}\n");
                assert_eq!(stage.say(&text).await, (expected, DONE));
            }
            assert_eq!(stage.starts(), 1);
            stage.life.stop("enough").await.unwrap();
        });
    }
    while let Some(done) = timeout(LONG * 2, agents.join_next()).await.expect("somebody hangs") {
        done.unwrap();
    }
    drop(flood);
    flooder.life.kill().await.unwrap();
    assert_eq!(flooder.life.status().state, State::Killed);
}

/// CA-2.5: an interrupt that is asked for ends the turn as such, and one without a turn is refused.
#[tokio::test]
async fn interrupting_is_for_turns() {
    let stage = Script::default().play().await;
    stage.life.start().await.unwrap();
    assert_eq!(stage.life.interrupt().await, Err(Error::Refused(Refused::Idle)));
    let turn = stage.life.turn("!wait".to_owned()).await.unwrap();
    stage.life.interrupt().await.unwrap();
    assert_eq!(turn.outcome().await, Outcome::Interrupted);
}
