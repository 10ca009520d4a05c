//! What an earlier server on this node left running is ended before anything new begins; what it left on workers they
//! have ended, and that is written down.

use std::time::Duration;

use artel_domain::event::ProcessChanged;
use artel_domain::process::{Process, State};
use artel_nodes::server::Left;
use artel_programs::sandbox::Mark;
use artel_storage::{Lane, Scope, events, processes};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::{App, Result};

/// Rows that are looked at in a round.
const SOME: u32 = 10_000;
const HOUR: Duration = Duration::from_hours(1);

/// Ends the processes that rows of this node tell of and that are not ours, and writes that down.
pub(super) async fn end_left(app: &App) -> Result<()> {
    let node = app.0.settings.node.clone();
    let host = &app.0.programs.host;
    let read =
        app.0.storage.db.read(move |conn| {
            Box::pin(async move { processes::alive_on(conn, &node, SOME).await })
        });
    for (scope, process) in read.await? {
        let mark = process.mark.clone().and_then(|mark| serde_json::from_value::<Mark>(mark).ok());
        if let Some(mark) = mark
            && let Err(error) = host.end_left(process.sandbox, &mark).await
        {
            tracing::warn!(agent = %process.agent_id, %error, "what it left could not be ended");
            continue;
        }
        let why = "The server was stopped while it ran; a message starts it again";
        tracing::info!(agent = %process.agent_id, "a process that an earlier server left was ended");
        write_ended(app, scope, process, why.to_owned()).await?;
    }
    host.end_containers().await;
    Ok(())
}

/// What workers have ended of an earlier run of this server is written down, and what ran on workers that are gone,
/// until the server stops.
pub(crate) async fn hear_left(app: App, mut left: mpsc::Receiver<Left>) {
    let workers = app.0.settings.programs.workers.as_ref();
    let mut round = interval(workers.map_or(HOUR, |workers| workers.lost_after));
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let done = tokio::select! {
            next = left.recv() => match next {
                Some(left) => hear_one(&app, left).await,
                None => return,
            },
            _ = round.tick() => end_deserted(&app).await,
            () = app.0.stop.cancelled() => return,
        };
        if let Err(error) = done {
            tracing::warn!(%error, "the end of an agent could not be written down");
        }
    }
}

async fn hear_one(app: &App, Left { agent, node, why }: Left) -> Result<()> {
    let db = &app.0.storage.db;
    let read = db.read(move |conn| Box::pin(async move { processes::owned(conn, agent).await }));
    match read.await? {
        Some((scope, row)) if row.node == node && is_left(app, &row) => {
            write_ended(app, scope, row, why).await
        }
        _ => Ok(()),
    }
}

/// Its worker is gone, and so is the server that would have noticed.
async fn end_deserted(app: &App) -> Result<()> {
    let (Some(workers), node) = (&app.0.programs.workers, app.0.settings.node.clone()) else {
        return Ok(());
    };
    let read = app.0.storage.db.read(move |conn| {
        Box::pin(async move { processes::alive_elsewhere(conn, &node, SOME).await })
    });
    for (scope, row) in read.await? {
        if workers.is_gone(&row.node) && is_left(app, &row) {
            let why = format!("The worker {} that it ran on is gone", row.node);
            write_ended(app, scope, row, format!("{why}; a message starts it again")).await?;
        }
    }
    Ok(())
}

/// Nobody here knows of it; it may have been opened anew since.
fn is_left(app: &App, row: &Process) -> bool {
    row.state.is_alive() && !app.0.programs.holds(row.agent_id)
}

async fn write_ended(app: &App, scope: Scope, found: Process, why: String) -> Result<()> {
    let now = app.clock().now();
    let put = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move {
            if processes::end(conn, &found, &why, now).await? {
                let (agent_id, state, note) = (found.agent_id, State::Killed, Some(why));
                let event = ProcessChanged { agent_id, state, note };
                events::append(conn, scope.project, None, now, &event.into()).await?;
            }
            Ok(())
        })
    });
    Ok(put.await?)
}
