//! `engineering`, `deploy` and `infra`: an agent hands work to the team. It becomes a plan, which asks its owner as any
//! other, and runs by itself: the agent gets its id at once, and asks `workflow` how it stands.

use artel_agents::llm::chat::ToolSpec;
use artel_domain::plan::DraftTask;
use artel_domain::{Agent, PlanId, ProjectId};
use artel_storage::{Scope, agents, plans};
use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::Tool;
use crate::{App, Caller, CreatePlan, Error, Kind, PlanView, Result};

/// Plans of a project that agents may have under way: one that hands its work back and forth comes to an end.
const UNDER_WAY: usize = 10;

/// Work for whoever of the team can do it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Workflow {
    /// Planned as a person's request is.
    Engineering,
    /// For the agent that has this capability.
    Deploy,
    Infra,
}

/// How such a plan stands.
#[derive(Debug)]
pub(crate) struct Progress;

impl Workflow {
    pub(crate) const ALL: [Self; 3] = [Self::Engineering, Self::Deploy, Self::Infra];

    const fn name(self) -> &'static str {
        match self {
            Self::Engineering => "engineering",
            Self::Deploy => "deploy",
            Self::Infra => "infra",
        }
    }

    fn request(self, word: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Engineering => word("task"),
            Self::Deploy => {
                format!("Deploy project {} to server {}", word("project_id"), word("server_id"))
            }
            Self::Infra => format!("{}\n\nOn server {}", word("task"), word("server_id")),
        }
    }
}

#[async_trait]
impl Tool for Workflow {
    fn spec(&self) -> ToolSpec {
        let text = |about: &str| json!({ "type": "string", "minLength": 1, "maxLength": 100_000, "description": about });
        let project = text("the project's id; without it, this project");
        let (description, properties, required) = match self {
            Self::Engineering => (
                "Hand a task to the team: it is planned, approved by the user, and worked on by whoever fits",
                json!({ "task": text("what is to be done"), "project_id": project }),
                json!(["task"]),
            ),
            Self::Deploy => (
                "Have a project deployed to a server, by the agent with the capability deploy",
                json!({ "project_id": text("the project's id"), "server_id": text("the server") }),
                json!(["project_id", "server_id"]),
            ),
            Self::Infra => (
                "Have something done on a server, by the agent with the capability infra",
                json!({ "task": text("what is to be done"), "server_id": text("the server"), "project_id": project }),
                json!(["task", "server_id"]),
            ),
        };
        ToolSpec {
            name: self.name().to_owned(),
            description: format!(
                "{description}. Gives the plan's id at once; ask `workflow` for its progress"
            ),
            parameters: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        }
    }

    async fn run(
        &self,
        app: &App,
        scope: Scope,
        _: &Agent,
        arguments: &Map<String, Value>,
    ) -> Result<String> {
        let word =
            |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let scope = of_project(scope, arguments)?;
        let read = app.0.storage.db.read(move |conn| {
            Box::pin(async move {
                let under_way = plans::unfinished(conn, scope).await?.len();
                Ok((under_way, agents::all(conn, scope).await?))
            })
        });
        let (under_way, team) = read.await?;
        if under_way >= UNDER_WAY {
            let message = format!("{under_way} plans are under way already; wait for one to end");
            return Err(Error::new(Kind::Conflict, "too_many_plans", message));
        }
        let request = self.request(&word);
        let tasks = match self {
            Self::Engineering => None,
            Self::Deploy | Self::Infra => Some(vec![self.task(&team, &request)?]),
        };
        let caller = Caller::on_behalf_of(scope.user);
        let wanted = app.schemas().check::<CreatePlan>(json!({
            "request": request,
            "tasks": tasks,
        }))?;
        let PlanView { plan, .. } = app.create_plan(&caller, scope.project, wanted, None).await?;
        let begun = app.execute_plan(&caller, scope.project, plan.id).await?;
        Ok(described(&begun).to_string())
    }
}

impl Workflow {
    /// One task for the agent that can do this.
    fn task(self, team: &[Agent], request: &str) -> Result<DraftTask> {
        let name = self.name();
        let can = |agent: &&Agent| {
            let capabilities = &agent.config.metadata.capabilities;
            agent.registered && capabilities.iter().any(|it| it.0 == name)
        };
        let Some(agent) = team.iter().find(can) else {
            let message = format!(
                "No agent of the project can do this: give one of them the capability {name:?}"
            );
            return Err(Error::new(Kind::Conflict, "no_agent", message));
        };
        let draft = json!({ "name": name, "agent": agent.name, "description": request });
        serde_json::from_value(draft).map_err(Error::internal)
    }
}

#[async_trait]
impl Tool for Progress {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "workflow".to_owned(),
            description: "How a plan stands that was begun by engineering, deploy or infra"
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "plan_id": { "type": "string" }, "project_id": { "type": "string" } },
                "required": ["plan_id"],
                "additionalProperties": false,
            }),
        }
    }

    async fn run(
        &self,
        app: &App,
        scope: Scope,
        _: &Agent,
        arguments: &Map<String, Value>,
    ) -> Result<String> {
        let scope = of_project(scope, arguments)?;
        let id = arguments.get("plan_id").and_then(Value::as_str).unwrap_or_default();
        let id: PlanId = id.parse().map_err(|_| Error::not_found("plan"))?;
        let caller = Caller::on_behalf_of(scope.user);
        Ok(described(&app.plan(&caller, scope.project, id).await?).to_string())
    }
}

fn of_project(scope: Scope, arguments: &Map<String, Value>) -> Result<Scope> {
    let Some(id) = arguments.get("project_id").and_then(Value::as_str) else { return Ok(scope) };
    let project: ProjectId = id.parse().map_err(|_| Error::not_found("project"))?;
    Ok(Scope { project, ..scope })
}

fn described(view: &PlanView) -> Value {
    let task = |it: &artel_domain::plan::Task| json!({ "task": it.task_id, "agent": it.agent_name, "status": it.status, "error": it.error });
    json!({
        "plan_id": view.plan.id,
        "title": view.plan.title,
        "status": view.plan.status,
        "tasks": view.tasks.iter().map(task).collect::<Vec<_>>(),
    })
}
