//! Factory Droid.

use artel_programs::codec::droid::{Droid, Setup};
use artel_programs::codec::{Command, Event};
use serde_json::{Value, json};

use crate::replay::{self, Protocol};
use crate::watched::Watched;

/// CA-1.2, CA-1.6: every recorded conversation is told in the words that all kinds share.
#[test]
fn recordings_tell_their_stories() {
    replay::expect(Protocol::Droid, include_str!("droid.stories"));
}

fn hear(droid: &mut Watched, frame: &Value) {
    droid.line(frame.to_string().as_bytes());
}

/// The reason of a refusal, which would be dropped, is said with the next message.
#[test]
fn the_reason_of_a_refusal_is_kept() {
    let played = replay::play("droid-perm-comment");
    let said = played.written.iter().filter(|frame| frame["method"] == "droid.add_user_message");
    let said: Vec<&str> = said.map(|frame| frame["params"]["text"].as_str().unwrap()).collect();
    assert_eq!(said, ["say hello", "not now, use another way\n\nsecond after"]);
}

#[test]
fn a_turn_is_counted_with_what_came_from_the_cache() {
    let played = replay::play("droid-basic");
    let told = played.usages();
    assert_eq!(
        (told[0].input_tokens, told[0].cached_tokens, told[0].output_tokens),
        (3702, 3000, 168)
    );
    assert_eq!(told[0].model.as_deref(), Some("custom:fake-chat"));
}

#[test]
fn one_question_can_be_about_several_tools() {
    let mut droid = Watched::new(Droid::new(Setup::default()), true);
    droid.start();
    hear(&mut droid, &json!({"type": "response", "id": "1", "result": {"sessionId": "s"}}));
    droid.command(Command::Say { text: "hello".to_owned() }).unwrap();
    let used = |command: &str| {
        let tool = json!({"name": "Execute", "input": {"command": command}});
        json!({"toolUse": tool, "details": {"fullCommand": command}})
    };
    let params =
        json!({"toolUses": [used("ls"), used("rm x")], "options": [{"value": "proceed_once"}]});
    hear(
        &mut droid,
        &json!({"type": "request", "id": "q", "method": "droid.request_permission", "params": params}),
    );
    let asked = droid.permission();
    assert_eq!(asked.command.as_deref(), Some("ls\nrm x"));
    assert_eq!(asked.title, "Execute: ls; Execute: rm x");
    assert!(!asked.can_remember);
}

#[test]
fn a_conversation_that_is_gone_is_begun_anew() {
    let setup = Setup { resume: Some("gone".to_owned()), ..Setup::default() };
    let mut droid = Watched::new(Droid::new(setup), true);
    droid.start();
    hear(
        &mut droid,
        &json!({"type": "response", "id": "1", "error": {"code": -32603, "message": "not found"}}),
    );
    hear(&mut droid, &json!({"type": "response", "id": "2", "result": {"sessionId": "new"}}));
    assert_eq!(droid.events[0], Event::Session("new".to_owned()));
    assert_eq!(droid.story(), "session ready");
    let out = droid.command(Command::Close).unwrap();
    assert!(out.close);
    assert_eq!(droid.written.last().unwrap()["method"], "droid.close_session");
}
