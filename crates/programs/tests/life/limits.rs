//! What ends a process that does nothing wrong.

use std::sync::atomic::Ordering;
use std::time::Duration;

use artel_programs::codec::Outcome;
use artel_programs::life::{Policy, State, Warning};
use artel_programs::runner::Doing;

use crate::DONE;
use crate::stage::{LONG, Script};

/// CA-2.6: an old process ends between turns, after a warning, and a message starts another.
#[tokio::test]
async fn an_old_process_ends_between_turns() {
    let mut script = Script::default();
    let (ttl, warn_before) = (Duration::from_millis(200), Duration::from_millis(100));
    script.policy = Policy { ttl, warn_before, ..script.policy };
    let stage = script.play().await;
    let turn = stage.life.turn("!wait".to_owned()).await.unwrap();
    // Not while it is at something.
    tokio::time::sleep(ttl * 2).await;
    assert_eq!(stage.life.status().state, State::Running(Doing::Working));
    stage.life.interrupt().await.unwrap();
    assert_eq!(turn.outcome().await, Outcome::Interrupted);
    stage.reach(State::Stopped).await;
    let warnings = stage.warnings();
    assert!(
        matches!(warnings.as_slice(), [Warning::TtlNear { .. }, Warning::TtlOver { .. }]),
        "{warnings:?}"
    );
    assert_eq!(stage.say("hello").await, ("1: hello\n".to_owned(), DONE));
}

/// CA-2.6: a process without anything to do ends, and that is told.
#[tokio::test]
async fn an_idle_process_ends() {
    let mut script = Script::default();
    script.policy.idle = Duration::from_millis(100);
    let stage = script.play().await;
    stage.say("hello").await;
    stage.reach(State::Stopped).await;
    assert!(matches!(stage.warnings().as_slice(), [Warning::Idle { .. }]));
    assert_eq!(stage.say("hello").await.1, DONE);
}

/// CA-2.6: a process that uses too much memory is started anew between turns.
#[tokio::test]
async fn a_process_that_grew_too_large_is_started_anew() {
    let mut script = Script::default();
    script.policy.memory = Some(1000);
    script.policy.look_every = Duration::from_millis(20);
    let stage = script.play().await;
    stage.plain.memory.store(2000, Ordering::SeqCst);
    stage.say("hello").await;
    let first = stage.pid();
    stage.plain.memory.store(500, Ordering::SeqCst);
    let again = async {
        while stage.starts() < 2 || stage.life.status().state != State::Running(Doing::Idle) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LONG, again).await.unwrap();
    assert_ne!(stage.pid(), first);
    assert_eq!(stage.warnings(), [Warning::Memory { used: 2000, limit: 1000 }]);
    assert_eq!(stage.say("hello").await, ("1: hello\n".to_owned(), DONE));
}
