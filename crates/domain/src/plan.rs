//! A plan: a request turned into a graph of tasks.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::approval::UnknownWord;
use crate::session::Usage;
use crate::{
    AgentId, ApprovalId, MessageId, PlanId, ProjectId, RiskLevel, SessionId, TaskId, Timestamp,
    UserId,
};

pub mod draft;
pub mod estimate;
pub mod graph;
pub mod schedule;

pub use draft::{Draft, DraftTask};
pub use estimate::Range;
pub use graph::Graph;

/// Where a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PlanStatus)]
pub enum Status {
    /// Made, and not begun.
    Pending,
    WaitingApproval,
    Executing,
    Completed,
    /// Some of its tasks succeeded, and some did not.
    PartialSuccess,
    Failed,
    Cancelled,
    /// By a person, or by the deadline.
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

    /// Whether it has come to its end, which only a retry can undo.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Completed
            | Self::PartialSuccess
            | Self::Failed
            | Self::Cancelled
            | Self::Rejected => true,
            Self::Pending | Self::WaitingApproval | Self::Executing => false,
        }
    }
}

impl FromStr for Status {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// Where a task of a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PlanTaskStatus)]
pub enum TaskStatus {
    Pending,
    /// On its agent's queue, or at work.
    Executing,
    Completed,
    Failed,
    /// It was stopped.
    Cancelled,
    /// It never began, because something that it needs came to nothing.
    Skipped,
    /// It broke off after it may have changed something outside; a person decides what becomes of it.
    OutcomeUnknown,
}

impl TaskStatus {
    const ALL: [Self; 7] = [
        Self::Pending,
        Self::Executing,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Skipped,
        Self::OutcomeUnknown,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Executing => "executing",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    pub const fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::Skipped => true,
            Self::Pending | Self::Executing | Self::OutcomeUnknown => false,
        }
    }

    /// Whether it ended, and what needs it waits in vain.
    pub const fn came_to_nothing(self) -> bool {
        match self {
            Self::Failed | Self::Cancelled | Self::Skipped => true,
            Self::Pending | Self::Executing | Self::Completed | Self::OutcomeUnknown => false,
        }
    }
}

impl FromStr for TaskStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// Who made a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Planner {
    Model,
    /// Without a model, from the words of the request.
    Fallback,
    /// A plan that ran well for a request like this one.
    Cache,
    /// It came with the request.
    Given,
}

impl Planner {
    const ALL: [Self; 4] = [Self::Model, Self::Fallback, Self::Cache, Self::Given];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Fallback => "fallback",
            Self::Cache => "cache",
            Self::Given => "given",
        }
    }
}

impl FromStr for Planner {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|planner| planner.as_str() == text);
        found.ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    pub id: PlanId,
    pub user_id: UserId,
    pub project_id: ProjectId,
    /// The conversation that the request and the answer stand in.
    pub session_id: SessionId,
    /// The request, as a message of the conversation.
    pub message_id: MessageId,
    #[schema(example = "Find out about FastAPI, build a REST API")]
    pub title: String,
    pub original_request: String,
    pub status: Status,
    /// Why it stands so, where that needs a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub planner: Planner,
    /// How the plan came about, where that needs a word: why there is no model behind it, which plan it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner_note: Option<String>,
    /// In US dollars.
    pub total_estimated_cost: Range,
    /// In seconds.
    pub total_estimated_duration: Range,
    /// The price of a model that it takes is not known.
    pub unpriced: bool,
    /// In US dollars: the plan itself, and what was done of it so far.
    pub actual_cost: f64,
    /// In seconds, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_duration: Option<f64>,
    pub requires_approval: bool,
    pub high_cost: bool,
    pub risk_level: RiskLevel,
    /// The approval that it waits for, or that let it run.
    pub approval_id: Option<ApprovalId>,
    /// The answer, once there is one.
    pub answer_id: Option<MessageId>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub task_count: u64,
    pub completed_count: u64,
}

/// The task of a plan that somebody works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PlanPlace)]
pub struct Place {
    pub plan_id: PlanId,
    /// Its name within the plan.
    #[schema(example = "research")]
    pub task: String,
}

/// One task of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = PlanTask)]
pub struct Task {
    pub id: TaskId,
    /// Its name within the plan; `dependencies` speak of it.
    #[expect(clippy::struct_field_names, reason = "the name that the specification gives it")]
    #[schema(example = "research")]
    pub task_id: String,
    pub description: String,
    /// None when the agent was deleted.
    pub agent_id: Option<AgentId>,
    #[schema(example = "agent_researcher")]
    pub agent_name: String,
    pub capability: Option<String>,
    pub dependencies: Vec<String>,
    /// In US dollars.
    pub estimated_cost: Range,
    /// In seconds.
    pub estimated_duration: Range,
    /// How often its model is asked, at most.
    pub estimated_calls: u32,
    /// The price of its model is not known.
    pub unpriced: bool,
    pub risk_level: RiskLevel,
    pub status: TaskStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// The work on the agent's queue: the last attempt.
    pub attempt_id: Option<TaskId>,
    pub result: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// In US dollars, of all attempts; none when nothing was done, or the price is not known.
    pub actual_cost: Option<f64>,
    /// What the last attempt took.
    pub usage: Option<Usage>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

/// The graph of a plan's tasks, which was proven sound when the plan was made.
pub fn graph_of(tasks: &[Task]) -> Result<Graph, graph::Flaw> {
    let tasks = tasks.iter();
    Graph::new(tasks.map(|task| (task.task_id.as_str(), task.dependencies.as_slice())))
}
