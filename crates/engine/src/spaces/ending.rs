//! The end of a task: one commit with the answer, the task's final state, and the events that tell of both.
//!
//! Whoever ends it first has ended it; the other's commit is undone whole.

use std::sync::Arc;
use std::time::Duration;

use artel_domain::event::{MessageCreated, TaskCancelled, TaskCompleted, TaskFailed};
use artel_domain::memory::{Kind, Recollection};
use artel_domain::plan::Place;
use artel_domain::session::{ErrorType, Message, Outcome, Role, Usage};
use artel_domain::task::Task;
use artel_domain::{Clock, Event, MessageId, Timestamp};
use artel_storage::tasks::{End, Ended};
use artel_storage::{Conn, Lane, Scope, events, plans, sessions, tasks};

use super::Space;
use super::keeping::Hand;
use super::word::Word;
use crate::calls::flow;
use crate::memory::keeping::Happened;
use crate::plans::course;
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
    /// What is still to be told before the end.
    pub(crate) noted: Option<Event>,
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
        Self { text, end, usage: None, context: Vec::new(), steps: Vec::new(), noted: None }
    }

    /// What is written, with ids of its own.
    fn written(self, scribe: &Scribe, task: &Task) -> Written {
        let Self { text, end, usage, context, steps, noted } = self;
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
            outcome: Some(Outcome {
                success,
                error,
                error_type,
                usage: usage.clone(),
                context,
                plan_id: None,
            }),
        };
        let told = closing_event(task, &end, message.id, usage);
        Written { end, message, noted, told, now, steps, scribe: scribe.clone() }
    }
}

/// Everything that the end of a task leaves behind.
struct Written {
    end: End,
    message: Message,
    noted: Option<Event>,
    told: Event,
    now: Timestamp,
    steps: Vec<Happened>,
    scribe: Scribe,
}

/// What a task left that this change ended.
#[derive(Debug)]
pub(crate) struct Left {
    /// What a task of a plan gave stands in the plan, and not in the conversation.
    pub(crate) answer: Option<Message>,
}

impl Written {
    /// What it left, if this ended it.
    async fn store(
        self,
        conn: &mut Conn,
        scope: Scope,
        task: &Task,
    ) -> artel_storage::Result<Option<Left>> {
        let Self { end, message, noted, told, now, steps, scribe } = self;
        let mut open = false;
        match tasks::end(conn, task.id, &end, now).await? {
            Ended::Before => return Ok(None),
            Ended::Now => {}
            // What a task of a plan had under way says what becomes of it, so that is looked at first.
            Ended::NowWithProgress if task.plan.is_some() => open = true,
            Ended::NowWithProgress => flow::cancel_of_task(conn, task.id).await?,
        }
        let asked = described(conn, task).await?;
        let remembered = remembered(asked, &end, &message);
        let mut events: Vec<_> = noted.into_iter().collect();
        let answer = match &task.plan {
            None => {
                sessions::say(conn, scope, task.session_id, &message).await?;
                events.push(MessageCreated { message: message.clone() }.into());
                Some(message)
            }
            Some(place) => {
                course::settle(conn, scope, task, place, &end, &message).await?;
                if open {
                    flow::cancel_of_task(conn, task.id).await?;
                }
                None
            }
        };
        events.push(told);
        events::append_all(conn, scope.project, Some(task.session_id), now, &events).await?;
        for happened in steps.into_iter().chain(remembered) {
            happened.keep(conn, scribe.clock.as_ref(), task, now, &scribe.node).await?;
        }
        Ok(Some(Left { answer }))
    }
}

/// What was to be done, as the agent remembers it: without what others gave for it.
async fn described(conn: &mut Conn, task: &Task) -> artel_storage::Result<String> {
    Ok(match &task.plan {
        None => sessions::message(conn, task.session_id, task.message_id).await?.content,
        Some(place) => plans::task(conn, place.plan_id, &place.task).await?.description,
    })
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

/// Ends a task that ran in this space, unless somebody has ended it. The next step of its plan, if it has one, is part
/// of the same commit.
pub(super) async fn end(
    app: &App,
    space: &Arc<Space>,
    task: &Task,
    ending: Ending,
) -> Result<Option<Left>> {
    let (scope, task) = (space.scope, task.clone());
    let written = ending.written(&app.scribe(), &task);
    let hand = Hand::new(app, space);
    let own = Arc::clone(&hand);
    let ended = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move {
            let left = written.store(conn, scope, &task).await?;
            if let Some(Place { plan_id, .. }) = task.plan.filter(|_| left.is_some())
                && own.take_over(conn).await?
            {
                course::advance(conn, &own, scope, plan_id).await?;
            }
            Ok(left)
        })
    });
    let ended = ended.await;
    hand.play(app, ended.is_ok());
    app.0.memory.ring();
    Ok(ended?)
}

/// Cancels tasks inside a change of the caller's.
pub(crate) async fn cancel_all(
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
    let error = match task.plan {
        None => "The server was stopped in the middle of it; send the message again",
        Some(_) => "The server was stopped in the middle of it",
    };
    let ending = Ending::failed(String::new(), ErrorType::Interrupted, error);
    ending.written(scribe, task).store(conn, scope, task).await?;
    Ok(())
}

/// Cancels a task, waiting or running, on whichever node; says whether this did it.
pub(crate) async fn cancel(app: &App, scope: Scope, task: &Task) -> Result<bool> {
    stop(app, scope, task, Ending::cancelled()).await
}

/// Ends a task whose turn did not come in time.
pub(super) async fn give_up(app: &App, scope: Scope, task: &Task) -> Result<bool> {
    let limit = app.longest(task, false).as_secs();
    let why = format!("No answer within {limit} s: the agent had other work all that time");
    stop(app, scope, task, Ending::failed(String::new(), ErrorType::Timeout, why)).await
}

/// Ends a task from outside of its turn.
async fn stop(app: &App, scope: Scope, task: &Task, ending: Ending) -> Result<bool> {
    let (written, own) = (ending.written(&app.scribe(), task), task.clone());
    let ended = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move { written.store(conn, scope, &own).await })
    });
    let cancelled = ended.await?.is_some();
    app.0.memory.ring();
    app.task_ended(scope, task).await;
    if let Some(place) = &task.plan {
        app.advance_plan(scope, place.plan_id).await?;
    }
    Ok(cancelled)
}

impl App {
    pub(crate) fn scribe(&self) -> Scribe {
        Scribe { clock: Arc::clone(&self.0.clock), node: self.0.settings.node.as_str().into() }
    }

    /// How long a task may take: a message from when it was sent, a task of a plan or for a program from when its turn
    /// came.
    pub(crate) fn longest(&self, task: &Task, program: bool) -> Duration {
        match task.plan {
            _ if program => self.0.settings.programs.host.turn_timeout,
            None => self.0.settings.direct_timeout,
            Some(_) => self.0.settings.plan_task_timeout,
        }
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
    let (task_id, agent_id, plan) = (task.id, task.agent_id, task.plan.clone());
    match end {
        End::Completed => {
            let message_id = plan.is_none().then_some(message_id);
            TaskCompleted { task_id, agent_id, plan, message_id, usage }.into()
        }
        End::Failed { error, error_type } => {
            let (error, error_type) = (error.clone(), *error_type);
            TaskFailed { task_id, agent_id, plan, error, error_type }.into()
        }
        End::Cancelled => TaskCancelled { task_id, agent_id, plan }.into(),
    }
}
