//! Refuses what the real services refuse, so that a test does not pass with a request that they
//! would not take.
//!
//! These are the rules that conversations with tools break easily, not a validation of every
//! field: what is not checked here may still be refused out there.

use axum::http::HeaderMap;
use serde_json::Value;

use crate::wire::error::Refusal;
use crate::wire::{Asked, Wire, gemini};

type Checked = Result<(), Refusal>;

pub(crate) fn check(asked: &Asked, headers: &HeaderMap) -> Checked {
    let body = &asked.body;
    match asked.wire {
        Wire::Chat => chat(body),
        Wire::Responses => responses(body),
        Wire::Messages => messages(body, headers),
        Wire::Gemini => contents(body),
        Wire::Embeddings => Ok(()),
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(400, message))
}

fn require(holds: bool, message: &str) -> Checked {
    if holds { Ok(()) } else { refuse(message) }
}

fn chat(body: &Value) -> Checked {
    require(is_text(&body["model"]), "you must provide a model parameter")?;
    range(body, "temperature", 2.0)?;
    require(
        body["stream_options"].is_null() || body["stream"] == true,
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    )?;
    let messages = list(&body["messages"]);
    require(!messages.is_empty(), "Invalid 'messages': empty array or missing.")?;
    // Calls of the last assistant message that have no result yet.
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let before = open.len();
            open.retain(|call| *call != id);
            require(
                open.len() < before,
                "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
            )?;
            continue;
        }
        all_answered(&open)?;
        require(
            ["system", "developer", "user", "assistant", "function"].contains(&role),
            "Invalid value for 'role'.",
        )?;
        let calls = list(&message["tool_calls"]);
        require(
            role == "assistant" || is_content(&message["content"]),
            "Invalid value for 'content': expected a string or an array.",
        )?;
        require(
            role != "assistant" || !calls.is_empty() || is_content(&message["content"]),
            "An assistant message has content or tool_calls.",
        )?;
        for call in calls {
            require(
                call["type"] == "function" && is_text(&call["function"]["name"]),
                "Invalid tool_calls: type and function.name are required.",
            )?;
            require(
                call["function"]["arguments"].is_string(),
                "Invalid type for 'function.arguments': expected a string.",
            )?;
            open.push(call["id"].as_str().unwrap_or_default());
        }
    }
    all_answered(&open)?;
    for tool in list(&body["tools"]) {
        require(tool["type"] == "function", "Invalid value for 'tools[].type'.")?;
        tool_name(&tool["function"]["name"], 64)?;
    }
    Ok(())
}

fn all_answered(open: &[&str]) -> Checked {
    match open.first() {
        None => Ok(()),
        Some(_) => refuse(format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding \
             to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", "),
        )),
    }
}

fn responses(body: &Value) -> Checked {
    require(is_text(&body["model"]), "Missing required parameter: 'model'.")?;
    range(body, "temperature", 2.0)?;
    let input = &body["input"];
    require(
        is_text(input) || !list(input).is_empty() || body["prompt"].is_object(),
        "Missing required parameter: 'input'.",
    )?;
    let ids = |kinds: &[&str]| -> Vec<&str> {
        let is_kind =
            |item: &&Value| item["type"].as_str().is_some_and(|kind| kinds.contains(&kind));
        list(input).iter().filter(is_kind).filter_map(|item| item["call_id"].as_str()).collect()
    };
    let calls = ids(&["function_call", "custom_tool_call", "local_shell_call"]);
    let results =
        ids(&["function_call_output", "custom_tool_call_output", "local_shell_call_output"]);
    if let Some(call) = calls.iter().find(|call| !results.contains(call)) {
        return refuse(format!("No tool output found for function call {call}."));
    }
    // The call may be in what the service has kept of the conversation.
    let kept = body["previous_response_id"].is_string() || !body["conversation"].is_null();
    match results.iter().find(|result| !kept && !calls.contains(result)) {
        Some(id) => {
            refuse(format!("No tool call found for function call output with call_id {id}."))
        }
        None => Ok(()),
    }
}

