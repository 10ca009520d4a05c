//! A tool call: something an agent wants done on the user's machine, from the wish to its one end.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::approval::UnknownWord;
use crate::{
    AgentId, AllowanceId, ApprovalId, ClientId, ProjectId, RiskLevel, SessionId, TaskId, Timestamp,
    ToolCallId, UserId,
};

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ToolCallStatus)]
pub enum Status {
    /// The client looks at what it would change.
    Preparing,
    /// A person is asked.
    Pending,
    /// The client has it.
    Running,
    Succeeded,
    Failed,
    /// A person said no.
    Rejected,
    /// Nobody decided, or no result came, in time.
    Timeout,
    /// The task that wanted it has ended.
    Cancelled,
    /// It was handed to a client that is gone: nobody can say whether it was done.
    OutcomeUnknown,
}

impl Status {
    const ALL: [Self; 9] = [
        Self::Preparing,
        Self::Pending,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Rejected,
        Self::Timeout,
        Self::Cancelled,
        Self::OutcomeUnknown,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// It will never change again.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Preparing | Self::Pending | Self::Running)
    }
}

impl FromStr for Status {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// What a client is to do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Look at what would change, and change nothing.
    Prepare,
    Execute,
}

/// A call of a tool on the user's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub user_id: UserId,
    pub project_id: ProjectId,
    /// None: a person called it.
    pub task_id: Option<TaskId>,
    pub session_id: Option<SessionId>,
    pub agent_id: Option<AgentId>,
    #[schema(example = "tool_write_file")]
    pub tool_name: String,
    #[schema(value_type = Object)]
    pub arguments: Map<String, Value>,
    pub risk_level: RiskLevel,
    /// Which rule says so.
    #[schema(example = "writes a file")]
    pub reason: String,
    pub status: Status,
    pub approval_id: Option<ApprovalId>,
    /// Who let it run: `low`, `preference`, or from where a person did.
    pub decided_from: Option<String>,
    /// The client that has it.
    pub client_id: Option<ClientId>,
    /// What it would change.
    pub diff: Option<String>,
    /// The state of the file that the diff starts from.
    pub base: Option<String>,
    /// Of tool, arguments, folder, base and diff; what is approved is this and nothing else.
    pub digest: Option<String>,
    /// How long it may run, in seconds.
    pub timeout: u32,
    /// By when it must have moved on.
    pub deadline: Option<Timestamp>,
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The program on the user's machine that carries calls out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names that others know on the wire")]
pub struct Client {
    pub client_id: ClientId,
    pub user_id: UserId,
    /// The folder that it gives access to.
    #[schema(example = "/home/ada/shop")]
    pub workspace: String,
    #[schema(example = "ada-laptop")]
    pub host: String,
    #[schema(example = "0.1.0")]
    pub version: String,
    /// Whether commands run in a sandbox there.
    pub sandbox: bool,
    pub expires_at: Timestamp,
}

/// Something that a user lets a project's agents do without being asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Allowance {
    pub id: AllowanceId,
    #[schema(example = "tool_execute_command")]
    pub tool_name: String,
    /// Of files, a glob on the path; of commands, words of which each may be a glob, and a last `*` stands for any more.
    /// None: every call of the tool that is not of high risk.
    #[schema(example = "cargo test *")]
    pub pattern: Option<String>,
    pub created_at: Timestamp,
}
