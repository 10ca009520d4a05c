//! The Agent Client Protocol: Gemini CLI, Droid, and the adapters of Claude Code and Codex.

use std::collections::BTreeMap;

use artel_programs::codec::acp::{Acp, Setup};
use artel_programs::codec::{Command, Decision, Event, Http, Refused, RequestId, Server, Stdio};
use serde_json::{Value, json};

use crate::replay::{self, Protocol};
use crate::watched::Watched;

/// CA-1.2, CA-1.6: every recorded conversation is told in the words that all kinds share.
#[test]
fn recordings_tell_their_stories() {
    replay::expect(Protocol::Acp, include_str!("acp.stories"));
}

fn hear(acp: &mut Watched, frame: &Value) {
    acp.line(frame.to_string().as_bytes());
}

fn starting(setup: Setup, capabilities: &Value) -> Watched {
    let mut acp = Watched::new(Acp::new(setup), true);
    acp.start();
    hear(&mut acp, &json!({"id": 1, "result": {"agentCapabilities": capabilities}}));
    acp
}

/// A conversation up to its first message, and a permission that it asks for.
fn asking() -> Watched {
    let mut acp = starting(Setup::default(), &json!({}));
    hear(&mut acp, &json!({"id": 2, "result": {"sessionId": "s"}}));
    acp.command(Command::Say { text: "hello".to_owned() }).unwrap();
    let option = |id: &str, kind: &str| json!({"optionId": id, "kind": kind});
    let options = json!([
        option("yes", "allow_once"),
        option("ever", "allow_always"),
        option("no", "reject_once")
    ]);
    let change =
        json!({"type": "diff", "path": "/w/a.txt", "oldText": "one\n", "newText": "two\n"});
    let call =
        json!({"toolCallId": "c", "title": "Edit a.txt", "kind": "edit", "content": [change]});
    let params = json!({"sessionId": "s", "options": options, "toolCall": call});
    hear(&mut acp, &json!({"id": 0, "method": "session/request_permission", "params": params}));
    acp
}

#[test]
fn options_are_chosen_by_their_kind() {
    let why = || "not that".to_owned();
    for (decision, option) in [
        (Decision::Once, "yes"),
        (Decision::Always, "ever"),
        (Decision::Reject { why: why() }, "no"),
    ] {
        let mut acp = asking();
        let asked = acp.permission();
        assert!(asked.diff.as_deref().unwrap().contains("-one\n+two\n"));
        assert!(asked.can_remember);
        acp.command(Command::Decide { request: RequestId("0".to_owned()), decision }).unwrap();
        assert_eq!(acp.written.last().unwrap()["result"]["outcome"]["optionId"], option);
    }
}

#[test]
fn whoever_asked_is_told_when_the_turn_is_interrupted() {
    let mut acp = asking();
    acp.command(Command::Interrupt).unwrap();
    let [.., cancel, answer] = acp.written.as_slice() else { panic!("too little was written") };
    assert_eq!(cancel["method"], "session/cancel");
    assert_eq!(answer["result"]["outcome"]["outcome"], "cancelled");
    let late = Command::Decide { request: RequestId("0".to_owned()), decision: Decision::Once };
    assert_eq!(acp.command(late).unwrap_err(), Refused::Unknown);
    hear(&mut acp, &json!({"id": 3, "result": {"stopReason": "cancelled"}}));
    assert!(acp.story().ends_with("withdrawn interrupted"));
}

#[test]
fn history_that_is_told_again_is_no_answer() {
    assert_eq!(replay::play("gemini-load2").text(), "This is turn 3; I remember everything.");
    assert_eq!(replay::play("acp-codex-load2").text(), "This is turn 2; I remember everything.");
}

#[test]
fn a_conversation_that_is_gone_is_begun_anew() {
    let setup = Setup { resume: Some("gone".to_owned()), ..Setup::default() };
    let mut acp = starting(setup, &json!({"loadSession": true}));
    hear(&mut acp, &json!({"id": 2, "error": {"code": -32603, "message": "Internal error"}}));
    hear(&mut acp, &json!({"id": 3, "result": {"sessionId": "new"}}));
    assert_eq!(acp.events[0], Event::Session("new".to_owned()));
    assert_eq!(acp.story(), "session ready");
}

#[test]
fn servers_come_by_http_only_where_that_is_taken() {
    let http = Http { url: "http://127.0.0.1:1/mcp".to_owned(), headers: BTreeMap::new() };
    let stdio = Stdio {
        command: "orchestrator".to_owned(),
        args: Vec::new(),
        environment: BTreeMap::new(),
    };
    let server = Server { name: "orchestrator".to_owned(), http: Some(http), stdio: Some(stdio) };
    for (http, field) in [(true, "url"), (false, "command")] {
        let setup = Setup { servers: vec![server.clone()], ..Setup::default() };
        let acp = starting(setup, &json!({"mcpCapabilities": {"http": http}}));
        assert!(acp.written[1]["params"]["mcpServers"][0][field].is_string(), "{field}");
    }
}

#[test]
fn a_mode_that_it_does_not_have_makes_it_unfit() {
    let setup = Setup { mode: Some("brave".to_owned()), ..Setup::default() };
    let mut acp = starting(setup, &json!({}));
    hear(&mut acp, &json!({"id": 2, "result": {"sessionId": "s"}}));
    assert_eq!(acp.written[2]["method"], "session/set_mode");
    hear(&mut acp, &json!({"id": 3, "error": {"code": -32602, "message": "no such mode"}}));
    assert_eq!(acp.story(), "session unfit:Other");
}

#[test]
fn files_and_terminals_are_not_offered() {
    let mut acp = asking();
    hear(
        &mut acp,
        &json!({"id": 5, "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}}),
    );
    assert_eq!(acp.written.last().unwrap()["error"]["code"], -32601);
}
