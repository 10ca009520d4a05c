//! Programs that speak in lines.

use artel_programs::codec::line::{Config, Line, Setup};
use artel_programs::codec::{CallId, Command, Event, Refused, Signal};
use artel_programs::toolbox::ToolSpec;
use serde_json::{Value, json};

use crate::watched::Watched;

fn setup(config: Value) -> Setup {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "A tool of ours.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    Setup {
        config: serde_json::from_value(config).unwrap(),
        tools: ["answer", "project"].map(tool).into(),
    }
}

fn started(config: Value) -> Watched {
    let mut line = Watched::new(Line::new(setup(config)).unwrap(), false);
    line.start();
    line
}

fn talking(config: Value) -> Watched {
    let mut line = started(config);
    let out = line.command(Command::Say { text: "hello".to_owned() }).unwrap();
    assert!(!out.write.is_empty());
    line
}

fn give_back(line: &mut Watched, call: &str, result: Result<&str, &str>) -> String {
    let result = result.map(str::to_owned).map_err(str::to_owned);
    let out = line.command(Command::Return { call: CallId(call.to_owned()), result }).unwrap();
    String::from_utf8(out.write).unwrap()
}

/// CA-4.1: a line after the marker is a call; the rest is what the program says.
#[test]
fn a_marked_line_is_a_call_and_the_answer_ends_the_turn() {
    let mut line = talking(json!({}));
    line.line(b"thinking...");
    line.line(br#"__TOOL_CALL__:{"tool": "project", "args": {"method": "create"}}"#);
    let Some(Event::Call { call, tool, arguments }) = line.events.last().cloned() else {
        panic!("no call")
    };
    assert_eq!((tool.as_str(), &arguments["method"]), ("project", &json!("create")));
    assert_eq!(
        give_back(&mut line, &call.0, Ok("made \"it\"\n")),
        "__TOOL_RESULT__:{\"ok\":true,\"result\":\"made \\\"it\\\"\\n\",\"tool\":\"project\"}\n"
    );
    line.line(
        "__TOOL_CALL__:{\"tool\": \"answer\", \"args\": {\"message\": \"ü中\"}}\r".as_bytes(),
    );
    give_back(&mut line, "2", Ok("delivered"));
    assert_eq!(line.story(), "ready text call completed");
    assert_eq!(line.text(), "thinking...\n");
    line.ended();
}

/// CA-4.1: another program has another pattern, as data.
#[test]
fn the_pattern_and_the_paths_are_data() {
    let mut line = talking(json!({
        "tool_call": "^TOOL:(?P<payload>.*)$", "tool_path": "action", "args_path": "parameters.all",
        "tool_result_template": null, "turn_end": {"line": "^DONE$"}
    }));
    line.line(br#"TOOL:{"action":"answer","parameters":{"all":{"message":"hi"}}}"#);
    assert_eq!(give_back(&mut line, "1", Ok("delivered")), "");
    line.line(b"DONE");
    assert_eq!(line.story(), "ready call completed");
}

/// CA-4.5: bad JSON, an unknown tool and wrong arguments get a clear error and are told of; nothing crashes.
#[test]
fn a_wrong_call_gets_an_error() {
    for (call, why) in [
        (r#"__TOOL_CALL__:{"tool": "answer", "args": {oops}"#, "the tool call is not JSON"),
        (r#"__TOOL_CALL__:{"tool""#, "the tool call is not JSON"),
        (r#"__TOOL_CALL__:{"args": {}}"#, "does not say which tool"),
        (r#"__TOOL_CALL__:{"tool": "rm", "args": {}}"#, "there is no tool `rm`"),
        (r#"__TOOL_CALL__:{"tool": "answer", "args": []}"#, "must be an object"),
    ] {
        let mut line = talking(json!({}));
        line.line(call.as_bytes());
        let Some(Event::Garbage { why: told }) = line.events.last() else { panic!("{call}") };
        assert!(told.contains(why), "{told}");
        line.ended();
        assert_eq!(line.story(), "ready garbage failed:Died");
    }
}

#[test]
fn a_message_is_one_line_or_is_escaped() {
    let mut line = started(json!({}));
    let many = line.command(Command::Say { text: "two\nlines".to_owned() });
    assert_eq!(many.unwrap_err(), Refused::ManyLines);
    for (template, written) in [
        ("{text}\n", "say \"{json}\"\n".to_owned()),
        ("{\"say\": \"{text}\"}\n", "{\"say\": \"say \\\"{json}\\\"\"}\n".to_owned()),
        ("SAY {json}\n", "SAY \"say \\\"{json}\\\"\"\n".to_owned()),
    ] {
        let mut line = started(json!({"message_template": template}));
        let out = line.command(Command::Say { text: "say \"{json}\"".to_owned() }).unwrap();
        assert_eq!(String::from_utf8(out.write).unwrap(), written);
    }
    let mut line = started(json!({"message_template": "{\"say\": \"{text}\"}\n"}));
    let out = line.command(Command::Say { text: "two\nlines".to_owned() }).unwrap();
    assert_eq!(out.write, b"{\"say\": \"two\\nlines\"}\n");
}

#[test]
fn silence_means_what_the_configuration_says() {
    let mut line = started(json!({"ready": {"delay": 0.5}, "turn_end": {"idle": 2.0}}));
    line.line(b"starting up");
    assert!(line.quiet.is_some());
    assert_eq!(
        line.command(Command::Say { text: "hi".to_owned() }).unwrap_err(),
        Refused::NotReady
    );
    line.quiet();
    line.command(Command::Say { text: "hi".to_owned() }).unwrap();
    line.line(br#"__TOOL_CALL__:{"tool": "project"}"#);
    assert!(line.quiet.is_none(), "it waits for us, not we for it");
    give_back(&mut line, "1", Err("there is none"));
    assert!(line.quiet.is_some());
    line.quiet();
    assert_eq!(line.story(), "ready call completed");
}

#[test]
fn it_is_ready_when_it_says_so() {
    let mut line = started(json!({"ready": {"line": "^ready$"}}));
    line.line(b"almost ready");
    line.line(b"ready");
    assert_eq!(line.story(), "ready");
}

#[test]
fn it_is_interrupted_by_a_signal_or_a_line() {
    for (config, line) in [(json!({}), ""), (json!({"interrupt": {"line": "STOP"}}), "STOP\n")] {
        let signal = line.is_empty().then_some(Signal::Interrupt);
        let mut agent = talking(config);
        agent.line(br#"__TOOL_CALL__:{"tool": "project"}"#);
        let out = agent.command(Command::Interrupt).unwrap();
        assert_eq!((out.write.as_slice(), out.signal), (line.as_bytes(), signal));
        agent.quiet();
        assert_eq!(agent.story(), "ready call withdrawn interrupted");
    }
}

#[test]
fn what_cannot_work_is_said_before_anything_starts() {
    for (config, why) in [
        (json!({"tool_call": "("}), "`tool_call` is not a regular expression"),
        (json!({"tool_call": "^X:(.*)$"}), "needs a group"),
        (json!({"tool_call": "(?P<payload>(a{1000}){1000})"}), "is not a regular expression"),
        (json!({"message_template": "hello\n"}), "needs `{text}`"),
        (json!({"message_template": "{text}"}), "must end with a line break"),
        (json!({"turn_end": {"idle": -1.0}}), "between 0 and 3600"),
        (json!({"interrupt": {"line": "a\nb"}}), "must be one line"),
    ] {
        let error = Line::new(setup(config)).unwrap_err().0;
        assert!(error.contains(why), "{error}");
    }
    assert!(serde_json::from_value::<Config>(json!({"message_tmplate": "{text}\n"})).is_err());
}
