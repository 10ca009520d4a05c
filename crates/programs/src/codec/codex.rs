//! Codex: the app server, whose JSON-RPC leaves out `jsonrpc`. One thread for the life of the process.
//!
//! Our tools reach it in the conversation itself, as dynamic tools. What it asks of us is in [`requests`].

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::desk::Desk;
use super::rpc::{self, Failure, Frame, Waiting};
use super::{Codec, Command, Event, Fault, Out, Outcome, Refused, Usage, words};
use crate::toolbox::ToolSpec;

mod requests;

use requests::Open;

/// File changes and words that are remembered at a time.
const REMEMBERED: usize = 32;
/// So often a turn is told to end.
const INTERRUPTS: u32 = 3;

#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Where it works.
    pub folder: String,
    pub model: Option<String>,
    /// `untrusted`, `on-request` or `never`.
    pub approval: String,
    /// `read-only`, `workspace-write` or `danger-full-access`.
    pub sandbox: String,
    pub instructions: Option<String>,
    pub tools: Vec<ToolSpec>,
    /// More of its configuration, for this thread alone.
    pub config: Option<Value>,
    /// The thread to take up again.
    pub resume: Option<String>,
}

#[derive(Debug)]
pub struct Codex {
    setup: Setup,
    desk: Desk<Open>,
    waiting: Waiting<Purpose>,
    version: Option<String>,
    model: Option<String>,
    turn: Option<String>,
    /// The turn that it said to run last. It may be none of ours, and what is wanted of ours before it runs is refused.
    runs: Option<String>,
    /// The turn is to be interrupted as soon as it can be.
    interrupt_later: bool,
    /// How often it was told to; it may have refused before it knew its own turn.
    interrupts: u32,
    usage: Usage,
    /// What each change of files that was begun would do.
    diffs: BTreeMap<String, String>,
    /// The message that comes in pieces, so that its whole is not told again.
    streamed: Option<String>,
    /// Words that came too late for their turn; they go with the next message.
    unsaid: Vec<String>,
}

/// What a request of ours was for.
#[derive(Debug)]
enum Purpose {
    Initialize,
    Resume,
    Thread,
    /// The turn of this number.
    Turn(u64),
    Steer(String),
    /// Of the turn of this number.
    Interrupt(u64),
    Nothing,
}

