//! A program at work: it is given the task as a message, what it calls is run, what it asks is asked, until its turn is
//! over.
//!
//! A question that nobody answers while the program can wait is parked: its turn ends, and the answer is its next
//! message. So a task may take several turns of the program, and is still one task.

use std::collections::BTreeMap;

use artel_agents::llm::chat::{ToolCall, ToolSpec};
use artel_domain::Agent;
use artel_domain::process::Runtime;
use artel_domain::session::{ErrorType, Role, Usage};
use artel_nodes::wire::Failure;
use artel_programs::codec::{
    CallId, Command, Decision, Event, Fault, Outcome, Permission, Question, RequestId,
};
use artel_programs::host::Refusal;
use artel_programs::kind::Tools;
use artel_storage::Scope;
use artel_storage::calls::Place;
use artel_storage::tasks::End;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Map, Value, json};

use super::acting::{self, Acting};
use super::ending::Ending;
use super::patience::Patience;
use super::turn::Brief;
use crate::App;
use crate::memory::keeping::Happened;
use crate::memory::recall;
use crate::programs::{LostAgents, Program};
use crate::tools::result::ReadResult;
use crate::tools::{Done, permission, question, speaking};

/// The longest answer that is kept.
const LONGEST: usize = 4 * 1024 * 1024;
/// Steps of one task that are told of; a program may take more.
const TOLD: usize = 500;
/// What of an earlier conversation a program is told that was not there.
const EARLIER: usize = 16_000;
/// How much of a step's title is told.
const TITLE: usize = 200;
const GO_ON: &str = "Your process was started again in the middle of this task. Go on where you were, and do nothing twice.";
const PARKED: &str = "The question was sent to the user, who has not answered yet. End your turn now: the answer will be \
                      your next message.";

/// Works on the task until the program has answered, or cannot.
pub(super) async fn answer(
    app: &App,
    scope: Scope,
    brief: &Brief,
    (agent, runtime): (&Agent, &Runtime),
    patience: &Patience,
) -> Ending {
    let acting = Acting::new(app, scope, brief, agent, patience);
    let names = agent.config.tools.iter().map(|tool| tool.0.as_str());
    let more = Some(ReadResult::NAME).filter(|name| !names.clone().any(|it| it == *name));
    let mut offered = app.0.tools.offered(names.chain(more));
    offered.extend(speaking::specs());
    let member = match app.program(scope, agent, runtime).await {
        Ok(member) => member,
        Err(error) => {
            let cause = std::error::Error::source(&error);
            tracing::warn!(agent = %agent.id, %error, cause, "a program could not be opened");
            return Ending::failed(String::new(), ErrorType::Configuration, error.to_string());
        }
    };
    if brief.resumed
        && let Err(error) = app.withdraw_all(scope, brief.task.id).await
    {
        return Ending::failed(String::new(), ErrorType::Execution, error.to_string());
    }
    let work = Work { acting: &acting, member: &member, kind: &runtime.kind, offered: &offered };
    // A program that is told a line at a time could not be told what is remembered.
    let recalls = member.is_fresh() && !work.takes_lines();
    let context = if recalls { acting.recall().await } else { Vec::new() };
    let mut told = Told { step: brief.step, ..Told::default() };
    let mut message = work.message(&context);
    if brief.resumed {
        message = work.go_on(&message);
    }
    let (mut revived, mut renewed) = (false, false);
    let end = loop {
        match work.turn(message, &mut told).await {
            Turned::Done => break End::Completed,
            Turned::Answered(answers) => message = answers,
            Turned::Failed { fault: Fault::Lost, why } if !revived && work.moves_on() => {
                revived = true;
                acting.progress(format!("{why}; another worker goes on")).await;
                message = work.go_on(&work.message(&context));
            }
            Turned::Failed { fault: Fault::Died, why } if !revived => {
                revived = true;
                acting.progress(format!("The program died and is started again: {why}")).await;
                message = work.go_on(&brief.asked);
            }
            // The model refuses what its conversation has become; without it, it may take the task.
            Turned::Failed { fault: Fault::Refused, why } if !renewed && !member.is_fresh() => {
                renewed = true;
                acting.progress(format!("A new conversation is begun: {why}")).await;
                if let Err(down) = member.forget(&why).await {
                    break failed(down.to_string());
                }
                message = work.message(&context);
            }
            Turned::Failed { fault, why } => {
                let error_type = match fault {
                    Fault::Login => ErrorType::Configuration,
                    Fault::Quota => ErrorType::Quota,
                    Fault::Refused
                    | Fault::Unreachable
                    | Fault::Died
                    | Fault::Lost
                    | Fault::Other => ErrorType::Execution,
                };
                break End::Failed { error: why, error_type };
            }
        }
    };
    let Told { answers, last, usage, steps, .. } = told;
    let text = if answers.is_empty() { last.trim().to_owned() } else { answers.join("\n\n") };
    Ending { text, end, usage, context, steps, noted: acting.noted() }
}

