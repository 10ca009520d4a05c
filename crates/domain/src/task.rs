//! A piece of work on an agent's queue: durable, and ended exactly once.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::approval::UnknownWord;
use crate::plan::Place;
use crate::session::ErrorType;
use crate::{AgentId, MessageId, ProjectId, SessionId, TaskId, Timestamp, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TaskStatus)]
pub enum Status {
    Queued,
    Running,
    WaitingApproval,
    WaitingTool,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::WaitingApproval,
        Self::WaitingTool,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::WaitingApproval => "waiting_approval",
            Self::WaitingTool => "waiting_tool",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing can come after it.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::WaitingApproval | Self::WaitingTool => false,
        }
    }
}

impl FromStr for Status {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// Who goes first on a queue.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    #[default]
    Normal,
    High,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    pub id: TaskId,
    pub user_id: UserId,
    pub project_id: ProjectId,
    pub session_id: SessionId,
    pub agent_id: AgentId,
    /// The message that asked for it.
    pub message_id: MessageId,
    /// The task of a plan that it works on, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Place>,
    pub status: Status,
    pub priority: Priority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}
