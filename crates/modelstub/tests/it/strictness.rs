//! Requests that the real services would not take.

use artel_modelstub::{Scenario, Stub};
use serde_json::{Value, json};

use crate::client::{CHAT, GEMINI, MESSAGES, RESPONSES, messages_body, stub, whole};

fn wrong() -> Vec<(&'static str, Value, &'static str)> {
    let user = json!({"role": "user", "content": "hi"});
    let chat = |messages: Value| json!({"model": "m", "messages": messages});
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "x", "arguments": "{}"}},
    ]});
    let object_call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "x", "arguments": {}}},
    ]});
    let result = json!({"role": "tool", "tool_call_id": "c2", "content": "r"});
    let messages = |messages: Value| json!({"model": "m", "max_tokens": 9, "messages": messages});
    let tool_use = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "x", "input": {}},
    ]});
    let tool_result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t2", "content": "r"},
    ]});
    let gemini_call = json!({"role": "model", "parts": [{"functionCall": {"name": "x"}}]});
    let gemini_user = json!({"role": "user", "parts": [{"text": "hi"}]});
    vec![
        (CHAT, json!({"messages": [user]}), "model"),
        (CHAT, chat(json!([])), "messages"),
        (CHAT, json!({"model": "m", "messages": [user], "stream_options": {}}), "stream_options"),
        (CHAT, json!({"model": "m", "messages": [user], "temperature": 3}), "temperature"),
        (CHAT, chat(json!([user, call])), "did not have response messages: c1"),
        (CHAT, chat(json!([user, call, user])), "did not have response messages: c1"),
        (CHAT, chat(json!([user, call, result])), "role 'tool'"),
        (CHAT, chat(json!([user, result])), "role 'tool'"),
        (CHAT, chat(json!([user, object_call])), "arguments"),
        (CHAT, chat(json!([{"role": "user"}])), "content"),
        (
            CHAT,
            json!({"model": "m", "messages": [user], "tools": [{"type": "function", "function": {"name": "a b"}}]}),
            "name",
        ),
        (RESPONSES, json!({"model": "m"}), "input"),
        (
            RESPONSES,
            json!({"model": "m", "input": [{"type": "function_call", "call_id": "c1"}]}),
            "No tool output found for function call c1",
        ),
        (
            RESPONSES,
            json!({"model": "m", "input": [{"type": "function_call_output", "call_id": "c1"}]}),
            "call_id c1",
        ),
        (MESSAGES, json!({"model": "m", "messages": [user]}), "max_tokens"),
        (MESSAGES, messages(json!([])), "at least one"),
        (MESSAGES, messages(json!([{"role": "system", "content": "x"}])), "role"),
        (MESSAGES, messages(json!([{"role": "assistant", "content": "x"}])), "first message"),
        (MESSAGES, messages(json!([{"role": "user", "content": ""}])), "non-empty"),
        (
            MESSAGES,
            messages(json!([{"role": "user", "content": [{"type": "text", "text": ""}]}])),
            "non-empty",
        ),
        (MESSAGES, messages(json!([user, tool_use])), "without `tool_result`"),
        (MESSAGES, messages(json!([user, tool_use, tool_result])), "without `tool_result`"),
        (MESSAGES, messages(json!([tool_result])), "unexpected `tool_use_id`"),
        (GEMINI, json!({"contents": []}), "contents is not specified"),
        (GEMINI, json!({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}), "role"),
        (GEMINI, json!({"contents": [{"role": "user", "parts": []}]}), "parts"),
        (
            GEMINI,
            json!({"contents": [gemini_user, gemini_call, gemini_user]}),
            "number of function response",
        ),
    ]
}

#[tokio::test]
async fn refused_and_no_rule_is_used_up() {
    let stub = Stub::start(Scenario::echo()).await.unwrap();
    for (path, body, expected) in wrong() {
        let (status, answer) = whole(&stub, path, &body).await;
        assert_eq!(status, 400, "{path} {body}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message:?} does not say {expected:?}");
    }
    assert!(stub.requests().iter().all(|request| request.rule.is_none()));
}

#[tokio::test]
async fn taken_when_the_scenario_is_lenient() {
    let stub = stub(&json!({"strict": false, "fallback": "echo", "rules": []})).await;
    for (path, body, _) in wrong() {
        assert_eq!(whole(&stub, path, &body).await.0, 200, "{path} {body}");
    }
}

#[tokio::test]
async fn anthropic_wants_to_know_the_version() {
    let stub = Stub::start(Scenario::echo()).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(format!("{}{MESSAGES}", stub.url())).json(&messages_body("hi"));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 400);
    assert!(response.text().await.unwrap().contains("anthropic-version"));
}