impl Codex {
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            desk: Desk::new(),
            waiting: Waiting::new(),
            version: None,
            model: None,
            turn: None,
            runs: None,
            interrupt_later: false,
            interrupts: 0,
            usage: Usage::default(),
            diffs: BTreeMap::new(),
            streamed: None,
            unsaid: Vec::new(),
        }
    }

    fn request(&mut self, method: &str, params: &Value, purpose: Purpose, out: &mut Out) {
        let id = self.waiting.add(purpose);
        out.frame(&json!({"method": method, "id": id, "params": params}));
    }

    /// Takes up the thread that was asked for, or begins one.
    fn thread(&mut self, resume: Option<String>, out: &mut Out) {
        let setup = &self.setup;
        let mut params = json!({
            "cwd": setup.folder, "approvalPolicy": setup.approval, "sandbox": setup.sandbox
        });
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                params[name] = value;
            }
        };
        add("model", setup.model.as_ref().map(|model| json!(model)));
        add("config", setup.config.clone());
        add("developerInstructions", setup.instructions.as_ref().map(|text| json!(text)));
        if let Some(thread) = resume {
            add("threadId", Some(json!(thread)));
            return self.request("thread/resume", &params, Purpose::Resume, out);
        }
        if !setup.tools.is_empty() {
            let tool = |tool: &ToolSpec| {
                json!({
                    "type": "function", "name": tool.name, "description": tool.description,
                    "inputSchema": tool.parameters
                })
            };
            add("dynamicTools", Some(setup.tools.iter().map(tool).collect()));
        }
        self.request("thread/start", &params, Purpose::Thread, out);
    }

    fn answer(&mut self, purpose: Purpose, result: Result<Value, Failure>, out: &mut Out) {
        match (purpose, result) {
            (Purpose::Initialize, Ok(result)) => {
                self.version = result["userAgent"].as_str().and_then(version);
                out.frame(&json!({"method": "initialized"}));
                self.thread(self.setup.resume.clone(), out);
            }
            (Purpose::Resume, Err(_)) => self.thread(None, out),
            (Purpose::Thread | Purpose::Resume, Ok(result)) => {
                let Some(thread) = result["thread"]["id"].as_str() else {
                    return self.desk.unfit(Fault::Other, "it began a thread without a name", out);
                };
                self.desk.name(thread, out);
                self.model = result["model"].as_str().map(str::to_owned);
                self.desk.ready(self.version.take(), self.model.clone(), out);
            }
            (Purpose::Initialize | Purpose::Thread, Err(failure)) => {
                self.desk.unfit(Fault::of_text(&failure.message), failure.message, out);
            }
            (Purpose::Turn(turn), _) if turn != self.desk.turn() => {}
            (Purpose::Turn(_), Ok(result)) => self.turn_named(&result["turn"]["id"], out),
            (Purpose::Turn(_), Err(failure)) if self.turn.is_none() => {
                let fault = Fault::of_text(&failure.message);
                self.end(Outcome::Failed { fault, why: failure.message }, out);
            }
            (Purpose::Steer(text), Err(_)) if self.unsaid.len() < REMEMBERED => {
                self.unsaid.push(text);
            }
            (Purpose::Interrupt(turn), Err(_)) if turn == self.desk.turn() => self.interrupt(out),
            (Purpose::Turn(_) | Purpose::Steer(_), Err(_))
            | (Purpose::Steer(_) | Purpose::Interrupt(_) | Purpose::Nothing, _) => {}
        }
    }

    /// Our turn is the one that was answered to us: it may begin others by itself.
    fn turn_named(&mut self, turn: &Value, out: &mut Out) {
        if self.desk.running() && self.turn.is_none() {
            self.turn = turn.as_str().map(str::to_owned);
            self.interrupt_if_wanted(out);
        }
    }

    fn is_under_way(&self) -> bool {
        self.turn.is_some() && self.turn == self.runs
    }

    fn interrupt_if_wanted(&mut self, out: &mut Out) {
        if self.is_under_way() && std::mem::take(&mut self.interrupt_later) {
            self.interrupt(out);
        }
    }

    /// A turn has a name when it is answered, and runs a little later; it cannot be interrupted before.
    fn interrupt(&mut self, out: &mut Out) {
        if !self.is_under_way() {
            self.interrupt_later = true;
        } else if self.desk.running() && self.interrupts < INTERRUPTS {
            self.interrupts += 1;
            let params = json!({"threadId": self.desk.session(), "turnId": self.turn});
            let purpose = Purpose::Interrupt(self.desk.turn());
            self.request("turn/interrupt", &params, purpose, out);
        }
    }

    /// Puts a word into the turn; without a turn it waits for the next message.
    fn steer(&mut self, text: String, out: &mut Out) {
        if self.turn.is_none() {
            if self.unsaid.len() < REMEMBERED {
                self.unsaid.push(text);
            }
            return;
        }
        let params = json!({
            "threadId": self.desk.session(), "expectedTurnId": self.turn, "input": input(&text)
        });
        self.request("turn/steer", &params, Purpose::Steer(text), out);
    }

    fn notice(&mut self, method: &str, params: &Value, out: &mut Out) {
        let thread = params["threadId"].as_str();
        if thread.is_some() && thread != self.desk.session() {
            return;
        }
        match method {
            "turn/started" => {
                self.runs = params["turn"]["id"].as_str().map(str::to_owned);
                self.interrupt_if_wanted(out);
            }
            "item/agentMessage/delta" => {
                self.streamed = params["itemId"].as_str().map(str::to_owned);
                self.desk.say(Event::Text, &params["delta"], out);
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                self.desk.say(Event::Thinking, &params["delta"], out);
            }
            "item/started" => self.item_started(&params["item"], out),
            "item/completed" => self.item_completed(&params["item"], out),
            "thread/tokenUsage/updated" if self.desk.running() => {
                self.count(&params["tokenUsage"]["last"]);
            }
            "serverRequest/resolved" => self.desk.withdraw(&rpc::name(&params["requestId"]), out),
            "error" if params["willRetry"] == true => {
                let error = &params["error"];
                let message = error["message"].as_str().unwrap_or("its model does not answer");
                let more = error["additionalDetails"].as_str().map(|more| format!(": {more}"));
                let why = format!("{message}{}", more.unwrap_or_default());
                self.desk.tell(Event::Retrying { why }, out);
            }
            "turn/completed" => self.completed(&params["turn"], out),
            _ => {}
        }
    }

    fn item_started(&mut self, item: &Value, out: &mut Out) {
        let (Some(id), Some(kind)) = (item["id"].as_str(), item["type"].as_str()) else { return };
        let (name, title, input) = match kind {
            "commandExecution" => {
                let command = item["command"].as_str().unwrap_or_default();
                (
                    kind.to_owned(),
                    command.to_owned(),
                    json!({"command": command, "cwd": item["cwd"]}),
                )
            }
            "fileChange" => {
                if self.desk.running() && self.diffs.len() < REMEMBERED {
                    self.diffs.insert(id.to_owned(), requests::diff(&item["changes"]));
                }
                let paths = item["changes"].as_array().into_iter().flatten();
                let paths: Vec<&str> = paths.filter_map(|change| change["path"].as_str()).collect();
                (kind.to_owned(), paths.join(", "), json!({"changes": item["changes"]}))
            }
            "mcpToolCall" => {
                let (server, tool) = (item["server"].as_str(), item["tool"].as_str());
                let name = format!("{}.{}", server.unwrap_or_default(), tool.unwrap_or_default());
                (name.clone(), name, item["arguments"].clone())
            }
            "webSearch" => {
                let query = item["query"].as_str().unwrap_or_default();
                (kind.to_owned(), query.to_owned(), json!({"query": query}))
            }
            _ => return,
        };
        self.desk.tool(id, &name, title, input, out);
    }

    fn item_completed(&mut self, item: &Value, out: &mut Out) {
        let Some(id) = item["id"].as_str() else { return };
        if item["type"] == "agentMessage" && self.streamed.as_deref() != Some(id) {
            self.desk.say(Event::Text, &item["text"], out);
        }
        let success = item["status"] == "completed" && item["exitCode"].as_i64().unwrap_or(0) == 0;
        let output = item["aggregatedOutput"].as_str().map(str::to_owned);
        let result = || words::content(&item["result"]["content"]);
        let error = || item["error"]["message"].as_str().map(str::to_owned);
        self.diffs.remove(id);
        self.desk.tool_ended(id, success, output.or_else(result).or_else(error), out);
    }

    fn count(&mut self, last: &Value) {
        let count = |name: &str| last[name].as_u64().unwrap_or_default();
        let usage = &mut self.usage;
        usage.input_tokens = usage.input_tokens.saturating_add(count("inputTokens"));
        usage.cached_tokens = usage.cached_tokens.saturating_add(count("cachedInputTokens"));
        usage.output_tokens = usage.output_tokens.saturating_add(count("outputTokens"));
    }

    fn completed(&mut self, turn: &Value, out: &mut Out) {
        if self.turn.is_none() || self.turn.as_deref() != turn["id"].as_str() {
            return;
        }
        let outcome = match turn["status"].as_str() {
            Some("completed") => {
                let said = turn["items"].as_array().into_iter().flatten().rev();
                let mut messages = said.filter(|item| item["type"] == "agentMessage");
                let text = messages.next().and_then(|item| item["text"].as_str());
                Outcome::Completed { text: text.map(str::to_owned) }
            }
            Some("interrupted") => Outcome::Interrupted,
            _ => {
                let error = &turn["error"];
                let why = error["message"].as_str().unwrap_or("the turn failed").to_owned();
                Outcome::Failed { fault: requests::fault(error), why }
            }
        };
        self.end(outcome, out);
    }

    fn end(&mut self, outcome: Outcome, out: &mut Out) {
        if !self.desk.running() {
            return;
        }
        let usage = std::mem::take(&mut self.usage);
        if usage != Usage::default() {
            out.tell(Event::Usage(Usage { model: self.model.clone(), ..usage }));
        }
        if self.desk.stopping() {
            // A command that it had begun goes on in the background otherwise.
            let params = json!({"threadId": self.desk.session()});
            self.request("thread/backgroundTerminals/clean", &params, Purpose::Nothing, out);
        }
        (self.turn, self.streamed) = (None, None);
        (self.interrupt_later, self.interrupts) = (false, 0);
        self.diffs.clear();
        self.desk.end(outcome, out);
    }
}

