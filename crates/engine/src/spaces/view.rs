//! What can be seen of a space and its agents.

use artel_domain::event::Alert;
use artel_domain::session::ErrorType;
use artel_domain::{Agent, AgentId, ProjectId, Timestamp, UserId};
use artel_storage::events::Recorded;
use artel_storage::{Conn, Scope, agents, events, projects, tasks};
use serde::Serialize;
use utoipa::ToSchema;

use super::Space;
use super::board::WAITING;
use super::cache::user_prefix;
use crate::{App, Caller, Kind, Listed, Page, Result};

/// A project's space, as it is now.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SpaceView {
    pub user_id: UserId,
    pub project_id: ProjectId,
    /// What its keys begin with, in everything that nodes share.
    #[schema(example = "user1_project0192…")]
    pub user_prefix: String,
    /// Agents that take tasks.
    pub active_agents: u64,
    /// Agents whose configuration is at hand on this node.
    pub cache_size: usize,
    pub queued_tasks: u64,
    pub running_tasks: u64,
    pub total_tasks_processed: u64,
    /// In seconds, since the space was opened on this node.
    pub uptime: u64,
    pub is_healthy: bool,
}

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Idle,
    /// Idle, and its last task failed.
    Error,
    /// Idle, and its model service has no quota left.
    Quota,
    Processing,
    /// As much as it may at a time; more would wait.
    Busy,
    /// And no more can wait.
    AtCapacity,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AgentStatusView {
    pub agent_id: AgentId,
    pub status: Doing,
    /// Whether it takes tasks.
    pub registered: bool,
    pub running: u64,
    pub waiting: u64,
    pub concurrency_limit: u8,
    /// Why its last task failed, if it did; of a quota, with the time of its reset where that is known.
    pub last_error: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AgentMetrics {
    pub agent_id: AgentId,
    pub tasks_processed: u64,
    pub tasks_failed: u64,
    /// In seconds.
    pub avg_processing_time: f64,
    pub last_activity: Option<Timestamp>,
    /// Between 0 and 1.
    pub error_rate: f64,
}

/// Something that was wrong with the project's space, or no longer is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AlertView {
    pub timestamp: Timestamp,
    #[serde(flatten)]
    pub alert: Alert,
}

/// Alerts that are shown of the past.
const ALERTS: u32 = 50;

impl App {
    /// The last alerts of the project, newest first, of the events that are kept.
    pub async fn alerts(&self, caller: &Caller, project: ProjectId) -> Result<Vec<AlertView>> {
        let scope = Scope { user: caller.user, project };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                events::last_of_kind(conn, project, "alert", ALERTS).await
            })
        });
        let told = |event: Recorded| {
            let alert = serde_json::from_str(&event.payload).ok()?;
            Some(AlertView { timestamp: event.at, alert })
        };
        Ok(read.await?.into_iter().filter_map(told).collect())
    }

    /// The project's space; opened when it was not.
    pub async fn space(&self, caller: &Caller, project: ProjectId) -> Result<SpaceView> {
        let scope = Scope { user: caller.user, project };
        let space = self.0.spaces.get(self, scope).await?;
        self.view(&space).await
    }

    /// The spaces that are open on this node. Only for administrators; the front end has checked.
    pub async fn spaces(&self, page: Page) -> Result<Listed<SpaceView>> {
        let mut all = self.0.spaces.all();
        all.sort_by_key(|space| space.scope.project);
        let total = all.len() as u64;
        let (skip, limit) = (usize::try_from(page.offset), usize::try_from(page.limit));
        let (skip, limit) = (skip.unwrap_or(usize::MAX), limit.unwrap_or(usize::MAX));
        let mut items = Vec::new();
        for space in all.iter().skip(skip).take(limit) {
            match self.view(space).await {
                Ok(view) => items.push(view),
                // Deleted in between.
                Err(error) if error.kind == Kind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Listed { items, total })
    }

    async fn view(&self, space: &Space) -> Result<SpaceView> {
        let scope = space.scope;
        let healthy = self.examine(space).await?.is_empty();
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                Ok((
                    agents::registered(conn, scope).await?,
                    tasks::totals(conn, scope.project).await?,
                ))
            })
        });
        let (active_agents, totals) = read.await?;
        Ok(SpaceView {
            user_id: scope.user,
            project_id: scope.project,
            user_prefix: user_prefix(scope),
            active_agents,
            cache_size: self.0.cache.size(scope.project),
            queued_tasks: totals.queued,
            running_tasks: totals.running,
            total_tasks_processed: totals.ended,
            uptime: space.uptime().as_secs(),
            is_healthy: healthy,
        })
    }

    /// What the agent is doing, from its queue.
    pub async fn agent_status(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
    ) -> Result<AgentStatusView> {
        let scope = Scope { user: caller.user, project };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                let agent = agents::get(conn, scope, id).await?;
                status_of(conn, project, &agent).await
            })
        });
        Ok(read.await?)
    }

    /// What every agent of the project is doing.
    pub async fn statuses(
        &self,
        caller: &Caller,
        project: ProjectId,
    ) -> Result<Vec<AgentStatusView>> {
        let scope = Scope { user: caller.user, project };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                let mut all = Vec::new();
                for agent in agents::all(conn, scope).await? {
                    all.push(status_of(conn, project, &agent).await?);
                }
                Ok(all)
            })
        });
        Ok(read.await?)
    }

    /// What the agent has done so far.
    pub async fn agent_metrics(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
    ) -> Result<AgentMetrics> {
        let scope = Scope { user: caller.user, project };
        let record = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                agents::get(conn, scope, id).await?;
                tasks::record(conn, project, id).await
            })
        });
        let record = record.await?;
        let ended = record.completed + record.failed;
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than f64 has")]
        let error_rate = if ended == 0 { 0.0 } else { record.failed as f64 / ended as f64 };
        Ok(AgentMetrics {
            agent_id: id,
            tasks_processed: ended,
            tasks_failed: record.failed,
            avg_processing_time: record.average_seconds,
            last_activity: record.last_activity,
            error_rate,
        })
    }
}

async fn status_of(
    conn: &mut Conn,
    project: ProjectId,
    agent: &Agent,
) -> artel_storage::Result<AgentStatusView> {
    let (running, waiting) = tasks::load(conn, project, agent.id).await?;
    let failure = tasks::last_failure(conn, project, agent.id).await?;
    let limit = u8::try_from(agent.config.at_a_time()).unwrap_or(u8::MAX);
    let full = running >= u64::from(limit);
    let status = match (running, waiting) {
        (_, waiting) if full && waiting >= WAITING as u64 => Doing::AtCapacity,
        _ if full => Doing::Busy,
        (0, 0) => match failure.as_ref().map(|task| task.error_type) {
            None => Doing::Idle,
            Some(Some(ErrorType::Quota)) => Doing::Quota,
            Some(_) => Doing::Error,
        },
        (_, _) => Doing::Processing,
    };
    Ok(AgentStatusView {
        agent_id: agent.id,
        status,
        registered: agent.registered,
        running,
        waiting,
        concurrency_limit: limit,
        last_error: failure.and_then(|task| task.error),
    })
}