fn messages(body: &Value, headers: &HeaderMap) -> Checked {
    require(headers.contains_key("anthropic-version"), "anthropic-version: header is required")?;
    require(is_text(&body["model"]), "model: Field required")?;
    require(body["max_tokens"].as_u64().is_some_and(|max| max > 0), "max_tokens: Field required")?;
    range(body, "temperature", 1.0)?;
    let messages = list(&body["messages"]);
    require(!messages.is_empty(), "messages: at least one message is required")?;
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        require(
            ["user", "assistant"].contains(&role),
            "messages: Unexpected role. The system prompt is the top-level `system` parameter.",
        )?;
        require(at > 0 || role == "user", "messages: first message must use the \"user\" role")?;
        blocks(at, &message["content"])?;
        let calls = ids(message, "tool_use", "id");
        let results = messages
            .get(at + 1)
            .map_or_else(Vec::new, |next| ids(next, "tool_result", "tool_use_id"));
        if let Some(call) = calls.iter().find(|call| !results.contains(call)) {
            return refuse(format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately \
                 after: {call}"
            ));
        }
        let before =
            at.checked_sub(1).map_or_else(Vec::new, |at| ids(&messages[at], "tool_use", "id"));
        let results = ids(message, "tool_result", "tool_use_id");
        if let Some(result) = results.iter().find(|result| !before.contains(result)) {
            return refuse(format!(
                "messages.{at}.content: unexpected `tool_use_id` found in `tool_result` blocks: {result}"
            ));
        }
    }
    for tool in list(&body["tools"]) {
        tool_name(&tool["name"], 128)?;
        // Tools of the service itself have a type and no schema.
        let own = tool["type"].as_str().is_some_and(|kind| kind != "custom");
        require(
            own || tool["input_schema"]["type"] == "object",
            "tools: input_schema.type: Field required",
        )?;
    }
    Ok(())
}

fn blocks(at: usize, content: &Value) -> Checked {
    let filled = match content {
        Value::String(text) => !text.is_empty(),
        Value::Array(blocks) => !blocks.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    if !filled {
        return refuse(format!("messages.{at}: all messages must have non-empty content"));
    }
    for block in list(content) {
        if block["type"] == "text" && !is_text(&block["text"]) {
            return refuse(format!("messages.{at}: text content blocks must be non-empty"));
        }
        if block["type"] == "tool_use" && !block["input"].is_object() {
            return refuse(format!(
                "messages.{at}: tool_use.input: Input should be a valid dictionary"
            ));
        }
    }
    Ok(())
}

fn ids<'a>(message: &'a Value, kind: &str, field: &str) -> Vec<&'a str> {
    let blocks = list(&message["content"]).iter().filter(|block| block["type"] == kind);
    blocks.filter_map(|block| block[field].as_str()).collect()
}

fn contents(body: &Value) -> Checked {
    let contents = list(&body["contents"]);
    require(!contents.is_empty(), "* GenerateContentRequest.contents: contents is not specified")?;
    let config = gemini::either(body, "generationConfig", "generation_config");
    range(config, "temperature", 2.0)?;
    let count = |content: &Value, camel: &str, snake: &str| {
        let is = |part: &&Value| gemini::either(part, camel, snake).is_object();
        list(&content["parts"]).iter().filter(is).count()
    };
    for (at, content) in contents.iter().enumerate() {
        let role = content["role"].as_str().unwrap_or("user");
        require(
            ["user", "model", "function"].contains(&role),
            "Please use a valid role: user, model.",
        )?;
        require(
            !list(&content["parts"]).is_empty(),
            "* GenerateContentRequest.contents: contents.parts must not be empty.",
        )?;
        let calls = count(content, "functionCall", "function_call");
        let next = contents.get(at + 1);
        let results = next.map_or(0, |next| count(next, "functionResponse", "function_response"));
        require(
            calls == results,
            "Please ensure that the number of function response parts is equal to the number of \
             function call parts of the function call turn.",
        )?;
    }
    require(
        count(&contents[0], "functionResponse", "function_response") == 0,
        "Please ensure that function response turn comes immediately after a function call turn.",
    )
}

fn range(body: &Value, field: &str, most: f64) -> Checked {
    let value = &body[field];
    let inside = value.as_f64().is_some_and(|number| (0.0..=most).contains(&number));
    if value.is_null() || inside {
        return Ok(());
    }
    refuse(format!("{field}: {value} is not a number from 0 to {most}"))
}

fn tool_name(name: &Value, longest: usize) -> Checked {
    let is_name = |name: &str| {
        (1..=longest).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let valid = name.as_str().is_some_and(is_name);
    require(valid, &format!("tools: name should match '^[a-zA-Z0-9_-]{{1,{longest}}}$'"))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn is_content(value: &Value) -> bool {
    value.is_string() || value.is_array()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
