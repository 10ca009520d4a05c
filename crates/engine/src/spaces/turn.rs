//! One task, from its start to its one end.
//!
//! A task starts with one commit, which is that of its message when the agent is free. Its text flies by as it is
//! written, and it ends with one commit ([`super::ending`]).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use artel_domain::TaskId;
use artel_domain::event::TaskStarted;
use artel_domain::session::{ErrorType, Message};
use artel_domain::task::Task;
use artel_storage::{Conn, Lane, calls, events, leases, sessions, tasks};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::board::Ticket;
use super::ending::{Ending, end};
use super::patience::Patience;
use super::work::Progress;
use super::{Space, program, work};
use crate::plans::words;
use crate::{App, Error, Result};

/// What an agent is told of the conversation.
const HISTORY: u32 = 10;

/// What an agent is told: the task, and what was said before.
#[derive(Debug)]
pub(crate) struct Brief {
    pub(crate) task: Task,
    pub(super) asked: String,
    pub(super) before: Vec<Message>,
    /// How far it had come when its node died.
    pub(super) progress: Progress,
    /// How long it has waited for others so far.
    pub(super) waited: Duration,
    /// Another attempt had begun it.
    pub(super) resumed: bool,
    /// Where its next call stands: after those of earlier attempts.
    pub(super) step: u32,
}

impl Brief {
    /// Reads it in the change that starts the task.
    pub(crate) async fn read(
        conn: &mut Conn,
        task: Task,
        asked: String,
    ) -> artel_storage::Result<Self> {
        let before = sessions::before(conn, task.session_id, task.message_id, HISTORY).await?;
        let (progress, waited) = (Progress::default(), Duration::ZERO);
        Ok(Self { task, asked, before, progress, waited, resumed: false, step: 0 })
    }

    /// Goes on from where an earlier attempt was.
    async fn resumed(mut self, conn: &mut Conn) -> artel_storage::Result<Self> {
        self.step = calls::next_step(conn, self.task.id).await?;
        if let Some(json) = tasks::progress(conn, self.task.id).await? {
            self.progress = serde_json::from_str(&json).map_err(|error| {
                artel_storage::Error::Damaged { table: "tasks", detail: error.to_string() }
            })?;
            self.waited = Duration::from_micros(calls::waited(conn, self.task.id).await?);
            self.resumed = true;
        }
        Ok(self)
    }
}

/// Runs a task that the board has started.
pub(super) async fn run(app: App, space: Arc<Space>, ticket: Ticket, stop: CancellationToken) {
    match start(&app, &space, ticket).await {
        Ok(Some(brief)) => return run_begun(app, space, brief, stop).await,
        Ok(None) => {}
        Err(error) => tell(&space, ticket.task, &error),
    }
    space.desk.finish(ticket.task);
    space.dispatch(&app);
}

/// Runs a task that is on disk as running.
pub(super) async fn run_begun(app: App, space: Arc<Space>, brief: Brief, stop: CancellationToken) {
    let answer = match attempt(&app, &space, &brief, stop).await {
        Ok(answer) => answer,
        Err(error) => {
            tell(&space, brief.task.id, &error);
            None
        }
    };
    space.desk.answer(brief.task.id, answer.map(Arc::new));
    space.dispatch(&app);
}

/// The rows tell the truth: if the task has not ended there, the reconciler finds it.
fn tell(space: &Space, task: TaskId, error: &Error) {
    tracing::warn!(%task, project = %space.scope.project, %error, "a task could not be recorded");
}

/// Does the work and ends the task, unless it is stopped.
async fn attempt(
    app: &App,
    space: &Arc<Space>,
    brief: &Brief,
    stop: CancellationToken,
) -> Result<Option<Message>> {
    let (scope, task) = (space.scope, &brief.task);
    let agent = app.0.cache.get(scope, task.agent_id).await;
    let runtime = agent.as_ref().ok().and_then(|agent| agent.config.runtime.as_ref());
    let limit = app.longest(task, runtime.is_some());
    let own_time = task.plan.is_some() || runtime.is_some();
    let since = task.started_at.filter(|_| own_time).unwrap_or(task.created_at);
    let used = app.clock().now().since(since).saturating_sub(brief.waited);
    let patience = Patience::new(limit.saturating_sub(used));
    let answer = async {
        match (&agent, runtime) {
            (Ok(agent), Some(runtime)) => {
                program::answer(app, scope, brief, (agent, runtime), &patience).await
            }
            (Ok(agent), None) => work::answer(app, scope, brief, agent, &patience).await,
            (Err(error), _) => {
                Ending::failed(String::new(), ErrorType::Execution, error.to_string())
            }
        }
    };
    // A panic in the work is this task's alone.
    let answer = AssertUnwindSafe(answer).catch_unwind();
    // What waits for others keeps nobody from stopping: whoever comes next goes on from its progress. Programs end with
    // the server.
    let left = async {
        app.0.stop.cancelled().await;
        if runtime.is_none() {
            patience.stands_still().await;
        }
    };
    let answered = tokio::select! {
        () = stop.cancelled() => return Ok(None),
        () = left => return Ok(None),
        () = patience.runs_out() => {
            Ending::failed(String::new(), ErrorType::Timeout, format!("No answer within {} s", limit.as_secs()))
        }
        done = answer => done.unwrap_or_else(|_| {
            Ending::failed(String::new(), ErrorType::Execution, "The agent's work broke off by a fault of the server")
        }),
    };
    Ok(end(app, space, task, answered).await?.and_then(|left| left.answer))
}

/// What a task asks of its agent: the message, or what its plan says.
pub(super) async fn asked(conn: &mut Conn, task: &Task) -> artel_storage::Result<String> {
    match &task.plan {
        None => Ok(sessions::message(conn, task.session_id, task.message_id).await?.content),
        Some(place) => words::asked(conn, place).await,
    }
}

/// Marks the task as running; `None` when it was ended before it could.
async fn start(app: &App, space: &Space, ticket: Ticket) -> Result<Option<Brief>> {
    let (scope, lease, now) = (space.scope, space.lease(), app.clock().now());
    let started = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move {
            if let Some(lease) = &lease {
                leases::check(conn, lease).await?;
            }
            if !tasks::start(conn, ticket.task, now).await? {
                return Ok(None);
            }
            let task = tasks::get(conn, scope, ticket.task).await?;
            let event =
                TaskStarted { task_id: task.id, agent_id: task.agent_id, plan: task.plan.clone() };
            events::append(conn, scope.project, Some(task.session_id), now, &event.into()).await?;
            let asked = asked(conn, &task).await?;
            Ok(Some(Brief::read(conn, task, asked).await?.resumed(conn).await?))
        })
    });
    Ok(started.await?)
}
