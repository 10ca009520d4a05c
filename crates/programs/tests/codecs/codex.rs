//! Codex.

use artel_programs::codec::codex::{Codex, Setup};
use artel_programs::codec::{Command, Decision, Event, RequestId};
use serde_json::{Value, json};

use crate::replay::{self, Protocol};
use crate::watched::Watched;

/// CA-1.2, CA-1.6: every recorded conversation is told in the words that all kinds share.
#[test]
fn recordings_tell_their_stories() {
    replay::expect(Protocol::Codex, include_str!("codex.stories"));
}

fn hear(codex: &mut Watched, frame: &Value) {
    codex.line(frame.to_string().as_bytes());
}

fn methods(codex: &Watched) -> Vec<&str> {
    codex.written.iter().filter_map(|frame| frame["method"].as_str()).collect()
}

/// A conversation up to its first message, whose turn is not named yet.
fn talking() -> Watched {
    let mut codex = Watched::new(Codex::new(Setup::default()), true);
    codex.start();
    hear(&mut codex, &json!({"id": 1, "result": {"userAgent": "artel/0.166.0 (Linux)"}}));
    hear(&mut codex, &json!({"id": 2, "result": {"thread": {"id": "t"}, "model": "gpt-5.4"}}));
    codex.command(Command::Say { text: "hello".to_owned() }).unwrap();
    codex
}

fn completed(codex: &mut Watched, status: &str) {
    let turn = json!({"id": "u", "status": status, "items": [], "error": null});
    hear(codex, &json!({"method": "turn/completed", "params": {"threadId": "t", "turn": turn}}));
}

#[test]
fn it_says_its_version_and_model() {
    let ready =
        Event::Ready { version: Some("0.166.0".to_owned()), model: Some("gpt-5.4".to_owned()) };
    assert!(talking().events.contains(&ready));
}

#[test]
fn requests_of_a_turn_are_counted_together() {
    let played = replay::play("codex-basic");
    let told = played.usages();
    assert_eq!(
        (told[0].input_tokens, told[0].cached_tokens, told[0].output_tokens),
        (2468, 2000, 112)
    );
    assert_eq!(
        (told[1].input_tokens, told[1].cached_tokens, told[1].output_tokens),
        (1234, 1000, 56)
    );
}

#[test]
fn a_change_of_files_is_shown() {
    let played = replay::play("codex-patch");
    assert!(played.permission().diff.as_ref().unwrap().contains("+hi there\n"));
}

#[test]
fn a_thread_that_is_gone_is_begun_anew() {
    let setup = Setup { resume: Some("gone".to_owned()), ..Setup::default() };
    let mut codex = Watched::new(Codex::new(setup), true);
    codex.start();
    hear(&mut codex, &json!({"id": 1, "result": {}}));
    hear(&mut codex, &json!({"id": 2, "error": {"code": -32600, "message": "no rollout found"}}));
    hear(&mut codex, &json!({"id": 3, "result": {"thread": {"id": "new"}}}));
    assert_eq!(methods(&codex), ["initialize", "initialized", "thread/resume", "thread/start"]);
    assert_eq!(codex.events[0], Event::Session("new".to_owned()));
    assert_eq!(codex.story(), "session ready");
}

fn started(codex: &mut Watched, turn: &str) {
    let turn = json!({"id": turn, "status": "inProgress", "items": []});
    hear(codex, &json!({"method": "turn/started", "params": {"threadId": "t", "turn": turn}}));
}

/// CA-2.5: it refuses to be interrupted between its answer, which names the turn, and the turn's start.
#[test]
fn an_interrupt_waits_until_the_turn_runs_and_cleans_up() {
    let mut codex = talking();
    codex.command(Command::Interrupt).unwrap();
    codex.command(Command::Interrupt).unwrap();
    hear(&mut codex, &json!({"id": 3, "result": {"turn": {"id": "u"}}}));
    assert_eq!(methods(&codex).last(), Some(&"turn/start"));
    started(&mut codex, "u");
    assert_eq!(codex.written.last().unwrap()["params"], json!({"threadId": "t", "turnId": "u"}));
    completed(&mut codex, "interrupted");
    assert_eq!(methods(&codex)[4..], ["turn/interrupt", "thread/backgroundTerminals/clean"]);
    assert!(codex.story().ends_with("interrupted"));
}

/// CA-2.5: a refused interrupt is tried again, but not for ever.
#[test]
fn a_refused_interrupt_is_tried_again() {
    let mut codex = talking();
    hear(&mut codex, &json!({"id": 3, "result": {"turn": {"id": "u"}}}));
    started(&mut codex, "u");
    codex.command(Command::Interrupt).unwrap();
    for id in 4..10 {
        let error = json!({"code": -32600, "message": "no active turn to interrupt"});
        hear(&mut codex, &json!({"id": id, "error": error}));
    }
    let tried = methods(&codex).iter().filter(|method| **method == "turn/interrupt").count();
    assert_eq!(tried, 3);
}

/// CA-2.1: a turn that it began by itself, for a word that came late, is not taken for ours.
#[test]
fn the_end_of_another_turn_is_not_the_end_of_ours() {
    let mut codex = talking();
    started(&mut codex, "u");
    completed(&mut codex, "completed");
    assert!(!codex.story().contains("completed"), "{}", codex.story());
    hear(&mut codex, &json!({"id": 3, "result": {"turn": {"id": "v"}}}));
    completed(&mut codex, "completed");
    assert!(!codex.story().contains("completed"), "{}", codex.story());
}

#[test]
fn the_reason_of_a_refusal_follows_as_a_word() {
    let mut codex = talking();
    hear(&mut codex, &json!({"id": 3, "result": {"turn": {"id": "u"}}}));
    let params = json!({"threadId": "t", "command": "rm -rf /", "cwd": "/workspace"});
    hear(
        &mut codex,
        &json!({"id": 0, "method": "item/commandExecution/requestApproval", "params": params}),
    );
    let decision = Decision::Reject { why: "never that".to_owned() };
    codex.command(Command::Decide { request: RequestId("0".to_owned()), decision }).unwrap();
    let [.., refusal, word] = codex.written.as_slice() else { panic!("too little was written") };
    assert_eq!(refusal["result"]["decision"], "decline");
    assert_eq!(
        (&word["method"], &word["params"]["input"][0]["text"]),
        (&json!("turn/steer"), &json!("never that"))
    );

    // The turn is over before the word arrives: it goes with the next message.
    hear(&mut codex, &json!({"id": 4, "error": {"code": -32600, "message": "no active turn"}}));
    completed(&mut codex, "completed");
    codex.command(Command::Say { text: "go on".to_owned() }).unwrap();
    assert_eq!(codex.written.last().unwrap()["params"]["input"][0]["text"], "never that\n\ngo on");
}

/// CA-4.5: a tool that it was not given is not called.
#[test]
fn an_unknown_tool_is_refused() {
    let mut codex = talking();
    let params = json!({"threadId": "t", "tool": "deploy", "arguments": {}});
    hear(&mut codex, &json!({"id": 9, "method": "item/tool/call", "params": params}));
    let answer = &codex.written.last().unwrap()["result"];
    assert_eq!(answer["success"], false);
    assert_eq!(answer["contentItems"][0]["text"], "there is no tool `deploy`; there are: ");
    hear(&mut codex, &json!({"id": 10, "method": "attestation/generate", "params": {}}));
    assert_eq!(codex.written.last().unwrap()["error"]["code"], -32601);
}
