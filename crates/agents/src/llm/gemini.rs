//! Google's Gemini, by `streamGenerateContent`.
//!
//! There is no end marker but the finish reason and the end of the stream. Calls come whole and often without ids; some
//! models want the signature of their thoughts back with a call, which this seam has no place for: they get the word
//! that Google gives for conversations that came from elsewhere.

use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{Answer, MADE};
use super::chat::{ChatModel, Error, Message, Request, Stop, ToolCall, Usage};
use super::fault::{self, Kind, Told};
use super::http::{Bad, Endpoint, Http, KeyIn};
use super::sse::Frame;
use super::wire::{self, Call, Dialect, Pieces};

pub const BASE: &str = "https://generativelanguage.googleapis.com";

/// Models by the beginning of their name that want no signatures.
const UNSIGNED: &[&str] = &["gemini-1", "gemini-2", "gemma"];
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// A service that speaks `generateContent`.
#[derive(Debug)]
pub struct Gemini {
    endpoint: Endpoint,
}

impl Gemini {
    /// `base` may end before or after `/v1beta`.
    pub fn new(http: Http, base: &str, key: Option<SecretString>) -> Result<Self, Bad> {
        Ok(Self { endpoint: Endpoint::new(http, base, key, KeyIn::Header("x-goog-api-key"))? })
    }

    pub fn host(&self) -> &str {
        self.endpoint.host()
    }
}

#[async_trait]
impl ChatModel for Gemini {
    async fn ask(&self, request: Request) -> Result<Pieces, Error> {
        let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
        // The name becomes part of the path, and it is the user's.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if model.is_empty() || model.starts_with('.') || !model.chars().all(plain) {
            let message = "this is not the name of a Gemini model".to_owned();
            return Err(Error::Refused { status: 400, message });
        }
        let version = if self.endpoint.base().ends_with("/v1beta") { "" } else { "/v1beta" };
        let path = format!("{version}/models/{model}:streamGenerateContent?alt=sse");
        let call = Call { path: &path, header: None, body: body(&request, model) };
        wire::ask(&self.endpoint, call, &request, Chunks::default()).await
    }
}

fn body(request: &Request, model: &str) -> Value {
    let signed = !UNSIGNED.iter().any(|prefix| model.starts_with(prefix));
    let mut body = Map::from_iter([
        ("contents".to_owned(), Value::Array(contents(&request.messages, signed))),
        (
            "generationConfig".to_owned(),
            json!({ "temperature": request.temperature, "maxOutputTokens": request.max_tokens }),
        ),
    ]);
    if !request.system.is_empty() {
        let system = json!({ "parts": [{ "text": request.system }] });
        body.insert("systemInstruction".to_owned(), system);
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                })
            })
            .collect();
        body.insert("tools".to_owned(), json!([{ "functionDeclarations": tools }]));
        if let Some(name) = &request.must_call {
            let choice = json!({ "mode": "ANY", "allowedFunctionNames": [name] });
            body.insert("toolConfig".to_owned(), json!({ "functionCallingConfig": choice }));
        }
    }
    Value::Object(body)
}

fn contents(conversation: &[Message], signed: bool) -> Vec<Value> {
    let mut turns: Vec<(Turn, Vec<Value>)> = Vec::new();
    for message in conversation {
        let (turn, parts) = parts(message, signed);
        match turns.last_mut() {
            _ if parts.is_empty() => {}
            // All results of one round of calls belong into one turn.
            Some((last, open)) if *last == turn => open.extend(parts),
            Some(_) | None => turns.push((turn, parts)),
        }
    }
    let content = |(turn, parts)| match turn {
        Turn::User | Turn::Results => json!({ "role": "user", "parts": parts }),
        Turn::Model => json!({ "role": "model", "parts": parts }),
    };
    turns.into_iter().map(content).collect()
}

#[derive(PartialEq)]
enum Turn {
    User,
    Results,
    Model,
}

fn parts(message: &Message, signed: bool) -> (Turn, Vec<Value>) {
    let text = |text: &str| (!text.is_empty()).then(|| json!({ "text": text }));
    match message {
        Message::User(said) => (Turn::User, text(said).into_iter().collect()),
        Message::Assistant { text: said, calls } => {
            let calls = calls.iter().enumerate().map(|(n, call)| {
                let mut part = json!({ "functionCall": function_call(call) });
                // Of calls side by side only the first is signed.
                if signed && n == 0 {
                    part["thoughtSignature"] = json!(NO_SIGNATURE);
                }
                part
            });
            (Turn::Model, text(said).into_iter().chain(calls).collect())
        }
        Message::ToolResult { id, name, content, failed } => {
            let field = if *failed { "error" } else { "result" };
            let mut response = json!({ "name": name, "response": { field: content } });
            if !id.starts_with(MADE) {
                response["id"] = json!(id);
            }
            (Turn::Results, vec![json!({ "functionResponse": response })])
        }
    }
}

fn function_call(call: &ToolCall) -> Value {
    let mut function = json!({ "name": call.name, "args": call.arguments });
    if !call.id.starts_with(MADE) {
        function["id"] = json!(call.id);
    }
    function
}

