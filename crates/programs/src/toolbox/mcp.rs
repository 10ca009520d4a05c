//! Our side of the Model Context Protocol: a message comes in, and what to say to it comes out.
//!
//! Written by hand, and without input or output of its own, because three ways share it that no library serves
//! together: HTTP ([`super::endpoint`]), the standard input of `orchestrator mcp`, which has no runtime, and frames
//! within another program's conversation. We offer tools and nothing else, and keep no session, so it is small.
//! A tool that says no is a result with `isError`, which models get to read; only what is no call at all is an error of
//! the protocol.

use serde_json::{Map, Value, json};

use super::{ToolSpec, Toolbox};

/// The versions that we speak, newest first. Between them nothing differs in what we use.
pub const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const PARSE: i32 = -32700;
const INVALID: i32 = -32600;
const NO_METHOD: i32 = -32601;
const PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;

/// What a message asks for.
#[derive(Debug, PartialEq)]
pub enum Asked {
    /// Nothing is said to it.
    Nothing,
    /// This is said to it.
    Answer(Value),
    /// Which tools there are.
    Tools(Id),
    /// A tool, which may take its time.
    Call { id: Id, tool: String, arguments: Map<String, Value> },
    /// The call with this id is no longer wanted.
    Withdrawn(Id),
}

/// The id of a request, with which its answers are made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id(Value);

/// Reads a message as it came over a wire.
pub fn read(message: &[u8]) -> Asked {
    match serde_json::from_slice(message) {
        Ok(message) => ask(message),
        Err(error) => {
            Asked::Answer(fault(&Value::Null, PARSE, &format!("This is not JSON: {error}")))
        }
    }
}

/// Reads a message.
pub fn ask(message: Value) -> Asked {
    let invalid = |why: &str| Asked::Answer(fault(&Value::Null, INVALID, why));
    let mut message = match message {
        Value::Object(message) => message,
        Value::Array(_) => return invalid("Batches are not taken: send the messages one by one"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return invalid("A message is an object");
        }
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("A message has `\"jsonrpc\": \"2.0\"`");
    }
    let params = message.remove("params").unwrap_or_default();
    match (message.remove("method"), message.remove("id")) {
        (Some(Value::String(method)), None) => notified(&method, params),
        (Some(Value::String(method)), Some(id @ (Value::String(_) | Value::Number(_)))) => {
            requested(&method, Id(id), params)
        }
        (Some(Value::String(_)), Some(_)) => invalid("`id` is a string or a number"),
        // An answer; we ask nothing, so it answers nothing.
        (None, Some(_)) if message.contains_key("result") || message.contains_key("error") => {
            Asked::Nothing
        }
        (None | Some(_), _) => invalid("A message has a `method`, which is a string"),
    }
}

/// Answers a message from start to end; none if nothing is to be said. Dropping it gives a call up: whoever can have
/// several under way asks with [`ask`] and drops what is [`Asked::Withdrawn`].
pub async fn answer(toolbox: &dyn Toolbox, message: Value) -> Option<Value> {
    match ask(message) {
        Asked::Nothing | Asked::Withdrawn(_) => None,
        Asked::Answer(answer) => Some(answer),
        Asked::Tools(id) => Some(id.tools(&toolbox.tools())),
        Asked::Call { id, tool, arguments } => {
            Some(id.called(toolbox.call(&tool, arguments).await))
        }
    }
}

impl Id {
    /// The answer to [`Asked::Tools`].
    pub fn tools(&self, tools: &[ToolSpec]) -> Value {
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| {
                let ToolSpec { name, description, parameters } = tool;
                json!({"name": name, "description": description, "inputSchema": parameters})
            })
            .collect();
        self.result(&json!({ "tools": tools }))
    }

    /// The answer to [`Asked::Call`].
    pub fn called(&self, outcome: Result<String, String>) -> Value {
        let failed = outcome.is_err();
        let text = outcome.unwrap_or_else(|why| why);
        self.result(&json!({"content": [{"type": "text", "text": text}], "isError": failed}))
    }

    /// The answer to anything that could not be answered, by no fault of who asked.
    pub fn failed(&self, why: &str) -> Value {
        fault(&self.0, INTERNAL, why)
    }

    fn result(&self, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.0, "result": result})
    }
}

fn requested(method: &str, id: Id, params: Value) -> Asked {
    match method {
        "initialize" => Asked::Answer(initialized(&id, &params)),
        "ping" => Asked::Answer(id.result(&json!({}))),
        "tools/list" => Asked::Tools(id),
        "tools/call" => called(id, params),
        _ => {
            let method: String = method.chars().take(64).collect();
            Asked::Answer(fault(&id.0, NO_METHOD, &format!("There is no method `{method}`")))
        }
    }
}

fn initialized(id: &Id, params: &Value) -> Value {
    let wanted = params["protocolVersion"].as_str();
    let version = VERSIONS.into_iter().find(|it| Some(*it) == wanted).unwrap_or(VERSIONS[0]);
    id.result(&json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "orchestrator", "version": env!("CARGO_PKG_VERSION")},
    }))
}

fn called(id: Id, mut params: Value) -> Asked {
    let wrong = |id: &Id, why: &str| Asked::Answer(fault(&id.0, PARAMS, why));
    let Some(tool) = params["name"].as_str().map(str::to_owned) else {
        return wrong(&id, "`params.name` is the tool's name, a string");
    };
    match params.get_mut("arguments").map_or(Value::Null, Value::take) {
        Value::Object(arguments) => Asked::Call { id, tool, arguments },
        Value::Null => Asked::Call { id, tool, arguments: Map::new() },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            wrong(&id, "`params.arguments` is an object")
        }
    }
}

fn notified(method: &str, mut params: Value) -> Asked {
    match (method, params.get_mut("requestId").map(Value::take)) {
        ("notifications/cancelled", Some(id)) => Asked::Withdrawn(Id(id)),
        _ => Asked::Nothing,
    }
}

fn fault(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
