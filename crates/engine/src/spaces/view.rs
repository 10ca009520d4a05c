//! What can be seen of a space and its agents.

use artel_domain::{AgentId, ProjectId, Timestamp, UserId};
use artel_storage::{Scope, agents, tasks};
use serde::Serialize;
use utoipa::ToSchema;

use super::Space;
use super::board::WAITING;
use crate::{App, Caller, Result};

/// A project's space, as it is now on this node.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SpaceView {
    pub user_id: UserId,
    pub project_id: ProjectId,
    /// Agents that can be given work.
    pub active_agents: usize,
    /// Agents whose configuration is at hand.
    pub cache_size: usize,
    /// Tasks that have not ended.
    pub unfinished_tasks: usize,
    /// In seconds, since the space was opened here.
    pub uptime: u64,
}

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Idle,
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
    pub running: usize,
    pub waiting: usize,
    pub concurrency_limit: usize,
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

impl App {
    /// The project's space; opened when it was not.
    pub async fn space(&self, caller: &Caller, project: ProjectId) -> Result<SpaceView> {
        let scope = Scope { user: caller.user, project };
        Ok(self.0.spaces.get(self, scope).await?.view())
    }

    /// Every space that is open on this node. Only for administrators; the front end has checked.
    pub fn spaces(&self) -> Vec<SpaceView> {
        let mut all: Vec<_> = self.0.spaces.all().iter().map(|space| space.view()).collect();
        all.sort_by_key(|space| space.project_id);
        all
    }

    /// What the agent is doing, from its queue.
    pub async fn agent_status(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: AgentId,
    ) -> Result<AgentStatusView> {
        let agent = self.agent(caller, project, id).await?;
        let space = self.0.spaces.get(self, Scope { user: caller.user, project }).await?;
        if space.load(id).is_none() {
            space.seat(agent.clone());
        }
        let limit = usize::from(agent.config.concurrency_limit);
        let load = space.load(id);
        let (running, waiting) = load.map_or((0, 0), |load| (load.running, load.waiting));
        let status = match (running, waiting) {
            (_, waiting) if running >= limit && waiting >= WAITING => Doing::AtCapacity,
            (running, _) if running >= limit => Doing::Busy,
            (0, 0) => Doing::Idle,
            (_, _) => Doing::Processing,
        };
        Ok(AgentStatusView { agent_id: id, status, running, waiting, concurrency_limit: limit })
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
                tasks::record(conn, id).await
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

impl Space {
    fn view(&self) -> SpaceView {
        let (agents, tasks, uptime) = self.size();
        SpaceView {
            user_id: self.scope.user,
            project_id: self.scope.project,
            active_agents: agents,
            cache_size: agents,
            unfinished_tasks: tasks,
            uptime: uptime.as_secs(),
        }
    }
}
