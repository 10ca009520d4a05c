//! What happened is kept: from the commit of the work to the collection of its agent.
//!
//! The row in the outbox is written with the work itself and deleted once the interaction is in its collection.
//! Bringing it there twice is as good as once, because it keeps its id.

use std::time::Duration;

use artel_domain::memory::{Facts, Interaction, Kind};
use artel_domain::task::Task;
use artel_domain::{AgentId, Clock, InteractionId, Timestamp};
use artel_storage::memories::{self, From, Underway};
use artel_storage::{Conn, Lane, Scope};
use tokio_util::sync::CancellationToken;

use super::{collection, entries};
use crate::{App, Result};

/// How many are brought at a time, which bounds what is held in memory.
const SOME: u32 = 128;
/// Others that come within this time go along.
const GATHERING: Duration = Duration::from_millis(100);
/// After a fault of the store it is tried again.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest text of an interaction, and of what went wrong with it. More of it is no more use.
const LONGEST: usize = 16 * 1024;

/// What is remembered of a step, before it has an id.
#[derive(Debug)]
pub(crate) struct Happened {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) request: Option<String>,
    /// Why it failed, if it did.
    pub(crate) error: Option<String>,
}

impl Happened {
    /// Keeps it in the change of the caller's; `node` brings it to its collection.
    pub(crate) async fn keep(
        self,
        conn: &mut Conn,
        clock: &dyn Clock,
        task: &Task,
        at: Timestamp,
        node: &str,
    ) -> artel_storage::Result<()> {
        let Self { kind, text, request, error } = self;
        let interaction = Interaction {
            id: InteractionId::new(clock),
            text: cut(text),
            metadata: Facts {
                kind,
                timestamp: at,
                success: error.is_none(),
                task_id: Some(task.id),
                error_details: error.map(cut),
                request: request.map(cut),
                other: serde_json::Map::new(),
            },
        };
        let scope = Scope { user: task.user_id, project: task.project_id };
        memories::keep(conn, &Underway { scope, agent: task.agent_id, interaction }, node).await
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

/// Brings what this node's work leaves to the collections, as long as the server runs.
pub(crate) async fn run(app: App, stop: CancellationToken) {
    // Something may be left from before.
    app.0.memory.ring();
    loop {
        tokio::select! {
            () = app.0.memory.bell.notified() => {}
            () = stop.cancelled() => return,
        }
        tokio::time::sleep(GATHERING).await;
        if let Err(error) = bring_own(&app, &stop).await {
            tracing::warn!(%error, "memories cannot be brought to their collections now");
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => app.0.memory.ring(),
                () = stop.cancelled() => return,
            }
        }
    }
}

async fn bring_own(app: &App, stop: &CancellationToken) -> Result<()> {
    bring_all(app, From::Node(app.0.settings.node.clone()), stop).await.map(|_| ())
}

/// Brings all of them; those that cannot be brought keep no other from it.
pub(super) async fn bring_all(app: &App, from: From, stop: &CancellationToken) -> Result<u64> {
    let (mut brought, mut after, mut failed) = (0, None, None);
    while !stop.is_cancelled() {
        let of = from.clone();
        let left = app.0.storage.db.read(move |conn| {
            Box::pin(async move { memories::underway(conn, &of, after, SOME).await })
        });
        let left = left.await?;
        let Some(last) = left.last() else { break };
        after = Some((last.agent, last.interaction.id));
        brought += left.len() as u64;
        if let Err(error) = app.bring(left).await {
            failed = Some(error);
        }
    }
    failed.map_or(Ok(brought), Err)
}

impl App {
    /// Everything that was committed for this agent is in its collection when this returns.
    pub(crate) async fn arrive(&self, scope: Scope, agent: AgentId) -> Result<()> {
        loop {
            let left = self.0.storage.db.read(move |conn| {
                Box::pin(async move { memories::underway_to(conn, agent, SOME).await })
            });
            let left = left.await?;
            if left.is_empty() {
                return Ok(());
            }
            debug_assert!(left.iter().all(|one| one.scope == scope), "an agent is of one project");
            self.bring(left).await?;
        }
    }

    /// Brings interactions to their collections; those of an agent stand together.
    pub(super) async fn bring(&self, underway: Vec<Underway>) -> Result<()> {
        let texts: Vec<_> = underway.iter().map(|one| one.interaction.meaning()).collect();
        let mut vectors = self.try_embed(&texts).await;
        let mut done = Ok(());
        for of_agent in underway.chunk_by(|a, b| a.agent == b.agent) {
            let vectors = vectors.as_mut().map(|all| all.drain(..of_agent.len()).collect());
            let brought = self.bring_to(of_agent, vectors).await;
            done = done.and(brought);
        }
        done
    }

    async fn bring_to(&self, underway: &[Underway], vectors: Option<Vec<Vec<f32>>>) -> Result<()> {
        let Some(&Underway { scope, agent: id, .. }) = underway.first() else { return Ok(()) };
        let Some(agent) = self.agent_now(scope, id).await? else {
            // It was deleted, and its rows with it; should one be left, nobody wants it.
            let ids: Vec<_> = underway.iter().map(|one| one.interaction.id).collect();
            let dropped = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
                Box::pin(async move { memories::arrived(conn, id, &ids).await })
            });
            return Ok(dropped.await?);
        };
        let (waits, now) = (vectors.is_none(), self.clock().now());
        let turn = self.0.memory.turn(id).await;
        // What somebody else has brought or dropped meanwhile must not come again.
        let read =
            self.0.storage.db.read(move |conn| {
                Box::pin(async move { memories::ids_underway_to(conn, id).await })
            });
        let left = read.await?;
        let interactions = underway.iter().map(|one| one.interaction.clone()).collect();
        let mut entries = entries(interactions, vectors);
        entries.retain(|entry| left.contains(&entry.interaction.id));
        let ids: Vec<_> = entries.iter().map(|entry| entry.interaction.id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        self.vectors().put(&collection(scope, &agent), entries).await?;
        let added = ids.len() as u64;
        let arrived = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                memories::arrived(conn, id, &ids).await?;
                if waits {
                    memories::retry(conn, id, Some(now)).await?;
                }
                Ok(())
            })
        });
        arrived.await?;
        drop(turn);
        self.keep_in_bounds(scope, &agent, added).await
    }
}
