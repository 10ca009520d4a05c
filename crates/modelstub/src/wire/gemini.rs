//! Gemini: `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.

use serde_json::{Value, json};

use super::{Asked, Delivery, Frame, Speaker, flat, id, items, text_of};
use crate::reply::{Answer, ToolCall, pieces};
use crate::scenario::{Stop, Tokens};

pub(super) fn read(asked: &mut Asked, path: &str, query: &str, body: &Value) {
    let (model, call) = call_of(path).unwrap_or_default();
    model.clone_into(&mut asked.model);
    if call == "streamGenerateContent" {
        let events = query.split('&').any(|pair| pair == "alt=sse");
        asked.delivery = if events { Delivery::Events } else { Delivery::Array };
    }
    let instruction = either(body, "systemInstruction", "system_instruction");
    asked.system = flat(&instruction["parts"]);
    for tool in items(&body["tools"]) {
        for function in items(either(tool, "functionDeclarations", "function_declarations")) {
            asked.offer(&function["name"]);
        }
    }
    for content in items(&body["contents"]) {
        let speaker = if content["role"] == "model" { Speaker::Assistant } else { Speaker::User };
        let mut texts = Vec::new();
        for part in items(&content["parts"]) {
            let result = either(part, "functionResponse", "function_response");
            if result.is_object() {
                asked.say(Speaker::Tool, result_text(&result["response"]));
            } else if part["text"].is_string() && part["thought"] != true {
                texts.push(text_of(&part["text"]));
            }
        }
        if !texts.is_empty() {
            asked.say(speaker, texts.join("\n"));
        }
    }
}

/// The model and what is asked of it, from the end of a path: `…/models/MODEL:CALL`.
pub(crate) fn call_of(path: &str) -> Option<(&str, &str)> {
    let (before, last) = path.rsplit_once('/')?;
    let of_models = before.ends_with("/models") || before == "models";
    last.split_once(':').filter(|_| of_models)
}

pub(super) fn whole(asked: &Asked, answer: &Answer) -> Value {
    let mut parts = Vec::new();
    if !answer.thinking.is_empty() {
        parts.push(json!({"text": answer.thinking, "thought": true}));
    }
    if !answer.text.is_empty() {
        parts.push(json!({"text": answer.text}));
    }
    parts.extend(call_parts(asked, &answer.calls));
    let mut response = response(asked, &json!(parts), &id("", 22));
    finish(&mut response, answer.stop);
    if let Some(tokens) = answer.usage {
        response["usageMetadata"] = usage(tokens);
    }
    response
}

pub(super) fn stream(asked: &Asked, answer: &Answer) -> Vec<Frame> {
    let response_id = id("", 22);
    let thoughts =
        pieces(&answer.thinking, answer.pace).map(|piece| json!({"text": piece, "thought": true}));
    let texts = pieces(&answer.text, answer.pace).map(|piece| json!({"text": piece}));
    let parts = thoughts.chain(texts).chain(call_parts(asked, &answer.calls));
    // Every chunk tells the cost so far.
    let so_far = answer.usage.map(|tokens| usage(Tokens { output: 0, ..tokens }));
    let mut frames = Vec::new();
    for part in parts {
        let mut response = response(asked, &json!([part]), &response_id);
        if let Some(usage) = &so_far {
            response["usageMetadata"] = usage.clone();
        }
        let frame = frame(asked, &response);
        frames.push(if part["thought"] == true { frame } else { frame.piece() });
    }
    // As the last piece is not known to be the last when it is sent, an empty one follows.
    let mut end = response(asked, &json!([{"text": ""}]), &response_id);
    finish(&mut end, answer.stop);
    if let Some(tokens) = answer.usage {
        end["usageMetadata"] = usage(tokens);
    }
    frames.push(frame(asked, &end));
    if asked.delivery == Delivery::Array {
        frames[0].text.replace_range(..ARRAY_NEXT.len(), "[");
        frames.push(Frame::new("\n]\n".to_owned()));
    }
    frames
}

/// A chunk of a stream. The service ends its lines with carriage returns.
pub(super) fn frame(asked: &Asked, data: &Value) -> Frame {
    match asked.delivery {
        Delivery::Array => Frame::new(format!("{ARRAY_NEXT}{data}")),
        Delivery::Whole | Delivery::Events | Delivery::EventsWithUsage => {
            Frame::new(format!("data: {data}\r\n\r\n"))
        }
    }
}

const ARRAY_NEXT: &str = "\n,\r\n";

fn response(asked: &Asked, parts: &Value, response_id: &str) -> Value {
    json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "modelVersion": asked.model,
        "responseId": response_id,
    })
}

fn finish(response: &mut Value, stop: Stop) {
    let reason = match stop {
        // Wanting a tool is no reason of its own here.
        Stop::Done | Stop::Tools => "STOP",
        Stop::Length => "MAX_TOKENS",
        Stop::Filtered => "SAFETY",
    };
    response["candidates"][0]["finishReason"] = json!(reason);
    if stop == Stop::Filtered {
        response["candidates"][0]["safetyRatings"] = json!([{
            "category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": true,
        }]);
    }
}

/// Models from 3 on give calls an id, and the first of them a signature that must be sent back.
fn call_parts(asked: &Asked, calls: &[ToolCall]) -> Vec<Value> {
    let signs = asked.model.starts_with("gemini-3");
    let part = |(at, call): (usize, &ToolCall)| {
        let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments}});
        if signs {
            part["functionCall"]["id"] = json!(id("", 8));
        }
        if signs && at == 0 {
            part["thoughtSignature"] = json!("c3R1YiBzaWduYXR1cmU=");
        }
        part
    };
    calls.iter().enumerate().map(part).collect()
}

fn usage(tokens: Tokens) -> Value {
    let Tokens { input, output, cached } = tokens;
    let mut usage = json!({
        "promptTokenCount": input,
        "totalTokenCount": input + output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": input}],
    });
    // Zeroes are left out, as everywhere in this format.
    if output > 0 {
        usage["candidatesTokenCount"] = json!(output);
    }
    if cached > 0 {
        usage["cachedContentTokenCount"] = json!(cached);
        usage["cacheTokensDetails"] = json!([{"modality": "TEXT", "tokenCount": cached}]);
    }
    usage
}

/// A result is an object; when all it has is one text, that is the result for a rule.
fn result_text(response: &Value) -> String {
    let only = response.as_object().filter(|fields| fields.len() == 1);
    match only.and_then(|fields| fields.values().next()) {
        Some(Value::String(text)) => text.clone(),
        _ => response.to_string(),
    }
}

/// Both spellings of a field are accepted by the service.
pub(crate) fn either<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a Value {
    value.get(camel).unwrap_or(&value[snake])
}
