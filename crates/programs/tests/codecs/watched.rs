//! A codec under the eyes of the law.

use std::collections::BTreeSet;
use std::time::Duration;

use artel_programs::codec::{Codec, Command, Event, Out, Outcome, Permission, Refused, Usage};
use serde_json::Value;

/// Passes everything on and fails the test as soon as the law is broken.
pub(crate) struct Watched {
    codec: Box<dyn Codec>,
    /// Its frames are JSON.
    json: bool,
    pub(crate) events: Vec<Event>,
    pub(crate) written: Vec<Value>,
    pub(crate) quiet: Option<Duration>,
    pub(crate) open: BTreeSet<String>,
    pub(crate) turn: bool,
    tools: BTreeSet<String>,
    /// Its input was closed.
    closed: bool,
    /// What it said of itself, ready or not.
    ready: Option<bool>,
}

impl Watched {
    pub(crate) fn new(codec: impl Codec + 'static, json: bool) -> Self {
        Self {
            codec: Box::new(codec),
            json,
            events: Vec::new(),
            written: Vec::new(),
            quiet: None,
            open: BTreeSet::new(),
            turn: false,
            tools: BTreeSet::new(),
            closed: false,
            ready: None,
        }
    }

    pub(crate) fn start(&mut self) {
        let mut out = Out::default();
        self.codec.start(&mut out);
        self.look(out);
    }

    pub(crate) fn line(&mut self, line: &[u8]) {
        let mut out = Out::default();
        self.codec.line(line, &mut out);
        self.look(out);
    }

    /// Nothing comes for as long as was wanted.
    pub(crate) fn quiet(&mut self) {
        let mut out = Out::default();
        self.codec.quiet(&mut out);
        self.look(out);
    }

    pub(crate) fn command(&mut self, command: Command) -> Result<Out, Refused> {
        let mut out = Out::default();
        let closed = match &command {
            Command::Decide { request, .. } | Command::Answer { request, .. } => {
                Some(request.0.clone())
            }
            Command::Return { call, .. } => Some(call.0.clone()),
            Command::Say { .. } | Command::Steer { .. } | Command::Interrupt | Command::Close => {
                None
            }
        };
        let says = matches!(command, Command::Say { .. });
        let done = self.codec.command(command, &mut out);
        match &done {
            Ok(()) => {
                if let Some(id) = closed {
                    assert!(self.open.remove(&id), "answered twice: {id}");
                }
                if says {
                    assert!(self.ready == Some(true) && !self.turn, "a turn began too early");
                    self.turn = true;
                }
            }
            Err(_) => assert!(out.write.is_empty(), "refused, and yet written"),
        }
        let kept = Out {
            write: out.write.clone(),
            close: out.close,
            signal: out.signal,
            ..Out::default()
        };
        self.look(out);
        done.map(|()| kept)
    }

    /// The process ends; nothing may be left over.
    pub(crate) fn ended(&mut self) {
        let mut out = Out::default();
        self.codec.ended(&mut out);
        self.look(out);
        assert!(self.ready.is_some(), "neither ready nor unfit");
        assert!(!self.turn, "a turn without an end");
        assert!(self.open.is_empty() && self.tools.is_empty(), "left open");
        let say = self.command(Command::Say { text: "hello?".to_owned() });
        assert_eq!(say.unwrap_err(), Refused::Closed);
    }

    fn look(&mut self, out: Out) {
        self.quiet = out.quiet;
        assert!(out.write.is_empty() || out.write.ends_with(b"\n"), "half a frame");
        assert!(out.write.is_empty() || !self.closed, "written after the end of its input");
        self.closed |= out.close;
        if self.json {
            let lines = out.write.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            self.written.extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
        }
        for event in out.events {
            self.judge(&event);
            self.events.push(event);
        }
    }

    fn judge(&mut self, event: &Event) {
        match event {
            Event::Ready { .. } | Event::Unfit { .. } => {
                assert!(self.ready.is_none(), "ready or unfit twice");
                self.ready = Some(matches!(event, Event::Ready { .. }));
            }
            Event::Permission(permission) => self.opened(&permission.request.0),
            Event::Question { request, .. } => self.opened(&request.0),
            Event::Call { call, .. } => self.opened(&call.0),
            Event::Withdrawn(request) => assert!(self.open.remove(&request.0), "withdrawn twice"),
            Event::Ended(_) => {
                assert!(self.turn, "an end without a turn");
                assert!(self.open.is_empty() && self.tools.is_empty(), "left open at the end");
                self.turn = false;
            }
            Event::ToolStarted { id, .. } => assert!(self.turn && self.tools.insert(id.clone())),
            Event::ToolEnded { id, .. } => assert!(self.tools.remove(id), "a tool ended twice"),
            Event::Text(text) | Event::Thinking(text) => assert!(self.turn && !text.is_empty()),
            Event::Usage(_) | Event::Retrying { .. } => assert!(self.turn, "outside of a turn"),
            Event::Session(_) | Event::Garbage { .. } => {}
        }
    }

    fn opened(&mut self, id: &str) {
        assert!(self.turn, "asked outside of a turn");
        assert!(self.open.insert(id.to_owned()), "opened twice: {id}");
    }

    pub(crate) fn text(&self) -> String {
        let text =
            |event: &Event| if let Event::Text(text) = event { Some(text.clone()) } else { None };
        self.events.iter().filter_map(text).collect()
    }

    pub(crate) fn usages(&self) -> Vec<&Usage> {
        self.events
            .iter()
            .filter_map(|event| if let Event::Usage(usage) = event { Some(usage) } else { None })
            .collect()
    }

    /// The first permission it asked for.
    pub(crate) fn permission(&self) -> &Permission {
        self.events
            .iter()
            .find_map(|event| if let Event::Permission(asked) = event { Some(asked) } else { None })
            .unwrap()
    }

    /// All that happened, in words; what repeats is said once.
    pub(crate) fn story(&self) -> String {
        let mut words: Vec<String> = self.events.iter().map(word).collect();
        words.dedup();
        words.join(" ")
    }
}

fn word(event: &Event) -> String {
    match event {
        Event::Ready { .. } => "ready".to_owned(),
        Event::Unfit { fault, .. } => format!("unfit:{fault:?}"),
        Event::Session(_) => "session".to_owned(),
        Event::Text(_) => "text".to_owned(),
        Event::Thinking(_) => "thinking".to_owned(),
        Event::ToolStarted { .. } => "tool".to_owned(),
        Event::ToolEnded { success: true, .. } => "did".to_owned(),
        Event::ToolEnded { success: false, .. } => "did-not".to_owned(),
        Event::Permission(_) => "may".to_owned(),
        Event::Question { .. } => "question".to_owned(),
        Event::Withdrawn(_) => "withdrawn".to_owned(),
        Event::Call { .. } => "call".to_owned(),
        Event::Usage(_) => "usage".to_owned(),
        Event::Retrying { .. } => "retrying".to_owned(),
        Event::Ended(Outcome::Completed { .. }) => "completed".to_owned(),
        Event::Ended(Outcome::Interrupted) => "interrupted".to_owned(),
        Event::Ended(Outcome::Failed { fault, .. }) => format!("failed:{fault:?}"),
        Event::Garbage { .. } => "garbage".to_owned(),
    }
}
