//! Which rule answers, what is filled in, and what a scenario must not contain.

use artel_modelstub::{Scenario, Stub, Wire};
use serde_json::{Value, json};

use crate::client::{
    CHAT, GEMINI, MESSAGES, RESPONSES, all_streams, all_whole, chat_body, events, get, post,
    replying, responses_body, stub, whole,
};

/// What was said in a whole answer of any format, or the error's message.
fn said(body: &Value) -> String {
    let places = [
        "/choices/0/message/content",
        "/output/0/content/0/text",
        "/content/0/text",
        "/candidates/0/content/parts/0/text",
        "/error/message",
    ];
    let found = places.iter().find_map(|place| body.pointer(place)?.as_str());
    found.unwrap_or_default().to_owned()
}

async fn ask(stub: &Stub, text: &str) -> String {
    said(&whole(stub, CHAT, &chat_body(text)).await.1)
}

fn rejects(scenario: &Value) -> String {
    format!("{:#}", Scenario::parse(&scenario.to_string()).unwrap_err())
}

#[tokio::test]
async fn echo_in_every_format() {
    let stub = Stub::start(Scenario::echo()).await.unwrap();
    for (path, body) in all_whole("say it again") {
        assert_eq!(said(&whole(&stub, path, &body).await.1), "say it again", "{path}");
    }
    let recorded = stub.requests();
    let wires: Vec<_> = recorded.iter().map(|request| request.wire.unwrap()).collect();
    assert_eq!(wires, [Wire::Chat, Wire::Responses, Wire::Messages, Wire::Gemini]);
    assert_eq!(recorded[3].model.as_deref(), Some("gemini-2.5-flash"));
}

#[tokio::test]
async fn no_rule_is_a_loud_error() {
    let stub =
        stub(&json!({"rules": [{"when": {"last_user": "x"}, "reply": {"text": "y"}}]})).await;
    for (path, body) in all_whole("something else") {
        let (status, body) = whole(&stub, path, &body).await;
        assert_eq!(status, 500);
        let message = said(&body);
        assert!(message.contains("no rule") && message.contains("something else"), "{message}");
    }
    assert_eq!(stub.requests()[0].rule, None);
    assert_eq!(stub.requests()[0].status, Some(500));
}

#[tokio::test]
async fn the_first_rule_that_matches_answers() {
    let rule =
        |when: Value, text: &str| json!({"name": text, "when": when, "reply": {"text": text}});
    let stub = stub(&json!({"fallback": "echo", "rules": [
        rule(json!({"wire": "gemini"}), "by wire"),
        rule(json!({"model": "gpt-5*"}), "by model"),
        rule(json!({"last_user": "re:^[0-9]+$"}), "by expression"),
        rule(json!({"last_user": "needle"}), "by part"),
        rule(json!({"contains": "\"top_p\""}), "by anything"),
        rule(json!({"system": "pirate"}), "by system"),
        rule(json!({"has_tools": true}), "by tools"),
    ]}))
    .await;
    assert_eq!(ask(&stub, "123").await, "by expression");
    assert_eq!(ask(&stub, "hay needle hay").await, "by part");
    assert_eq!(ask(&stub, "hay").await, "hay");
    let (_, body) = whole(&stub, RESPONSES, &responses_body("123")).await;
    assert_eq!(said(&body), "by model");
    let with = |field: &str, value: Value| {
        let mut body = chat_body("hay");
        body[field] = value;
        body
    };
    let (_, body) = whole(&stub, CHAT, &with("top_p", json!(0.5))).await;
    assert_eq!(said(&body), "by anything");
    let tools = json!([{"type": "function", "function": {"name": "x"}}]);
    assert_eq!(said(&whole(&stub, CHAT, &with("tools", tools)).await.1), "by tools");
    let messages = json!([
        {"role": "system", "content": "You are a pirate."}, {"role": "user", "content": "hay"},
    ]);
    assert_eq!(said(&whole(&stub, CHAT, &with("messages", messages)).await.1), "by system");
    let rules: Vec<_> = stub.requests().into_iter().map(|request| request.rule.unwrap()).collect();
    let expected =
        ["by expression", "by part", "echo", "by model", "by anything", "by tools", "by system"];
    assert_eq!(rules, expected);
}

#[tokio::test]
async fn sequences() {
    let stub = stub(&json!({"rules": [
        {"when": {"last_user": "turn", "turn": 2}, "reply": {"text": "second"}},
        {"when": {"last_user": "turn", "times": 2}, "reply": {"text": "at most twice"}},
        {"when": {"last_user": "turn"}, "reply": {"text": "later"}},
        {"when": {"last_user": "then"}, "reply": {"text": "one"}, "then": [
            {"fault": {"type": "status", "status": 529, "message": "two"}}, {"reply": {"text": "{{n}}"}},
        ]},
    ]}))
    .await;
    let mut turns = Vec::new();
    for _ in 0..5 {
        turns.push(ask(&stub, "turn").await);
    }
    assert_eq!(turns, ["at most twice", "second", "at most twice", "later", "later"]);
    let mut steps = Vec::new();
    for _ in 0..4 {
        steps.push(ask(&stub, "then").await);
    }
    assert_eq!(steps, ["one", "two", "3", "4"]);

    stub.set(Scenario::echo());
    assert_eq!(ask(&stub, "then").await, "then");
    assert_eq!(stub.requests().len(), 10);
}

