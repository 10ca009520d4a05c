//! What can be asked of plans.

use std::collections::BTreeMap;

use artel_domain::SessionId;
use artel_domain::plan::DraftTask;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::input::Input;

/// A request to be planned.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePlan {
    #[schema(
        min_length = 1,
        max_length = 1_000_000,
        example = "Find out about FastAPI and build a REST API"
    )]
    pub request: String,
    /// The conversation that it belongs to; without one it begins its own.
    pub session_id: Option<SessionId>,
    /// The plan itself, for who has one: it is checked, priced and run as any other.
    #[schema(min_items = 1, max_items = 500)]
    pub tasks: Option<Vec<DraftTask>>,
}

/// A change to a plan that has not begun. Who approved it is asked again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditPlan {
    /// Tasks to leave out. What depends on them then depends on what they depend on.
    #[serde(default)]
    #[schema(max_items = 500, example = json!(["write_tests"]))]
    pub drop: Vec<String>,
    /// Other agents for tasks, by the tasks' names.
    #[serde(default)]
    #[schema(value_type = Object, example = json!({ "research": "agent_analyzer" }))]
    pub assign: BTreeMap<String, String>,
}

/// What to do again of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryPlan {
    /// One task, and what was skipped because of it; without it, everything that came to nothing.
    #[schema(max_length = 64, example = "research")]
    pub task: Option<String>,
    /// Also everything that depends on the task, done or not.
    #[serde(default)]
    pub from: bool,
    /// Another agent for the task, by name.
    #[schema(max_length = 100, example = "agent_analyzer")]
    pub agent: Option<String>,
}

impl Input for CreatePlan {}
impl Input for EditPlan {}
impl Input for RetryPlan {}
