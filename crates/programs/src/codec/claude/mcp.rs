//! An MCP server inside the conversation: what it is asked and what it answers.

use serde_json::{Value, json};

use super::SERVER;
use super::rpc::NO_METHOD;
use crate::toolbox::ToolSpec;

/// What we speak when the other side does not say what it speaks.
const VERSION: &str = "2025-06-18";

/// The answer to everything but a call.
pub(super) fn answer(message: &Value, tools: &[ToolSpec]) -> Value {
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let version = message["params"]["protocolVersion"].as_str().unwrap_or(VERSION);
            let about = json!({"name": SERVER, "version": env!("CARGO_PKG_VERSION")});
            json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
        }
        "tools/list" => {
            let tool = |tool: &ToolSpec| json!({"name": tool.name, "description": tool.description, "inputSchema": tool.parameters});
            json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()})
        }
        "ping" => json!({}),
        method if method.starts_with("notifications/") => json!({}),
        method => {
            let error =
                json!({"code": NO_METHOD, "message": format!("there is no method `{method}`")});
            return wrap(&message["id"], "error", &error);
        }
    };
    wrap(&message["id"], "result", &result)
}

/// What came of a call.
pub(super) fn result(id: &Value, result: Result<String, String>) -> Value {
    let failed = result.is_err();
    let text = result.unwrap_or_else(|why| why);
    let content = json!([{"type": "text", "text": text}]);
    wrap(id, "result", &json!({"content": content, "isError": failed}))
}

/// Even what is only notified wants an answer here, and that has an id.
fn wrap(id: &Value, part: &str, value: &Value) -> Value {
    let id = if id.is_null() { &json!(0) } else { id };
    json!({"mcp_response": {"jsonrpc": "2.0", "id": id, part: value}})
}
