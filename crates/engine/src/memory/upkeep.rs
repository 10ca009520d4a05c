//! The reconciler of memories: vectors for what waits, sizes looked at once a day, collections of agents that are
//! gone removed, and what a dead node has left brought where it belongs.
//!
//! Apart from the other reconciler, because making vectors takes long. One node at a time does it, under a lease;
//! should two meet all the same, nothing is done that could not be done twice.

use std::time::{Duration, Instant};

use artel_domain::AgentId;
use artel_domain::memory::{Collection, Interaction};
use artel_storage::memories::{self, From};
use artel_storage::{Lane, Scope, leases};
use tokio_util::sync::CancellationToken;

use super::{collection, keeping, nearly_full};
use crate::{App, Result};

/// Agents per round and duty; the rest waits for the next.
const SOME: u32 = 20;
/// Texts that are embedded at a time.
const BATCH: usize = 64;
/// How long one memory may take at a time, so that a large one does not keep the others waiting.
const TURN: Duration = Duration::from_secs(2);
const LEASE: &str = "memory";
/// How long the lease is held after a round has begun.
const HELD: Duration = Duration::from_mins(1);
/// What another node has not brought within this time is taken from it.
const OVERDUE: Duration = Duration::from_mins(1);
/// How long a failing embedding service is left alone.
const PAUSE: Duration = Duration::from_secs(30);
const DAY: Duration = Duration::from_hours(24);
/// The share of a full memory that stays.
const KEPT_PERCENT: u64 = 80;

pub(crate) async fn run(app: App, stop: CancellationToken) {
    let every = app.0.settings.reconcile_every;
    if let Err(error) = note_model(&app).await {
        tracing::warn!(%error, "the embedding model could not be noted");
    }
    loop {
        let more = match round(&app, &stop).await {
            Ok(more) => more,
            Err(error) => {
                tracing::warn!(%error, "looking after memories failed");
                false
            }
        };
        let pause = if more { Duration::ZERO } else { every };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = app.0.memory.chores.notified() => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Vectors of another model than today's are made anew.
async fn note_model(app: &App) -> Result<()> {
    let (name, now) = (app.vectors().model().name.clone(), app.clock().now());
    let model = name.clone();
    let noted = app.0.storage.db.write(Lane::House, move |conn| {
        Box::pin(async move { memories::use_model(conn, &model, now).await })
    });
    if noted.await? {
        tracing::info!(model = name, "memories get vectors of this model");
    }
    Ok(())
}

/// Says whether there is more to do at once.
async fn round(app: &App, stop: &CancellationToken) -> Result<bool> {
    app.vectors().tidy().await?;
    let owner = app.0.node.clone();
    let acquired = app.0.storage.db.write(Lane::House, move |conn| {
        Box::pin(async move { leases::acquire(conn, LEASE, &owner, HELD).await })
    });
    if acquired.await?.is_none() {
        return Ok(false);
    }
    let mut more = false;
    for (duty, done) in [
        ("bring memories", bring_overdue(app, stop).await),
        ("remove collections", remove_collections(app).await),
        ("check sizes", check_sizes(app).await),
        ("embed", embed_waiting(app).await),
    ] {
        match done {
            Ok(0) => {}
            Ok(number) => {
                more = true;
                tracing::info!(duty, number, "reconciled");
            }
            Err(error) => tracing::warn!(duty, %error, "duty failed"),
        }
    }
    Ok(more)
}

/// What nobody has brought to its collection.
async fn bring_overdue(app: &App, stop: &CancellationToken) -> Result<u64> {
    let before = app.clock().now().minus(OVERDUE);
    keeping::bring_all(app, From::Before(before), stop).await
}

/// Collections of agents that are gone.
async fn remove_collections(app: &App) -> Result<u64> {
    let db = &app.0.storage.db;
    let gone = db.read(|conn| Box::pin(memories::to_remove(conn, SOME))).await?;
    for of in &gone {
        app.remove_collection(of).await?;
    }
    Ok(gone.len() as u64)
}

impl App {
    /// Frees the memory of an agent that was deleted.
    pub(crate) async fn remove_collection(&self, of: &Collection) -> Result<()> {
        let agent = of.agent;
        let turn = self.0.memory.turn(agent).await;
        self.vectors().remove(of).await?;
        drop(turn);
        let removed = self.0.storage.db.write(Lane::House, move |conn| {
            Box::pin(async move { memories::removed(conn, agent).await })
        });
        Ok(removed.await?)
    }
}

/// Entries that wait for their vectors.
async fn embed_waiting(app: &App) -> Result<u64> {
    let (db, now) = (&app.0.storage.db, app.clock().now());
    let due = db.read(move |conn| Box::pin(memories::due(conn, now, SOME))).await?;
    let mut embedded = 0;
    for (scope, agent) in due {
        embedded += embed_of(app, scope, agent).await?;
    }
    Ok(embedded)
}

async fn embed_of(app: &App, scope: Scope, id: AgentId) -> Result<u64> {
    let Some(agent) = app.agent_now(scope, id).await? else { return Ok(0) };
    let (of, store) = (collection(scope, &agent), app.vectors());
    store.ensure(&of).await?;
    let mut embedded = 0;
    let mut next = Some(app.clock().now());
    let began = Instant::now();
    while began.elapsed() < TURN {
        let waiting = store.waiting(&of, BATCH).await?;
        if waiting.is_empty() {
            next = None;
            break;
        }
        let texts: Vec<_> = waiting.iter().map(Interaction::meaning).collect();
        let Some(vectors) = app.try_embed(&texts).await else {
            next = Some(app.clock().now().plus(PAUSE));
            break;
        };
        embedded += waiting.len() as u64;
        let vectors = waiting.iter().map(|it| it.id).zip(vectors).collect();
        let turn = app.0.memory.turn(id).await;
        store.give_vectors(&of, vectors).await?;
        drop(turn);
    }
    let noted = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move { memories::retry(conn, id, next).await })
    });
    noted.await?;
    Ok(embedded)
}

/// Looks at the size of memories, once a day each: warns of those that are nearly full, and makes room in those that
/// are full.
async fn check_sizes(app: &App) -> Result<u64> {
    let (db, now) = (&app.0.storage.db, app.clock().now());
    let since = now.minus(DAY);
    let due = db.read(move |conn| Box::pin(memories::unchecked(conn, since, SOME))).await?;
    let looked_at = due.len() as u64;
    for (scope, id) in due {
        if let Err(error) = check_size(app, scope, id).await {
            tracing::warn!(%error, agent = %id, "the size of a memory cannot be looked at");
        }
        let noted = db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move { memories::checked(conn, id, now).await })
        });
        noted.await?;
    }
    Ok(looked_at)
}

async fn check_size(app: &App, scope: Scope, id: AgentId) -> Result<()> {
    let Some(agent) = app.agent_now(scope, id).await? else { return Ok(()) };
    let (of, limit) = (collection(scope, &agent), u64::from(agent.config.max_vectors));
    let total = app.vectors().count(&of).await?;
    if total >= limit {
        let turn = app.0.memory.turn(id).await;
        let deleted = app.vectors().trim(&of, limit * KEPT_PERCENT / 100).await?;
        drop(turn);
        return app.warn_of_size(scope, &agent, total - deleted, deleted).await;
    }
    if nearly_full(total, limit) {
        return app.warn_of_size(scope, &agent, total, 0).await;
    }
    let noted = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move { memories::warned(conn, id, false).await.map(|_| ()) })
    });
    Ok(noted.await?)
}