fn failed(error: String) -> End {
    End::Failed { error, error_type: ErrorType::Execution }
}

#[derive(Clone, Copy)]
struct Work<'a> {
    acting: &'a Acting<'a>,
    member: &'a Program,
    kind: &'a str,
    offered: &'a [ToolSpec],
}

/// What came of the task so far.
#[derive(Debug, Default)]
struct Told {
    /// What it gave as its answer.
    answers: Vec<String>,
    /// What it said since it last used a tool.
    last: String,
    /// How much was said in all.
    length: usize,
    usage: Option<Usage>,
    steps: Vec<Happened>,
    progress: usize,
    /// Where the next call stands in the task.
    step: u32,
}

/// How a turn of the program ended.
enum Turned {
    Done,
    /// What it had asked was answered after its turn: its next message.
    Answered(String),
    Failed {
        fault: Fault,
        why: String,
    },
}

/// What a future of ours has come to, beside the program.
enum Settled {
    Decided(RequestId, Decision),
    Replied(RequestId, Result<Vec<String>, String>),
    Called(CallId, ToolCall, Done),
    /// The program can wait no longer for this.
    Late(CallId),
}

type Open<'a> = FuturesUnordered<BoxFuture<'a, Settled>>;

/// A question that the program asked with a tool of ours.
#[derive(Debug, Default)]
struct Asked {
    question: String,
    late: bool,
}

impl<'a> Work<'a> {
    /// Whether work that was lost with its worker is given to another.
    fn moves_on(&self) -> bool {
        let settings = &self.acting.app.0.settings.programs;
        settings.workers.as_ref().is_some_and(|it| it.lost_agents == LostAgents::Restart)
    }

