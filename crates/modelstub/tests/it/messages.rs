//! Anthropic messages.

use serde_json::{Value, json};

use crate::client::{MESSAGES, events, messages_body, redact, replying, streaming, whole};

fn usage(output: u64) -> Value {
    json!({
        "input_tokens": 36, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 64,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output, "service_tier": "standard",
    })
}

#[tokio::test]
async fn plain() {
    let stub =
        replying(json!({"text": "Hello", "usage": {"input": 100, "output": 7, "cached": 64}}))
            .await;
    let (status, body) = whole(&stub, MESSAGES, &messages_body("hi")).await;
    assert_eq!(status, 200);
    let expected = json!({
        "id": "msg_…", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": usage(7),
    });
    assert_eq!(redact(body), expected);
}

#[tokio::test]
async fn stream_with_usage() {
    let reply = json!({
        "text": "Hello you", "chunk": 5, "usage": {"input": 100, "output": 7, "cached": 64},
    });
    let stub = replying(reply).await;
    // As Claude Code asks.
    let events = events(&stub, "/v1/messages?beta=true", &streaming(messages_body("hi"))).await;
    for (name, data) in &events {
        assert_eq!(data["type"], name.as_str());
    }
    let data: Vec<Value> = events.into_iter().map(|(_, data)| redact(data)).collect();
    let delta = |text: &str| {
        json!({
            "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text},
        })
    };
    let expected = [
        json!({"type": "message_start", "message": {
            "id": "msg_…", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(1),
        }}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        delta("Hello"),
        delta(" you"),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {
                "input_tokens": 36, "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 64, "output_tokens": 7,
            },
        }),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(data, expected);
}

#[tokio::test]
async fn tool_call() {
    let reply = json!({
        "text": "So.", "tool_calls": [{"name": "weather", "arguments": {"city": "Kyiv"}}],
    });
    let stub = replying(reply).await;
    let (_, body) = whole(&stub, MESSAGES, &messages_body("hi")).await;
    let body = redact(body);
    assert_eq!(body["stop_reason"], "tool_use");
    assert_eq!(
        body["content"],
        json!([
            {"type": "text", "text": "So."},
            {"type": "tool_use", "id": "toolu_…", "name": "weather", "input": {"city": "Kyiv"}},
        ])
    );
}

#[tokio::test]
async fn streamed_tool_call() {
    let reply = json!({
        "text": "So.", "chunk": 8, "tool_calls": [{"name": "weather", "arguments": {"city": "Kyiv"}}],
    });
    let stub = replying(reply).await;
    let events = events(&stub, MESSAGES, &streaming(messages_body("hi"))).await;
    let data: Vec<Value> = events.into_iter().map(|(_, data)| redact(data)).collect();
    let delta = |text: &str| {
        json!({
            "type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": text},
        })
    };
    let call = json!({"type": "tool_use", "id": "toolu_…", "name": "weather", "input": {}});
    let expected = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": call}),
        delta(""),
        delta("{\"city\":"),
        delta("\"Kyiv\"}"),
        json!({"type": "content_block_stop", "index": 1}),
    ];
    assert_eq!(data[4..10], expected);
    assert_eq!(data[10]["delta"]["stop_reason"], "tool_use");
}

#[tokio::test]
async fn ways_to_stop() {
    for (stop, reason) in [("length", "max_tokens"), ("filtered", "refusal"), ("done", "end_turn")]
    {
        let stub = replying(json!({"text": "Hello", "stop": stop})).await;
        let (_, body) = whole(&stub, MESSAGES, &messages_body("hi")).await;
        assert_eq!(body["stop_reason"], reason);
    }
}

#[tokio::test]
async fn no_usage() {
    let stub = replying(json!({"text": "Hello", "usage": "none"})).await;
    let (_, body) = whole(&stub, MESSAGES, &messages_body("hi")).await;
    assert!(body.get("usage").is_none());
    let events = events(&stub, MESSAGES, &streaming(messages_body("hi"))).await;
    assert!(events.iter().all(|(_, data)| data.get("usage").is_none()));
    assert!(events[0].1["message"].get("usage").is_none());
}
