//! The least codec that speaks with `line-agent`.

use artel_programs::codec::{CallId, Codec, Command, Event, Fault, Out, Outcome, Refused};
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Line {
    at: At,
    calls: u64,
    /// The conversation that is taken up.
    session: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum At {
    Start,
    Idle,
    Turn,
    Interrupted,
    End,
}

impl Line {
    pub(crate) fn new(session: Option<String>) -> Self {
        Self { at: At::Start, calls: 0, session }
    }
}

impl Codec for Line {
    fn start(&mut self, _out: &mut Out) {}

    fn line(&mut self, line: &[u8], out: &mut Out) {
        let line = String::from_utf8_lossy(line);
        match (line.as_ref(), &self.at) {
            ("__READY__", At::Start) => {
                self.at = At::Idle;
                out.tell(Event::Ready { version: Some("1.0".to_owned()), model: None });
                let session = self.session.clone().unwrap_or_else(|| "fresh".to_owned());
                out.tell(Event::Session(session));
            }
            ("__UNFIT__", _) => {
                out.tell(Event::Unfit { fault: Fault::Login, why: "no key".to_owned() });
            }
            ("__RETRY__", _) => out.tell(Event::Retrying { why: "refused".to_owned() }),
            ("__DONE__", At::Turn) => {
                self.at = At::Idle;
                out.tell(Event::Ended(Outcome::Completed { text: None }));
            }
            ("__DONE__", At::Interrupted) => {
                self.at = At::Idle;
                out.tell(Event::Ended(Outcome::Interrupted));
            }
            (line, _) => match line.strip_prefix("__TOOL_CALL__:") {
                Some(payload) => self.called(payload, out),
                None => out.tell(Event::Text(format!("{line}\n"))),
            },
        }
    }

    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        match (command, &self.at) {
            (_, At::End) => return Err(Refused::Closed),
            (Command::Close, _) => {
                self.at = At::End;
                out.close = true;
            }
            (_, At::Start) => return Err(Refused::NotReady),
            (Command::Say { text }, At::Idle) => {
                self.at = At::Turn;
                out.write.extend_from_slice(text.as_bytes());
                out.write.push(b'\n');
            }
            (Command::Say { .. }, _) => return Err(Refused::Busy),
            (Command::Steer { .. }, _) => return Err(Refused::Unsupported),
            (Command::Interrupt, At::Idle) => return Err(Refused::Idle),
            (Command::Interrupt, _) => {
                self.at = At::Interrupted;
                out.write.extend_from_slice(b"__INTERRUPT__\n");
            }
            (Command::Return { call, result }, At::Turn) if call.0 == self.calls.to_string() => {
                let result = result.unwrap_or_else(|why| why);
                out.write.extend_from_slice(format!("__TOOL_RESULT__:{result}\n").as_bytes());
            }
            (Command::Decide { .. } | Command::Answer { .. } | Command::Return { .. }, _) => {
                return Err(Refused::Unknown);
            }
        }
        Ok(())
    }

    fn ended(&mut self, out: &mut Out) {
        let at = std::mem::replace(&mut self.at, At::End);
        if matches!(at, At::Turn | At::Interrupted) {
            let why = "it has ended".to_owned();
            out.tell(Event::Ended(Outcome::Failed { fault: Fault::Died, why }));
        }
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
