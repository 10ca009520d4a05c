//! `OpenAI` chat completions.

use serde_json::{Value, json};

use crate::client::{CHAT, chat_body, events, redact, replying, streaming, whole};

const USAGE: [u64; 3] = [100, 7, 64];

fn usage_reply(mut reply: Value) -> Value {
    reply["usage"] = json!({"input": USAGE[0], "output": USAGE[1], "cached": USAGE[2]});
    reply
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({
        "id": "chatcmpl-…", "object": "chat.completion.chunk", "created": 0, "model": "gpt-4o",
        "service_tier": "default", "system_fingerprint": "fp_50cad350e4",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    })
}

#[tokio::test]
async fn plain() {
    let stub = replying(usage_reply(json!({"text": "Hello"}))).await;
    let (status, body) = whole(&stub, CHAT, &chat_body("hi")).await;
    assert_eq!(status, 200);
    let expected = json!({
        "id": "chatcmpl-…", "object": "chat.completion", "created": 0, "model": "gpt-4o",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": "Hello", "refusal": null, "annotations": []},
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": usage(),
        "service_tier": "default", "system_fingerprint": "fp_50cad350e4",
    });
    assert_eq!(redact(body), expected);
}

#[tokio::test]
async fn stream() {
    let stub = replying(json!({"text": "Hello you", "chunk": 5})).await;
    let events = events(&stub, CHAT, &streaming(chat_body("hi"))).await;
    let data: Vec<Value> = events.iter().map(|(_, data)| redact(data.clone())).collect();
    let nothing = Value::Null;
    let expected = [
        chunk(&json!({"role": "assistant", "content": "", "refusal": null}), &nothing),
        chunk(&json!({"content": "Hello"}), &nothing),
        chunk(&json!({"content": " you"}), &nothing),
        chunk(&json!({}), &json!("stop")),
        json!("[DONE]"),
    ];
    assert_eq!(data, expected);
    assert!(events.iter().all(|(name, _)| name.is_empty()), "events have no names here");
    let ids = events.iter().filter_map(|(_, data)| data["id"].as_str());
    assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 1);
}

#[tokio::test]
async fn stream_with_usage() {
    let stub = replying(usage_reply(json!({"text": "Hello"}))).await;
    let mut body = streaming(chat_body("hi"));
    body["stream_options"] = json!({"include_usage": true});
    let events = events(&stub, CHAT, &body).await;
    let [before @ .., last, done] = events.as_slice() else { panic!("{events:?}") };
    assert!(before.iter().all(|(_, data)| data.get("usage") == Some(&Value::Null)));
    assert_eq!(last.1["choices"], json!([]));
    assert_eq!(last.1["usage"], usage());
    assert_eq!(done.1, "[DONE]");
}

#[tokio::test]
async fn stream_that_reports_no_usage_though_asked() {
    let stub = replying(json!({"text": "Hello", "usage": "none"})).await;
    let mut body = streaming(chat_body("hi"));
    body["stream_options"] = json!({"include_usage": true});
    let events = events(&stub, CHAT, &body).await;
    assert!(events.iter().all(|(_, data)| data["usage"].is_null()));
    let (_, body) = whole(&stub, CHAT, &chat_body("hi")).await;
    assert!(body.get("usage").is_none());
}

#[tokio::test]
async fn tool_call() {
    let stub =
        replying(json!({"tool_calls": [{"name": "weather", "arguments": {"city": "Kyiv"}}]})).await;
    let (_, body) = whole(&stub, CHAT, &chat_body("hi")).await;
    let body = redact(body);
    assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(
        body["choices"][0]["message"],
        json!({
            "role": "assistant", "content": null, "refusal": null, "annotations": [],
            "tool_calls": [{
                "id": "call_…", "type": "function",
                "function": {"name": "weather", "arguments": "{\"city\":\"Kyiv\"}"},
            }],
        })
    );
}

#[tokio::test]
async fn streamed_tool_calls() {
    let stub = replying(json!({"text": "So.", "chunk": 8, "tool_calls": [
        {"name": "weather", "arguments": {"city": "Kyiv"}},
        {"name": "clock"},
    ]}))
    .await;
    let events = events(&stub, CHAT, &streaming(chat_body("hi"))).await;
    let deltas: Vec<Value> =
        events.iter().map(|(_, data)| redact(data["choices"][0]["delta"].clone())).collect();
    let call = |index: u32, call: Value| {
        let mut call = call;
        call["index"] = json!(index);
        json!({"tool_calls": [call]})
    };
    let opening = |name: &str| json!({"id": "call_…", "type": "function", "function": {"name": name, "arguments": ""}});
    let more = |text: &str| json!({"function": {"arguments": text}});
    let expected = [
        json!({"role": "assistant", "content": "", "refusal": null}),
        json!({"content": "So."}),
        call(0, opening("weather")),
        call(0, more("{\"city\":")),
        call(0, more("\"Kyiv\"}")),
        call(1, opening("clock")),
        call(1, more("{}")),
        json!({}),
        Value::Null,
    ];
    assert_eq!(deltas, expected);
    assert_eq!(events[7].1["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn ways_to_stop() {
    for (stop, reason) in [("length", "length"), ("filtered", "content_filter"), ("done", "stop")] {
        let stub = replying(json!({"text": "Hello", "stop": stop})).await;
        let (_, body) = whole(&stub, CHAT, &chat_body("hi")).await;
        assert_eq!(body["choices"][0]["finish_reason"], reason);
    }
}
