//! The loop that picks up whatever was left: the only recovery there is, at start and ever after.
//!
//! One node at a time runs it, under a lease. Each duty stands alone: one that fails is logged and tried again on
//! the next round, and keeps no other from its turn.

use std::time::Duration;

use artel_domain::Timestamp;
use artel_storage::leases::{self, Lease};
use artel_storage::{Lane, approvals, calls, events, idempotency};
use tokio_util::sync::CancellationToken;

use crate::{App, Result, spaces};

const LEASE: &str = "reconciler";
/// Rows per round and duty; the rest waits for the next.
const SOME: u32 = 1000;
/// How long before its deadline an approval's people are warned.
const WARNING: Duration = Duration::from_mins(1);
/// How long an answer can be had again under its idempotency key.
const ANSWERS_KEPT: Duration = Duration::from_hours(24);

pub(crate) async fn run(app: App, stop: CancellationToken) {
    let every = app.0.settings.reconcile_every;
    // The data folder is ours alone, so whoever else held a lease in its name is dead.
    end_leases(&app, app.0.settings.node.clone()).await;
    loop {
        if let Err(error) = round(&app, every).await {
            tracing::warn!(%error, source = error_source(&error), "reconciler round failed");
        }
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = stop.cancelled() => break,
        }
    }
}

/// Another process need not wait for the leases of one that has ended.
pub(crate) async fn end_leases(app: &App, node: String) {
    let ended = app.0.storage.db.write(Lane::House, move |conn| {
        Box::pin(async move { leases::expire_of(conn, &node).await })
    });
    if let Err(error) = ended.await {
        tracing::warn!(%error, "ending leases failed");
    }
}

fn error_source(error: &crate::Error) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default()
}

async fn round(app: &App, every: Duration) -> Result<()> {
    app.0.limits.tidy();
    match spaces::keeping::attend(app).await {
        Ok(0) => {}
        Ok(tasks) => tracing::info!(tasks, "picked up what was left"),
        Err(error) => {
            tracing::warn!(%error, source = error_source(&error), "attending spaces failed");
        }
    }
    let owner = app.0.node.clone();
    let acquired = app.0.storage.db.write(Lane::House, move |conn| {
        Box::pin(async move { leases::acquire(conn, LEASE, &owner, every * 3).await })
    });
    let Some(lease) = acquired.await? else { return Ok(()) };
    let now = app.clock().now();
    for (duty, done) in [
        ("expire approvals", expire_approvals(app).await),
        ("give up calls", give_up_calls(app).await),
        ("give up waiting", spaces::keeping::give_up_waiting(app).await.map(|it| it as u64)),
        ("warn of deadlines", warn_of_deadlines(app, &lease).await),
        ("prune events", prune_events(app, &lease, now).await),
        ("prune answers", prune_answers(app, &lease, now).await),
    ] {
        match done {
            Ok(0) => {}
            Ok(rows) => tracing::info!(duty, rows, "reconciled"),
            Err(error) => {
                tracing::warn!(duty, %error, source = error_source(&error), "duty failed");
            }
        }
    }
    Ok(())
}

async fn expire_approvals(app: &App) -> Result<u64> {
    let db = &app.0.storage.db;
    let overdue = db.read(|conn| Box::pin(approvals::overdue(conn, SOME))).await?;
    for &(id, scope) in &overdue {
        app.expire_approval(scope, id).await?;
    }
    Ok(overdue.len() as u64)
}

/// Calls of tools whose time is over, or whose client has fallen silent.
async fn give_up_calls(app: &App) -> Result<u64> {
    let overdue = app.0.storage.db.read(|conn| Box::pin(calls::overdue(conn, SOME))).await?;
    for &(id, scope) in &overdue {
        app.give_up_call(scope, id).await?;
    }
    Ok(overdue.len() as u64)
}

async fn warn_of_deadlines(app: &App, lease: &Lease) -> Result<u64> {
    let db = &app.0.storage.db;
    let ending = db.read(|conn| Box::pin(approvals::ending(conn, WARNING, SOME))).await?;
    for &(id, project) in &ending {
        let lease = lease.clone();
        db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                leases::check(conn, &lease).await?;
                approvals::warn(conn, id).await
            })
        })
        .await?;
    }
    Ok(ending.len() as u64)
}

async fn prune_events(app: &App, lease: &Lease, now: Timestamp) -> Result<u64> {
    let before = now.minus(app.0.settings.event_retention);
    let db = &app.0.storage.db;
    if db.read(|conn| Box::pin(events::oldest(conn))).await?.is_none_or(|oldest| oldest >= before) {
        return Ok(0);
    }
    let lease = lease.clone();
    let pruned = db.write(Lane::House, move |conn| {
        Box::pin(async move {
            leases::check(conn, &lease).await?;
            events::prune(conn, before, SOME).await
        })
    });
    Ok(pruned.await?)
}

async fn prune_answers(app: &App, lease: &Lease, now: Timestamp) -> Result<u64> {
    let before = now.minus(ANSWERS_KEPT);
    let db = &app.0.storage.db;
    if db
        .read(|conn| Box::pin(idempotency::oldest(conn)))
        .await?
        .is_none_or(|oldest| oldest >= before)
    {
        return Ok(0);
    }
    let lease = lease.clone();
    let pruned = db.write(Lane::House, move |conn| {
        Box::pin(async move {
            leases::check(conn, &lease).await?;
            idempotency::prune(conn, before, SOME).await
        })
    });
    Ok(pruned.await?)
}
