//! `OpenAI`'s chat completions and embeddings, and every service that speaks them: Ollama, vLLM, llama.cpp, LM Studio, `OpenRouter`.
//!
//! The model is done when it gives its finish reason. Usage follows in a frame of its own, where the service knows
//! `stream_options`; where it does not come, it is estimated.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::chat::{ChatModel, Error, Message, Request, Stop, Usage};
use super::fault::{Kind, Told};
use super::http::{Bad, Endpoint, Http, KeyIn};
use super::sse::Frame;
use super::wire::{self, Call, Dialect, Pieces};

pub const BASE: &str = "https://api.openai.com/v1";

/// Models by the beginning of their name that want other parameters; the first that fits counts.
const QUIRKS: &[(&str, Quirks)] = &[
    ("gpt-6", Quirks { effort_with_tools: Some("none"), ..REASONING }),
    ("gpt-5", REASONING),
    ("o1", REASONING),
    ("o3", REASONING),
    ("o4", REASONING),
];
const REASONING: Quirks =
    Quirks { limit: "max_completion_tokens", temperature: false, effort_with_tools: None };
/// What every other model and compatible service knows.
const USUAL: Quirks = Quirks { limit: "max_tokens", temperature: true, effort_with_tools: None };

#[derive(Debug, Clone, Copy)]
struct Quirks {
    /// The name of the limit on tokens.
    limit: &'static str,
    /// Whether it takes a temperature.
    temperature: bool,
    /// Tools are refused here unless the effort of reasoning is this.
    effort_with_tools: Option<&'static str>,
}

/// A service that speaks chat completions.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
}

impl OpenAi {
    /// `base` ends before `/chat/completions`. Local services want no key.
    pub fn new(http: Http, base: &str, key: Option<SecretString>) -> Result<Self, Bad> {
        Ok(Self { endpoint: Endpoint::new(http, base, key, KeyIn::Bearer)? })
    }

    pub fn host(&self) -> &str {
        self.endpoint.host()
    }

    /// The answer to a request for embeddings, within this time.
    pub(crate) async fn embeddings(&self, body: Value, within: Duration) -> Result<Bytes, Error> {
        let call = Call { path: "/embeddings", header: None, body };
        wire::ask_whole::<Chunks>(&self.endpoint, call, within).await
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    async fn ask(&self, request: Request) -> Result<Pieces, Error> {
        let call = Call { path: "/chat/completions", header: None, body: body(&request) };
        wire::ask(&self.endpoint, call, &request, Chunks).await
    }
}

fn body(request: &Request) -> Value {
    let quirks = quirks(&request.model);
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    messages.extend(request.messages.iter().map(message));
    let mut body = Map::from_iter([
        ("model".to_owned(), json!(request.model)),
        ("messages".to_owned(), Value::Array(messages)),
        ("stream".to_owned(), json!(true)),
        ("stream_options".to_owned(), json!({ "include_usage": true })),
        (quirks.limit.to_owned(), json!(request.max_tokens)),
    ]);
    if quirks.temperature {
        body.insert("temperature".to_owned(), json!(request.temperature));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({ "type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            }})
        });
        body.insert("tools".to_owned(), tools.collect());
        if let Some(name) = &request.must_call {
            let choice = json!({ "type": "function", "function": { "name": name } });
            body.insert("tool_choice".to_owned(), choice);
        }
        if let Some(effort) = quirks.effort_with_tools {
            body.insert("reasoning_effort".to_owned(), json!(effort));
        }
    }
    Value::Object(body)
}

fn quirks(model: &str) -> Quirks {
    // Behind a router the model has its maker's name before it.
    let name = model.rsplit('/').next().unwrap_or(model);
    let found = QUIRKS.iter().find(|(prefix, _)| name.starts_with(prefix));
    found.map_or(USUAL, |(_, quirks)| *quirks)
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    // Arguments are a text with JSON in it.
                    let arguments = Value::Object(call.arguments.clone()).to_string();
                    json!({ "id": call.id, "type": "function", "function": {
                        "name": call.name, "arguments": arguments,
                    }})
                })
                .collect();
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        // There is no field for failure; the text of the result says it.
        Message::ToolResult { id, content, name: _, failed: _ } => {
            json!({ "role": "tool", "tool_call_id": id, "content": content })
        }
    }
}

/// Reads chunks.
struct Chunks;

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
    // How compatible services show what a model thinks.
    reasoning: Option<Value>,
    reasoning_content: Option<Value>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: u64,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the service's names")]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptTokens>,
}

#[derive(Deserialize)]
struct PromptTokens {
    cached_tokens: Option<u64>,
}

