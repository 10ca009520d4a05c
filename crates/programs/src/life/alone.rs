//! The protocol of a process for one message alone: what it writes until it ends is the answer (CA-2.7).

use crate::codec::{Codec, Command, Event, Fault, Out, Outcome, Refused, Signal};

/// So much of an answer is told as one.
const LONGEST: usize = 1024 * 1024;

/// The message is in the process's arguments already; its input is closed.
#[derive(Debug, Default)]
pub(super) struct Alone {
    running: bool,
    said: bool,
    interrupted: bool,
    answer: String,
}

impl Codec for Alone {
    fn start(&mut self, out: &mut Out) {
        out.tell(Event::Ready { version: None, model: None });
    }

    fn line(&mut self, line: &[u8], out: &mut Out) {
        let mut text = String::from_utf8_lossy(line).into_owned();
        text.push('\n');
        if self.answer.len() + text.len() <= LONGEST {
            self.answer.push_str(&text);
        }
        out.tell(Event::Text(text));
    }

    fn command(&mut self, command: Command, out: &mut Out) -> Result<(), Refused> {
        match command {
            Command::Say { .. } if self.said => Err(Refused::Closed),
            Command::Say { .. } => {
                (self.said, self.running, out.close) = (true, true, true);
                Ok(())
            }
            Command::Close => {
                out.close = true;
                Ok(())
            }
            // The process is the turn.
            Command::Interrupt if self.running => {
                self.interrupted = true;
                out.signal = Some(Signal::Interrupt);
                Ok(())
            }
            Command::Interrupt => Err(Refused::Idle),
            Command::Steer { .. } => Err(Refused::Unsupported),
            Command::Decide { .. } | Command::Answer { .. } | Command::Return { .. } => {
                Err(Refused::Unknown)
            }
        }
    }

    fn ended(&mut self, out: &mut Out) {
        self.said = true;
        if std::mem::take(&mut self.running) {
            let answer = std::mem::take(&mut self.answer);
            let text = answer.trim_end().to_owned();
            let outcome = if self.interrupted {
                Outcome::Interrupted
            } else if text.is_empty() {
                let why = "it ended without an answer".to_owned();
                Outcome::Failed { fault: Fault::Died, why }
            } else {
                Outcome::Completed { text: Some(text) }
            };
            out.tell(Event::Ended(outcome));
        }
    }
}
