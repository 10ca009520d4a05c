//! `OpenAI` responses: `POST /v1/responses`.
//!
//! Conversations that the service keeps (`previous_response_id`) are not kept here: only what is
//! in the request is looked at.

use serde_json::{Value, json};

use super::{Asked, Frame, FrameKind, Speaker, Tool, ToolKind, flat, id, items, now, text_of};
use crate::reply::{Answer, ToolCall, pieces};
use crate::scenario::{Pace, Stop, Tokens};

pub(super) fn read(asked: &mut Asked, body: &Value) {
    asked.read_stream(body);
    asked.system = flat(&body["instructions"]);
    for tool in items(&body["tools"]) {
        read_tool(asked, tool);
    }
    let input = &body["input"];
    if input.is_string() {
        asked.say(Speaker::User, text_of(input));
    }
    for item in items(input) {
        match item["type"].as_str().unwrap_or("message") {
            "message" => match item["role"].as_str() {
                Some("system" | "developer") => asked.instruct(&flat(&item["content"])),
                Some("assistant") => asked.say(Speaker::Assistant, flat(&item["content"])),
                _ => asked.say(Speaker::User, flat(&item["content"])),
            },
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                asked.say(Speaker::Tool, flat(&item["output"]));
            }
            _ => {}
        }
    }
}

/// Codex groups the tools of an MCP server, and offers some that take text.
fn read_tool(asked: &mut Asked, tool: &Value) {
    let name = text_of(&tool["name"]);
    match tool["type"].as_str() {
        Some("namespace") => {
            for inner in items(&tool["tools"]) {
                let inner = text_of(&inner["name"]);
                let kind = ToolKind::Grouped { group: name.clone(), name: inner.clone() };
                asked.tools.push(Tool { name: format!("{name}{inner}"), kind });
            }
        }
        Some("custom") => asked.tools.push(Tool { name, kind: ToolKind::Custom }),
        Some(other) if name.is_empty() => asked.offer(&json!(other)),
        _ => asked.tools.push(Tool { name, kind: ToolKind::Function }),
    }
}

pub(super) fn whole(asked: &Asked, answer: &Answer) -> Value {
    let output = outputs(answer).iter().map(Output::done).collect();
    ended(response(asked), output, answer)
}

pub(super) fn stream(asked: &Asked, answer: &Answer) -> Vec<Frame> {
    let response = response(asked);
    let mut events = Events { frames: Vec::new(), next: 0 };
    events.push("response.created", json!({"response": response}));
    events.push("response.in_progress", json!({"response": response}));
    let outputs = outputs(answer);
    for (index, output) in outputs.iter().enumerate() {
        let item = output.opening();
        events.push("response.output_item.added", json!({"output_index": index, "item": item}));
        match &output.content {
            Content::Thinking(text) => {
                stream_thinking(&mut events, index, &output.id, text, answer.pace);
            }
            Content::Text(text) => stream_text(&mut events, index, &output.id, text, answer.pace),
            Content::Call(call) => stream_call(&mut events, index, &output.id, call, answer.pace),
        }
        let item = output.done();
        events.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    let last = match status(answer.stop) {
        (_, None) => "response.completed",
        (_, Some(_)) => "response.incomplete",
    };
    let response = ended(response, outputs.iter().map(Output::done).collect(), answer);
    events.push(last, json!({"response": response}));
    events.frames
}

/// The last event of an answer that failed half-way.
pub(super) fn failed(asked: &Asked, error: &Value, frames: usize) -> Frame {
    let mut response = response(asked);
    let error = &error["error"];
    let code = error["code"].as_str().unwrap_or("server_error");
    response["status"] = json!("failed");
    response["error"] = json!({"code": code, "message": error["message"]});
    let event = json!({"type": "response.failed", "sequence_number": frames, "response": response});
    Frame::event("response.failed", &event)
}

struct Events {
    frames: Vec<Frame>,
    next: u64,
}

impl Events {
    fn push(&mut self, name: &str, mut data: Value) {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.next);
        self.next += 1;
        self.frames.push(Frame::event(name, &data));
    }

    fn push_piece(&mut self, name: &str, data: Value) {
        self.push(name, data);
        if let Some(frame) = self.frames.last_mut() {
            frame.kind = FrameKind::Piece;
        }
    }
}

fn stream_text(events: &mut Events, index: usize, item: &str, text: &str, pace: Pace) {
    let place = |mut data: Value| {
        data["item_id"] = json!(item);
        data["output_index"] = json!(index);
        data["content_index"] = json!(0);
        data
    };
    events.push("response.content_part.added", place(json!({"part": text_part("")})));
    for piece in pieces(text, pace) {
        let data = place(json!({"delta": piece, "logprobs": []}));
        events.push_piece("response.output_text.delta", data);
    }
    events.push("response.output_text.done", place(json!({"text": text, "logprobs": []})));
    events.push("response.content_part.done", place(json!({"part": text_part(text)})));
}

fn stream_thinking(events: &mut Events, index: usize, item: &str, text: &str, pace: Pace) {
    let place = |mut data: Value| {
        data["item_id"] = json!(item);
        data["output_index"] = json!(index);
        data["summary_index"] = json!(0);
        data
    };
    let part = |text: &str| json!({"part": {"type": "summary_text", "text": text}});
    events.push("response.reasoning_summary_part.added", place(part("")));
    for piece in pieces(text, pace) {
        events.push("response.reasoning_summary_text.delta", place(json!({"delta": piece})));
    }
    events.push("response.reasoning_summary_text.done", place(json!({"text": text})));
    events.push("response.reasoning_summary_part.done", place(part(text)));
}

