//! An agent at work: its model is asked, the tools it calls are run, and it is asked again, until it has answered.
//!
//! Before it waits for others, a person or the user's machine, what its model has said so far is kept with the call. A
//! process that takes over then goes on from there: the model is not asked twice, and a call is not made twice.

use std::time::Duration;

use artel_agents::llm::chat::{
    Message as Said, Piece, Request, Stop, ToolCall, ToolSpec, Usage as Counted,
};
use artel_agents::llm::providers::Resolved;
use artel_agents::llm::retry::{self, Policy};
use artel_agents::llm::{Error as ModelError, prices, tokens};
use artel_domain::Agent;
use artel_domain::memory::Recollection;
use artel_domain::session::{ErrorType, Role, Usage};
use artel_storage::Scope;
use artel_storage::calls::Place;
use artel_storage::tasks::End;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::acting::{self, Acting};
use super::ending::Ending;
use super::patience::Patience;
use super::turn::Brief;
use crate::App;
use crate::memory::keeping::Happened;
use crate::memory::recall;
use crate::tools::result::ReadResult;

/// What an agent is told of the conversation.
const HISTORY_TOKENS: u64 = 4000;
/// How long a model may take to begin, and to go on.
const FIRST_PIECE: Duration = Duration::from_secs(25);
const SILENCE: Duration = Duration::from_secs(25);
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
    let acting = Acting::new(app, scope, brief, agent, patience);
    let context = acting.recall().await;
    let mut work = Work {
        acting,
        model: &resolved,
        text: String::new(),
        progress: Progress::default(),
        steps: Vec::new(),
    };
    let end = work.run(&context).await;
    let Work { acting, text, progress, steps, .. } = work;
    Ending { text, end, usage: progress.usage, context, steps, noted: acting.noted() }
}

struct Work<'a> {
    acting: Acting<'a>,
    model: &'a Resolved,
    /// Everything that was said so far.
    text: String,
    progress: Progress,
    /// Tools that were used, to be remembered.
    steps: Vec<Happened>,
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
    async fn run(&mut self, context: &[Recollection]) -> End {
        let names = self.acting.agent.config.tools.iter().map(|tool| tool.0.as_str());
        // Whoever works on a plan can read on in what others gave for it.
        let planned = self.acting.brief.task.plan.as_ref().map(|_| ReadResult::NAME);
        let more = planned.filter(|name| !names.clone().any(|it| it == *name));
        let tools = self.acting.app.0.tools.offered(names.chain(more));
        let mut messages = conversation(self.acting.brief, context);
        let Progress { steps: mut earlier, usage } = self.acting.brief.progress.clone();
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
        let config = &self.acting.agent.config;
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
        let task = self.acting.brief.task.id;
        let told = |failed| tracing::info!(%task, %failed, "the model will be asked again");
        let model = self.model.model.as_ref();
        let (policy, chance) = (Policy::default(), retry::chance);
        let asked = retry::ask_with_retries(model, &request, &policy, &chance, told).await;
        let mut stream = asked.map_err(|error| failure(self.acting.app, &error))?;
        let mut step = Step::default();
        while let Some(piece) = stream.next().await {
            match piece.map_err(|error| failure(self.acting.app, &error))? {
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
        self.acting.say(text);
    }

    /// Runs a tool and keeps what came of it.
    async fn call(&mut self, call: ToolCall, place: u32, tools: &[ToolSpec]) -> Said {
        let step = u32::try_from(self.progress.steps.len()).unwrap_or(u32::MAX);
        let kept = || serde_json::to_string(&self.progress).ok();
        let done = self.acting.call(&call, tools, Place { step, place }, kept).await;
        let (id, name) = (call.id.clone(), call.name.clone());
        self.steps.extend(acting::remembered(call, &done));
        Said::ToolResult { id, name, content: done.content, failed: done.failed }
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