impl Codec for Codex {
    fn start(&mut self, out: &mut Out) {
        let about =
            json!({"name": "artel", "title": "Artel", "version": env!("CARGO_PKG_VERSION")});
        let capabilities = json!({"experimentalApi": true, "requestAttestation": false});
        let params = json!({"clientInfo": about, "capabilities": capabilities});
        self.request("initialize", &params, Purpose::Initialize, out);
    }

    fn line(&mut self, line: &[u8], out: &mut Out) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match rpc::read(line) {
            Ok(Frame::Answer { id, result }) => {
                if let Some(purpose) = self.waiting.take(&id) {
                    self.answer(purpose, result, out);
                }
            }
            Ok(Frame::Request { id, method, params }) => self.asked(id, &method, &params, out),
            Ok(Frame::Notice { method, params }) => self.notice(&method, &params, out),
            Err(why) => out.tell(Event::Garbage { why }),
        }
        self.desk.hush(out);
    }

    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        match command {
            Command::Say { text } => {
                self.desk.begin()?;
                let text = words::joined(&mut self.unsaid, text);
                let params = json!({"threadId": self.desk.session(), "input": input(&text)});
                self.request("turn/start", &params, Purpose::Turn(self.desk.turn()), out);
            }
            Command::Steer { text } => {
                self.desk.steerable()?;
                self.steer(text, out);
            }
            Command::Interrupt => {
                if self.desk.stop()? {
                    self.interrupt(out);
                }
            }
            Command::Decide { request, decision } => self.decide(&request.0, decision, out)?,
            Command::Answer { request, answers } => self.reply(&request.0, answers, out)?,
            Command::Return { call, result } => self.give_back(&call.0, result, out)?,
            Command::Close => {
                self.desk.close()?;
                out.close = true;
            }
        }
        Ok(())
    }

    fn ended(&mut self, out: &mut Out) {
        self.desk.over(out);
    }
}

fn input(text: &str) -> Value {
    json!([{"type": "text", "text": text, "text_elements": []}])
}

/// `artel/0.166.0 (Debian …)` names its version after our name.
fn version(agent: &str) -> Option<String> {
    let (_, rest) = agent.split_once('/')?;
    rest.split_whitespace().next().map(str::to_owned)
}
