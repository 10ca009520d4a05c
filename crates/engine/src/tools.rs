//! Tools that agents may use while they work on a task: those that need nothing but the server.
//!
//! An agent is offered those that its configuration names. What a tool gives back goes to the model as the result
//! of its call, never as word of the agent's owner.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use artel_agents::llm::chat::{ToolCall, ToolSpec};
use artel_domain::Agent;
use artel_storage::{Scope, agents};
use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::memory::recall::MemorySearch;
use crate::{App, Result};

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
        let all: [Arc<dyn Tool>; 2] = [Arc::new(ListAgents), Arc::new(MemorySearch)];
        Self(all.into_iter().map(|tool| (tool.spec().name, tool)).collect())
    }

    /// Those of the names that there are.
    pub(crate) fn offered<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<ToolSpec> {
        names.filter_map(|name| self.0.get(name)).map(|tool| tool.spec()).collect()
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
        let (mut content, failed) = match tool.run(app, scope, agent, &call.arguments).await {
            Ok(content) => (content, false),
            Err(error) => (error.to_string(), true),
        };
        if content.len() > LONGEST {
            content.truncate(content.floor_char_boundary(LONGEST));
            content.push_str("\n(cut)");
        }
        Done { content, failed }
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
