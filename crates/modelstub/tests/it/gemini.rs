//! Gemini generateContent.

use serde_json::{Value, json};

use crate::client::{GEMINI, GEMINI_STREAM, events, gemini_body, post, redact, replying, whole};

fn usage() -> Value {
    json!({
        "promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 107,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
        "cachedContentTokenCount": 64,
        "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 64}],
    })
}

fn usage_so_far() -> Value {
    let mut usage = usage();
    usage["totalTokenCount"] = json!(100);
    usage.as_object_mut().unwrap().remove("candidatesTokenCount");
    usage
}

fn response(part: &Value, usage: &Value) -> Value {
    json!({
        "candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "…",
    })
}

fn ended(mut response: Value, reason: &str) -> Value {
    response["candidates"][0]["finishReason"] = json!(reason);
    response
}

fn reply() -> Value {
    json!({"text": "Hello you", "chunk": 5, "usage": {"input": 100, "output": 7, "cached": 64}})
}

#[tokio::test]
async fn plain() {
    let stub = replying(reply()).await;
    let (status, body) = whole(&stub, GEMINI, &gemini_body("hi")).await;
    assert_eq!(status, 200);
    assert_eq!(redact(body), ended(response(&json!({"text": "Hello you"}), &usage()), "STOP"));
}

#[tokio::test]
async fn stream_with_usage() {
    let stub = replying(reply()).await;
    let events = events(&stub, GEMINI_STREAM, &gemini_body("hi")).await;
    assert!(events.iter().all(|(name, _)| name.is_empty()));
    let data: Vec<Value> = events.into_iter().map(|(_, data)| redact(data)).collect();
    let expected = [
        response(&json!({"text": "Hello"}), &usage_so_far()),
        response(&json!({"text": " you"}), &usage_so_far()),
        ended(response(&json!({"text": ""}), &usage()), "STOP"),
    ];
    assert_eq!(data, expected);
}

#[tokio::test]
async fn stream_lines_end_with_carriage_returns() {
    let stub = replying(reply()).await;
    let response = post(&stub, GEMINI_STREAM, &gemini_body("hi")).send().await.unwrap();
    let text = response.text().await.unwrap();
    assert_eq!(text.matches("\r\n\r\n").count(), 3, "{text}");
    assert_eq!(text.matches('\n').count(), 6, "{text}");
}

#[tokio::test]
async fn stream_as_an_array() {
    let stub = replying(reply()).await;
    let path = "/v1beta/models/gemini-2.5-flash:streamGenerateContent";
    let (status, body) = whole(&stub, path, &gemini_body("hi")).await;
    assert_eq!(status, 200);
    assert_eq!(body.as_array().unwrap().len(), 3);
    assert_eq!(body[2]["candidates"][0]["finishReason"], "STOP");
}

#[tokio::test]
async fn tool_call() {
    let reply = json!({
        "text": "So.", "tool_calls": [{"name": "weather", "arguments": {"city": "Kyiv"}}],
    });
    let stub = replying(reply).await;
    let (_, body) = whole(&stub, GEMINI, &gemini_body("hi")).await;
    assert_eq!(body["candidates"][0]["finishReason"], "STOP");
    let call = json!({"functionCall": {"name": "weather", "args": {"city": "Kyiv"}}});
    assert_eq!(body["candidates"][0]["content"]["parts"], json!([{"text": "So."}, call]));

    let events = events(&stub, GEMINI_STREAM, &gemini_body("hi")).await;
    assert_eq!(events[1].1["candidates"][0]["content"]["parts"], json!([call]));
    assert_eq!(events.len(), 3);
}

#[tokio::test]
async fn newer_models_sign_their_calls() {
    let stub = replying(json!({"tool_calls": [{"name": "a"}, {"name": "b"}]})).await;
    let path = "/v1beta/models/gemini-3-pro-preview:generateContent";
    let (_, body) = whole(&stub, path, &gemini_body("hi")).await;
    let parts = &body["candidates"][0]["content"]["parts"];
    assert!(
        parts[0]["functionCall"]["id"].is_string() && parts[1]["functionCall"]["id"].is_string()
    );
    assert!(parts[0]["thoughtSignature"].is_string() && parts[1]["thoughtSignature"].is_null());
}

#[tokio::test]
async fn ways_to_stop() {
    for (stop, reason) in [("length", "MAX_TOKENS"), ("filtered", "SAFETY"), ("done", "STOP")] {
        let stub = replying(json!({"text": "Hello", "stop": stop})).await;
        let (_, body) = whole(&stub, GEMINI, &gemini_body("hi")).await;
        assert_eq!(body["candidates"][0]["finishReason"], reason);
    }
}

#[tokio::test]
async fn no_usage() {
    let stub = replying(json!({"text": "Hello", "usage": "none"})).await;
    let (_, body) = whole(&stub, GEMINI, &gemini_body("hi")).await;
    assert!(body.get("usageMetadata").is_none());
    let events = events(&stub, GEMINI_STREAM, &gemini_body("hi")).await;
    assert!(events.iter().all(|(_, data)| data.get("usageMetadata").is_none()));
}
