//! The least codec that speaks with `line-agent`.

use artel_programs::codec::{CallId, Codec, Command, Event, Fault, Out, Outcome, Refused, Signal};
use serde_json::Value;

#[derive(Debug, Default)]
pub struct Line {
    ready: bool,
    running: bool,
    interrupted: bool,
    closed: bool,
    calls: u64,
    /// A conversation is named after the first message when it began here.
    session: Option<String>,
}

impl Line {
    pub fn new(session: Option<String>) -> Self {
        Self { session, ..Self::default() }
    }

    fn end(&mut self, outcome: Outcome, out: &mut Out) {
        if std::mem::take(&mut self.running) {
            out.tell(Event::Ended(outcome));
        }
    }
}

impl Codec for Line {
    fn start(&mut self, _out: &mut Out) {}

    fn line(&mut self, line: &[u8], out: &mut Out) {
        let line = String::from_utf8_lossy(line);
        match line.as_ref() {
            "__READY__" if !self.ready => {
                self.ready = true;
                out.tell(Event::Ready { version: Some("1.0".to_owned()), model: None });
                let session = self.session.clone().unwrap_or_else(|| "fresh".to_owned());
                out.tell(Event::Session(session));
            }
            "__UNFIT__" => {
                out.tell(Event::Unfit { fault: Fault::Login, why: "no key".to_owned() });
            }
            "__RETRY__" => out.tell(Event::Retrying { why: "refused".to_owned() }),
            "__DONE__" => {
                let text = None;
                let done = match std::mem::take(&mut self.interrupted) {
                    true => Outcome::Interrupted,
                    false => Outcome::Completed { text },
                };
                self.end(done, out);
            }
            line => match line.strip_prefix("__TOOL_CALL__:") {
                Some(payload) => self.called(payload, out),
                None => out.tell(Event::Text(format!("{line}\n"))),
            },
        }
    }

    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        if !self.ready && command != Command::Close {
            return Err(Refused::NotReady);
        }
        match command {
            Command::Say { .. } if self.running => return Err(Refused::Busy),
            Command::Say { text } => {
                self.running = true;
                out.write.extend_from_slice(text.as_bytes());
                out.write.push(b'\n');
            }
            Command::Steer { .. } => return Err(Refused::Unsupported),
            Command::Interrupt if !self.running => return Err(Refused::Idle),
            Command::Interrupt => {
                self.interrupted = true;
                out.signal = Some(Signal::Interrupt);
            }
            Command::Decide { .. } | Command::Answer { .. } => return Err(Refused::Unknown),
            Command::Return { call, result } => {
                if call.0 != self.calls.to_string() {
                    return Err(Refused::Unknown);
                }
                let result = result.unwrap_or_else(|why| why);
                out.write.extend_from_slice(format!("__TOOL_RESULT__:{result}\n").as_bytes());
            }
            Command::Close => {
                self.closed = true;
                out.close = true;
            }
        }
        Ok(())
    }

    fn ended(&mut self, out: &mut Out) {
        self.closed = true;
        self.end(Outcome::Failed { fault: Fault::Died, why: "it has ended".to_owned() }, out);
    }
}

impl Line {
    fn called(&mut self, payload: &str, out: &mut Out) {
        let call: Option<Value> = serde_json::from_str(payload).ok();
        let parts = call.as_ref().and_then(|call| {
            Some((call.get("tool")?.as_str()?.to_owned(), call.get("args")?.as_object()?.clone()))
        });
        match parts {
            Some((tool, arguments)) => {
                self.calls += 1;
                let call = CallId(self.calls.to_string());
                out.tell(Event::Call { call, tool, arguments });
            }
            None => out.tell(Event::Garbage { why: "this is no call".to_owned() }),
        }
    }
}
