//! Agents: the members of a project's team. Every change is told as `agent_status_changed`.

use artel_domain::event::{AgentChange, AgentStatusChanged};
use artel_domain::{Agent, AgentConfig, AgentId, AgentStatus, ProjectId, Timestamp};
use artel_storage::{Conn, Lane, Listed, Page, Scope, agents, events, processes, projects, tasks};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::input::{Checked, Input, Schemas};
use crate::memory::{Archived, collection};
use crate::spaces::ending;
use crate::spaces::word::Word;
use crate::{App, Caller, Error, IdempotencyKey, Kind, Result, idempotent, plans};

/// An agent to create, or what to replace one with. The fields of `config` may also stand beside `name`.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgent {
    #[schema(min_length = 1, max_length = 100, example = "reviewer")]
    pub name: String,
    pub config: AgentConfig,
}

/// What to change of an agent, as a JSON merge patch: what is absent stays, null goes back to its default. The
/// fields of `config` may also stand beside `name`.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchAgent {
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    /// Any of the fields of `config`.
    #[schema(value_type = Option<Object>, example = json!({"temperature": 0.2}))]
    pub config: Option<Map<String, Value>>,
}

/// What becomes of the memory of an agent that is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryFate {
    #[default]
    Clear,
    /// It is kept as an export in the server's data folder, and can be imported again.
    Archive,
}

/// The fields of [`AgentConfig`], which may stand flat beside the name.
const CONFIG: [&str; 9] = [
    "system_prompt",
    "model",
    "tools",
    "concurrency_limit",
    "temperature",
    "max_tokens",
    "max_vectors",
    "runtime",
    "metadata",
];

const TOO_MANY: &str = "too_many_agents";

/// Moves configuration that stands flat beside the name to where it belongs. A body that says a field in both
/// places is left as it is, and refused later for the one that is not known.
fn gather_config(body: Value) -> Value {
    let Value::Object(mut body) = body else { return body };
    let flat: Vec<_> = CONFIG.into_iter().filter(|field| body.contains_key(*field)).collect();
    let mut config = match body.remove("config") {
        Some(Value::Object(config)) => config,
        None => Map::new(),
        Some(other) => {
            body.insert("config".to_owned(), other);
            return Value::Object(body);
        }
    };
    for field in flat {
        if !config.contains_key(field)
            && let Some(value) = body.remove(field)
        {
            config.insert(field.to_owned(), value);
        }
    }
    body.insert("config".to_owned(), Value::Object(config));
    Value::Object(body)
}

impl Input for CreateAgent {
    fn normalise(body: Value) -> Value {
        gather_config(body)
    }
}

impl Input for PatchAgent {
    fn normalise(body: Value) -> Value {
        gather_config(body)
    }
}

impl App {
    pub async fn create_agent(
        &self,
        caller: &Caller,
        project: ProjectId,
        input: Checked<CreateAgent>,
        key: Option<IdempotencyKey>,
    ) -> Result<Agent> {
        let scope = Scope { user: caller.user, project };
        let CreateAgent { name, config } = input.into_inner();
        self.check_runtime(&config)?;
        let now = self.clock().now();
        let taken = name_taken(&name);
        let agent = Agent {
            id: AgentId::new(self.clock()),
            name,
            status: AgentStatus::Ready,
            created_at: now,
            updated_at: now,
            registered: true,
            config,
        };
        let limit = self.0.settings.max_agents;
        let db = &self.0.storage.db;
        let created =
            idempotent::once(db, self.clock(), Lane::Project(project), caller, key, move |conn| {
                Box::pin(async move {
                    projects::lock(conn, scope).await?;
                    if agents::count(conn, scope).await? >= limit {
                        return Err(artel_storage::Error::Refused(TOO_MANY));
                    }
                    add(conn, scope, &agent).await?;
                    Ok(agent)
                })
            })
            .await
            .map_err(|error| match error.code {
                "conflict" => taken,
                TOO_MANY => {
                    let message = format!(
                        "The project has {limit} agents, which is the limit; delete one first"
                    );
                    Error::new(Kind::Conflict, TOO_MANY, message)
                }
                _ => error,
            })?;
        self.agent_changed(scope, created.id).await;
        self.ensure_collections(scope, std::slice::from_ref(&created)).await;
        Ok(created)
    }

    /// Every node has the agent as it is now; the next task sees it.
    pub(crate) async fn agent_changed(&self, scope: Scope, id: AgentId) {
        self.0.cache.forget(scope, id).await;
        plans::cache::forget(self, scope, id).await;
        self.tell(scope, Word::AgentChanged(id)).await;
        if let Err(error) = self.reseat(scope, id).await {
            // The change stands. Its next task seats it.
            tracing::warn!(%error, agent = %id, "an agent that changed could not be seated anew");
        }
    }