impl Dialect for Chunks {
    fn told(_status: u16, body: &Value) -> Told {
        // Compatible services put the error into `error`, into a text, or at the top.
        let error = body.get("error").unwrap_or(body);
        let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or("");
        let message = error.as_str().unwrap_or_else(|| field("message"));
        let quota = ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];
        let key = ["invalid_api_key"];
        let is = |names: &[&str]| names.contains(&field("code")) || names.contains(&field("type"));
        let kind = match () {
            () if is(&quota) => Kind::Quota,
            () if is(&key) => Kind::Key,
            () => Kind::ByStatus,
        };
        Told { kind, message: message.to_owned(), after: None }
    }

    fn read(&mut self, frame: &Frame, answer: &mut Answer) -> Result<(), Error> {
        if frame.data.trim() == "[DONE]" {
            answer.mark_end();
            return Ok(());
        }
        let chunk: Chunk = wire::parse(&frame.data)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(wire::told::<Self>(status(&error), &error));
        }
        if let Some(usage) = chunk.usage {
            let details = usage.prompt_tokens_details;
            answer.usage(Usage {
                input: usage.prompt_tokens,
                cached: details.and_then(|details| details.cached_tokens).unwrap_or(0),
                output: usage.completion_tokens,
                estimated: false,
            });
        }
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            if let Some(delta) = choice.delta {
                read_delta(delta, answer)?;
            }
            match choice.finish_reason.as_deref() {
                None => {}
                Some("length") => answer.stop(Stop::Length),
                Some("content_filter") => answer.stop(Stop::Filtered),
                Some("tool_calls" | "function_call") => answer.stop(Stop::Tools),
                // A refusal ends with `stop` like any answer.
                Some(_) if answer.has_stopped() => {}
                Some(_) => answer.stop(Stop::Done),
            }
        }
        Ok(())
    }
}

/// The status that an error in the middle of a stream would have had; some services give it as the code.
fn status(error: &Value) -> u16 {
    if let Some(code) = error.get("code").and_then(Value::as_u64) {
        return u16::try_from(code).unwrap_or(500);
    }
    let is = |name: &str| error["type"] == name || error["code"] == name;
    match () {
        () if is("rate_limit_exceeded") => 429,
        () if is("invalid_request_error") => 400,
        () => 500,
    }
}

fn read_delta(delta: Delta, answer: &mut Answer) -> Result<(), Error> {
    if let Some(text) = delta.content {
        answer.text(&text);
    }
    if let Some(text) = delta.refusal.filter(|text| !text.is_empty()) {
        answer.text(&text);
        answer.stop(Stop::Filtered);
    }
    if delta.reasoning.or(delta.reasoning_content).is_some_and(|thought| !thought.is_null()) {
        answer.thought();
    }
    for call in delta.tool_calls.into_iter().flatten() {
        let function = call.function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let id = call.id.unwrap_or_default();
        answer.call(call.index, &id, &function.name.unwrap_or_default())?;
        answer.arguments(call.index, &function.arguments.unwrap_or_default())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(model: &str) -> Request {
        Request {
            model: model.to_owned(),
            system: String::new(),
            messages: vec![Message::User("hello".to_owned())],
            tools: Vec::new(),
            must_call: None,
            temperature: 0.7,
            max_tokens: 100,
            first_piece: Duration::from_secs(1),
            silence: Duration::from_secs(1),
        }
    }

    #[test]
    fn reasoning_models_get_the_parameters_they_take() {
        let usual = body(&request("gpt-4o"));
        assert_eq!((&usual["temperature"], &usual["max_tokens"]), (&json!(0.7), &json!(100)));
        for model in ["o3-mini", "gpt-5", "gpt-5.2-pro", "openai/gpt-5-mini", "gpt-6-sol"] {
            let body = body(&request(model));
            assert_eq!(body["max_completion_tokens"], 100, "{model}");
            assert!(body.get("temperature").is_none() && body.get("max_tokens").is_none());
        }
    }

    #[test]
    fn a_refusal_of_the_model_counts_as_filtered() {
        let mut answer = Answer::new(0);
        for data in [
            r#"{"choices":[{"index":0,"delta":{"refusal":"I will not."},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        ] {
            let frame = Frame { data: data.to_owned(), ..Frame::default() };
            Chunks.read(&frame, &mut answer).unwrap();
        }
        answer.close().unwrap();
        let pieces: Vec<_> = std::iter::from_fn(|| answer.take()).collect();
        let filtered = super::super::Piece::Text("I will not.".to_owned());
        assert_eq!(pieces[0], filtered);
        assert!(matches!(pieces[1], super::super::Piece::End { stop: Stop::Filtered, .. }));
    }
}
