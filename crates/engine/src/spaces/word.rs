//! Word between nodes: an agent changed, a cache was cleared, a task was ended from elsewhere.
//!
//! The rows tell the same, so word that is lost costs time and never truth: agents at hand are asked for anew, and
//! the reconciler compares what runs here with its rows.

use std::time::Duration;

use artel_domain::{AgentId, PlanId, ProjectId, TaskId, ToolCallId, UserId};
use artel_storage::bus::Heard;
use artel_storage::{Scope, agents};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::keeping;
use crate::{App, Kind, Result};

const CHANNEL: &str = "artel:spaces";
/// Pause after the bus failed.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize, Deserialize)]
struct Message {
    /// Who says it; nobody need listen to themselves.
    node: String,
    user: UserId,
    project: ProjectId,
    word: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Word {
    AgentChanged(AgentId),
    CacheCleared,
    TaskEnded(TaskId),
    CallMoved(ToolCallId),
    PlanMoved(PlanId),
    /// Everything was stopped: by a reset, or with the project.
    SpaceClosed,
}

impl App {
    /// Tells the other nodes, if there can be any.
    pub(crate) async fn tell(&self, scope: Scope, word: Word) {
        let bus = &self.0.storage.bus;
        if bus.kind() == "in-process" {
            return;
        }
        let message =
            Message { node: self.0.node.clone(), user: scope.user, project: scope.project, word };
        let Ok(json) = serde_json::to_vec(&message) else { return };
        if let Err(error) = bus.ring(CHANNEL, Bytes::from(json)).await {
            tracing::warn!(%error, ?word, "the other nodes could not be told");
        }
    }

    async fn heard(&self, scope: Scope, word: Word) -> Result<()> {
        match word {
            Word::AgentChanged(agent) => {
                // In what is shared too: a load that was under way may have put back what was forgotten.
                self.0.cache.forget(scope, agent).await;
                self.reseat(scope, agent).await?;
            }
            Word::CacheCleared => {
                self.0.cache.clear_here(scope.project).await;
            }
            Word::TaskEnded(task) => {
                if let Some(space) = self.0.spaces.find(scope.project) {
                    space.desk.finish(task);
                    space.dispatch(self);
                }
            }
            Word::CallMoved(call) => self.0.calls.ring(call),
            Word::PlanMoved(plan) => {
                self.0.plans.ring(plan);
                // Who has the space lets it go on.
                let space = self.0.spaces.find(scope.project);
                if space.is_some_and(|space| space.lease().is_some()) {
                    keeping::go_on(self, scope, plan).await?;
                }
            }
            Word::SpaceClosed => {
                self.0.spaces.close(scope.project);
                self.0.cache.clear_here(scope.project).await;
            }
        }
        Ok(())
    }

    /// Seats an agent as it is now, if its space is open here.
    pub(crate) async fn reseat(&self, scope: Scope, agent: AgentId) -> Result<()> {
        let Some(space) = self.0.spaces.find(scope.project) else { return Ok(()) };
        match self.0.cache.get(scope, agent).await {
            Ok(agent) => space.seat(&agent),
            Err(error) if error.kind == Kind::NotFound => space.desk.unseat(agent),
            Err(error) => return Err(error),
        }
        space.dispatch(self);
        Ok(())
    }

    /// Word may have been missed: every agent is looked at anew.
    async fn catch_up(&self) -> Result<()> {
        self.0.cache.clear_all_here();
        for space in self.0.spaces.all() {
            let scope = space.scope;
            let team = self.0.storage.db.read(move |conn| Box::pin(agents::all(conn, scope)));
            for agent in team.await? {
                space.seat(&agent);
            }
            space.dispatch(self);
        }
        Ok(())
    }
}

/// Hears what other nodes say, until `stop`.
pub(crate) async fn hear(app: App, stop: CancellationToken) {
    let bus = app.0.storage.bus.clone();
    if bus.kind() == "in-process" {
        return;
    }
    let listen = async {
        loop {
            match bus.listen(&[CHANNEL]).await {
                Ok(mut listener) => {
                    while let Some(heard) = listener.next().await {
                        attend(&app, heard).await;
                    }
                }
                Err(error) => tracing::warn!(%error, "listening to other nodes failed"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::select! { () = listen => {}, () = stop.cancelled() => {} }
}

async fn attend(app: &App, heard: Heard) {
    let done = match heard {
        Heard::Lost => app.catch_up().await,
        Heard::Ring { payload, .. } => match serde_json::from_slice::<Message>(&payload) {
            Ok(message) if message.node == app.0.node => Ok(()),
            Ok(Message { user, project, word, .. }) => {
                app.heard(Scope { user, project }, word).await
            }
            Err(error) => {
                tracing::debug!(%error, "another node says what is not understood");
                Ok(())
            }
        },
    };
    if let Err(error) = done {
        tracing::warn!(%error, "word of another node could not be followed");
    }
}
