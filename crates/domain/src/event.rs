//! What happened, as others see it.
//!
//! An [`Event`] is numbered within its project and stored with the change it tells of, in one commit. A
//! [`Signal`] is about the stream itself (still alive, start over) and never has a number, so that no reader can
//! mistake one for the other when it resumes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::approval;
use crate::memory::Kind;
use crate::plan::{self, Place, Planner, Range};
use crate::process;
use crate::session::{ErrorType, Message, Usage};
use crate::tool::{self, Phase};
use crate::{
    AgentId, AgentStatus, ApprovalId, ClientId, InteractionId, MessageId, PlanId, RiskLevel,
    SessionId, TaskId, Timestamp, ToolCallId, UserId,
};

macro_rules! events {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
        pub enum $name {
            $($(#[$about])* $variant($variant),)*
        }

        impl $name {
            /// The name on the wire.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $word,)*
                }
            }

            /// The payload as JSON.
            pub fn payload(&self) -> String {
                match self {
                    $(Self::$variant(payload) => serde_json::to_string(payload),)*
                }
                .expect("payloads have text keys and finite numbers")
            }
        }

        $(impl From<$variant> for $name {
            fn from(payload: $variant) -> Self {
                Self::$variant(payload)
            }
        })*
    };
}

events! {
    /// A numbered event of a project.
    Event {
        AgentStatusChanged = "agent_status_changed",
        ProjectUpdated = "project_updated",
        MessageCreated = "message_created",
        DirectAgentCall = "direct_agent_call",
        TaskStarted = "task_started",
        TaskProgress = "task_progress",
        TaskCompleted = "task_completed",
        TaskFailed = "task_failed",
        TaskCancelled = "task_cancelled",
        ContextRetrieved = "context_retrieved",
        MemoryWarning = "memory_warning",
        TaskPlanCreated = "task_plan_created",
        PlanRequest = "plan_request",
        PlanStatusChanged = "plan_status_changed",
        ApprovalRequired = "approval_required",
        ApprovalResolved = "approval_resolved",
        ApprovalTimeoutWarning = "approval_timeout_warning",
        ApprovalTimeout = "approval_timeout",
        ToolApprovalRequest = "tool_approval_request",
        ToolExecutionSignal = "tool_execution_signal",
        ToolResult = "tool_result",
        AgentQuestion = "agent_question",
        AgentAnswer = "agent_answer",
        ClientChanged = "client_changed",
        ProcessChanged = "process_changed",
        Alert = "alert",
    }
}

events! {
    /// What has no number: text in flight, and word of the stream itself.
    Signal {
        MessageDelta = "message_delta",
        Heartbeat = "heartbeat",
        Resync = "resync",
        Error = "error",
    }
}

/// An event in its place: what a reader of the stream gets, as JSON lines or as the data of an SSE frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Envelope {
    /// Grows by one from event to event of a project; absent on signals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 42)]
    pub id: Option<u64>,
    #[schema(example = "agent_status_changed")]
    pub event_type: String,
    #[schema(value_type = Object)]
    pub payload: serde_json::Value,
    pub timestamp: Timestamp,
    pub session_id: Option<SessionId>,
}

/// An agent joined, changed or left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentStatusChanged {
    pub agent_id: AgentId,
    pub name: String,
    pub status: AgentStatus,
    pub change: AgentChange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentChange {
    Created,
    Updated,
    Deleted,
    /// It takes tasks again.
    Registered,
    /// It takes no more tasks.
    Deregistered,
}

/// The project's name or folder changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectUpdated {
    pub name: String,
    pub workspace_path: Option<String>,
}

/// Somebody said something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MessageCreated {
    pub message: Message,
}

/// An agent was called by name, past the orchestrator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DirectAgentCall {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    pub agent_name: String,
}

/// The work begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskStarted {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    /// The task of a plan that it works on, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Place>,
}

/// The work goes on: a step of it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskProgress {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    /// The task of a plan that it works on, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Place>,
    #[schema(example = "Tool used: list_agents")]
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskCompleted {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    /// The task of a plan that it works on, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Place>,
    /// The answer; what a task of a plan gave stands in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    pub usage: Option<Usage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskFailed {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    /// The task of a plan that it works on, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Place>,
    pub error: String,
    pub error_type: ErrorType,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskCancelled {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    /// The task of a plan that it works on, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Place>,
}

/// Text of an answer as it is written; the whole comes with `message_created`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MessageDelta {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    /// The task of a plan that it works on, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Place>,
    pub text: String,
}

/// What an agent drew from its memory for a task. The texts stand in the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ContextRetrieved {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    pub items: Vec<Retrieved>,
}

/// One thing that was drawn from memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Retrieved {
    pub id: InteractionId,
    pub interaction_type: Kind,
    pub score: f32,
}

/// An agent's memory is nearly full, or was full and its oldest entries were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryWarning {
    pub agent_id: AgentId,
    #[schema(example = "agent_coder")]
    pub name: String,
    pub total_vectors: u64,
    pub max_vectors: u64,
    /// How many entries were deleted to make room.
    pub deleted: u64,
}

