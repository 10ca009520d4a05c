//! What a program can call on our side: the same tools, by whichever way its kind takes them.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool as a program is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema.
    pub parameters: Value,
}

/// The tools of one agent. A failure is text for the agent, which can then do better.
#[async_trait]
pub trait Toolbox: Send + Sync + fmt::Debug {
    fn tools(&self) -> Vec<ToolSpec>;
    /// Runs a tool to its end. Dropping it gives the call up.
    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<String, String>;
}
