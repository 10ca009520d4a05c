//! What an earlier server on this node left running is ended before anything new begins.

use artel_domain::process::{Process, State};
use artel_nodes::server::Left;
use artel_programs::sandbox::Mark;
use artel_storage::{Lane, Scope, processes};
use tokio::sync::mpsc;

use crate::{App, Result};

/// Rows that are looked at in a round.
const SOME: u32 = 10_000;

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

/// What workers have ended of an earlier run of this server is written down, until the server stops.
pub(crate) async fn hear_left(app: App, mut left: mpsc::Receiver<Left>) {
    loop {
        let next = tokio::select! {
            next = left.recv() => next,
            () = app.0.stop.cancelled() => return,
        };
        let Some(Left { agent, node, why }) = next else { return };
        let read = app
            .0
            .storage
            .db
            .read(move |conn| Box::pin(async move { processes::owned(conn, agent).await }));
        let written = match read.await {
            // It may have been opened anew since.
            Ok(Some((scope, row)))
                if row.node == node && row.state.is_alive() && !app.0.programs.holds(agent) =>
            {
                write_ended(&app, scope, row, why).await
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            tracing::warn!(%agent, %error, "the end of an agent could not be written down");
        }
    }
}

async fn write_ended(app: &App, scope: Scope, process: Process, why: String) -> Result<()> {
    let now = app.clock().now();
    let ended =
        Process { state: State::Killed, reason: Some(why), mark: None, updated_at: now, ..process };
    let put = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move { processes::put(conn, scope, &ended).await })
    });
    Ok(put.await?)
}
