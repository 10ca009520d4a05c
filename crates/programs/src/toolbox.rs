//! What a program can call on our side: the same tools, by whichever way its kind takes them.
//!
//! Whatever the way, a call goes through [`Checked`]: over the [`endpoint`]'s socket, port and folder, over MCP
//! ([`mcp`]), or in the conversation itself.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod checked;
pub mod endpoint;
mod http;
pub mod mcp;
pub(crate) mod schema;
mod spool;
pub(crate) mod wire;

pub use checked::Checked;
pub use wire::{Reason, Refusal};

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

/// What an agent's calls may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many run at once.
    pub calls: usize,
    /// How long one may take.
    pub longest: Duration,
    /// How large one may be, in bytes.
    pub size: usize,
    /// How often who waits for an answer over HTTP is shown that it is still worked on.
    pub pulse: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: 16,
            longest: Duration::from_hours(1),
            size: 1024 * 1024,
            pulse: Duration::from_secs(10),
        }
    }
}
