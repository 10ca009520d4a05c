//! Claude Code.

use artel_programs::codec::claude::{Claude, Setup};
use artel_programs::codec::{CallId, Command, Decision, Event, Refused, RequestId};
use artel_programs::toolbox::ToolSpec;
use serde_json::{Value, json};

use crate::replay::{self, Protocol};
use crate::watched::Watched;

/// CA-1.2, CA-1.6: every recorded conversation is told in the words that all kinds share.
#[test]
fn recordings_tell_their_stories() {
    replay::expect(Protocol::Claude, include_str!("claude.stories"));
}

/// A conversation up to its first message.
fn talking(tools: &[&str]) -> Watched {
    let tool = |name: &&str| ToolSpec {
        name: (*name).to_owned(),
        description: "A tool of ours.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    let tools = tools.iter().map(tool).collect();
    let mut claude = Watched::new(
        Claude::new(Setup { tools, instructions: Some("Be brief.".to_owned()) }),
        true,
    );
    claude.start();
    let answer = json!({"subtype": "success", "request_id": "artel-1", "response": {}});
    hear(&mut claude, &json!({"type": "control_response", "response": answer}));
    claude.command(Command::Say { text: "hello".to_owned() }).unwrap();
    claude
}

fn hear(claude: &mut Watched, frame: &Value) {
    claude.line(frame.to_string().as_bytes());
}

fn ask(claude: &mut Watched, id: &str, request: &Value) -> Value {
    hear(claude, &json!({"type": "control_request", "request_id": id, "request": request}));
    claude.written.last().unwrap().clone()
}

#[test]
fn a_turn_costs_what_the_process_cost_more() {
    let played = replay::play("claude-basic");
    let told = played.usages();
    assert_eq!(
        (told[0].input_tokens, told[0].cached_tokens, told[0].output_tokens),
        (4468, 2000, 112)
    );
    assert_eq!(
        (told[1].input_tokens, told[1].cached_tokens, told[1].output_tokens),
        (2234, 1000, 56)
    );
    assert!((told[0].cost.unwrap() - 0.009_684).abs() < 1e-9);
    assert!((told[1].cost.unwrap() - 0.004_842).abs() < 1e-9);
    assert_eq!(told[1].model.as_deref(), Some("claude-sonnet-4-5"));
}

#[test]
fn a_streamed_message_is_told_once() {
    let played = replay::play("claude-partial");
    let text = played.text();
    assert!(text.starts_with("I will answer with the tool now. Tool said: orchestrator"), "{text}");
    assert_eq!(text.matches("Tool said").count(), 1);
}

#[test]
fn a_permission_shows_the_command_and_the_change() {
    let played = replay::play("claude-basic");
    let asked = played.permission();
    assert_eq!(asked.tool, "Bash");
    assert_eq!(asked.command.as_deref(), Some(r#"orchestrator answer "hello from claude""#));
    assert!(asked.can_remember);

    let mut claude = talking(&[]);
    let input = json!({"file_path": "/w/a.txt", "old_string": "one\n", "new_string": "two\n"});
    ask(&mut claude, "e", &json!({"subtype": "can_use_tool", "tool_name": "Edit", "input": input}));
    let asked = claude.permission();
    assert!(asked.diff.as_ref().unwrap().contains("-one\n+two\n"));
    assert_eq!(
        (asked.title.as_str(), &asked.command, asked.can_remember),
        ("Edit: /w/a.txt", &None, false)
    );
}

#[test]
fn what_is_remembered_is_remembered_for_the_session() {
    let mut claude = talking(&[]);
    let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash"}], "destination": "localSettings"});
    let request = json!({
        "subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "permission_suggestions": [rule]
    });
    ask(&mut claude, "p", &request);
    let request = RequestId("p".to_owned());
    claude
        .command(Command::Decide { request: request.clone(), decision: Decision::Always })
        .unwrap();
    let answer = &claude.written.last().unwrap()["response"]["response"];
    assert_eq!(answer["behavior"], "allow");
    assert_eq!(answer["updatedInput"]["command"], "ls");
    assert_eq!(answer["updatedPermissions"][0]["destination"], "session");
    let again = claude.command(Command::Decide { request, decision: Decision::Once });
    assert_eq!(again.unwrap_err(), Refused::Unknown);
}

/// CA-4.5: an unknown tool and wrong arguments get a clear error; so does a tool that fails.
#[test]
fn our_tools_are_served_in_the_conversation() {
    let mut claude = talking(&["answer"]);
    assert_eq!(claude.written[0]["request"]["sdkMcpServers"], json!(["orchestrator"]));
    assert_eq!(claude.written[0]["request"]["appendSystemPrompt"], "Be brief.");
    let frame = |message: Value| json!({"subtype": "mcp_message", "server_name": "orchestrator", "message": message});
    let answered = |frame: Value| frame["response"]["response"]["mcp_response"].clone();
    let call = |tool: &str, arguments: Value| {
        frame(
            json!({"id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}),
        )
    };

    let hello =
        json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let hello = answered(ask(&mut claude, "a", &frame(hello)));
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    let list = answered(ask(&mut claude, "b", &frame(json!({"id": 1, "method": "tools/list"}))));
    assert_eq!(list["result"]["tools"][0]["name"], "answer");
    let other = answered(ask(&mut claude, "c", &frame(json!({"id": 2, "method": "prompts/list"}))));
    assert_eq!(other["error"]["code"], -32601);
    let unknown = answered(ask(&mut claude, "d", &call("deploy", json!({}))));
    assert_eq!(unknown["result"]["isError"], true);
    let wrong = answered(ask(&mut claude, "e", &call("answer", json!("text"))));
    assert_eq!(
        wrong["result"]["content"][0]["text"],
        "the arguments of `answer` must be an object"
    );

    ask(&mut claude, "f", &call("answer", json!({"message": "hi"})));
    let Some(Event::Call { call: id, tool, arguments }) = claude.events.last().cloned() else {
        panic!("no call")
    };
    assert_eq!(
        (id.0.as_str(), tool.as_str(), &arguments["message"]),
        ("f", "answer", &json!("hi"))
    );
    let back =
        Command::Return { call: CallId("f".to_owned()), result: Err("nobody is there".to_owned()) };
    claude.command(back).unwrap();
    let answer = answered(claude.written.last().unwrap().clone());
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(7), &json!(true)));
    assert_eq!(answer["result"]["content"][0]["text"], "nobody is there");

    let ours =
        json!({"subtype": "can_use_tool", "tool_name": "mcp__orchestrator__answer", "input": {}});
    let allowed = ask(&mut claude, "g", &ours);
    assert_eq!(allowed["response"]["response"]["behavior"], "allow");
}

#[test]
fn a_request_that_nobody_knows_is_refused() {
    let mut claude = talking(&[]);
    let answer = ask(&mut claude, "x", &json!({"subtype": "hook_callback"}));
    assert_eq!(
        (&answer["response"]["subtype"], &answer["response"]["request_id"]),
        (&json!("error"), &json!("x"))
    );
}

#[test]
fn a_word_into_the_turn_comes_next() {
    let mut claude = talking(&[]);
    claude.command(Command::Steer { text: "and quickly".to_owned() }).unwrap();
    assert_eq!(claude.written.last().unwrap()["priority"], "next");
    let busy = claude.command(Command::Say { text: "again".to_owned() });
    assert_eq!(busy.unwrap_err(), Refused::Busy);
}