fn stream_call(events: &mut Events, index: usize, item: &str, call: &ToolCall, pace: Pace) {
    let text = call.arguments_text();
    let (kind, field) = match call.kind {
        ToolKind::Custom => ("custom_tool_call_input", "input"),
        ToolKind::Function | ToolKind::Grouped { .. } => ("function_call_arguments", "arguments"),
    };
    for piece in pieces(&text, pace) {
        let data = json!({"item_id": item, "output_index": index, "delta": piece});
        events.push_piece(&format!("response.{kind}.delta"), data);
    }
    let mut done = json!({"item_id": item, "output_index": index});
    done[field] = json!(text);
    if call.kind != ToolKind::Custom {
        done["name"] = json!(call.name);
    }
    events.push(&format!("response.{kind}.done"), done);
}

/// An item of the output, with the ids that all its events share.
struct Output<'a> {
    id: String,
    call_id: String,
    content: Content<'a>,
}

enum Content<'a> {
    Thinking(&'a str),
    Text(&'a str),
    Call(&'a ToolCall),
}

fn outputs(answer: &Answer) -> Vec<Output<'_>> {
    let filled = |text| Some(text).filter(|text: &&str| !text.is_empty());
    let thinking = filled(answer.thinking.as_str()).map(Content::Thinking);
    let text = filled(answer.text.as_str()).map(Content::Text);
    let contents = thinking.into_iter().chain(text).chain(answer.calls.iter().map(Content::Call));
    let output = |content| {
        let prefix = match &content {
            Content::Thinking(_) => "rs_",
            Content::Text(_) => "msg_",
            Content::Call(call) if call.kind == ToolKind::Custom => "ctc_",
            Content::Call(_) => "fc_",
        };
        Output { id: id(prefix, 48), call_id: id("call_", 24), content }
    };
    contents.map(output).collect()
}

impl Output<'_> {
    fn opening(&self) -> Value {
        match &self.content {
            Content::Thinking(_) => self.thought(&json!([])),
            Content::Text(_) => self.message("in_progress", &json!([])),
            Content::Call(call) => self.call(call, "in_progress", ""),
        }
    }

    fn done(&self) -> Value {
        match &self.content {
            Content::Thinking(text) => {
                self.thought(&json!([{"type": "summary_text", "text": text}]))
            }
            Content::Text(text) => self.message("completed", &json!([text_part(text)])),
            Content::Call(call) => self.call(call, "completed", &call.arguments_text()),
        }
    }

    fn thought(&self, summary: &Value) -> Value {
        json!({"id": self.id, "type": "reasoning", "summary": summary})
    }

    fn message(&self, status: &str, content: &Value) -> Value {
        json!({
            "id": self.id, "type": "message", "status": status, "role": "assistant",
            "content": content,
        })
    }

    fn call(&self, call: &ToolCall, status: &str, arguments: &str) -> Value {
        let mut item = json!({
            "id": self.id, "type": "function_call", "status": status, "call_id": self.call_id,
            "name": call.name,
        });
        match &call.kind {
            ToolKind::Function => item["arguments"] = json!(arguments),
            ToolKind::Custom => {
                item["type"] = json!("custom_tool_call");
                item["input"] = json!(arguments);
            }
            ToolKind::Grouped { group, name } => {
                item["namespace"] = json!(group);
                item["name"] = json!(name);
                item["arguments"] = json!(arguments);
            }
        }
        item
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

/// The response before anything is said; what the request set is repeated in it.
fn response(asked: &Asked) -> Value {
    let given = |field: &str, default: Value| {
        asked.body.get(field).filter(|value| !value.is_null()).cloned().unwrap_or(default)
    };
    json!({
        "id": format!("resp_{}", asked.answer_id),
        "object": "response",
        "created_at": now(),
        "status": "in_progress",
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": given("instructions", Value::Null),
        "max_output_tokens": given("max_output_tokens", Value::Null),
        "max_tool_calls": null,
        "model": asked.model,
        "output": [],
        "parallel_tool_calls": given("parallel_tool_calls", json!(true)),
        "previous_response_id": given("previous_response_id", Value::Null),
        "prompt_cache_key": given("prompt_cache_key", Value::Null),
        "reasoning": {"effort": null, "summary": null},
        "safety_identifier": null,
        "service_tier": "default",
        "store": given("store", json!(true)),
        "temperature": given("temperature", json!(1.0)),
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": given("tool_choice", json!("auto")),
        "tools": given("tools", json!([])),
        "top_logprobs": 0,
        "top_p": given("top_p", json!(1.0)),
        "truncation": "disabled",
        "usage": null,
        "user": null,
        "metadata": given("metadata", json!({})),
    })
}

fn ended(mut response: Value, output: Value, answer: &Answer) -> Value {
    let (status, reason) = status(answer.stop);
    response["status"] = json!(status);
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({"reason": reason});
    }
    response["output"] = output;
    response["usage"] = answer.usage.map_or(Value::Null, usage);
    response
}

fn status(stop: Stop) -> (&'static str, Option<&'static str>) {
    match stop {
        Stop::Done | Stop::Tools => ("completed", None),
        Stop::Length => ("incomplete", Some("max_output_tokens")),
        Stop::Filtered => ("incomplete", Some("content_filter")),
    }
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens.input + tokens.output,
    })
}
