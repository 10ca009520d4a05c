//! The registry of tools that agents may use while they work on a task.
//!
//! Some need nothing but the server ([`Tool`]); some wait for others, a person or the client on the user's machine, and
//! are calls that outlive the process ([`crate::calls`]). An agent is offered those that its configuration names. What a
//! tool gives back goes to the model as the result of its call, never as word of the agent's owner.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use artel_agents::llm::chat::{ToolCall, ToolSpec};
use artel_domain::tool::{Status, ToolCall as Call};
use artel_domain::{Agent, RiskLevel};
use artel_storage::{Scope, agents};
use artel_tools::catalog;
use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::memory::recall::MemorySearch;
use crate::{App, Result};
use projects::Projects;
use result::ReadResult;
use workflows::{Progress, Workflow};

pub(crate) mod permission;
mod projects;
pub(crate) mod question;
pub(crate) mod result;
pub(crate) mod speaking;
mod workflows;

/// The most that a tool's result may have, in bytes.
const LONGEST: usize = 64 * 1024;

/// Something an agent can do.
#[async_trait]
pub(crate) trait Tool: Send + Sync + fmt::Debug {
    fn spec(&self) -> ToolSpec;
    /// Does it for an agent of this project; an error is told to the model.
    async fn run(
        &self,
        app: &App,
        scope: Scope,
        agent: &Agent,
        arguments: &Map<String, Value>,
    ) -> Result<String>;
}

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) content: String,
    pub(crate) failed: bool,
}

/// All tools, by name.
#[derive(Debug)]
pub(crate) struct Tools(BTreeMap<String, Arc<dyn Tool>>);

impl Tools {
    pub(crate) fn new() -> Self {
        let all: [Arc<dyn Tool>; 5] = [
            Arc::new(ListAgents),
            Arc::new(MemorySearch),
            Arc::new(ReadResult),
            Arc::new(Projects),
            Arc::new(Progress),
        ];
        let workflows = Workflow::ALL.map(|workflow| Arc::new(workflow) as Arc<dyn Tool>);
        let all = all.into_iter().chain(workflows);
        Self(all.map(|tool| (tool.spec().name, tool)).collect())
    }

    /// All there are, as people and programs see them.
    pub(crate) fn available(&self) -> Vec<AvailableTool> {
        let of = |spec: ToolSpec, side| AvailableTool {
            name: spec.name,
            description: spec.description,
            parameters: spec.parameters,
            side,
            effects: false,
            risk_level: RiskLevel::Low,
            longest: None,
        };
        let here = self.0.values().map(|tool| of(tool.spec(), Side::Server));
        let asks = std::iter::once(of(question_spec(), Side::Person));
        let there = catalog::all().iter().map(|it| AvailableTool {
            effects: it.effects,
            risk_level: it.risk,
            longest: Some(it.longest.as_secs()),
            ..of(workspace_spec(it), Side::Client)
        });
        here.chain(asks).chain(there).collect()
    }

    /// Those of the names that there are.
    pub(crate) fn offered<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<ToolSpec> {
        names.filter_map(|name| self.spec(name)).collect()
    }

    fn spec(&self, name: &str) -> Option<ToolSpec> {
        if name == question::NAME {
            return Some(question_spec());
        }
        let here = || self.0.get(name).map(|tool| tool.spec());
        catalog::find(name).map(workspace_spec).or_else(here)
    }

    /// Runs a tool that was offered; what goes wrong is for the model to know.
    pub(crate) async fn call(
        &self,
        app: &App,
        scope: Scope,
        agent: &Agent,
        offered: &[ToolSpec],
        call: &ToolCall,
    ) -> Done {
        let tool = self.0.get(&call.name).filter(|_| offered.iter().any(|it| it.name == call.name));
        let Some(tool) = tool else {
            let content = format!("There is no tool named {:?}", call.name);
            return Done { content, failed: true };
        };
        match tool.run(app, scope, agent, &call.arguments).await {
            Ok(content) => Done::of(content, false),
            Err(error) => Done::of(error.to_string(), true),
        }
    }
}

/// Whether a tool waits for others, so that its calls must outlive this process.
pub(crate) fn waits_for_others(name: &str) -> bool {
    name == question::NAME || name == permission::NAME || catalog::find(name).is_some()
}

impl Done {
    fn of(mut content: String, failed: bool) -> Self {
        if content.len() > LONGEST {
            content.truncate(content.floor_char_boundary(LONGEST));
            content.push_str("\n(cut)");
        }
        Self { content, failed }
    }
}

/// What the model is told of a call that has ended.
impl From<Call> for Done {
    fn from(call: Call) -> Self {
        let mut fields = match call.result {
            Some(Value::Object(fields)) => fields,
            Some(_) | None => Map::new(),
        };
        if call.status == Status::Succeeded {
            // The text of a file as it stands in it.
            if call.tool_name == "tool_read_file"
                && fields.get("encoding").and_then(Value::as_str) == Some("utf-8")
                && fields.get("truncated").and_then(Value::as_bool) == Some(false)
                && let Some(Value::String(content)) = fields.remove("content")
            {
                return Self::of(content, false);
            }
            return Self::of(Value::Object(fields).to_string(), false);
        }
        let error = call.error.unwrap_or_else(|| call.status.as_str().to_owned());
        if fields.is_empty() {
            return Self::of(error, true);
        }
        fields.insert("error".to_owned(), error.into());
        Self::of(Value::Object(fields).to_string(), true)
    }
}

/// Where a tool does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ToolSide)]
pub enum Side {
    Server,
    /// On the user's machine.
    Client,
    /// A person answers.
    Person,
}

/// A tool that agents can be given.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct AvailableTool {
    #[schema(example = "tool_read_file")]
    pub name: String,
    pub description: String,
    /// A JSON schema.
    #[schema(value_type = Object)]
    pub parameters: Value,
    pub side: Side,
    /// Whether it can change anything.
    pub effects: bool,
    /// How risky a call of it is at least; each is judged by its arguments.
    pub risk_level: RiskLevel,
    /// The longest that a call may take, in seconds; none where the task's own time counts.
    pub longest: Option<u64>,
}

fn workspace_spec(spec: &catalog::Spec) -> ToolSpec {
    ToolSpec {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        parameters: spec.parameters.clone(),
    }
}

fn question_spec() -> ToolSpec {
    ToolSpec {
        name: question::NAME.to_owned(),
        description: question::DESCRIPTION.to_owned(),
        parameters: question::parameters(),
    }
}

impl App {
    /// Every tool that an agent's configuration can name.
    pub fn available_tools(&self) -> Vec<AvailableTool> {
        self.0.tools.available()
    }
}

/// Who else is on the team.
#[derive(Debug)]
struct ListAgents;

#[async_trait]
impl Tool for ListAgents {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_agents".to_owned(),
            description: "The agents of this project, with their roles and whether they take tasks"
                .to_owned(),
            parameters: json!({ "type": "object", "properties": {} }),
        }
    }

    async fn run(
        &self,
        app: &App,
        scope: Scope,
        _: &Agent,
        _: &Map<String, Value>,
    ) -> Result<String> {
        let team = app.0.storage.db.read(move |conn| Box::pin(agents::all(conn, scope))).await?;
        let one = |agent: &Agent| {
            let role = &agent.config.metadata.role;
            json!({ "name": agent.name, "role": role, "takes_tasks": agent.registered })
        };
        Ok(Value::from(team.iter().map(one).collect::<Vec<_>>()).to_string())
    }
}
