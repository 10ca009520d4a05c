//! Artel's nouns and their laws.
//!
//! Everything else is built on these types: ids, time, users, projects, agents, plans, approvals and the events
//! that tell of them. Nothing here waits, opens a file or talks to anyone; the one effect is the system clock.

pub mod agent;
pub mod approval;
pub mod clock;
pub mod event;
pub mod id;
pub mod memory;
pub mod money;
pub mod packs;
pub mod plan;
pub mod process;
pub mod project;
pub mod session;
pub mod task;
pub mod tool;
pub mod user;

pub use agent::{Agent, AgentConfig, AgentStatus, RiskLevel};
pub use clock::{Clock, SystemClock, Timestamp};
pub use event::{Envelope, Event};
pub use id::{
    AgentId, AllowanceId, ApprovalId, ClientId, InteractionId, LifeId, MessageId, OrderId, PlanId,
    ProjectId, RunId, SessionId, TaskId, ToolCallId, TurnId, UserId,
};
pub use project::Project;
pub use user::{Role, User};