    pub async fn list_agents(
        &self,
        caller: &Caller,
        project: ProjectId,
        page: Page,
    ) -> Result<Listed<Agent>> {
        let scope = Scope { user: caller.user, project };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                agents::list(conn, scope, page).await
            })
        });
        Ok(read.await?)
    }

    pub async fn agent(&self, caller: &Caller, project: ProjectId, id: AgentId) -> Result<Agent> {
        let scope = Scope { user: caller.user, project };
        Ok(self.0.storage.db.read(move |conn| Box::pin(agents::get(conn, scope, id))).await?)
    }

    /// Replaces the agent's name and configuration.
    pub async fn replace_agent(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
        input: Checked<CreateAgent>,
    ) -> Result<Agent> {
        let CreateAgent { name, config } = input.into_inner();
        self.check_runtime(&config)?;
        let taken = name_taken(&name);
        self.change_agent(caller, project, id, move |agent| Ok(Agent { name, config, ..agent }))
            .await
            .map_err(|error| if error.code == "conflict" { taken } else { error })?
    }

    /// Changes parts of the agent, under the same bounds as a new one.
    pub async fn patch_agent(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
        input: Checked<PatchAgent>,
    ) -> Result<Agent> {
        let PatchAgent { name, config: patch } = input.into_inner();
        let taken = name_taken(name.as_deref().unwrap_or_default());
        let app = self.clone();
        self.change_agent(caller, project, id, move |agent| {
            let config = merged(app.schemas(), &agent, patch)?.into_inner().config;
            app.check_runtime(&config)?;
            Ok(Agent { name: name.unwrap_or(agent.name), config, ..agent })
        })
        .await
        .map_err(|error| if error.code == "conflict" { taken } else { error })?
    }

    /// Deletes the agent and what hangs on it; says where its memory was kept, if that was asked for.
    pub async fn delete_agent(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
        memory: MemoryFate,
    ) -> Result<Option<Archived>> {
        let scope = Scope { user: caller.user, project };
        let archived = match memory {
            MemoryFate::Archive => Some(self.archive_context(caller, project, id).await?),
            MemoryFate::Clear => None,
        };
        let (now, scribe) = (self.clock().now(), self.scribe());
        let change = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let agent = agents::get(conn, scope, id).await?;
                // A plan keeps what became of its tasks.
                let mut planned = tasks::unfinished(conn, project).await?;
                planned.retain(|task| task.agent_id == id && task.plan.is_some());
                ending::cancel_all(conn, &scribe, scope, &planned).await?;
                let node = processes::get(conn, id).await?.map(|row| row.node);
                agents::delete(conn, scope, &agent).await?;
                tell(conn, scope, &agent, AgentChange::Deleted, now).await?;
                Ok((agent, planned, node))
            })
        });
        let (agent, planned, node) = change.await?;
        self.close_program(id, "The agent was deleted").await;
        self.forget_program(id, node).await;
        // Its tasks went with it: what waits never starts, and what runs is stopped.
        self.agent_changed(scope, id).await;
        self.plans_of(scope, &planned).await;
        if let Err(error) = self.remove_collection(&collection(scope, &agent)).await {
            tracing::warn!(%error, agent = %id, "the memory of a deleted agent is removed later");
        }
        Ok(archived)
    }

    /// Reads, changes and writes an agent in one transaction. What `change` refuses changes nothing.
    async fn change_agent<F>(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
        change: F,
    ) -> Result<Result<Agent>>
    where
        F: FnOnce(Agent) -> Result<Agent> + Send + 'static,
    {
        let scope = Scope { user: caller.user, project };
        let now = self.clock().now();
        let write = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let before = agents::get(conn, scope, id).await?;
                let known_as = collection(scope, &before);
                let agent = match change(before) {
                    Ok(agent) => Agent { updated_at: now, ..agent },
                    Err(refused) => return Ok(Err(refused)),
                };
                agents::update(conn, scope, &agent).await?;
                tell(conn, scope, &agent, AgentChange::Updated, now).await?;
                Ok(Ok((agent, known_as)))
            })
        });
        let (agent, known_as) = match write.await? {
            Ok(changed) => changed,
            Err(refused) => return Ok(Err(refused)),
        };
        self.agent_changed(scope, agent.id).await;
        let name = collection(scope, &agent).name;
        if name != known_as.name
            && let Err(error) = self.0.storage.vectors.rename(&known_as, &name).await
        {
            // It is found by the agent's id all the same, and named anew when its space is opened.
            tracing::warn!(%error, agent = %id, "a collection keeps its old name for now");
        }
        Ok(Ok(agent))
    }
}

/// Adds an agent and tells of it.
pub(crate) async fn add(conn: &mut Conn, scope: Scope, agent: &Agent) -> artel_storage::Result<()> {
    agents::add(conn, scope, agent).await?;
    tell(conn, scope, agent, AgentChange::Created, agent.created_at).await
}

pub(crate) async fn tell(
    conn: &mut Conn,
    scope: Scope,
    agent: &Agent,
    change: AgentChange,
    at: Timestamp,
) -> artel_storage::Result<()> {
    let event = AgentStatusChanged {
        agent_id: agent.id,
        name: agent.name.clone(),
        status: agent.status,
        change,
    };
    events::append(conn, scope.project, None, at, &event.into()).await?;
    Ok(())
}

/// The agent with the patch applied, checked as a new one would be.
fn merged(
    schemas: &Schemas,
    agent: &Agent,
    patch: Option<Map<String, Value>>,
) -> Result<Checked<CreateAgent>> {
    let mut whole = json!({ "name": agent.name, "config": agent.config });
    if let Some(patch) = patch {
        merge(&mut whole["config"], Value::Object(patch));
    }
    schemas.check(whole)
}

/// RFC 7396. The depth is bounded by the parser that read the patch.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(target) = target {
        for (name, value) in patch {
            if value.is_null() {
                target.remove(&name);
            } else {
                merge(target.entry(name).or_insert(Value::Null), value);
            }
        }
    }
}

fn name_taken(name: &str) -> Error {
    let message = format!("The project has an agent named {name:?} already");
    Error::new(Kind::Conflict, "agent_name_taken", message)
}
