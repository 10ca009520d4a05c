//! An agent: a member of a project's team, and what it was told to be.
//!
//! The bounds stand on the fields as schema attributes: the same lines check what comes in, make the OpenAPI
//! document, and tell a reader what is possible.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::process::Runtime;
use crate::{AgentId, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    pub id: AgentId,
    #[schema(example = "agent_coder")]
    pub name: String,
    pub status: AgentStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Whether it takes tasks.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub registered: bool,
    pub config: AgentConfig,
}

/// Answers kept from before there was such a thing.
const fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    Ready,
    Busy,
    Error,
}

/// How risky an agent's work, a plan or a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum RiskLevel {
    Low,
    Medium,
    High,
}

/// Everything about an agent that its owner decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// What the agent is told before every task.
    #[serde(default)]
    #[schema(max_length = 65_536, default = "", example = "You write tests first.")]
    pub system_prompt: String,
    /// `provider/model`, or a bare name for the default provider.
    #[serde(default = "default_model")]
    #[schema(min_length = 1, max_length = 200, default = "gpt-4", example = "gpt-4")]
    pub model: String,
    /// Names of the tools it may use.
    #[serde(default)]
    #[schema(max_items = 100, default = json!([]))]
    pub tools: Vec<ToolName>,
    /// How many tasks it may work on at a time.
    #[serde(default = "default_concurrency")]
    #[schema(minimum = 1, maximum = 10, default = 3)]
    pub concurrency_limit: u8,
    #[serde(default = "default_temperature")]
    #[schema(minimum = 0, maximum = 2, default = 0.7)]
    pub temperature: f64,
    /// Longest answer, in tokens.
    #[serde(default = "default_max_tokens")]
    #[schema(minimum = 1, maximum = 128_000, default = 4096)]
    pub max_tokens: u32,
    /// How many memories it keeps.
    #[serde(default = "default_max_vectors")]
    #[schema(minimum = 1, maximum = 100_000_000, default = 1_000_000)]
    pub max_vectors: u32,
    /// It is a program of this kind, and not a model behind an API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub runtime: Option<Runtime>,
    #[serde(default)]
    pub metadata: Metadata,
}

impl AgentConfig {
    /// How many tasks it takes at a time: a program has one conversation.
    pub fn at_a_time(&self) -> usize {
        if self.runtime.is_some() { 1 } else { self.concurrency_limit.into() }
    }
}

/// The name of a tool in an agent's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, min_length = 1, max_length = 100, example = "tool_read_file")]
pub struct ToolName(pub String);

/// One thing an agent can do, as a word the planner matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, min_length = 1, max_length = 100, example = "fix_bug")]
pub struct Capability(pub String);

/// What planning knows of an agent. Keys beyond the three that the system reads are the user's own and are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Metadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100, example = "developer", nullable = false)]
    pub role: Option<String>,
    #[serde(default)]
    #[schema(max_items = 100, default = json!([]))]
    pub capabilities: Vec<Capability>,
    #[serde(default)]
    #[schema(default = "MEDIUM")]
    pub risk_level: RiskLevel,
    #[serde(flatten)]
    #[schema(additional_properties, value_type = Object)]
    pub other: Map<String, Value>,
}

impl Default for RiskLevel {
    /// An agent nobody has judged is neither harmless nor dangerous.
    fn default() -> Self {
        Self::Medium
    }
}

fn default_model() -> String {
    "gpt-4".to_owned()
}
fn default_concurrency() -> u8 {
    3
}
fn default_temperature() -> f64 {
    0.7
}
fn default_max_tokens() -> u32 {
    4096
}
fn default_max_vectors() -> u32 {
    1_000_000
}
