//! A plan: a request turned into a graph of tasks.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::approval::UnknownWord;
use crate::{AgentId, PlanId, ProjectId, RiskLevel, SessionId, TaskId, Timestamp, UserId};

/// Where a plan, or one of its tasks, stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PlanStatus)]
pub enum Status {
    Pending,
    WaitingApproval,
    Executing,
    Completed,
    PartialSuccess,
    Failed,
    Cancelled,
    Rejected,
}

impl Status {
    const ALL: [Self; 8] = [
        Self::Pending,
        Self::WaitingApproval,
        Self::Executing,
        Self::Completed,
        Self::PartialSuccess,
        Self::Failed,
        Self::Cancelled,
        Self::Rejected,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::WaitingApproval => "waiting_approval",
            Self::Executing => "executing",
            Self::Completed => "completed",
            Self::PartialSuccess => "partial_success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Rejected => "rejected",
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    pub id: PlanId,
    pub user_id: UserId,
    pub project_id: ProjectId,
    pub session_id: Option<SessionId>,
    pub original_request: String,
    pub status: Status,
    /// In US dollars.
    pub total_cost: f64,
    /// In seconds.
    pub total_duration: f64,
    pub requires_approval: bool,
    pub created_at: Timestamp,
    pub tasks: Vec<Task>,
}

/// One node of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = PlanTask)]
pub struct Task {
    pub id: TaskId,
    /// The node's name within the plan; `dependencies` speak of it.
    #[expect(clippy::struct_field_names, reason = "the name that the specification gives it")]
    pub task_id: String,
    pub description: String,
    pub agent_id: Option<AgentId>,
    pub dependencies: Vec<String>,
    pub estimated_cost: f64,
    pub estimated_duration: f64,
    pub risk_level: RiskLevel,
    pub status: Status,
    pub result: Option<String>,
    pub created_at: Timestamp,
}