    async fn turn(self, message: String, told: &mut Told) -> Turned {
        let mut turn = match self.member.turn(message).await {
            Ok(turn) => turn,
            Err(failure) => return not_begun(&failure),
        };
        let mut open: Open<'a> = FuturesUnordered::new();
        let mut places: BTreeMap<RequestId, Place> = BTreeMap::new();
        let mut asked: BTreeMap<CallId, Asked> = BTreeMap::new();
        let mut answers: Vec<String> = Vec::new();
        let outcome = loop {
            tokio::select! {
                event = turn.next() => {
                    let Some(event) = event else {
                        break Outcome::Failed { fault: Fault::Died, why: "The program ended".to_owned() };
                    };
                    match event {
                        Event::Ended(outcome) => break outcome,
                        Event::Permission(wanted) => {
                            let (request, place) = (wanted.request.clone(), told.place());
                            places.insert(request, place);
                            open.push(Box::pin(self.permit(wanted, place)));
                        }
                        Event::Question { request, items } => {
                            let place = told.place();
                            places.insert(request.clone(), place);
                            open.push(Box::pin(self.reply(request, items, place)));
                        }
                        Event::Withdrawn(request) => {
                            if let Some(place) = places.remove(&request) {
                                self.withdraw(place).await;
                            }
                        }
                        Event::Call { call, tool, arguments } => {
                            if tool == speaking::ASK {
                                let question = arguments.get("question").and_then(Value::as_str);
                                let question = question.unwrap_or_default().to_owned();
                                asked.insert(call.clone(), Asked { question, late: false });
                                open.push(Box::pin(self.late(call.clone())));
                            }
                            if tool == speaking::ANSWER {
                                self.take_answer(call, &arguments, told).await;
                            } else {
                                let made = ToolCall { id: call.0.clone(), name: tool, arguments };
                                open.push(Box::pin(self.call(call, made, told.place())));
                            }
                        }
                        Event::Text(text) => self.hear(text, told),
                        Event::ToolStarted { name, title, .. } => self.tool(name, &title, told).await,
                        Event::Retrying { why } => {
                            self.step(format!("Waiting for its model: {why}"), told).await;
                        }
                        Event::Usage(used) => told.count(self.kind, used),
                        Event::ToolEnded { .. }
                        | Event::Thinking(_)
                        | Event::Ready { .. }
                        | Event::Unfit { .. }
                        | Event::Session(_)
                        | Event::Garbage { .. } => {}
                    }
                    if told.length > LONGEST {
                        break Outcome::Failed { fault: Fault::Other, why: "The answer is too long".to_owned() };
                    }
                }
                Some(settled) = open.next(), if !open.is_empty() => {
                    match settled {
                        Settled::Decided(request, decision) => {
                            places.remove(&request);
                            self.command(Command::Decide { request, decision }).await;
                        }
                        Settled::Replied(request, Ok(answers)) => {
                            places.remove(&request);
                            self.command(Command::Answer { request, answers }).await;
                        }
                        Settled::Replied(request, Err(why)) => {
                            places.remove(&request);
                            self.command(Command::Decide { request, decision: Decision::Reject { why } }).await;
                        }
                        Settled::Late(call) => {
                            if let Some(asked) = asked.get_mut(&call) {
                                asked.late = true;
                                self.command(Command::Return { call, result: Ok(PARKED.to_owned()) }).await;
                            }
                        }
                        Settled::Called(call, made, done) => {
                            if let Some(Asked { question, late: true }) = asked.remove(&call) {
                                answers.push(answered(&question, &done));
                            } else {
                                let text = done.content.clone();
                                let result = if done.failed { Err(text) } else { Ok(text) };
                                self.command(Command::Return { call, result }).await;
                            }
                            told.steps.extend(acting::remembered(made, &done));
                        }
                    }
                }
            }
        };
        drop(turn);
        for place in places.into_values() {
            self.withdraw(place).await;
        }
        match outcome {
            Outcome::Completed { text } => {
                if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                    told.last = text;
                }
            }
            Outcome::Interrupted => {
                let why = "The turn was interrupted".to_owned();
                return Turned::Failed { fault: Fault::Other, why };
            }
            Outcome::Failed { fault, why } => return Turned::Failed { fault, why },
        }
        // What was parked is waited for; what it asked without waiting for is not.
        asked.retain(|_, asked| asked.late);
        while !asked.is_empty() {
            match open.next().await {
                Some(Settled::Called(call, made, done)) => {
                    if let Some(Asked { question, .. }) = asked.remove(&call) {
                        answers.push(answered(&question, &done));
                    }
                    told.steps.extend(acting::remembered(made, &done));
                }
                Some(Settled::Decided(..) | Settled::Replied(..) | Settled::Late(_)) => {}
                None => break,
            }
        }
        if answers.is_empty() {
            return Turned::Done;
        }
        let answers = answers.join("\n\n");
        let lines = answers.lines().filter(|line| !line.is_empty());
        Turned::Answered(if self.takes_lines() {
            lines.collect::<Vec<_>>().join(" ")
        } else {
            answers
        })
    }

    /// It takes a line, and nothing else.
    fn takes_lines(&self) -> bool {
        self.member.abilities().tools == Tools::Lines
    }

    /// What a program is told that was started again in the middle; one of lines is told its task once more.
    fn go_on(&self, asked: &str) -> String {
        if self.takes_lines() { asked.to_owned() } else { format!("{GO_ON}\n\n{asked}") }
    }

    fn hear(self, text: String, told: &mut Told) {
        told.length += text.len();
        told.last.push_str(&text);
        self.acting.say(text);
    }

    /// It uses a tool of its own; what it says from here on is the next thing that it says.
    async fn tool(self, name: String, title: &str, told: &mut Told) {
        if !told.last.is_empty() {
            told.last.clear();
            self.acting.say("\n\n".to_owned());
        }
        let title: String = title.chars().take(TITLE).collect();
        let plain = title.is_empty() || title == name;
        self.step(if plain { name } else { format!("{name}: {title}") }, told).await;
    }

    async fn step(&self, detail: String, told: &mut Told) {
        told.progress += 1;
        if told.progress <= TOLD {
            self.acting.progress(detail).await;
        }
    }

    /// A person decides, unless it only wants to call us.
    async fn permit(self, wanted: Permission, place: Place) -> Settled {
        let request = wanted.request.clone();
        if permission::is_of_us(&wanted.tool)
            || wanted.command.as_deref().is_some_and(permission::only_calls_us)
        {
            return Settled::Decided(request, Decision::Once);
        }
        let arguments = permission::arguments(self.kind, &wanted);
        let call = ToolCall { id: String::new(), name: permission::NAME.to_owned(), arguments };
        let done = self.acting.call_elsewhere(&call, place, Some(begun())).await;
        let decision =
            if done.failed { Decision::Reject { why: done.content } } else { Decision::Once };
        Settled::Decided(request, decision)
    }

    /// A person answers what it asked in its own way, one item after the other.
    async fn reply(self, request: RequestId, items: Vec<Question>, place: Place) -> Settled {
        let mut answers = Vec::with_capacity(items.len());
        for (at, Question { text, options }) in (place.place..).zip(items) {
            let done = self.ask(&text, &options, Place { place: at, ..place }).await;
            if done.failed {
                return Settled::Replied(request, Err(done.content));
            }
            answers.push(answer_of(&done.content));
        }
        Settled::Replied(request, Ok(answers))
    }

    async fn ask(self, question: &str, options: &[String], place: Place) -> Done {
        let fields = json!({ "question": question, "options": options });
        let arguments = fields.as_object().cloned().unwrap_or_default();
        let call = ToolCall { id: String::new(), name: question::NAME.to_owned(), arguments };
        self.acting.call_elsewhere(&call, place, Some(begun())).await
    }

    async fn call(self, call: CallId, made: ToolCall, place: Place) -> Settled {
        let done = if made.name == speaking::ASK {
            let asked = ToolCall { name: question::NAME.to_owned(), ..made.clone() };
            let mut done = self.acting.call_elsewhere(&asked, place, Some(begun())).await;
            if !done.failed {
                done.content = answer_of(&done.content);
            }
            done
        } else {
            self.acting.call(&made, self.offered, place, || Some(begun())).await
        };
        Settled::Called(call, made, done)
    }

    async fn late(self, call: CallId) -> Settled {
        tokio::time::sleep(self.member.abilities().patience).await;
        Settled::Late(call)
    }

    async fn take_answer(self, call: CallId, arguments: &Map<String, Value>, told: &mut Told) {
        let message = arguments.get("message").and_then(Value::as_str).unwrap_or_default();
        let result = if message.trim().is_empty() {
            Err("`message` is required: it is the answer".to_owned())
        } else {
            told.length += message.len();
            told.answers.push(message.to_owned());
            self.acting.say(format!("{message}\n\n"));
            Ok("The user has your answer.".to_owned())
        };
        self.command(Command::Return { call, result }).await;
    }

    /// What it no longer waits for need not be decided.
    async fn withdraw(self, place: Place) {
        let task = self.acting.brief.task.id;
        if let Err(error) =
            self.acting.app.withdraw_calls(self.acting.scope, task, place.step).await
        {
            tracing::warn!(%task, %error, "a question that nobody needs any more stays open");
        }
    }

    async fn command(self, command: Command) {
        if let Err(refused) = self.member.command(command).await {
            // Its turn is over, or it has died; the next event says so.
            tracing::debug!(%refused, "a program did not take an answer");
        }
    }

    /// The task, as the program is told of it.
    fn message(&self, context: &[artel_domain::memory::Recollection]) -> String {
        let Brief { asked, before, task, .. } = self.acting.brief;
        if self.takes_lines() {
            return asked.clone();
        }
        let mut parts = Vec::new();
        if task.plan.is_none() && self.member.meets(&task.session_id.to_string()) {
            parts.extend(earlier(before));
        }
        parts.extend(recall::message(context));
        parts.push(asked.clone());
        parts.join("\n\n")
    }
}

