//! The scenario for the command-line agents: each is answered in its own format, with its own tools.

use artel_modelstub::{Scenario, Stub};
use serde_json::{Value, json};

use crate::client::{
    CHAT, GEMINI, MESSAGES, RESPONSES, chat_body, gemini_body, messages_body, post, responses_body,
};

const SCENARIO: &str = include_str!("../../scenarios/cli.json");

/// What each program asks with: its path, its tools, and the header that holds its key.
struct Program {
    path: &'static str,
    body: fn(&str) -> Value,
    tools: Value,
    key: (&'static str, &'static str),
    /// What it is called, from its shell's name on.
    calls: fn(&Value) -> Value,
}

fn programs() -> [Program; 4] {
    let schema = || json!({"type": "object", "properties": {}});
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    [
        Program {
            path: MESSAGES,
            body: messages_body,
            tools: json!([
                {"name": "Bash", "input_schema": schema()},
                {"name": "Write", "input_schema": schema()},
                {"name": "mcp__orchestrator__answer", "input_schema": schema()},
            ]),
            key: ("x-api-key", "sk-test"),
            calls: |body| {
                let call = body["content"].as_array().unwrap().last().unwrap();
                json!([call["name"], call["input"]])
            },
        },
        Program {
            path: RESPONSES,
            body: responses_body,
            tools: json!([
                {"type": "function", "name": "exec_command", "parameters": schema()},
                {"type": "function", "name": "answer", "parameters": schema()},
            ]),
            key: ("authorization", "Bearer sk-test"),
            calls: |body| {
                let call = body["output"].as_array().unwrap().last().unwrap();
                let arguments = call["arguments"].as_str().unwrap_or("{}");
                json!([call["name"], serde_json::from_str::<Value>(arguments).unwrap()])
            },
        },
        Program {
            path: GEMINI,
            body: gemini_body,
            tools: json!([{"functionDeclarations": [
                {"name": "run_shell_command"}, {"name": "write_file"}, {"name": "mcp_orchestrator_answer"},
            ]}]),
            key: ("x-goog-api-key", "sk-test"),
            calls: |body| {
                let parts = body["candidates"][0]["content"]["parts"].as_array().unwrap();
                let call = &parts.last().unwrap()["functionCall"];
                json!([call["name"], call["args"]])
            },
        },
        Program {
            path: CHAT,
            body: chat_body,
            tools: json!([
                function("Execute"),
                function("Create"),
                function("orchestrator___answer")
            ]),
            key: ("authorization", "Bearer sk-test"),
            calls: |body| {
                let call = &body["choices"][0]["message"]["tool_calls"][0]["function"];
                let arguments = call["arguments"].as_str().unwrap_or("{}");
                json!([call["name"], serde_json::from_str::<Value>(arguments).unwrap()])
            },
        },
    ]
}

async fn ask(stub: &Stub, program: &Program, text: &str) -> (u16, Value) {
    let mut body = (program.body)(text);
    body["tools"] = program.tools.clone();
    let (name, value) = program.key;
    let response = post(stub, program.path, &body).header(name, value).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn each_is_called_by_its_own_tools() {
    let stub = Stub::start(Scenario::parse(SCENARIO).unwrap()).await.unwrap();
    let command = r#"orchestrator answer "hello from the shell""#;
    let names = [
        ("Bash", "command", "mcp__orchestrator__answer", "Write"),
        ("exec_command", "cmd", "answer", "exec_command"),
        ("run_shell_command", "command", "mcp_orchestrator_answer", "write_file"),
        ("Execute", "command", "orchestrator___answer", "Create"),
    ];
    for (program, (shell, argument, answer, write)) in programs().iter().zip(names) {
        let (status, body) = ask(&stub, program, "please ANSWER-BY-SHELL").await;
        assert_eq!(status, 200, "{body}");
        let call = (program.calls)(&body);
        assert_eq!((&call[0], &call[1][argument]), (&json!(shell), &json!(command)));

        let (_, body) = ask(&stub, program, "please ANSWER-BY-TOOL").await;
        let call = (program.calls)(&body);
        assert_eq!(call, json!([answer, {"message": "hello from the tool"}]));

        let (_, body) = ask(&stub, program, "please WRITE-A-FILE").await;
        assert_eq!((program.calls)(&body)[0], write);
    }
}

#[tokio::test]
async fn each_is_refused_and_hears_plain_words() {
    let stub = Stub::start(Scenario::parse(SCENARIO).unwrap()).await.unwrap();
    for program in programs() {
        assert_eq!(ask(&stub, &program, "BE-REFUSED").await.0, 400);
        assert_eq!(ask(&stub, &program, "BE-BROKEN").await.0, 500);
        let (_, body) = ask(&stub, &program, "anything").await;
        assert!(body.to_string().contains("Plain words."), "{body}");
        // What they ask for themselves comes without tools.
        let (name, value) = program.key;
        let request = post(&stub, program.path, &(program.body)("BE-REFUSED")).header(name, value);
        let body = request.send().await.unwrap().text().await.unwrap();
        assert!(body.contains("A title"), "{body}");
    }
}
