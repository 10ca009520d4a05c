//! A client that asks in every format and takes streams apart.

use artel_modelstub::{Scenario, Stub};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

pub(crate) async fn stub(scenario: &Value) -> Stub {
    Stub::start(Scenario::parse(&scenario.to_string()).unwrap()).await.unwrap()
}

/// A stub with one rule that always answers so.
pub(crate) async fn replying(reply: Value) -> Stub {
    stub(&json!({"rules": [{"name": "always", "reply": reply}]})).await
}

pub(crate) async fn failing(fault: Value) -> Stub {
    stub(&json!({"rules": [{"fault": fault}]})).await
}

pub(crate) fn post(stub: &Stub, path: &str, body: &Value) -> RequestBuilder {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client
        .post(format!("{}{path}", stub.url()))
        .header("anthropic-version", "2023-06-01")
        .json(body)
}

pub(crate) async fn get(stub: &Stub, path: &str) -> (StatusCode, Value) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = client.get(format!("{}{path}", stub.url())).send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

pub(crate) async fn whole(stub: &Stub, path: &str, body: &Value) -> (StatusCode, Value) {
    let response = post(stub, path, body).send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

/// The events of a stream: their names, empty if they have none, and their data.
pub(crate) async fn events(stub: &Stub, path: &str, body: &Value) -> Vec<(String, Value)> {
    let response = post(stub, path, body).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("text/event-stream"), "{kind}");
    parse(&response.text().await.unwrap())
}

pub(crate) fn parse(text: &str) -> Vec<(String, Value)> {
    let text = text.replace("\r\n", "\n");
    let blocks = text.strip_suffix("\n\n").expect("the last event ends").split("\n\n");
    let event = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let data = field("data: ").expect("every event has data");
        let data = serde_json::from_str(data).unwrap_or_else(|_| json!(data));
        (field("event: ").unwrap_or_default().to_owned(), data)
    };
    blocks.map(event).collect()
}

/// What arrives of a body until it ends or breaks off.
pub(crate) async fn until_broken(mut response: Response) -> (String, Result<(), reqwest::Error>) {
    let mut text = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => text.extend_from_slice(&chunk),
            Ok(None) => return (String::from_utf8_lossy(&text).into_owned(), Ok(())),
            Err(error) => return (String::from_utf8_lossy(&text).into_owned(), Err(error)),
        }
    }
}

/// Replaces what is different every time: ids, times.
pub(crate) fn redact(mut value: Value) -> Value {
    redact_in(&mut value);
    value
}

fn redact_in(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let is_id = ["id", "call_id", "item_id", "responseId", "request_id"]
                    .contains(&key.as_str());
                if let Some(text) = value.as_str().filter(|_| is_id) {
                    let prefix =
                        text.split_inclusive(['_', '-']).next().filter(|part| *part != text);
                    *value = json!(format!("{}…", prefix.unwrap_or_default()));
                } else if ["created", "created_at"].contains(&key.as_str()) && value.is_u64() {
                    *value = json!(0);
                } else {
                    redact_in(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_in),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(crate) fn chat_body(text: &str) -> Value {
    json!({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]})
}

pub(crate) fn responses_body(text: &str) -> Value {
    json!({"model": "gpt-5", "input": text})
}

pub(crate) fn messages_body(text: &str) -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": text}]})
}

pub(crate) fn gemini_body(text: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": text}]}]})
}

pub(crate) fn streaming(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body
}

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const RESPONSES: &str = "/v1/responses";
pub(crate) const MESSAGES: &str = "/v1/messages";
pub(crate) const GEMINI: &str = "/v1beta/models/gemini-2.5-flash:generateContent";
pub(crate) const GEMINI_STREAM: &str =
    "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse";

/// Every format, streaming: path and body.
pub(crate) fn all_streams(text: &str) -> [(&'static str, Value); 4] {
    [
        (CHAT, streaming(chat_body(text))),
        (RESPONSES, streaming(responses_body(text))),
        (MESSAGES, streaming(messages_body(text))),
        (GEMINI_STREAM, gemini_body(text)),
    ]
}

/// Every format, whole.
pub(crate) fn all_whole(text: &str) -> [(&'static str, Value); 4] {
    [
        (CHAT, chat_body(text)),
        (RESPONSES, responses_body(text)),
        (MESSAGES, messages_body(text)),
        (GEMINI, gemini_body(text)),
    ]
}