/// A request became a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskPlanCreated {
    pub plan_id: PlanId,
    pub title: String,
    pub planner: Planner,
    pub tasks: Vec<PlannedTask>,
    /// In US dollars.
    pub estimated_cost: Range,
    /// In seconds.
    pub estimated_duration: Range,
    pub risk_level: RiskLevel,
    pub requires_approval: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedTask {
    pub task: String,
    pub agent: String,
    pub dependencies: Vec<String>,
}

/// A person is asked whether a plan may run; the approval has all there is to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanRequest {
    pub plan_id: PlanId,
    pub approval_id: ApprovalId,
    pub title: String,
    pub risk_level: RiskLevel,
    /// In US dollars.
    pub estimated_cost: Range,
    /// In seconds.
    pub estimated_duration: Range,
    pub expires_at: Timestamp,
}

/// A plan has moved on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanStatusChanged {
    pub plan_id: PlanId,
    pub status: plan::Status,
    /// Why, where that needs a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

/// A person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalRequired {
    pub approval_id: ApprovalId,
    #[serde(rename = "type")]
    pub kind: approval::Kind,
    pub risk_level: RiskLevel,
    #[schema(value_type = Object)]
    pub payload: serde_json::Value,
    pub expires_at: Timestamp,
}

/// A person, or the deadline, has decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalResolved {
    pub approval_id: ApprovalId,
    pub status: approval::Status,
    pub comment: Option<String>,
    pub decided_by: Option<UserId>,
    pub decided_from: Option<String>,
}

/// A minute is left to decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalTimeoutWarning {
    pub approval_id: ApprovalId,
    pub expires_at: Timestamp,
}

/// Nobody decided in time: it counts as rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalTimeout {
    pub approval_id: ApprovalId,
}

/// A person is asked whether a tool may be used; the approval has all there is to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolApprovalRequest {
    pub tool_id: ToolCallId,
    pub approval_id: ApprovalId,
    pub tool_name: String,
    pub risk_level: RiskLevel,
    /// Why a person is asked.
    #[schema(example = "writes a file")]
    pub reason: String,
    pub task_id: Option<TaskId>,
    pub agent_id: Option<AgentId>,
    pub expires_at: Timestamp,
}

/// A client is to carry out a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolExecutionSignal {
    pub tool_id: ToolCallId,
    /// Whom it is for; no other client acts on it.
    pub client_id: ClientId,
    pub phase: Phase,
    pub tool_name: String,
    pub user_id: UserId,
    /// In seconds.
    pub timeout: u32,
    /// None when they are large: then they are read from the call.
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<serde_json::Map<String, serde_json::Value>>,
    /// The state of the file that was prepared from.
    pub base: Option<String>,
    pub digest: Option<String>,
    /// Who let it run.
    pub decided_from: Option<String>,
}

/// A call has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolResult {
    pub tool_id: ToolCallId,
    pub tool_name: String,
    pub task_id: Option<TaskId>,
    pub status: tool::Status,
    pub success: bool,
    pub error: Option<String>,
}

/// An agent asks a person something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentQuestion {
    pub approval_id: ApprovalId,
    pub agent_id: AgentId,
    pub task_id: Option<TaskId>,
    pub question: String,
    /// Answers that the agent proposes.
    pub options: Vec<String>,
}

/// A person answered an agent, or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentAnswer {
    pub approval_id: ApprovalId,
    /// None: nobody answered, or nobody wanted to.
    pub answer: Option<String>,
}

/// A client came, or went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClientChanged {
    pub client_id: ClientId,
    pub connected: bool,
    pub workspace: String,
    pub host: String,
    pub sandbox: bool,
}

/// The process of an agent that is a program came up, went, or needs a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessChanged {
    pub agent_id: AgentId,
    pub state: process::State,
    /// Why, or what its owner should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Something is wrong with the project's space, or no longer is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    #[schema(example = "stuck_task")]
    pub code: String,
    pub detail: String,
    /// The trouble is over.
    pub resolved: bool,
}

/// The stream is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Heartbeat {
    pub timestamp: Timestamp,
}

/// Events between what the reader has and what the server still has are gone: read the state anew, then go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resync {
    /// The number that the reader asked to go on after.
    pub requested: u64,
    /// The number after which the stream goes on now.
    pub resumed_after: u64,
    pub reason: ResyncReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResyncReason {
    /// Those events are no longer kept.
    TooOld,
    /// The server never gave out such a number; its data may have been restored from a backup.
    Unknown,
}

/// Why the stream ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = StreamError)]
pub struct Error {
    #[schema(example = "project_deleted")]
    pub error_code: String,
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_names_itself_and_its_payload() {
        let signal: Signal =
            Resync { requested: 7, resumed_after: 90, reason: ResyncReason::TooOld }.into();
        assert_eq!(signal.kind(), "resync");
        assert_eq!(signal.payload(), r#"{"requested":7,"resumed_after":90,"reason":"too_old"}"#);
        let whole = serde_json::to_value(&signal).unwrap();
        assert_eq!(whole["event_type"], "resync");
        assert_eq!(whole["payload"]["requested"], 7);
    }
}
