//! The end of a task: one commit with the answer, the task's final state, and the events that tell of both.
//!
//! Whoever ends it first has ended it; the other's commit is undone whole.

use std::sync::Arc;

use artel_domain::event::{MessageCreated, TaskCancelled, TaskCompleted, TaskFailed};
use artel_domain::memory::{Kind, Recollection};
use artel_domain::session::{ErrorType, Message, Outcome, Role, Usage};
use artel_domain::task::Task;
use artel_domain::{Clock, Event, MessageId, Timestamp};
use artel_storage::tasks::{End, Ended};
use artel_storage::{Conn, Lane, Scope, events, sessions, tasks};

use super::word::Word;
use crate::calls::flow;
use crate::memory::keeping::Happened;
use crate::{App, Result};

/// How a task ended, and what came of it.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) text: String,
    pub(crate) end: End,
    pub(crate) usage: Option<Usage>,
    /// What the agent drew from its memory.
    pub(crate) context: Vec<Recollection>,
    /// What it did on the way, to be remembered.
    pub(crate) steps: Vec<Happened>,
}

/// Who writes down what work leaves behind.
#[derive(Debug, Clone)]
pub(crate) struct Scribe {
    pub(crate) clock: Arc<dyn Clock>,
    /// The node that brings memories to their collections.
    pub(crate) node: Arc<str>,
}

impl Ending {
    pub(crate) fn failed(text: String, error_type: ErrorType, error: impl Into<String>) -> Self {
        Self::of(text, End::Failed { error: error.into(), error_type })
    }

    pub(crate) fn cancelled() -> Self {
        Self::of(String::new(), End::Cancelled)
    }

    const fn of(text: String, end: End) -> Self {
        Self { text, end, usage: None, context: Vec::new(), steps: Vec::new() }
    }

    /// What is written, with ids of its own.
    fn written(self, scribe: &Scribe, task: &Task) -> Written {
        let Self { text, end, usage, context, steps } = self;
        let now = scribe.clock.now();
        let (success, error, error_type) = match &end {
            End::Completed => (true, None, None),
            End::Failed { error, error_type } => (false, Some(error.clone()), Some(*error_type)),
            End::Cancelled => (false, Some("Cancelled".to_owned()), Some(ErrorType::Cancelled)),
        };
        let message = Message {
            id: MessageId::new(scribe.clock.as_ref()),
            role: Role::Assistant,
            content: text,
            agent_id: Some(task.agent_id),
            task_id: Some(task.id),
            timestamp: now,
            outcome: Some(Outcome { success, error, error_type, usage: usage.clone(), context }),
        };
        let told = closing_event(task, &end, message.id, usage);
        Written { end, message, told, now, steps, scribe: scribe.clone() }
    }
}

/// Everything that the end of a task leaves behind.
struct Written {
    end: End,
    message: Message,
    told: Event,
    now: Timestamp,
    steps: Vec<Happened>,
    scribe: Scribe,
}

impl Written {
    /// The answer, if this ended it.
    async fn store(
        self,
        conn: &mut Conn,
        scope: Scope,
        task: &Task,
    ) -> artel_storage::Result<Option<Message>> {
        let Self { end, message, told, now, steps, scribe } = self;
        match tasks::end(conn, task.id, &end, now).await? {
            Ended::Before => return Ok(None),
            Ended::Now => {}
            Ended::NowWithProgress => flow::cancel_of_task(conn, task.id).await?,
        }
        sessions::say(conn, scope, task.session_id, &message).await?;
        let said = MessageCreated { message: message.clone() };
        let told = [said.into(), told];
        events::append_all(conn, scope.project, Some(task.session_id), now, &told).await?;
        let asked = sessions::message(conn, task.session_id, task.message_id).await?.content;
        for happened in steps.into_iter().chain(remembered(asked, &end, &message)) {
            happened.keep(conn, scribe.clock.as_ref(), task, now, &scribe.node).await?;
        }
        Ok(Some(message))
    }
}

/// What the agent remembers of the whole: what was asked and what it answered, or that it could not.
fn remembered(asked: String, end: &End, answer: &Message) -> Vec<Happened> {
    let failed = |error: &str| {
        let error = Some(error.to_owned());
        vec![Happened { kind: Kind::TaskExecution, text: asked.clone(), request: None, error }]
    };
    match end {
        End::Completed => {
            let (text, request) = (answer.content.clone(), Some(asked.clone()));
            vec![
                Happened { kind: Kind::UserMessage, text: asked, request: None, error: None },
                Happened { kind: Kind::AgentResponse, text, request, error: None },
            ]
        }
        End::Failed { error, .. } => failed(error),
        End::Cancelled => failed("Cancelled"),
    }
}

/// Ends the task, unless somebody has ended it; gives the answer if this did.
pub(super) async fn end(
    app: &App,
    scope: Scope,
    task: &Task,
    ending: Ending,
) -> Result<Option<Message>> {
    let written = ending.written(&app.scribe(), task);
    let task = task.clone();
    let ended = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move { written.store(conn, scope, &task).await })
    });
    let answer = ended.await?;
    app.0.memory.ring();
    Ok(answer)
}

/// Cancels tasks inside a change of the caller's.
pub(super) async fn cancel_all(
    conn: &mut Conn,
    scribe: &Scribe,
    scope: Scope,
    tasks: &[Task],
) -> artel_storage::Result<()> {
    for task in tasks {
        let written = Ending::cancelled().written(scribe, task);
        written.store(conn, scope, task).await?;
    }
    Ok(())
}

/// Ends a task that nobody runs any more, because its node died, inside a change of the caller's. The attempt is
/// recorded, never silently repeated.
pub(super) async fn interrupt(
    conn: &mut Conn,
    scribe: &Scribe,
    scope: Scope,
    task: &Task,
) -> artel_storage::Result<()> {
    let error = "The server was stopped in the middle of it; send the message again";
    let ending = Ending::failed(String::new(), ErrorType::Interrupted, error);
    ending.written(scribe, task).store(conn, scope, task).await?;
    Ok(())
}

/// Cancels a task, waiting or running, on whichever node; says whether this did it.
pub(crate) async fn cancel(app: &App, scope: Scope, task: &Task) -> Result<bool> {
    let answer = end(app, scope, task, Ending::cancelled()).await?;
    app.task_ended(scope, task).await;
    Ok(answer.is_some())
}

impl App {
    pub(crate) fn scribe(&self) -> Scribe {
        Scribe { clock: Arc::clone(&self.0.clock), node: self.0.settings.node.as_str().into() }
    }

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
