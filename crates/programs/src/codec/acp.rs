//! The Agent Client Protocol, version 1: any program that speaks it, with its ways as data.
//!
//! We offer neither files nor terminals. What a program does in a turn is in [`updates`].

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::desk::Desk;
use super::rpc::{self, Failure, Frame, Waiting};
use super::{Codec, Command, Decision, Event, Fault, Out, Outcome, Refused, Server, Usage, words};

mod updates;

use updates::{Held, Open};

/// "You must log in first", in this protocol.
const LOGIN: i64 = -32000;

/// A conversation that was taken up is told again, in part after it was said to be there; it is over when this long
/// nothing comes.
const SETTLED: Duration = Duration::from_millis(300);

/// Words that wait for the next message, at most.
const UNSAID: usize = 32;

#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Where it works.
    pub folder: String,
    /// How it logs in when it says that it must.
    pub login: Option<Login>,
    /// One of its modes, by its id.
    pub mode: Option<String>,
    /// Its options and their values, such as `model`.
    pub options: BTreeMap<String, String>,
    pub servers: Vec<Server>,
    /// The conversation to take up again.
    pub resume: Option<String>,
    /// It says that it can take up a conversation, but cannot.
    pub never_load: bool,
}

#[derive(Debug, Clone)]
pub struct Login {
    pub method: String,
    /// Handed over in `_meta` under this name.
    pub key: Option<(String, SecretString)>,
}

