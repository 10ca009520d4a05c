//! Calls of our tools, as programs write them in the conversation.

use serde_json::{Map, Value};

use crate::toolbox::ToolSpec;

#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// Only tools that were given can be called. An error is for the agent to read.
pub(super) fn read(tool: &Value, arguments: &Value, tools: &[ToolSpec]) -> Result<Call, String> {
    let tool = tool.as_str().ok_or("the call does not say which tool")?;
    if !tools.iter().any(|spec| spec.name == tool) {
        let names: Vec<&str> = tools.iter().map(|spec| spec.name.as_str()).collect();
        return Err(format!("there is no tool `{tool}`; there are: {}", names.join(", ")));
    }
    let arguments = match arguments {
        Value::Null => Map::new(),
        Value::Object(arguments) => arguments.clone(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(format!("the arguments of `{tool}` must be an object"));
        }
    };
    Ok(Call { tool: tool.to_owned(), arguments })
}