impl Told {
    fn place(&mut self) -> Place {
        let step = self.step;
        self.step = step.saturating_add(1);
        Place { step, place: 0 }
    }

    fn count(&mut self, kind: &str, used: artel_programs::codec::Usage) {
        let model = used.model.map_or_else(|| kind.to_owned(), |model| format!("{kind}/{model}"));
        let before = self.usage.take();
        let sum = |of: fn(&Usage) -> u64| before.as_ref().map_or(0, of);
        let first = before.is_none();
        let cost = before.as_ref().and_then(|before| before.cost);
        self.usage = Some(Usage {
            model,
            input_tokens: sum(|it| it.input_tokens) + used.input_tokens,
            cached_tokens: sum(|it| it.cached_tokens) + used.cached_tokens,
            output_tokens: sum(|it| it.output_tokens) + used.output_tokens,
            estimated: false,
            // One turn of unknown price makes the whole unknown.
            cost: if first { used.cost } else { cost.zip(used.cost).map(|(a, b)| a + b) },
        });
    }
}

/// The program could not be given the message.
fn not_begun(failure: &Failure) -> Turned {
    let fault = match failure {
        Failure::Refused(Refusal::NotLoggedIn(_) | Refusal::NotInstalled(_)) => Fault::Login,
        Failure::Refused(_)
        | Failure::Unknown
        | Failure::NotBegun
        | Failure::Program(_)
        | Failure::Lost
        | Failure::NoWorker => Fault::Other,
    };
    Turned::Failed { fault, why: failure.to_string() }
}