#[derive(Debug)]
pub struct Acp {
    setup: Setup,
    desk: Desk<Open>,
    waiting: Waiting<Purpose>,
    version: Option<String>,
    model: Option<String>,
    can: Can,
    /// What is still to be set before it is ready.
    steps: VecDeque<(&'static str, Value)>,
    /// All is set.
    set: bool,
    /// A conversation is being told again.
    settling: bool,
    held: BTreeMap<String, Held>,
    usage: updates::Counted,
    /// What the process has cost up to the last turn.
    spent: f64,
    unsaid: Vec<String>,
}

/// What it says that it can do.
#[derive(Debug, Default)]
struct Can {
    /// Take MCP servers by HTTP.
    http: bool,
    /// Take up a conversation.
    load: bool,
}

/// What a request of ours was for.
#[derive(Debug)]
enum Purpose {
    Initialize,
    Login,
    New,
    /// Taking up the conversation of this name.
    Load(String),
    Step,
    Prompt,
}

impl Acp {
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            desk: Desk::new(),
            waiting: Waiting::new(),
            version: None,
            model: None,
            can: Can::default(),
            steps: VecDeque::new(),
            set: false,
            settling: false,
            held: BTreeMap::new(),
            usage: updates::Counted::default(),
            spent: 0.0,
            unsaid: Vec::new(),
        }
    }

    fn request(&mut self, method: &str, params: &Value, purpose: Purpose, out: &mut Out) {
        let id = self.waiting.add(purpose);
        out.frame(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Takes up the conversation that was asked for, or begins one.
    fn open(&mut self, resume: Option<String>, out: &mut Out) {
        let servers = self.setup.servers.iter().filter_map(|server| server.acp(self.can.http));
        let servers: Vec<Value> = servers.collect();
        let mut params = json!({"cwd": self.setup.folder, "mcpServers": servers});
        match resume.filter(|_| self.can.load && !self.setup.never_load) {
            Some(session) => {
                params["sessionId"] = json!(session);
                self.request("session/load", &params, Purpose::Load(session), out);
            }
            None => self.request("session/new", &params, Purpose::New, out),
        }
    }

    fn answer(&mut self, purpose: Purpose, result: Result<Value, Failure>, out: &mut Out) {
        match (purpose, result) {
            (Purpose::Initialize, Ok(result)) => {
                let can = &result["agentCapabilities"];
                self.can.http = can["mcpCapabilities"]["http"] == true;
                self.can.load = can["loadSession"] == true;
                self.version = result["agentInfo"]["version"].as_str().map(str::to_owned);
                self.open(self.setup.resume.clone(), out);
            }
            (Purpose::Login, Ok(_)) => self.open(self.setup.resume.clone(), out),
            (Purpose::New, Ok(result)) => match result["sessionId"].as_str() {
                Some(session) => self.opened(session, &result, out),
                None => {
                    self.desk.unfit(Fault::Other, "it began a conversation without a name", out);
                }
            },
            (Purpose::Load(session), Ok(result)) => {
                self.settling = true;
                self.opened(&session, &result, out);
            }
            (Purpose::New | Purpose::Load(_), Err(failure))
                if failure.code == LOGIN && self.setup.login.is_some() =>
            {
                self.log_in(out);
            }
            (Purpose::Load(_), Err(_)) => self.open(None, out),
            (Purpose::Step, Ok(_)) => self.step(out),
            (Purpose::Prompt, Ok(result)) => self.prompted(&result, out),
            (Purpose::Prompt, Err(failure)) => {
                let outcome = if self.desk.stopping() {
                    Outcome::Interrupted
                } else {
                    Outcome::Failed { fault: fault(&failure), why: failure.message }
                };
                self.end(outcome, out);
            }
            (Purpose::Initialize | Purpose::Login | Purpose::New | Purpose::Step, Err(failure)) => {
                self.desk.unfit(fault(&failure), failure.message, out);
            }
        }
    }

    /// Once: a login that does not help is not tried again.
    fn log_in(&mut self, out: &mut Out) {
        let Some(login) = self.setup.login.take() else { return };
        let mut params = json!({"methodId": login.method});
        if let Some((name, key)) = &login.key {
            params["_meta"] = json!({name: key.expose_secret()});
        }
        self.request("authenticate", &params, Purpose::Login, out);
    }

    fn opened(&mut self, session: &str, result: &Value, out: &mut Out) {
        self.desk.name(session, out);
        self.model = result["models"]["currentModelId"].as_str().map(str::to_owned);
        if let Some(mode) = &self.setup.mode {
            self.steps
                .push_back(("session/set_mode", json!({"sessionId": session, "modeId": mode})));
        }
        for (option, value) in &self.setup.options {
            let params = json!({"sessionId": session, "configId": option, "value": value});
            self.steps.push_back(("session/set_config_option", params));
        }
        self.step(out);
    }

    fn step(&mut self, out: &mut Out) {
        if let Some((method, params)) = self.steps.pop_front() {
            return self.request(method, &params, Purpose::Step, out);
        }
        self.set = true;
        self.settled(out);
    }

    fn settled(&mut self, out: &mut Out) {
        if self.set && !self.settling && self.desk.starting() {
            self.desk.ready(self.version.take(), self.model.clone(), out);
        }
    }

    fn prompted(&mut self, result: &Value, out: &mut Out) {
        self.usage.finish(result);
        let outcome = match result["stopReason"].as_str() {
            Some("end_turn") => Outcome::Completed { text: None },
            Some("cancelled") => Outcome::Interrupted,
            Some("refusal") => {
                let why = "the model refused to go on".to_owned();
                Outcome::Failed { fault: Fault::Refused, why }
            }
            other => {
                let why = format!("it stopped early: {}", other.unwrap_or("without a reason"));
                Outcome::Failed { fault: Fault::Other, why }
            }
        };
        self.end(outcome, out);
    }

    fn end(&mut self, outcome: Outcome, out: &mut Out) {
        let usage = std::mem::take(&mut self.usage).take(&mut self.spent);
        if let Some(usage) = usage.filter(|_| self.desk.running()) {
            out.tell(Event::Usage(Usage {
                model: usage.model.or_else(|| self.model.clone()),
                ..usage
            }));
        }
        self.held.clear();
        self.desk.end(outcome, out);
    }

    /// Whoever has asked is told that nobody will answer; the program waits for that.
    fn cancel_open(&mut self, out: &mut Out) {
        for Open { id, options: _ } in self.desk.clear(out) {
            respond(&id, &cancelled(), out);
        }
    }

    fn decide(&mut self, id: &str, decision: Decision, out: &mut Out) -> Result<(), Refused> {
        let options = &self.desk.peek(id)?.options;
        let outcome = match &decision {
            Decision::Once => selected(options.once.as_ref().ok_or(Refused::Unsupported)?),
            Decision::Always => {
                let option = options.always.as_ref().or(options.once.as_ref());
                selected(option.ok_or(Refused::Unsupported)?)
            }
            Decision::Reject { .. } => options.reject.as_ref().map_or_else(cancelled, selected),
        };
        if let Some(Open { id, options: _ }) = self.desk.answered(id) {
            respond(&id, &outcome, out);
        }
        // The protocol has no room for the reason; it goes with the next message.
        if let Decision::Reject { why } = decision
            && !why.is_empty()
            && self.unsaid.len() < UNSAID
        {
            self.unsaid.push(why);
        }
        Ok(())
    }
}

impl Codec for Acp {
    fn start(&mut self, out: &mut Out) {
        let files = json!({"readTextFile": false, "writeTextFile": false});
        let about =
            json!({"name": "artel", "title": "Artel", "version": env!("CARGO_PKG_VERSION")});
        let can = json!({"fs": files, "terminal": false});
        let params = json!({"protocolVersion": 1, "clientCapabilities": can, "clientInfo": about});
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
            Ok(Frame::Request { id, method, params }) if method == "session/request_permission" => {
                self.permission(id, &params, out);
            }
            Ok(Frame::Request { id, method, params: _ }) => {
                let error = json!({"code": rpc::NO_METHOD, "message": format!("there is no method `{method}`")});
                out.frame(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            Ok(Frame::Notice { method, params }) => {
                let session = params["sessionId"].as_str();
                if method == "session/update" && session == self.desk.session() {
                    self.update(&params["update"], out);
                }
            }
            Err(why) => out.tell(Event::Garbage { why }),
        }
        if self.settling {
            out.quiet = Some(SETTLED);
        }
        self.desk.hush(out);
    }

    fn quiet(&mut self, out: &mut Out) {
        self.settling = false;
        self.settled(out);
    }

    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        match command {
            Command::Say { text } => {
                self.desk.begin()?;
                self.usage = updates::Counted::default();
                let text = words::joined(&mut self.unsaid, text);
                let prompt = json!([{"type": "text", "text": text}]);
                let params = json!({"sessionId": self.desk.session(), "prompt": prompt});
                self.request("session/prompt", &params, Purpose::Prompt, out);
            }
            Command::Steer { .. } => {
                self.desk.steerable()?;
                return Err(Refused::Unsupported);
            }
            Command::Interrupt => {
                if self.desk.stop()? {
                    let params = json!({"sessionId": self.desk.session()});
                    out.frame(
                        &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}),
                    );
                    self.cancel_open(out);
                }
            }
            Command::Decide { request, decision } => self.decide(&request.0, decision, out)?,
            Command::Answer { request, .. } => {
                self.desk.peek(&request.0)?;
                return Err(Refused::Unsupported);
            }
            Command::Return { .. } => return Err(Refused::Unknown),
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

/// Some programs give the model service's status as the code.
fn fault(failure: &Failure) -> Fault {
    match failure.code {
        LOGIN => Fault::Login,
        status @ 400..=599 => Fault::of_status(status.unsigned_abs()),
        _ => Fault::of_text(&failure.message),
    }
}

fn selected(option: &String) -> Value {
    json!({"outcome": "selected", "optionId": option})
}

fn cancelled() -> Value {
    json!({"outcome": "cancelled"})
}

fn respond(id: &Value, outcome: &Value, out: &mut Out) {
    out.frame(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}}));
}
