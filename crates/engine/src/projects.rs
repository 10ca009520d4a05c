//! Projects: created with their team, seen and changed by their owner alone.

use std::time::Duration;

use artel_domain::event::ProjectUpdated;
use artel_domain::project::{NewProject, Project};
use artel_domain::{Agent, AgentConfig, AgentId, AgentStatus, ProjectId};
use artel_storage::{Lane, Listed, Page, Scope, agents as team, events, processes, projects};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::input::{Checked, Input};
use crate::spaces::word::Word;
use crate::{App, Caller, Error, IdempotencyKey, Kind, Result, agents, idempotent};

/// A project to create.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    #[schema(min_length = 1, max_length = 255, example = "Web shop")]
    pub name: String,
    /// Where the files are on your own machine; only your client ever opens it.
    #[schema(max_length = 4096, example = "/home/ada/shop")]
    pub workspace_path: Option<String>,
    /// The team to start with: `workspace`, `roles`, `none`, or a pack of the operator's.
    #[schema(max_length = 100, example = "workspace")]
    pub starter_pack: Option<String>,
}

/// What to change of a project; what is absent or null stays.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateProject {
    #[schema(min_length = 1, max_length = 255, example = "Web shop, second edition")]
    pub name: Option<String>,
    #[schema(max_length = 4096)]
    pub workspace_path: Option<String>,
}

impl Input for CreateProject {}
impl Input for UpdateProject {}

const TOO_MANY: &str = "too_many_projects";

impl App {
    /// Creates the project and its agents, in one commit with the events that tell of them.
    pub async fn create_project(
        &self,
        caller: &Caller,
        input: Checked<CreateProject>,
        key: Option<IdempotencyKey>,
    ) -> Result<NewProject> {
        let CreateProject { name, workspace_path, starter_pack } = input.into_inner();
        let now = self.clock().now();
        let pack =
            self.0.packs.find(starter_pack.as_deref().unwrap_or(&self.0.settings.starter_pack))?;
        let model = self.0.settings.default_model.as_ref();
        // A microsecond apart, so that lists keep the pack's order.
        let moments = (0..).map(|place| now.plus(Duration::from_micros(place)));
        let team: Vec<Agent> = pack
            .iter()
            .zip(moments)
            .map(|((name, config), moment)| Agent {
                id: AgentId::new(self.clock()),
                name: name.clone(),
                status: AgentStatus::Ready,
                created_at: moment,
                updated_at: moment,
                registered: true,
                config: AgentConfig {
                    model: model.unwrap_or(&config.model).clone(),
                    ..config.clone()
                },
            })
            .collect();
        let project = Project {
            id: ProjectId::new(self.clock()),
            user_id: caller.user,
            name,
            workspace_path,
            created_at: now,
            updated_at: now,
        };
        let (user, limit) = (caller.user, self.0.settings.max_projects);
        let db = &self.0.storage.db;
        let made = idempotent::once(db, self.clock(), Lane::User(user), caller, key, move |conn| {
            Box::pin(async move {
                if projects::count(conn, user).await? >= limit {
                    return Err(artel_storage::Error::Refused(TOO_MANY));
                }
                projects::add(conn, &project).await?;
                let scope = Scope { user, project: project.id };
                for agent in &team {
                    agents::add(conn, scope, agent).await?;
                }
                Ok(NewProject::of(project, team))
            })
        })
        .await
        .map_err(|error| {
            let message =
                format!("You have {limit} projects, which is the limit; delete one first");
            if error.code == TOO_MANY {
                Error::new(Kind::Conflict, TOO_MANY, message)
            } else {
                error
            }
        })?;
        // Its space is ready when this returns. Should that fail, the next request opens it.
        let scope = Scope { user, project: made.id };
        if let Err(error) = self.0.spaces.get(self, scope).await {
            tracing::warn!(%error, project = %scope.project, "a new project's space did not open");
        }
        Ok(made)
    }

    pub async fn list_projects(&self, caller: &Caller, page: Page) -> Result<Listed<Project>> {
        let user = caller.user;
        let read = self.0.storage.db.read(move |conn| Box::pin(projects::list(conn, user, page)));
        Ok(read.await?)
    }

    pub async fn project(&self, caller: &Caller, project: ProjectId) -> Result<Project> {
        let scope = Scope { user: caller.user, project };
        Ok(self.0.storage.db.read(move |conn| Box::pin(projects::get(conn, scope))).await?)
    }

    pub async fn update_project(
        &self,
        caller: &Caller,
        project: ProjectId,
        input: Checked<UpdateProject>,
    ) -> Result<Project> {
        let scope = Scope { user: caller.user, project };
        let UpdateProject { name, workspace_path } = input.into_inner();
        let now = self.clock().now();
        let change = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let mut project = projects::get(conn, scope).await?;
                project.name = name.unwrap_or(project.name);
                project.workspace_path = workspace_path.or(project.workspace_path);
                project.updated_at = now;
                projects::update(conn, &project).await?;
                let event = ProjectUpdated {
                    name: project.name.clone(),
                    workspace_path: project.workspace_path.clone(),
                };
                events::append(conn, project.id, None, now, &event.into()).await?;
                Ok(project)
            })
        });
        Ok(change.await?)
    }

    /// Deletes the project with everything in it, and ends its event streams.
    pub async fn delete_project(&self, caller: &Caller, project: ProjectId) -> Result<()> {
        let scope = Scope { user: caller.user, project };
        let change = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                let mut programs = Vec::new();
                for agent in team::all(conn, scope).await? {
                    if agent.config.runtime.is_some() {
                        let row = processes::get(conn, agent.id).await?;
                        programs.push((agent.id, row.map(|row| row.node)));
                    }
                }
                projects::delete(conn, scope).await?;
                Ok(programs)
            })
        });
        for (agent, node) in change.await? {
            self.close_program(agent, "The project was deleted").await;
            self.forget_program(agent, node).await;
        }
        self.0.spaces.close(project);
        self.0.cache.clear(scope).await;
        self.tell(scope, Word::SpaceClosed).await;
        self.0.feeds.deleted(project);
        // The memories of its agents are removed now.
        self.0.memory.call();
        Ok(())
    }
}