/// A task that waits for others is taken up by whoever comes next; a program goes on in its own conversation.
fn begun() -> String {
    "{\"steps\":[],\"usage\":null}".to_owned()
}

/// The text of an answer, out of what the call gave.
fn answer_of(content: &str) -> String {
    let read = serde_json::from_str::<Value>(content).ok();
    let answer = read.as_ref().and_then(|it| it.get("answer")).and_then(Value::as_str);
    answer.unwrap_or(content).to_owned()
}

fn answered(question: &str, done: &Done) -> String {
    if done.failed {
        format!("Your question was not answered ({}).\n> {question}", done.content)
    } else {
        format!("The answer to your question:\n> {question}\n\n{}", done.content)
    }
}

/// What was said before in a conversation that the program was not part of.
fn earlier(before: &[artel_domain::session::Message]) -> Option<String> {
    let mut lines = Vec::new();
    let mut length = 0;
    for message in before.iter().rev() {
        let who = match message.role {
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::System => "System",
        };
        length += message.content.len();
        if length > EARLIER {
            break;
        }
        lines.push(format!("{who}: {}", message.content));
    }
    if lines.is_empty() {
        return None;
    }
    lines.reverse();
    Some(format!(
        "(Earlier in this conversation, for your information)\n{}\n(End)",
        lines.join("\n\n")
    ))
}
