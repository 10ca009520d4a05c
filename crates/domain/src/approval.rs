//! A question to a person that is answered exactly once.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ApprovalId, ProjectId, RiskLevel, SessionId, SystemClock, TaskId, Timestamp, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ApprovalKind)]
pub enum Kind {
    Tool,
    Plan,
    Question,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ApprovalStatus)]
pub enum Status {
    Pending,
    Approved,
    Rejected,
    /// Nobody answered in time, which counts as a rejection.
    Timeout,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Plan => "plan",
            Self::Question => "question",
        }
    }
}

impl Status {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Timeout => "timeout",
        }
    }
}

/// The stored word is none of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown word {0:?}")]
pub struct UnknownWord(pub String);

impl FromStr for Kind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        [Self::Tool, Self::Plan, Self::Question]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

impl FromStr for Status {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        [Self::Pending, Self::Approved, Self::Rejected, Self::Timeout]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// What a person may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Approve,
    Reject,
}

impl From<Decision> for Status {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Approve => Self::Approved,
            Decision::Reject => Self::Rejected,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    pub id: ApprovalId,
    pub user_id: UserId,
    pub project_id: ProjectId,
    /// The conversation and the task that it comes from, if it comes from one.
    pub session_id: Option<SessionId>,
    pub task_id: Option<TaskId>,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// What is asked, whole: the plan, the tool call with its diff, or the question.
    #[schema(value_type = Object)]
    pub payload: serde_json::Value,
    pub risk_level: RiskLevel,
    pub status: Status,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
    /// What the person added: the reason of a rejection, or the answer to a question.
    pub comment: Option<String>,
    pub decided_by: Option<UserId>,
    /// From where: `web`, `client`, `terminal`, `api`, `deadline`, or `cancelled` when the task ended before.
    pub decided_from: Option<String>,
}

impl Approval {
    /// A question that nobody has answered, and that waits so long from now on. It comes from no conversation.
    pub fn pending(
        (user_id, project_id): (UserId, ProjectId),
        kind: Kind,
        risk_level: RiskLevel,
        payload: serde_json::Value,
        now: Timestamp,
        wait: Duration,
    ) -> Self {
        Self {
            id: ApprovalId::new(&SystemClock),
            user_id,
            project_id,
            session_id: None,
            task_id: None,
            kind,
            payload,
            risk_level,
            status: Status::Pending,
            created_at: now,
            expires_at: now.plus(wait),
            resolved_at: None,
            comment: None,
            decided_by: None,
            decided_from: None,
        }
    }
}
