//! `OpenAI` chat completions: `POST /v1/chat/completions`.

use serde_json::{Value, json};

use super::{Asked, Delivery, Frame, Speaker, flat, id, items, now};
use crate::reply::{Answer, ToolCall, pieces};
use crate::scenario::{Stop, Tokens};

pub(super) fn read(asked: &mut Asked, body: &Value) {
    asked.read_stream(body);
    if asked.delivery == Delivery::Events && body["stream_options"]["include_usage"] == true {
        asked.delivery = Delivery::EventsWithUsage;
    }
    for tool in items(&body["tools"]) {
        asked.offer(&tool["function"]["name"]);
    }
    for message in items(&body["messages"]) {
        let text = flat(&message["content"]);
        match message["role"].as_str() {
            Some("system" | "developer") => asked.instruct(&text),
            Some("user") => asked.say(Speaker::User, text),
            Some("tool" | "function") => asked.say(Speaker::Tool, text),
            _ => asked.say(Speaker::Assistant, text),
        }
    }
}

pub(super) fn whole(asked: &Asked, answer: &Answer) -> Value {
    let content = if answer.text.is_empty() { Value::Null } else { json!(answer.text) };
    let mut message = json!({
        "role": "assistant", "content": content, "refusal": null, "annotations": [],
    });
    if !answer.calls.is_empty() {
        message["tool_calls"] = answer.calls.iter().map(whole_call).collect();
    }
    if !answer.thinking.is_empty() {
        message[THINKING] = json!(answer.thinking);
    }
    let mut completion = json!({
        "id": id("chatcmpl-", 29),
        "object": "chat.completion",
        "created": now(),
        "model": asked.model,
        "choices": [{
            "index": 0, "message": message, "logprobs": null, "finish_reason": finish(answer.stop),
        }],
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    });
    if let Some(tokens) = answer.usage {
        completion["usage"] = usage(tokens);
    }
    completion
}

pub(super) fn stream(asked: &Asked, answer: &Answer) -> Vec<Frame> {
    let with_usage = asked.delivery == Delivery::EventsWithUsage;
    let mut base = json!({
        "id": id("chatcmpl-", 29),
        "object": "chat.completion.chunk",
        "created": now(),
        "model": asked.model,
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    });
    if with_usage {
        base["usage"] = Value::Null;
    }
    let chunk = |delta: Value, finish: Value| {
        let mut chunk = base.clone();
        chunk["choices"] =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        Frame::data(&chunk)
    };

    let content = if answer.text.is_empty() { Value::Null } else { json!("") };
    let opening = json!({"role": "assistant", "content": content, "refusal": null});
    let mut frames = vec![chunk(opening, Value::Null)];
    for piece in pieces(&answer.thinking, answer.pace) {
        frames.push(chunk(json!({THINKING: piece}), Value::Null));
    }
    for piece in pieces(&answer.text, answer.pace) {
        frames.push(chunk(json!({"content": piece}), Value::Null).piece());
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let opening = json!({
            "index": index, "id": id("call_", 24), "type": "function",
            "function": {"name": call.name, "arguments": ""},
        });
        frames.push(chunk(json!({"tool_calls": [opening]}), Value::Null));
        for piece in pieces(&call.arguments_text(), answer.pace) {
            let delta = json!({"index": index, "function": {"arguments": piece}});
            frames.push(chunk(json!({"tool_calls": [delta]}), Value::Null).piece());
        }
    }
    frames.push(chunk(json!({}), json!(finish(answer.stop))));
    if let Some(tokens) = answer.usage.filter(|_| with_usage) {
        base["choices"] = json!([]);
        base["usage"] = usage(tokens);
        frames.push(Frame::data(&base));
    }
    frames.push(Frame::new("data: [DONE]\n\n".to_owned()));
    frames
}

/// Not a field of `OpenAI` itself, but of most services that speak its format.
const THINKING: &str = "reasoning_content";
const FINGERPRINT: &str = "fp_50cad350e4";

fn whole_call(call: &ToolCall) -> Value {
    json!({
        "id": id("call_", 24),
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_text()},
    })
}

fn finish(stop: Stop) -> &'static str {
    match stop {
        Stop::Done => "stop",
        Stop::Length => "length",
        Stop::Filtered => "content_filter",
        Stop::Tools => "tool_calls",
    }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}
