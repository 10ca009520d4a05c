//! The end of a task: one commit with the answer, the task's final state, and the events that tell of both.
//!
//! Whoever ends it first has ended it; the other's commit is undone whole.

use artel_domain::event::{MessageCreated, TaskCancelled, TaskCompleted, TaskFailed};
use artel_domain::session::{ErrorType, Message, Outcome, Role, Usage};
use artel_domain::task::Task;
use artel_domain::{Clock, Event, MessageId, Timestamp};
use artel_storage::tasks::End;
use artel_storage::{Conn, Lane, Scope, events, sessions, tasks};

use super::word::Word;
use crate::{App, Result};

/// How a task ended, and what came of it.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) text: String,
    pub(crate) end: End,
    pub(crate) usage: Option<Usage>,
}

impl Ending {
    pub(crate) fn failed(text: String, error_type: ErrorType, error: impl Into<String>) -> Self {
        Self { text, end: End::Failed { error: error.into(), error_type }, usage: None }
    }

    pub(crate) fn cancelled() -> Self {
        Self { text: String::new(), end: End::Cancelled, usage: None }
    }

    /// What is written, with ids of its own.
    fn written(self, clock: &dyn Clock, task: &Task, now: Timestamp) -> Written {
        let Self { text, end, usage } = self;
        let (success, error, error_type) = match &end {
            End::Completed => (true, None, None),
            End::Failed { error, error_type } => (false, Some(error.clone()), Some(*error_type)),
            End::Cancelled => (false, Some("Cancelled".to_owned()), Some(ErrorType::Cancelled)),
        };
        let message = Message {
            id: MessageId::new(clock),
            role: Role::Assistant,
            content: text,
            agent_id: Some(task.agent_id),
            task_id: Some(task.id),
            timestamp: now,
            outcome: Some(Outcome { success, error, error_type, usage: usage.clone() }),
        };
        let told = closing_event(task, &end, message.id, usage);
        Written { end, message, told, now }
    }
}

/// Everything that the end of a task leaves behind.
struct Written {
    end: End,
    message: Message,
    told: Event,
    now: Timestamp,
}

impl Written {
    /// The answer, if this ended it.
    async fn store(
        self,
        conn: &mut Conn,
        scope: Scope,
        task: &Task,
    ) -> artel_storage::Result<Option<Message>> {
        let Self { end, message, told, now } = self;
        if !tasks::end(conn, task.id, &end, now).await? {
            return Ok(None);
        }
        sessions::say(conn, scope, task.session_id, &message).await?;
        let said = MessageCreated { message: message.clone() };
        let told = [said.into(), told];
        events::append_all(conn, scope.project, Some(task.session_id), now, &told).await?;
        Ok(Some(message))
    }
}

/// Ends the task, unless somebody has ended it; gives the answer if this did.
pub(super) async fn end(
    app: &App,
    scope: Scope,
    task: &Task,
    ending: Ending,
) -> Result<Option<Message>> {
    let written = ending.written(app.clock(), task, app.clock().now());
    let task = task.clone();
    let ended = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move { written.store(conn, scope, &task).await })
    });
    Ok(ended.await?)
}

/// Cancels tasks inside a change of the caller's.
pub(super) async fn cancel_all(
    conn: &mut Conn,
    clock: &dyn Clock,
    scope: Scope,
    tasks: &[Task],
) -> artel_storage::Result<()> {
    for task in tasks {
        let written = Ending::cancelled().written(clock, task, clock.now());
        written.store(conn, scope, task).await?;
    }
    Ok(())
}

/// Ends a task that nobody runs any more, because its node died, inside a change of the caller's. The attempt is
/// recorded, never silently repeated.
pub(super) async fn interrupt(
    conn: &mut Conn,
    clock: &dyn Clock,
    scope: Scope,
    task: &Task,
) -> artel_storage::Result<()> {
    let error = "The server was stopped in the middle of it; send the message again";
    let ending = Ending::failed(String::new(), ErrorType::Interrupted, error);
    ending.written(clock, task, clock.now()).store(conn, scope, task).await?;
    Ok(())
}

/// Cancels a task, waiting or running, on whichever node; says whether this did it.
pub(crate) async fn cancel(app: &App, scope: Scope, task: &Task) -> Result<bool> {
    let answer = end(app, scope, task, Ending::cancelled()).await?;
    app.task_ended(scope, task).await;
    Ok(answer.is_some())
}

impl App {
    /// A task was ended by its row: whoever runs it stops.
    pub(crate) async fn task_ended(&self, scope: Scope, task: &Task) {
        if let Some(space) = self.0.spaces.find(scope.project) {
            space.desk.finish(task.id);
            space.dispatch(self);
        }
        self.tell(scope, Word::TaskEnded(task.id)).await;
    }
}

fn closing_event(task: &Task, end: &End, message_id: MessageId, usage: Option<Usage>) -> Event {
    let (task_id, agent_id) = (task.id, task.agent_id);
    match end {
        End::Completed => TaskCompleted { task_id, agent_id, message_id, usage }.into(),
        End::Failed { error, error_type } => {
            TaskFailed { task_id, agent_id, error: error.clone(), error_type: *error_type }.into()
        }
        End::Cancelled => TaskCancelled { task_id, agent_id }.into(),
    }
}
