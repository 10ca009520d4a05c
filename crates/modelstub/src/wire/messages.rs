//! Anthropic messages: `POST /v1/messages`.

use serde_json::{Value, json};

use super::{Asked, Frame, Speaker, flat, id, items, text_of};
use crate::reply::{Answer, ToolCall, pieces};
use crate::scenario::{Stop, Tokens};

const SIGNATURE: &str = "c3R1YiBzaWduYXR1cmU=";
/// Claude Code puts such texts next to what the user said and to tool results.
const REMINDER: &str = "<system-reminder>";

pub(super) fn read(asked: &mut Asked, body: &Value) {
    asked.read_stream(body);
    asked.system = flat(&body["system"]);
    for tool in items(&body["tools"]) {
        asked.offer(&tool["name"]);
    }
    for message in items(&body["messages"]) {
        let speaker =
            if message["role"] == "assistant" { Speaker::Assistant } else { Speaker::User };
        let content = &message["content"];
        if content.is_string() {
            asked.say(speaker, text_of(content));
            continue;
        }
        let mut texts = Vec::new();
        for block in items(content) {
            match block["type"].as_str() {
                Some("tool_result") => asked.say(Speaker::Tool, flat(&block["content"])),
                Some("text") => texts.push(text_of(&block["text"])),
                _ => {}
            }
        }
        texts.retain(|text| !text.trim_start().starts_with(REMINDER));
        if !texts.is_empty() {
            asked.say(speaker, texts.join("\n"));
        }
    }
}

pub(super) fn whole(asked: &Asked, answer: &Answer) -> Value {
    let mut content = Vec::new();
    if !answer.thinking.is_empty() {
        let thinking = &answer.thinking;
        content.push(json!({"type": "thinking", "thinking": thinking, "signature": SIGNATURE}));
    }
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text}));
    }
    content.extend(answer.calls.iter().map(|call| tool_use(call, &call.arguments)));
    let mut message = message(asked);
    message["content"] = content.into();
    message["stop_reason"] = json!(stop_reason(answer.stop));
    if let Some(tokens) = answer.usage {
        message["usage"] = usage(tokens, tokens.output);
    }
    message
}

pub(super) fn stream(asked: &Asked, answer: &Answer) -> Vec<Frame> {
    let event = |data: &Value| Frame::event(data["type"].as_str().unwrap_or_default(), data);
    let mut start = message(asked);
    start["content"] = json!([]);
    if let Some(tokens) = answer.usage {
        start["usage"] = usage(tokens, tokens.output.min(1));
    }
    let mut frames = vec![event(&json!({"type": "message_start", "message": start}))];

    let mut index = 0;
    let mut block = |frames: &mut Vec<Frame>, opening: Value, deltas: Vec<Value>| {
        let start =
            json!({"type": "content_block_start", "index": index, "content_block": opening});
        frames.push(event(&start));
        if index == 0 {
            frames.push(event(&json!({"type": "ping"})));
        }
        for delta in deltas {
            let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
            let frame = event(&data);
            let said = delta["text"].is_string() || delta["partial_json"].as_str() > Some("");
            frames.push(if said { frame.piece() } else { frame });
        }
        frames.push(event(&json!({"type": "content_block_stop", "index": index})));
        index += 1;
    };
    if !answer.thinking.is_empty() {
        let delta = |piece| json!({"type": "thinking_delta", "thinking": piece});
        let signature = json!({"type": "signature_delta", "signature": SIGNATURE});
        let deltas = pieces(&answer.thinking, answer.pace).map(delta).chain([signature]).collect();
        let opening = json!({"type": "thinking", "thinking": "", "signature": ""});
        block(&mut frames, opening, deltas);
    }
    if !answer.text.is_empty() {
        let delta = |piece| json!({"type": "text_delta", "text": piece});
        let deltas = pieces(&answer.text, answer.pace).map(delta).collect();
        block(&mut frames, json!({"type": "text", "text": ""}), deltas);
    }
    for call in &answer.calls {
        let delta = |piece| json!({"type": "input_json_delta", "partial_json": piece});
        let arguments = call.arguments_text();
        // The service begins with an empty one.
        let deltas = std::iter::once("").chain(pieces(&arguments, answer.pace)).map(delta);
        block(&mut frames, tool_use(call, &json!({})), deltas.collect());
    }

    let delta = json!({"stop_reason": stop_reason(answer.stop), "stop_sequence": null});
    let mut end = json!({"type": "message_delta", "delta": delta});
    if let Some(tokens) = answer.usage {
        let Tokens { input, output, cached } = tokens;
        end["usage"] = json!({
            "input_tokens": input - cached, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached, "output_tokens": output,
        });
    }
    frames.push(event(&end));
    frames.push(event(&json!({"type": "message_stop"})));
    frames
}

fn message(asked: &Asked) -> Value {
    json!({
        "id": id("msg_01", 22),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "stop_reason": null,
        "stop_sequence": null,
    })
}

fn tool_use(call: &ToolCall, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id("toolu_01", 22), "name": call.name, "input": input})
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Done => "end_turn",
        Stop::Length => "max_tokens",
        Stop::Filtered => "refusal",
        Stop::Tools => "tool_use",
    }
}

/// Here the input is counted without what came from the cache.
fn usage(tokens: Tokens, output: u64) -> Value {
    json!({
        "input_tokens": tokens.input - tokens.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    })
}
