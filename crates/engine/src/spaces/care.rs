//! What can be done to a space: agents registered and deregistered, caches cleared, everything cleaned up or reset.
//! None of it touches a file of the user's.

use std::time::Duration;

use artel_domain::event::AgentChange;
use artel_domain::plan::Status;
use artel_domain::{Agent, AgentId, ProjectId};
use artel_storage::{Lane, Scope, agents as rows, leases, plans as running, projects, tasks};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::word::Word;
use super::{Space, ending, lease_name};
use crate::{App, Caller, Error, Kind, Result, agents, plans};

/// How often it is looked whether work has ended.
const LOOK: Duration = Duration::from_millis(50);

/// What a clean-up came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct CleanedUp {
    /// False when new work came in meanwhile: then the space goes on.
    pub closed: bool,
    /// Agents that were at hand.
    pub cache_cleared: u64,
}

/// What a reset came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Reset {
    pub tasks_cancelled: usize,
}

/// What clearing the cache came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Cleared {
    pub cache_cleared: u64,
}

impl App {
    /// Lets an agent take tasks again; 409 when it does already.
    pub async fn register_agent(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
    ) -> Result<Agent> {
        let scope = Scope { user: caller.user, project };
        let agent = self.set_registered(scope, id, true).await?;
        let space = self.0.spaces.get(self, scope).await?;
        space.seat(&agent);
        space.dispatch(self);
        Ok(agent)
    }

    /// Lets an agent take no more tasks, and waits for those it runs. What waited is cancelled. When this returns
    /// no task of it runs, and none can start.
    pub async fn deregister_agent(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
    ) -> Result<Agent> {
        let scope = Scope { user: caller.user, project };
        let agent = self.set_registered(scope, id, false).await?;
        if let Some(space) = self.0.spaces.find(project) {
            space.seat(&agent);
            space.dispatch(self);
        }
        // Every task has an end within its time, so this has one too.
        let load = || self.0.storage.db.read(move |conn| Box::pin(tasks::load(conn, project, id)));
        while load().await?.0 > 0 {
            tokio::time::sleep(LOOK).await;
        }
        Ok(agent)
    }

    async fn set_registered(&self, scope: Scope, id: AgentId, registered: bool) -> Result<Agent> {
        let (now, scribe) = (self.clock().now(), self.scribe());
        let write = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let agent = rows::get(conn, scope, id).await?;
                if agent.registered == registered {
                    return Ok(None);
                }
                let agent = Agent { registered, updated_at: now, ..agent };
                rows::update(conn, scope, &agent).await?;
                let (change, waiting) = if registered {
                    (AgentChange::Registered, Vec::new())
                } else {
                    let waiting = tasks::queued(conn, scope.project, id).await?;
                    ending::cancel_all(conn, &scribe, scope, &waiting).await?;
                    (AgentChange::Deregistered, waiting)
                };
                agents::tell(conn, scope, &agent, change, now).await?;
                Ok(Some((agent, waiting)))
            })
        });
        let Some((agent, cancelled)) = write.await? else {
            let (code, message) = if registered {
                ("already_registered", "Agent already registered")
            } else {
                ("not_registered", "Agent not registered")
            };
            return Err(Error::new(Kind::Conflict, code, message));
        };
        self.0.cache.forget(scope, id).await;
        plans::cache::forget(self, scope, id).await;
        self.tell(scope, Word::AgentChanged(id)).await;
        tracing::info!(project = %scope.project, agent = %id, registered, "registration changed");
        self.plans_of(scope, &cancelled).await;
        Ok(agent)
    }

    /// Forgets what is at hand of an agent, on every node, and registers it anew as it is now.
    pub async fn invalidate_agent(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
    ) -> Result<()> {
        let scope = Scope { user: caller.user, project };
        // Whose it is not must not learn whether it is there.
        self.agent(caller, project, id).await?;
        self.agent_changed(scope, id).await;
        tracing::info!(%project, agent = %id, "agent invalidated");
        Ok(())
    }

    /// Forgets every agent of the project that is at hand, on every node. Registrations stay.
    pub async fn clear_agent_cache(&self, caller: &Caller, project: ProjectId) -> Result<Cleared> {
        self.project(caller, project).await?;
        let scope = Scope { user: caller.user, project };
        let cache_cleared = self.0.cache.clear(scope).await;
        self.tell(scope, Word::CacheCleared).await;
        tracing::info!(%project, agents = cache_cleared, "agent cache cleared");
        Ok(Cleared { cache_cleared })
    }

    /// Lets what runs end, and closes the space. The next request opens it again.
    pub async fn clean_up_space(&self, caller: &Caller, project: ProjectId) -> Result<CleanedUp> {
        self.project(caller, project).await?;
        let scope = Scope { user: caller.user, project };
        self.clean_up(scope).await
    }

    pub(crate) async fn clean_up(&self, scope: Scope) -> Result<CleanedUp> {
        let until = Instant::now() + self.0.settings.direct_timeout;
        let mut closed = true;
        if let Some(space) = self.0.spaces.find(scope.project) {
            while space.desk.size().1 > 0 && Instant::now() < until {
                tokio::time::sleep(LOOK).await;
            }
            closed = self.0.spaces.close_if_idle(scope.project);
            if closed {
                self.give_up_lease(&space).await?;
            }
        }
        let cache_cleared = self.0.cache.clear(scope).await;
        self.tell(scope, Word::CacheCleared).await;
        tracing::info!(project = %scope.project, closed, "space cleaned up");
        Ok(CleanedUp { closed, cache_cleared })
    }

    /// Another node may have the space at once.
    pub(super) async fn give_up_lease(&self, space: &Space) -> Result<()> {
        let Some(lease) = space.take_lease() else { return Ok(()) };
        let released = self.0.storage.db.write(Lane::Project(space.scope.project), move |conn| {
            Box::pin(async move { leases::release(conn, &lease).await })
        });
        Ok(released.await?)
    }

    /// Stops everything in the space at once, on whichever node it is, and opens it anew.
    pub async fn reset_space(&self, caller: &Caller, project: ProjectId) -> Result<Reset> {
        self.reset(Scope { user: caller.user, project }).await
    }

    /// The same for anybody's. Only for administrators; the front end has checked.
    pub async fn reset_any_space(&self, project: ProjectId) -> Result<Reset> {
        let owner =
            self.0.storage.db.read(move |conn| Box::pin(projects::owner(conn, project))).await?;
        self.reset(Scope { user: owner, project }).await
    }

    async fn reset(&self, scope: Scope) -> Result<Reset> {
        let scribe = self.scribe();
        let write = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let unfinished = tasks::unfinished(conn, scope.project).await?;
                // What has not begun may still begin.
                for plan in running::unfinished(conn, scope).await? {
                    if plan.status == Status::Executing {
                        plans::stop(conn, &scribe, scope, plan.id, "The space was reset").await?;
                    }
                }
                ending::cancel_all(conn, &scribe, scope, &unfinished).await?;
                leases::revoke(conn, &lease_name(scope.project)).await?;
                Ok(unfinished.len())
            })
        });
        let tasks_cancelled = write.await?;
        self.0.spaces.close(scope.project);
        self.0.cache.clear(scope).await;
        self.tell(scope, Word::SpaceClosed).await;
        self.0.spaces.get(self, scope).await?;
        tracing::warn!(project = %scope.project, tasks = tasks_cancelled, "space reset");
        Ok(Reset { tasks_cancelled })
    }
}