/// The same conversation in every format: a question, a call, its result.
fn after_a_tool() -> [(&'static str, Value); 4] {
    [
        (
            CHAT,
            json!({"model": "m", "messages": [
                {"role": "user", "content": "what time?"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "noon"},
            ]}),
        ),
        (
            RESPONSES,
            json!({"model": "m", "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "what time?"}]},
                {"type": "function_call", "call_id": "c1", "name": "clock", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "noon"},
            ]}),
        ),
        (
            MESSAGES,
            json!({"model": "m", "max_tokens": 10, "messages": [
                {"role": "user", "content": [{"type": "text", "text": "what time?"}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c1", "name": "clock", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [
                        {"type": "text", "text": "noon"},
                    ]},
                    {"type": "text", "text": "<system-reminder>be nice</system-reminder>"},
                ]},
            ]}),
        ),
        (
            GEMINI,
            json!({"contents": [
                {"role": "user", "parts": [{"text": "what time?"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "clock", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "clock", "response": {"result": "noon"}}},
                ]},
            ]}),
        ),
    ]
}

#[tokio::test]
async fn placeholders_and_tool_results_in_every_format() {
    let stub = stub(&json!({"rules": [
        {"when": {"has_tool_result": true}, "reply": {
            "text": "{{last_user}} {{last_tool_result}} {{user_turns}} {{n}}",
            "tool_calls": [{"name": "note", "arguments": {"text": "{{last_tool_result}}"}}],
        }},
        {"when": {"has_tool_result": false}, "reply": {"text": "no tool"}},
    ]}))
    .await;
    for (n, (path, body)) in after_a_tool().iter().enumerate() {
        let (_, body) = whole(&stub, path, body).await;
        assert_eq!(said(&body), format!("what time? noon 1 {}", n + 1), "{path}");
        assert!(body.to_string().replace('\\', "").contains(r#"{"text":"noon"}"#), "{body}");
    }
    for (path, body) in all_whole("hi") {
        assert_eq!(said(&whole(&stub, path, &body).await.1), "no tool", "{path}");
    }
}

#[tokio::test]
async fn thoughts_come_first_and_apart() {
    let stub = replying(json!({"thinking": "Hm.", "text": "Yes"})).await;
    let mut found = Vec::new();
    for (path, body) in all_whole("hi") {
        found.push(whole(&stub, path, &body).await.1);
    }
    assert_eq!(found[0]["choices"][0]["message"]["reasoning_content"], "Hm.");
    assert_eq!(found[1]["output"][0]["summary"], json!([{"type": "summary_text", "text": "Hm."}]));
    assert_eq!(found[1]["output"][1]["content"][0]["text"], "Yes");
    assert_eq!(found[2]["content"][0]["thinking"], "Hm.");
    let parts = &found[3]["candidates"][0]["content"]["parts"];
    assert_eq!(*parts, json!([{"text": "Hm.", "thought": true}, {"text": "Yes"}]));

    let mut streams = Vec::new();
    for (path, body) in all_streams("hi") {
        streams.push(events(&stub, path, &body).await);
    }
    assert_eq!(streams[0][1].1["choices"][0]["delta"], json!({"reasoning_content": "Hm."}));
    let names: Vec<&str> = streams[1][2..8].iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
    ];
    assert_eq!(names, expected);
    assert_eq!(streams[2][3].1["delta"], json!({"type": "thinking_delta", "thinking": "Hm."}));
    assert_eq!(streams[2][4].1["delta"]["type"], "signature_delta");
    assert_eq!(streams[3][0].1["candidates"][0]["content"]["parts"][0]["thought"], true);
}

#[tokio::test]
async fn the_example() {
    let text = include_str!("../../scenarios/clock.json");
    let stub = Stub::start(Scenario::parse(text).unwrap()).await.unwrap();
    let ask = async |text: &str| {
        let request = post(&stub, CHAT, &chat_body(text)).bearer_auth("sk-test");
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    assert_eq!(ask("What time is it?").await.0, 429);
    let (_, body) = ask("What time is it?").await;
    assert_eq!(body["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "clock");
    assert_eq!(said(&ask("bye").await.1), "Goodbye 1!");
}

#[tokio::test]
async fn the_shell_that_the_client_has() {
    let stub = replying(json!({"tool_calls": [{"shell": "ls"}]})).await;
    let mut body = chat_body("hi");
    body["tools"] = json!([{"type": "function", "function": {"name": "Execute"}}]);
    let (_, body) = whole(&stub, CHAT, &body).await;
    let call = &body["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "Execute");
    assert!(call["arguments"].as_str().unwrap().contains(r#""command":"ls""#));
}

#[tokio::test]
async fn estimated_usage_grows_with_the_text() {
    let stub = Stub::start(Scenario::echo()).await.unwrap();
    let (_, short) = whole(&stub, CHAT, &chat_body("hi")).await;
    let (_, long) = whole(&stub, CHAT, &chat_body(&"word ".repeat(100))).await;
    let output = |body: &Value| body["usage"]["completion_tokens"].as_u64().unwrap();
    assert!(output(&short) >= 1 && output(&long) > output(&short));
}

#[tokio::test]
async fn what_is_recorded() {
    let stub = Stub::start(Scenario::echo()).await.unwrap();
    let path = format!("{CHAT}?key=sk-secret&x=1");
    let request =
        post(&stub, &path, &chat_body("hi")).bearer_auth("sk-secret").header("x-own", "yes");
    request.send().await.unwrap();
    get(&stub, "/v1/models").await;
    let recorded = stub.requests();
    let first = &recorded[0];
    assert_eq!((first.n, first.method.as_str(), first.path.as_str()), (1, "POST", CHAT));
    assert_eq!(first.query, "key=(hidden)&x=1");
    assert_eq!(first.headers["x-own"], "yes");
    assert_eq!(first.headers["authorization"], "(hidden)");
    assert_eq!(first.body, chat_body("hi"));
    assert_eq!(first.status, Some(200));
    assert!(!format!("{recorded:?}").contains("sk-secret"));
    assert_eq!((recorded[1].method.as_str(), recorded[1].wire), ("GET", None));
}

#[test]
fn scenarios_that_are_wrong() {
    let one = |rule: Value| rejects(&json!({"rules": [{"reply": {"text": "x"}}, rule]}));
    let reply = json!({"text": "x"});
    let cases = [
        (rejects(&json!({})), "missing field `rules`"),
        (rejects(&json!({"rules": [], "colour": 1})), "unknown field `colour`"),
        (rejects(&json!({"rules": [], "usage": "some"})), "\"none\""),
        (rejects(&json!({"rules": [], "fallback": "panic"})), "unknown variant `panic`"),
        (one(json!({})), "rule 2: there is neither a reply nor a fault"),
        (one(json!({"name": "A"})), "rule 2 (A): there is neither"),
        (one(json!({"reply": reply, "wen": {}})), "rule 2: unknown field `wen`"),
        (one(json!({"reply": reply, "when": {"modle": "x"}})), "unknown field `modle`"),
        (one(json!({"reply": reply, "when": {"wire": "smoke"}})), "unknown variant `smoke`"),
        (
            one(json!({"reply": reply, "when": {"last_user": "re:("}})),
            "rule 2: last_user: bad expression",
        ),
        (one(json!({"reply": reply, "when": {"turn": 0}})), "turn counts from 1"),
        (one(json!({"reply": {"text": "{{lastuser}}"}})), "unknown placeholder {{lastuser}}"),
        (one(json!({"reply": {"text": "x", "chunk": 0}})), "chunk counts from 1"),
        (one(json!({"reply": {"text": "x", "stop": "tools"}})), "stop tools needs tool_calls"),
        (
            one(json!({"reply": {"text": "x", "usage": {"input": 1, "cached": 2}}})),
            "cached is a part",
        ),
        (one(json!({"reply": {"text": "x", "usage": {"in": 1}}})), "unknown field `in`"),
        (
            one(json!({"reply": {"tool_calls": [{"name": "x", "arguments": [1]}]}})),
            "neither an object",
        ),
        (one(json!({"reply": {"tool_calls": [{"name": "x", "shell": "ls"}]}})), "or just shell"),
        (one(json!({"reply": {}})), "neither text nor tool_calls"),
        (one(json!({"fault": {"type": "explode"}})), "unknown variant `explode`"),
        (one(json!({"fault": {"type": "hang", "after": 2}})), "unknown field `after`"),
        (one(json!({"fault": {"type": "status", "status": 99}})), "status 99"),
        (
            one(json!({"fault": {"type": "status", "status": 500, "color": 1}})),
            "unknown field `color`",
        ),
        (
            one(json!({"fault": {"type": "status", "status": 429, "retry_after": -1}})),
            "whole seconds",
        ),
        (one(json!({"fault": {"type": "hang"}, "reply": reply})), "there is no reply"),
        (one(json!({"fault": {"type": "slow", "delay_ms": 5}})), "needs a reply"),
        (one(json!({"reply": reply, "then": [{}]})), "rule 2: then 1: there is neither"),
        (one(json!({"reply": reply, "when": {"wire": "embeddings"}})), "embeddings are computed"),
        (rejects(&json!({"rules": vec![json!({"reply": reply}); 1001]})), "more than 1000 rules"),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    }
    let error = format!("{:#}", Scenario::parse("{\n  \"rules\": [,]}").unwrap_err());
    assert!(error.contains("line 2"), "{error}");
}
