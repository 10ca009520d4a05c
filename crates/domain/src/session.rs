//! A conversation and what is said in it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::approval::UnknownWord;
use crate::memory::Recollection;
use crate::{AgentId, MessageId, PlanId, SessionId, TaskId, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: SessionId,
    /// Empty until the first message gives one.
    #[schema(example = "Why is the build slow?")]
    pub title: String,
    /// Its owner wants it at hand.
    pub pinned: bool,
    pub message_count: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = MessageRole)]
pub enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

impl FromStr for Role {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        [Self::User, Self::Assistant, Self::System]
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Message {
    pub id: MessageId,
    pub role: Role,
    pub content: String,
    /// Who answered, or who was asked.
    pub agent_id: Option<AgentId>,
    /// The work that it started, or that gave it.
    pub task_id: Option<TaskId>,
    pub timestamp: Timestamp,
    /// How an answer came about; absent on what a person said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// How an answer came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Outcome {
    pub success: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What the agent drew from its memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Recollection>,
    /// The plan that it came of, if several agents worked on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
}

/// Why a task gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    Timeout,
    Execution,
    Rejected,
    Cancelled,
    QueueFull,
    /// The model service has no quota left for this key.
    Quota,
    /// No model is configured for the agent, or its key was refused.
    Configuration,
    /// The server was stopped in the middle of it.
    Interrupted,
}

/// What an answer took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// The model that answered, with its provider.
    #[schema(example = "openai/gpt-4o")]
    pub model: String,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// The provider gave no figures; these are ours.
    pub estimated: bool,
    /// In US dollars; absent when the price is not known.
    pub cost: Option<f64>,
}
