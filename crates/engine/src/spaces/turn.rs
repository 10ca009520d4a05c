//! One task, from its start to its one end.
//!
//! A task starts with one commit, which is that of its message when the agent is free. Its text flies by as it is
//! written, and it ends with one commit ([`super::ending`]).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use artel_agents::llm::chat::{Message as Said, Piece, Request, Stop};
use artel_agents::llm::retry::{self, Policy};
use artel_agents::llm::{Error as ModelError, prices, tokens};
use artel_domain::event::{MessageDelta, TaskStarted};
use artel_domain::session::{ErrorType, Message, Role, Usage};
use artel_domain::task::Task;
use artel_domain::{Agent, TaskId};
use artel_storage::tasks::End;
use artel_storage::{Conn, Lane, Scope, events, leases, sessions, tasks};
use futures_util::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::Space;
use super::board::Ticket;
use super::ending::{Ending, end};
use crate::{App, Error, Result};

/// What an agent is told of the conversation.
const HISTORY: u32 = 10;
const HISTORY_TOKENS: u64 = 4000;
/// How long a model may take to begin, and to go on.
const FIRST_PIECE: Duration = Duration::from_secs(25);
const SILENCE: Duration = Duration::from_secs(25);
/// The longest answer that is kept.
const LONGEST: usize = 4 * 1024 * 1024;

/// What an agent is told: the task, and what was said before.
#[derive(Debug)]
pub(crate) struct Brief {
    pub(crate) task: Task,
    asked: String,
    before: Vec<Message>,
}

impl Brief {
    /// Reads it in the change that starts the task.
    pub(crate) async fn read(
        conn: &mut Conn,
        task: Task,
        asked: String,
    ) -> artel_storage::Result<Self> {
        let before = sessions::before(conn, task.session_id, task.message_id, HISTORY).await?;
        Ok(Self { task, asked, before })
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
    let answer = match attempt(&app, space.scope, &brief, stop).await {
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
    scope: Scope,
    brief: &Brief,
    stop: CancellationToken,
) -> Result<Option<Message>> {
    let task = &brief.task;
    let limit = app.0.settings.direct_timeout;
    let work = async {
        match app.0.cache.get(scope, task.agent_id).await {
            Ok(agent) => answer(app, scope, brief, &agent).await,
            Err(error) => Ending::failed(String::new(), ErrorType::Execution, error.to_string()),
        }
    };
    // A panic in the work is this task's alone.
    let work = AssertUnwindSafe(work).catch_unwind();
    let left = limit.saturating_sub(app.clock().now().since(task.created_at));
    let answered = tokio::select! {
        () = stop.cancelled() => return Ok(None),
        () = tokio::time::sleep(left) => {
            Ending::failed(String::new(), ErrorType::Timeout, format!("No answer within {} s", limit.as_secs()))
        }
        done = work => done.unwrap_or_else(|_| {
            Ending::failed(String::new(), ErrorType::Execution, "The agent's work broke off by a fault of the server")
        }),
    };
    end(app, scope, task, answered).await
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
            let event = TaskStarted { task_id: task.id, agent_id: task.agent_id };
            events::append(conn, scope.project, Some(task.session_id), now, &event.into()).await?;
            let asked = sessions::message(conn, task.session_id, task.message_id).await?;
            Ok(Some(Brief::read(conn, task, asked.content).await?))
        })
    });
    Ok(started.await?)
}

/// Asks the agent's model and lets what it writes fly by.
async fn answer(app: &App, scope: Scope, brief: &Brief, agent: &Agent) -> Ending {
    let task = &brief.task;
    let resolved = match app.0.providers.resolve(&agent.config.model) {
        Ok(resolved) => resolved,
        Err(error) => {
            return Ending::failed(String::new(), ErrorType::Configuration, error.to_string());
        }
    };
    let request = Request {
        model: resolved.name.clone(),
        system: agent.config.system_prompt.clone(),
        messages: conversation(brief),
        tools: Vec::new(),
        temperature: agent.config.temperature,
        max_tokens: agent.config.max_tokens,
        first_piece: FIRST_PIECE,
        silence: SILENCE,
    };
    let mut text = String::new();
    let told = |failed| tracing::info!(task = %task.id, %failed, "the model will be asked again");
    let policy = Policy::default();
    let asked =
        retry::ask_with_retries(resolved.model.as_ref(), &request, &policy, &retry::chance, told);
    let mut stream = match asked.await {
        Ok(stream) => stream,
        Err(error) => return failure(app, text, &error),
    };
    while let Some(piece) = stream.next().await {
        match piece {
            Ok(Piece::Text(more)) => {
                text.push_str(&more);
                if text.len() > LONGEST {
                    return Ending::failed(text, ErrorType::Execution, "The answer is too long");
                }
                let delta = MessageDelta { task_id: task.id, agent_id: agent.id, text: more };
                app.0.feeds.whisper(scope.project, task.session_id, &delta.into());
            }
            Ok(Piece::Call(call)) => {
                let error = format!("The model called a tool it was not offered: {}", call.name);
                return Ending::failed(text, ErrorType::Execution, error);
            }
            Ok(Piece::End { stop, usage }) => {
                let model = resolved.full_name();
                let cost = prices::cost(&model, &usage).map(|cost| cost.amount.as_dollars());
                let usage = Usage {
                    model,
                    input_tokens: usage.input,
                    cached_tokens: usage.cached,
                    output_tokens: usage.output,
                    estimated: usage.estimated,
                    cost,
                };
                let end = match stop {
                    Stop::Done | Stop::Tools | Stop::Length => End::Completed,
                    Stop::Filtered => End::Failed {
                        error: "The model service's filter stopped the answer".to_owned(),
                        error_type: ErrorType::Execution,
                    },
                };
                return Ending { text, end, usage: Some(usage) };
            }
            Err(error) => return failure(app, text, &error),
        }
    }
    Ending::failed(text, ErrorType::Execution, "The answer broke off")
}

fn failure(app: &App, text: String, error: &ModelError) -> Ending {
    let kind = match error {
        ModelError::Timeout => ErrorType::Timeout,
        ModelError::Quota { .. } => ErrorType::Quota,
        ModelError::Unauthorised => ErrorType::Configuration,
        ModelError::Busy { .. }
        | ModelError::Unreachable(_)
        | ModelError::Cut(_)
        | ModelError::Refused { .. }
        | ModelError::Malformed(_) => ErrorType::Execution,
    };
    let mut words = error.to_string();
    if let ModelError::Quota { reset_after: Some(after), .. } = error {
        words = format!("{words}; it resets at {}", app.clock().now().plus(*after));
    }
    Ending::failed(text, kind, words)
}

/// The last messages of the session and the task itself, within bounds. What failed is not part of it.
fn conversation(brief: &Brief) -> Vec<Said> {
    let mut budget = HISTORY_TOKENS;
    let mut said = vec![Said::User(brief.asked.clone())];
    for message in brief.before.iter().rev() {
        if message.outcome.as_ref().is_some_and(|outcome| !outcome.success) {
            continue;
        }
        let Some(left) = budget.checked_sub(tokens::estimate(&message.content)) else { break };
        budget = left;
        let text = message.content.clone();
        said.push(match message.role {
            Role::User | Role::System => Said::User(text),
            Role::Assistant => Said::Assistant { text, calls: Vec::new() },
        });
    }
    said.reverse();
    said
}
