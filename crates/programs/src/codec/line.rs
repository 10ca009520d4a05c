//! Any program that reads a message as a line and writes lines, with its ways as data.
//!
//! A line that matches the pattern of a tool call is one; everything else is what it says. There is no end of a turn
//! in such a protocol unless the configuration says how to know it.

use std::time::Duration;

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::calls::{self, Call};
use super::desk::Desk;
use super::{CallId, Codec, Command, Event, Out, Outcome, Refused, Signal};
use crate::kind::Unusable;
use crate::toolbox::ToolSpec;

mod config;

pub use config::{Config, Interrupt, Ready, TurnEnd};

/// How large a pattern may become in memory.
const PATTERN: usize = 1 << 20;

/// After it was interrupted, a turn of a program that has no word for its end is over when this long nothing comes.
const STOPPED: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct Setup {
    pub config: Config,
    pub tools: Vec<ToolSpec>,
}

#[derive(Debug)]
pub struct Line {
    setup: Setup,
    desk: Desk<Open>,
    ready: Option<Regex>,
    call: Regex,
    end: Option<Regex>,
    calls: u64,
}

/// A call that waits for its result.
#[derive(Debug)]
struct Open {
    tool: String,
}

impl Line {
    pub fn new(setup: Setup) -> Result<Self, Unusable> {
        let config = &setup.config;
        config.check()?;
        let ready = match &config.ready {
            Ready::Line(text) => Some(pattern("ready", text)?),
            Ready::Delay(_) | Ready::Nothing => None,
        };
        let end = match &config.turn_end {
            TurnEnd::Line(text) => Some(pattern("turn_end", text)?),
            TurnEnd::Idle(_) | TurnEnd::Answer => None,
        };
        let call = pattern("tool_call", &config.tool_call)?;
        if !call.capture_names().flatten().any(|name| name == "payload") {
            let why = "`tool_call` needs a group `(?P<payload>…)` around the JSON";
            return Err(Unusable(why.to_owned()));
        }
        Ok(Self { desk: Desk::new(), ready, call, end, calls: 0, setup })
    }

    /// When to look again although nothing came.
    fn watch(&self, out: &mut Out) {
        let config = &self.setup.config;
        out.quiet = if self.desk.stopping() {
            // One that has a word for the end of a turn says it; without it, it did not obey.
            let tells = matches!(config.turn_end, TurnEnd::Line(_));
            (!tells).then_some(STOPPED)
        } else if self.desk.running() {
            match config.turn_end {
                TurnEnd::Idle(seconds) if self.desk.nothing_open() => {
                    Some(config::seconds(seconds))
                }
                TurnEnd::Idle(_) | TurnEnd::Line(_) | TurnEnd::Answer => None,
            }
        } else if self.desk.starting() {
            match config.ready {
                Ready::Delay(seconds) => Some(config::seconds(seconds)),
                Ready::Line(_) | Ready::Nothing => None,
            }
        } else {
            None
        };
    }

    fn called(&mut self, payload: &str, out: &mut Out) {
        let payload = serde_json::from_str::<Value>(payload);
        let config = &self.setup.config;
        let tool =
            payload.as_ref().ok().and_then(|call| config::at(call, &config.tool_path).as_str());
        let tool = tool.map(str::to_owned);
        let call = match &payload {
            Ok(call) => {
                let (tool, arguments) =
                    (config::at(call, &config.tool_path), config::at(call, &config.args_path));
                calls::read(tool, arguments, &self.setup.tools)
            }
            Err(error) => Err(format!("the tool call is not JSON: {error}")),
        };
        let Call { tool, arguments } = match call {
            Ok(call) => call,
            Err(why) => {
                self.give(tool.as_deref(), &Err(why.clone()), out);
                return out.tell(Event::Garbage { why });
            }
        };
        self.calls += 1;
        let id = self.calls.to_string();
        if !self.desk.can_open(&id) {
            let why = "tools can be used only while a message is being answered".to_owned();
            return self.give(Some(&tool), &Err(why), out);
        }
        let event = Event::Call { call: CallId(id.clone()), tool: tool.clone(), arguments };
        self.desk.open(id, Open { tool }, event, out);
    }

