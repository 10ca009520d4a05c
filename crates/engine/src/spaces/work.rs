//! An agent at work: its model is asked, the tools it calls are run, and it is asked again, until it has answered.
//!
//! Before it waits for others, a person or the user's machine, what its model has said so far is kept with the call. A
//! process that takes over then goes on from there: the model is not asked twice, and a call is not made twice.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use artel_agents::llm::chat::{
    Message as Said, Piece, Request, Stop, ToolCall, ToolSpec, Usage as Counted,
};
use artel_agents::llm::providers::Resolved;
use artel_agents::llm::retry::{self, Policy};
use artel_agents::llm::{Error as ModelError, prices, tokens};
use artel_domain::event::{ContextRetrieved, MessageDelta, Retrieved, TaskProgress};
use artel_domain::memory::{Kind, Recollection};
use artel_domain::session::{ErrorType, Role, Usage};
use artel_domain::task::Task;
use artel_domain::{Agent, Event};
use artel_storage::calls::Place;
use artel_storage::tasks::End;
use artel_storage::{Lane, Scope, events};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::ending::Ending;
use super::patience::Patience;
use super::turn::Brief;
use crate::App;
use crate::calls::{Wanted, Wisher};
use crate::memory::keeping::Happened;
use crate::memory::recall::{self, MemorySearch};
use crate::plans::words;
use crate::tools::result::ReadResult;
use crate::tools::{Done, waits_for_others};

/// What an agent is told of the conversation.
const HISTORY_TOKENS: u64 = 4000;
/// How long a model may take to begin, and to go on.
const FIRST_PIECE: Duration = Duration::from_secs(25);
const SILENCE: Duration = Duration::from_secs(25);
/// How long an event waits for a commit to go with.
const SOON: Duration = Duration::from_millis(50);
/// The longest answer that is kept.
const LONGEST: usize = 4 * 1024 * 1024;
/// How often a model may be asked for one task.
const STEPS: usize = 20;
/// Tokens that one task may take, of all its steps.
const TOKENS: u64 = 1_000_000;

/// Works on the task until there is an answer, or none to be had.
pub(super) async fn answer(
    app: &App,
    scope: Scope,
    brief: &Brief,
    agent: &Agent,
    patience: &Patience,
) -> Ending {
    let resolved = match app.0.providers.resolve(&agent.config.model) {
        Ok(resolved) => resolved,
        Err(error) => {
            return Ending::failed(String::new(), ErrorType::Configuration, error.to_string());
        }
    };
    let mut work = Work {
        app,
        scope,
        brief,
        agent,
        model: &resolved,
        patience,
        text: String::new(),
        progress: Progress::default(),
        steps: Vec::new(),
        noted: Later::default(),
    };
    let context = work.recall().await;
    let end = work.run(&context).await;
    let Work { text, progress, steps, noted, .. } = work;
    Ending { text, end, usage: progress.usage, context, steps, noted: noted.take() }
}

struct Work<'a> {
    app: &'a App,
    scope: Scope,
    brief: &'a Brief,
    agent: &'a Agent,
    model: &'a Resolved,
    patience: &'a Patience,
    /// Everything that was said so far.
    text: String,
    progress: Progress,
    /// Tools that were used, to be remembered.
    steps: Vec<Happened>,
    /// What is told with the end, if that comes soon.
    noted: Later,
}

/// An event that waits a moment for a commit to go with.
#[derive(Debug, Clone, Default)]
struct Later(Arc<Mutex<Option<Event>>>);

impl Later {
    fn put(&self, event: Event) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(event);
    }

    fn take(&self) -> Option<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What a model said when it was asked once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Step {
    text: String,
    calls: Vec<ToolCall>,
}

/// How far a task has come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Those with calls.
    steps: Vec<Step>,
    /// What all steps so far took.
    usage: Option<Usage>,
}