/// Reads chunks.
#[derive(Debug, Default)]
struct Chunks {
    calls: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    index: u64,
    content: Option<Content>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    id: Option<String>,
    #[serde(default)]
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the service's names")]
struct Tokens {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    tool_use_prompt_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
}

impl Chunks {
    fn part(&mut self, part: Part, answer: &mut Answer) -> Result<(), Error> {
        if part.thought {
            answer.thought();
        } else if let Some(call) = part.function_call {
            let index = self.calls;
            self.calls += 1;
            answer.call(index, &call.id.unwrap_or_default(), &call.name)?;
            if let Some(args) = call.args.filter(|args| !args.is_null()) {
                answer.arguments(index, &args.to_string())?;
            }
        } else if let Some(text) = part.text {
            answer.text(&text);
        }
        Ok(())
    }
}

impl Dialect for Chunks {
    fn told(_status: u16, body: &Value) -> Told {
        // Sometimes the error comes as the only element of a list.
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").unwrap_or(body);
        let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or("");
        let none = Vec::new();
        let details = error.get("details").and_then(Value::as_array).unwrap_or(&none);
        let strings = |name: &'static str| {
            let text = move |value: &Value| value.get(name)?.as_str().map(str::to_owned);
            details.iter().filter_map(text)
        };
        let violations = details.iter().filter_map(|detail| detail.get("violations")?.as_array());
        let per_day = violations.flatten().any(|violation| {
            let id = violation.get("quotaId").and_then(Value::as_str).unwrap_or("");
            id.contains("PerDay") || id.contains("PerMonth")
        });
        let kind = match () {
            () if field("status") == "RESOURCE_EXHAUSTED" && per_day => Kind::Quota,
            () if strings("reason").any(|reason| reason == "API_KEY_INVALID") => Kind::Key,
            () => Kind::ByStatus,
        };
        // For a day's quota they still tell the pause of a passing rush, which is no reset.
        let delay = strings("retryDelay").next().filter(|_| kind == Kind::ByStatus);
        let after: Option<Duration> =
            delay.and_then(|delay| fault::seconds(delay.trim_end_matches('s'), 1.0));
        Told { kind, message: field("message").to_owned(), after }
    }

    fn read(&mut self, frame: &Frame, answer: &mut Answer) -> Result<(), Error> {
        let chunk: Chunk = wire::parse(&frame.data)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let status = error.get("code").and_then(Value::as_u64).unwrap_or(500);
            return Err(wire::told::<Self>(u16::try_from(status).unwrap_or(500), &error));
        }
        if let Some(tokens) = chunk.usage_metadata {
            answer.usage(Usage {
                input: tokens.prompt_token_count + tokens.tool_use_prompt_token_count,
                cached: tokens.cached_content_token_count,
                output: tokens.candidates_token_count + tokens.thoughts_token_count,
                estimated: false,
            });
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            answer.stop(Stop::Filtered);
        }
        for candidate in chunk.candidates.into_iter().filter(|candidate| candidate.index == 0) {
            for part in candidate.content.into_iter().flat_map(|content| content.parts) {
                self.part(part, answer)?;
            }
            match candidate.finish_reason.as_deref() {
                None | Some("FINISH_REASON_UNSPECIFIED") => {}
                Some("MAX_TOKENS") => answer.stop(Stop::Length),
                Some(
                    "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT"
                    | "SPII" | "IMAGE_SAFETY",
                ) => answer.stop(Stop::Filtered),
                Some(reason @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL")) => {
                    return Err(Error::Malformed(format!("a tool call ({reason})")));
                }
                Some(_) => answer.stop(Stop::Done),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PF-1.6: the day's quota is told apart from the minute's, which passes.
    #[test]
    fn quota_of_the_day_and_of_the_minute() {
        let exhausted = |quota: &str| {
            json!({ "error": { "code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": [
                { "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                  "violations": [{ "quotaId": quota }] },
                { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s" },
            ]}})
        };
        let day =
            Chunks::told(429, &exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier"));
        assert_eq!((day.kind, day.after), (Kind::Quota, None));
        let minute = Chunks::told(429, &exhausted("GenerateRequestsPerMinutePerProjectPerModel"));
        let pause = Some(Duration::from_millis(34_500));
        assert_eq!((minute.kind, minute.after), (Kind::ByStatus, pause));
    }

    #[test]
    fn only_newer_models_get_a_signature() {
        let call = ToolCall { id: "x".to_owned(), name: "read".to_owned(), arguments: Map::new() };
        let said = Message::Assistant { text: String::new(), calls: vec![call.clone(), call] };
        let parts = |signed| contents(std::slice::from_ref(&said), signed)[0]["parts"].clone();
        assert_eq!(parts(true)[0]["thoughtSignature"], NO_SIGNATURE);
        assert!(parts(true)[1].get("thoughtSignature").is_none());
        assert!(parts(false)[0].get("thoughtSignature").is_none());
    }
}
