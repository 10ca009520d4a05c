//! What becomes of a program's process, as rows and events: so that people see it, and the next server finds it.

use std::sync::{Mutex, PoisonError, Weak};

use artel_domain::event::ProcessChanged;
use artel_domain::process::{Process, State};
use artel_programs::life::{State as Life, Status, Warning, Watcher};
use artel_storage::{Lane, Scope, agents, events, processes};
use async_trait::async_trait;

use crate::{App, Inner, Result};

#[derive(Debug)]
pub(super) struct Notes {
    /// Not held: the app holds this.
    app: Weak<Inner>,
    scope: Scope,
    row: Mutex<Process>,
}

impl Notes {
    pub(super) fn new(app: Weak<Inner>, scope: Scope, row: Process) -> Self {
        Self { app, scope, row: Mutex::new(row) }
    }

    /// The row as it is now, and whether people should hear of it; none when nothing changed that is kept.
    fn next(&self, app: &App, status: &Status) -> Option<(Process, bool)> {
        let mut row = self.row.lock().unwrap_or_else(PoisonError::into_inner);
        let state = kept(status.state);
        let mark = status.mark.as_ref().and_then(|mark| serde_json::to_value(mark).ok());
        let again = state == State::Starting && matches!(row.state, State::Crashed | State::Failed);
        let told = state != row.state || status.reason != row.reason;
        let now = app.clock().now();
        let next = Process {
            state,
            reason: status.reason.clone(),
            node: status.node.clone().unwrap_or_else(|| app.0.settings.node.clone()),
            mark,
            conversation: status.session.clone(),
            version: status.version.clone().or_else(|| row.version.clone()),
            model: status.model.clone().or_else(|| row.model.clone()),
            restarts: row.restarts + u32::from(again),
            started_at: if state == State::Starting { Some(now) } else { row.started_at },
            updated_at: row.updated_at,
            ..row.clone()
        };
        if next == *row {
            return None;
        }
        *row = Process { updated_at: now, ..next };
        Some((row.clone(), told))
    }

    async fn write(&self, app: &App, row: Process, note: Option<String>, told: bool) -> Result<()> {
        let scope = self.scope;
        let write = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                // Its process may outlive it by a moment.
                if agents::get(conn, scope, row.agent_id).await.is_err() {
                    return Ok(());
                }
                processes::put(conn, scope, &row).await?;
                if told {
                    let event = ProcessChanged { agent_id: row.agent_id, state: row.state, note };
                    events::append(conn, scope.project, None, row.updated_at, &event.into())
                        .await?;
                }
                Ok(())
            })
        });
        Ok(write.await?)
    }
}

#[async_trait]
impl Watcher for Notes {
    async fn changed(&self, status: &Status) {
        let Some(app) = self.app.upgrade().map(App) else { return };
        let Some((row, told)) = self.next(&app, status) else { return };
        let (agent, state) = (row.agent_id, row.state.as_str());
        match row.state {
            State::Running => tracing::info!(%agent, "process_started"),
            State::Stopped | State::Killed => tracing::info!(%agent, state, "process_stopped"),
            State::Failed | State::Crashed => {
                tracing::warn!(%agent, state, reason = row.reason, "process_stopped");
            }
            State::Init | State::Starting | State::Stopping => {}
        }
        let note = row.reason.clone();
        if let Err(error) = self.write(&app, row, note, told).await {
            tracing::warn!(%agent, %error, "how a process stands could not be written down");
        }
    }

    async fn warned(&self, warning: Warning) {
        let Some(app) = self.app.upgrade().map(App) else { return };
        let row = self.row.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let agent = row.agent_id;
        tracing::info!(%agent, %warning, "a program's owner is told");
        if let Err(error) = self.write(&app, row, Some(warning.to_string()), true).await {
            tracing::warn!(%agent, %error, "a warning could not be told");
        }
    }
}

/// As it is kept: what it does within its turns is not.
const fn kept(state: Life) -> State {
    match state {
        Life::Init => State::Init,
        Life::Starting => State::Starting,
        Life::Running(_) => State::Running,
        Life::Stopping => State::Stopping,
        Life::Stopped => State::Stopped,
        Life::Failed => State::Failed,
        Life::Killed => State::Killed,
        Life::Crashed => State::Crashed,
    }
}