impl Work<'_> {
    /// What the agent's memory has for the task. Without a memory it works all the same, and people are told why.
    async fn recall(&self) -> Vec<Recollection> {
        let Brief { task, asked, before, .. } = self.brief;
        let known: Vec<_> = before.iter().filter_map(|message| message.task_id).collect();
        let about = if task.plan.is_some() { words::own(asked) } else { asked };
        let found = recall::recall(self.app, self.scope, self.agent, about, &known).await;
        let (task_id, agent_id) = (task.id, task.agent_id);
        match found {
            Ok(context) if context.is_empty() => context,
            Ok(context) => {
                let retrieved = |it: &Recollection| Retrieved {
                    id: it.id,
                    interaction_type: it.metadata.kind,
                    score: it.score,
                };
                let items = context.iter().map(retrieved).collect();
                self.note(ContextRetrieved { task_id, agent_id, items }.into());
                context
            }
            Err(error) => {
                tracing::warn!(task = %task_id, %error, "a task goes on without its memory");
                let (plan, detail) = (task.plan.clone(), format!("Without memory: {error}"));
                self.tell(TaskProgress { task_id, agent_id, plan, detail }.into()).await;
                Vec::new()
            }
        }
    }

    async fn run(&mut self, context: &[Recollection]) -> End {
        let names = self.agent.config.tools.iter().map(|tool| tool.0.as_str());
        // Whoever works on a plan can read on in what others gave for it.
        let planned = self.brief.task.plan.as_ref().map(|_| ReadResult::NAME);
        let more = planned.filter(|name| !names.clone().any(|it| it == *name));
        let tools = self.app.0.tools.offered(names.chain(more));
        let mut messages = conversation(self.brief, context);
        let Progress { steps: mut earlier, usage } = self.brief.progress.clone();
        self.progress.usage = usage;
        earlier.reverse();
        for _ in 0..STEPS {
            let step = match earlier.pop() {
                Some(step) => self.repeat(step),
                None => match self.ask(&messages, &tools).await {
                    Ok(step) => step,
                    Err(end) => return end,
                },
            };
            if step.calls.is_empty() {
                return End::Completed;
            }
            let usage = self.progress.usage.as_ref();
            let taken = usage.map_or(0, |it| it.input_tokens + it.output_tokens);
            if taken > TOKENS {
                return failed(format!("The task took {taken} tokens, which is too many"));
            }
            let Step { text, calls } = step.clone();
            self.progress.steps.push(step);
            messages.push(Said::Assistant { text, calls: calls.clone() });
            for (place, call) in (0..).zip(calls) {
                messages.push(self.call(call, place, &tools).await);
            }
        }
        failed(format!("The agent came to no end in {STEPS} steps"))
    }

    /// Takes up a step of an earlier attempt.
    fn repeat(&mut self, step: Step) -> Step {
        if !step.text.is_empty() {
            let gap = if self.text.is_empty() { "" } else { "\n\n" };
            self.say(format!("{gap}{}", step.text));
        }
        step
    }

    /// Asks the model and lets what it writes fly by.
    async fn ask(&mut self, messages: &[Said], tools: &[ToolSpec]) -> Result<Step, End> {
        let config = &self.agent.config;
        let request = Request {
            model: self.model.name.clone(),
            system: config.system_prompt.clone(),
            messages: messages.to_vec(),
            tools: tools.to_vec(),
            must_call: None,
            temperature: config.temperature,
            max_tokens: config.max_tokens,
            first_piece: FIRST_PIECE,
            silence: SILENCE,
        };
        let task = self.brief.task.id;
        let told = |failed| tracing::info!(%task, %failed, "the model will be asked again");
        let model = self.model.model.as_ref();
        let (policy, chance) = (Policy::default(), retry::chance);
        let asked = retry::ask_with_retries(model, &request, &policy, &chance, told).await;
        let mut stream = asked.map_err(|error| failure(self.app, &error))?;
        let mut step = Step::default();
        while let Some(piece) = stream.next().await {
            match piece.map_err(|error| failure(self.app, &error))? {
                Piece::Text(more) => {
                    if step.text.is_empty() && !self.text.is_empty() {
                        self.say("\n\n".to_owned());
                    }
                    step.text.push_str(&more);
                    self.say(more);
                    if self.text.len() > LONGEST {
                        return Err(failed("The answer is too long"));
                    }
                }
                Piece::Call(call) => step.calls.push(call),
                Piece::End { stop, usage } => {
                    self.count(usage);
                    return match stop {
                        Stop::Done | Stop::Tools | Stop::Length => Ok(step),
                        Stop::Filtered => {
                            Err(failed("The model service's filter stopped the answer"))
                        }
                    };
                }
            }
        }
        Err(failed("The answer broke off"))
    }

    fn say(&mut self, text: String) {
        self.text.push_str(&text);
        let task = &self.brief.task;
        let (task_id, agent_id, plan) = (task.id, task.agent_id, task.plan.clone());
        let delta = MessageDelta { task_id, agent_id, plan, text };
        self.app.0.feeds.whisper(self.scope.project, task.session_id, &delta.into());
    }

    /// Adds what a step took.
    fn count(&mut self, counted: Counted) {
        let model = self.model.full_name();
        let cost = prices::cost(&model, &counted).map(|cost| cost.amount.as_dollars());
        let nothing = Usage {
            model,
            input_tokens: 0,
            cached_tokens: 0,
            output_tokens: 0,
            estimated: false,
            cost: Some(0.0),
        };
        let before = self.progress.usage.take().unwrap_or(nothing);
        self.progress.usage = Some(Usage {
            model: before.model,
            input_tokens: before.input_tokens + counted.input,
            cached_tokens: before.cached_tokens + counted.cached,
            output_tokens: before.output_tokens + counted.output,
            estimated: before.estimated || counted.estimated,
            // One step of unknown price makes the whole unknown.
            cost: before.cost.zip(cost).map(|(before, cost)| before + cost),
        });
    }

    /// Runs a tool and tells of it.
    async fn call(&mut self, call: ToolCall, place: u32, tools: &[ToolSpec]) -> Said {
        let offered = tools.iter().any(|tool| tool.name == call.name);
        let done = if offered && waits_for_others(&call.name) {
            self.call_elsewhere(&call, place).await
        } else {
            self.app.0.tools.call(self.app, self.scope, self.agent, tools, &call).await
        };
        let task = &self.brief.task;
        let how = if done.failed { "failed" } else { "used" };
        let detail = format!("Tool {how}: {}", call.name);
        let (task_id, agent_id, plan) = (task.id, task.agent_id, task.plan.clone());
        self.tell(TaskProgress { task_id, agent_id, plan, detail }.into()).await;
        let ToolCall { id, name, arguments } = call;
        // What a search of the memory gave is in the memory as it is.
        if name != MemorySearch::NAME {
            let used = format!("{name} {}", serde_json::Value::Object(arguments));
            let (text, error) = if done.failed {
                (used, Some(done.content.clone()))
            } else {
                (format!("{used}\n{}", done.content), None)
            };
            self.steps.push(Happened { kind: Kind::ToolCall, text, request: None, error });
        }
        Said::ToolResult { id, name, content: done.content, failed: done.failed }
    }

    /// Has a call made by others and waits for its end, which takes nothing of the task's own time.
    async fn call_elsewhere(&self, call: &ToolCall, place: u32) -> Done {
        let _pause = self.patience.pause();
        let task = &self.brief.task;
        let step = u32::try_from(self.progress.steps.len()).unwrap_or(u32::MAX);
        let by = Wisher {
            task: task.id,
            session: task.session_id,
            agent: task.agent_id,
            place: Place { step, place },
            progress: serde_json::to_string(&self.progress).ok(),
        };
        let (tool, arguments) = (call.name.clone(), call.arguments.clone());
        let wanted = Wanted { tool, arguments, by: Some(by) };
        match self.app.call_tool(self.scope, wanted).await {
            Ok(call) => Done::from(call),
            Err(error) => Done { content: error.to_string(), failed: true },
        }
    }

    /// Tells of a step, before everything that comes later. The work goes on meanwhile, and even if that fails.
    async fn tell(&self, event: Event) {
        if let Some(noted) = self.noted.take() {
            tell(self.app, &self.brief.task, noted).await;
        }
        tell(self.app, &self.brief.task, event).await;
    }

    /// Tells of something with the next step, or with the end, or by itself when neither comes soon: most tasks of a
    /// quick model then take one commit less.
    fn note(&self, event: Event) {
        self.noted.put(event);
        let (app, task, noted) = (self.app.clone(), self.brief.task.clone(), self.noted.clone());
        self.app.0.tracker.spawn(async move {
            tokio::time::sleep(SOON).await;
            if let Some(event) = noted.take() {
                tell(&app, &task, event).await;
            }
        });
    }
}

/// Gives an event of a task its place in the log.
async fn tell(app: &App, task: &Task, event: Event) {
    let (id, project, session) = (task.id, task.project_id, task.session_id);
    let now = app.clock().now();
    let handed_in = app.0.storage.db.hand_in(Lane::Project(project), move |conn| {
        Box::pin(async move { events::append(conn, project, Some(session), now, &event).await })
    });
    let failed = move |error| tracing::warn!(task = %id, %error, "a step could not be told");
    match handed_in.await {
        Ok(told) => {
            app.0.tracker.spawn(async move { told.await.map_or_else(failed, drop) });
        }
        Err(error) => failed(error),
    }
}

fn failed(error: impl Into<String>) -> End {
    End::Failed { error: error.into(), error_type: ErrorType::Execution }
}

fn failure(app: &App, error: &ModelError) -> End {
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
    End::Failed { error: words, error_type: kind }
}

/// The last messages of the session, what the memory has, and the task itself, within bounds. What failed is not part
/// of it.
fn conversation(brief: &Brief, context: &[Recollection]) -> Vec<Said> {
    let mut budget = HISTORY_TOKENS;
    let mut said = vec![Said::User(brief.asked.clone())];
    said.extend(recall::message(context).map(Said::User));
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
