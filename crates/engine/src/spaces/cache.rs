//! Agents at hand: their configuration, in this process and in what the nodes share, for five minutes at most.
//!
//! The database is the truth; a cached agent is what it was when it was last asked for. Whoever changes an agent
//! forgets it everywhere. A load that is under way meanwhile may bring the agent as it was: it notices that
//! something was forgotten since it began, and keeps nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use artel_domain::{Agent, AgentId, ProjectId};
use artel_storage::{Bus, Db, Scope, agents};
use bytes::Bytes;
use moka::future::Cache;
use moka::notification::RemovalCause;

use crate::Result;

pub(crate) const TTL: Duration = Duration::from_mins(5);

#[derive(Debug)]
pub(crate) struct AgentCache {
    near: Cache<(ProjectId, AgentId), Arc<Agent>>,
    bus: Arc<dyn Bus>,
    db: Db,
    /// Grows whenever something is forgotten.
    forgotten: AtomicU64,
    /// Agents that had to go because there was no room.
    crowded_out: Arc<AtomicU64>,
}

/// What begins the keys of a project's space, in everything that nodes share.
pub(crate) fn user_prefix(scope: Scope) -> String {
    format!("user{}_project{}", scope.user.0, scope.project)
}

fn key(scope: Scope, agent: AgentId) -> String {
    format!("{}:agent:{agent}", user_prefix(scope))
}

impl AgentCache {
    /// Holds so many agents, of all projects.
    pub(crate) fn new(db: Db, bus: Arc<dyn Bus>, most: u64) -> Self {
        let crowded_out = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&crowded_out);
        let near = Cache::builder()
            .max_capacity(most)
            .time_to_live(TTL)
            .eviction_listener(move |_, _, cause| {
                if cause == RemovalCause::Size {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            })
            .build();
        Self { near, bus, db, forgotten: AtomicU64::new(0), crowded_out }
    }

    /// The agent as it is, or was within the last five minutes if nobody has changed it.
    pub(crate) async fn get(&self, scope: Scope, id: AgentId) -> Result<Arc<Agent>> {
        if let Some(agent) = self.near.get(&(scope.project, id)).await {
            metrics::counter!("artel_agent_cache_total", "from" => "process").increment(1);
            return Ok(agent);
        }
        let began = self.forgotten.load(Ordering::SeqCst);
        let agent = if let Some(agent) = self.shared(scope, id).await {
            metrics::counter!("artel_agent_cache_total", "from" => "shared").increment(1);
            agent
        } else {
            let read = self.db.read(move |conn| Box::pin(agents::get(conn, scope, id)));
            let agent = Arc::new(read.await?);
            metrics::counter!("artel_agent_cache_total", "from" => "database").increment(1);
            self.share(scope, &agent).await;
            agent
        };
        self.near.insert((scope.project, id), Arc::clone(&agent)).await;
        if self.forgotten.load(Ordering::SeqCst) != began {
            self.forget(scope, id).await;
        }
        Ok(agent)
    }

    async fn shared(&self, scope: Scope, id: AgentId) -> Option<Arc<Agent>> {
        match self.bus.get(&key(scope, id)).await {
            // What cannot be read was written by another version: the database knows better.
            Ok(found) => found.and_then(|json| serde_json::from_slice(&json).ok()).map(Arc::new),
            Err(error) => {
                tracing::debug!(%error, "the shared cache cannot be read");
                None
            }
        }
    }

    async fn share(&self, scope: Scope, agent: &Agent) {
        let Ok(json) = serde_json::to_vec(agent) else { return };
        if let Err(error) = self.bus.put(&key(scope, agent.id), Bytes::from(json), TTL).await {
            tracing::debug!(%error, "the shared cache cannot be written");
        }
    }

    /// Forgets an agent, here and in what is shared. Other nodes are told by [`super::word`].
    pub(crate) async fn forget(&self, scope: Scope, id: AgentId) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        self.near.invalidate(&(scope.project, id)).await;
        if let Err(error) = self.bus.forget(&key(scope, id)).await {
            tracing::warn!(%error, agent = %id, "an agent is not forgotten in the shared cache; it will be within five minutes");
        }
    }

    /// Forgets a project's agents, here and in what is shared; says how many were there.
    pub(crate) async fn clear(&self, scope: Scope) -> u64 {
        let here = self.clear_here(scope.project).await;
        let prefix = format!("{}:agent:", user_prefix(scope));
        match self.bus.forget_prefix(&prefix).await {
            Ok(shared) => here.max(shared),
            Err(error) => {
                tracing::warn!(%error, "the shared cache cannot be cleared; it will be empty within five minutes");
                here
            }
        }
    }

    pub(crate) async fn clear_here(&self, project: ProjectId) -> u64 {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        let mut gone = 0;
        for id in self.of(project) {
            self.near.invalidate(&(project, id)).await;
            gone += 1;
        }
        gone
    }

    /// Forgets everything here, after word from other nodes may have been missed.
    pub(crate) fn clear_all_here(&self) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        self.near.invalidate_all();
    }

    /// How many of a project's agents are at hand here.
    pub(crate) fn size(&self, project: ProjectId) -> usize {
        self.of(project).len()
    }

    fn of(&self, project: ProjectId) -> Vec<AgentId> {
        self.near.iter().filter(|(key, _)| key.0 == project).map(|(key, _)| key.1).collect()
    }

    /// How many agents had to go because there was no room, since the server was started.
    pub(crate) fn crowded_out(&self) -> u64 {
        self.crowded_out.load(Ordering::Relaxed)
    }
}