    fn give(&self, tool: Option<&str>, result: &Result<String, String>, out: &mut Out) {
        let Some(template) = &self.setup.config.tool_result_template else { return };
        let json = match result {
            Ok(text) => json!({"tool": tool, "ok": true, "result": text}),
            Err(why) => json!({"tool": tool, "ok": false, "error": why}),
        };
        out.write.extend_from_slice(template.replace("{json}", &json.to_string()).as_bytes());
    }

    fn end_turn(&mut self, out: &mut Out) {
        let outcome = if self.desk.stopping() {
            Outcome::Interrupted
        } else {
            Outcome::Completed { text: None }
        };
        self.desk.end(outcome, out);
    }

    fn obey(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        match command {
            Command::Say { text } => {
                self.desk.idle()?;
                let line = self.setup.config.message(&text)?;
                self.desk.begin()?;
                out.write.extend_from_slice(line.as_bytes());
            }
            Command::Steer { .. } => {
                self.desk.steerable()?;
                return Err(Refused::Unsupported);
            }
            Command::Interrupt => {
                if self.desk.stop()? {
                    match &self.setup.config.interrupt {
                        Interrupt::Signal => out.signal = Some(Signal::Interrupt),
                        Interrupt::Line(line) => {
                            out.write.extend_from_slice(line.as_bytes());
                            out.write.push(b'\n');
                        }
                    }
                }
            }
            Command::Decide { .. } | Command::Answer { .. } => return Err(Refused::Unknown),
            Command::Return { call, result } => {
                let tool = self.desk.peek(&call.0)?.tool.clone();
                self.desk.answered(&call.0);
                self.give(Some(&tool), &result, out);
                let answered = tool == config::ANSWER && result.is_ok();
                if answered && self.setup.config.turn_end == TurnEnd::Answer {
                    self.end_turn(out);
                }
            }
            Command::Close => {
                self.desk.close()?;
                out.close = true;
            }
        }
        Ok(())
    }
}

impl Codec for Line {
    fn start(&mut self, out: &mut Out) {
        if self.setup.config.ready == Ready::Nothing {
            self.desk.ready(None, None, out);
        }
        self.watch(out);
    }

    fn line(&mut self, line: &[u8], out: &mut Out) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\r');
        let matches = |pattern: &Option<Regex>| {
            pattern.as_ref().is_some_and(|pattern| pattern.is_match(line))
        };
        if self.desk.starting() && matches(&self.ready) {
            self.desk.ready(None, None, out);
        } else if let Some(payload) =
            self.call.captures(line).and_then(|found| found.name("payload"))
        {
            self.called(payload.as_str(), out);
        } else if matches(&self.end) {
            self.end_turn(out);
        } else {
            self.desk.tell(Event::Text(format!("{line}\n")), out);
        }
        self.watch(out);
        self.desk.hush(out);
    }

    fn quiet(&mut self, out: &mut Out) {
        match (&self.setup.config.ready, &self.setup.config.turn_end) {
            (Ready::Delay(_), _) if self.desk.starting() => self.desk.ready(None, None, out),
            _ if self.desk.stopping() => self.end_turn(out),
            (_, TurnEnd::Idle(_)) if self.desk.nothing_open() => self.end_turn(out),
            _ => {}
        }
        self.watch(out);
    }

    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        let done = self.obey(command, out);
        self.watch(out);
        done
    }

    fn ended(&mut self, out: &mut Out) {
        self.desk.over(out);
    }
}

fn pattern(name: &str, text: &str) -> Result<Regex, Unusable> {
    let built = RegexBuilder::new(text).size_limit(PATTERN).dfa_size_limit(PATTERN).build();
    built.map_err(|error| Unusable(format!("`{name}` is not a regular expression: {error}")))
}
