//! What an earlier server on this node left running is ended before anything new begins.

use artel_domain::process::{Process, Sandbox, State};
use artel_programs::sandbox::Mark;
use artel_storage::{Lane, processes};

use super::opening::choice;
use crate::{App, Result};

/// Rows that are looked at in a round.
const SOME: u32 = 10_000;

/// Ends the processes that rows of this node tell of and that are not ours, and writes that down.
pub(super) async fn end_left(app: &App) -> Result<()> {
    let node = app.0.settings.node.clone();
    let read =
        app.0.storage.db.read(move |conn| {
            Box::pin(async move { processes::alive_on(conn, &node, SOME).await })
        });
    for (scope, process) in read.await? {
        let mark = process.mark.clone().and_then(|mark| serde_json::from_value::<Mark>(mark).ok());
        if let Some(mark) = mark {
            let walls = match app.0.programs.walls(&app.0.settings, choice(process.sandbox)).await {
                Ok(walls) => walls,
                Err(error) => {
                    tracing::warn!(agent = %process.agent_id, %error, "what it left cannot be ended yet");
                    continue;
                }
            };
            if let Err(error) = walls.end_left(&mark).await {
                tracing::warn!(agent = %process.agent_id, %error, "what it left could not be ended");
                continue;
            }
        }
        let ended = Process {
            state: State::Killed,
            reason: Some(
                "The server was stopped while it ran; a message starts it again".to_owned(),
            ),
            mark: None,
            updated_at: app.clock().now(),
            ..process
        };
        tracing::info!(agent = %ended.agent_id, "a process that an earlier server left was ended");
        let put = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move { processes::put(conn, scope, &ended).await })
        });
        put.await?;
    }
    // A container may have no row: the server died between the two.
    let settings = &app.0.settings;
    if settings.programs.sandboxes.contains(&Sandbox::Docker) {
        // Without a Docker there are no containers, and other programs need none.
        match app.0.programs.walls(settings, choice(Sandbox::Docker)).await {
            Ok(walls) => match walls.end_all_left(&settings.node).await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "containers of an earlier server were ended"),
                Err(error) => tracing::warn!(%error, "containers that were left stay"),
            },
            Err(error) => tracing::warn!(%error, "there is no Docker for programs"),
        }
    }
    Ok(())
}
