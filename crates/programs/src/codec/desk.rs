//! What is the same in every protocol: where a process stands, and what of its is open. The law is kept here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Event, Fault, Out, Outcome, Refused, RequestId};

/// What may be open at a time, of requests and of tools each. A program that opens more is not heard.
const OPEN: usize = 64;

/// `R` is what the codec must remember of an open request to answer it.
#[derive(Debug)]
pub(super) struct Desk<R> {
    stage: Stage,
    /// How many turns there were, with the one that runs.
    turns: u64,
    /// [`super::Command::Close`] was given.
    closing: bool,
    open: BTreeMap<String, R>,
    tools: BTreeSet<String>,
    session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Starting,
    Idle,
    Turn,
    /// A turn that was told to end.
    Stopping,
    Unfit,
    Over,
}

impl<R> Desk<R> {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Starting,
            turns: 0,
            closing: false,
            open: BTreeMap::new(),
            tools: BTreeSet::new(),
            session: None,
        }
    }

    pub(super) fn ready(&mut self, version: Option<String>, model: Option<String>, out: &mut Out) {
        if self.stage == Stage::Starting {
            self.stage = Stage::Idle;
            out.tell(Event::Ready { version, model });
        }
    }

    pub(super) fn unfit(&mut self, fault: Fault, why: impl Into<String>, out: &mut Out) {
        if self.stage == Stage::Starting {
            self.stage = Stage::Unfit;
            out.tell(Event::Unfit { fault, why: why.into() });
        }
    }

    pub(super) fn starting(&self) -> bool {
        self.stage == Stage::Starting
    }

    /// Tells the conversation's name when it is a new one.
    pub(super) fn name(&mut self, session: &str, out: &mut Out) {
        if self.session.as_deref() != Some(session) {
            self.session = Some(session.to_owned());
            out.tell(Event::Session(session.to_owned()));
        }
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Whether a turn can begin.
    pub(super) fn idle(&self) -> Result<(), Refused> {
        match self.stage {
            _ if self.closing => Err(Refused::Closed),
            Stage::Starting => Err(Refused::NotReady),
            Stage::Idle => Ok(()),
            Stage::Turn | Stage::Stopping => Err(Refused::Busy),
            Stage::Unfit | Stage::Over => Err(Refused::Closed),
        }
    }

    pub(super) fn begin(&mut self) -> Result<(), Refused> {
        self.idle()?;
        self.stage = Stage::Turn;
        self.turns += 1;
        Ok(())
    }

    pub(super) fn running(&self) -> bool {
        matches!(self.stage, Stage::Turn | Stage::Stopping)
    }

    /// The number of the turn that runs or ran last.
    pub(super) fn turn(&self) -> u64 {
        self.turns
    }

    /// Whether the turn that runs was told to end.
    pub(super) fn stopping(&self) -> bool {
        self.stage == Stage::Stopping
    }

    /// Whether a word can be put into a turn; one that is about to end takes none.
    pub(super) fn steerable(&self) -> Result<(), Refused> {
        match self.stage {
            _ if self.closing => Err(Refused::Closed),
            Stage::Starting => Err(Refused::NotReady),
            Stage::Idle | Stage::Stopping => Err(Refused::Idle),
            Stage::Turn => Ok(()),
            Stage::Unfit | Stage::Over => Err(Refused::Closed),
        }
    }

    /// The turn is to end; true if that is news.
    pub(super) fn stop(&mut self) -> Result<bool, Refused> {
        if self.stopping() && !self.closing {
            return Ok(false);
        }
        self.steerable()?;
        self.stage = Stage::Stopping;
        Ok(true)
    }

    /// Nothing more is said to it; true if that is news.
    pub(super) fn close(&mut self) -> Result<bool, Refused> {
        if self.stage == Stage::Over {
            return Err(Refused::Closed);
        }
        Ok(!std::mem::replace(&mut self.closing, true))
    }

    /// Once its input is closed, nothing is written any more.
    pub(super) fn hush(&self, out: &mut Out) {
        if self.closing {
            out.write.clear();
        }
    }

    /// Whether one more request can be opened under this id; if not, the program is to be told so.
    pub(super) fn can_open(&self, id: &str) -> bool {
        self.running() && self.open.len() < OPEN && !self.open.contains_key(id)
    }

    /// Opens a request that [`Self::can_open`] has let through.
    pub(super) fn open(&mut self, id: String, request: R, event: Event, out: &mut Out) {
        self.open.insert(id, request);
        out.tell(event);
    }

    /// Whether the turn waits for nothing of ours.
    pub(super) fn nothing_open(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn peek(&self, id: &str) -> Result<&R, Refused> {
        if self.closing || self.stage == Stage::Over {
            return Err(Refused::Closed);
        }
        self.open.get(id).ok_or(Refused::Unknown)
    }

    /// It was answered.
    pub(super) fn answered(&mut self, id: &str) -> Option<R> {
        self.open.remove(id)
    }

    /// The program no longer waits for this.
    pub(super) fn withdraw(&mut self, id: &str, out: &mut Out) {
        if self.open.remove(id).is_some() {
            out.tell(Event::Withdrawn(RequestId(id.to_owned())));
        }
    }

    /// All that is open is withdrawn.
    pub(super) fn clear(&mut self, out: &mut Out) -> Vec<R> {
        let open = std::mem::take(&mut self.open);
        let withdrawn = open.into_iter().map(|(id, request)| {
            out.tell(Event::Withdrawn(RequestId(id)));
            request
        });
        withdrawn.collect()
    }

    /// A tool of the program's own begins; said twice, it is told once.
    pub(super) fn tool(
        &mut self,
        id: &str,
        name: &str,
        title: String,
        input: Value,
        out: &mut Out,
    ) {
        if self.running() && self.tools.len() < OPEN && self.tools.insert(id.to_owned()) {
            let (id, name) = (id.to_owned(), name.to_owned());
            out.tell(Event::ToolStarted { id, name, title, input });
        }
    }

    pub(super) fn has_tool(&self, id: &str) -> bool {
        self.tools.contains(id)
    }

    pub(super) fn tool_ended(
        &mut self,
        id: &str,
        success: bool,
        output: Option<String>,
        out: &mut Out,
    ) {
        if self.tools.remove(id) {
            out.tell(Event::ToolEnded { id: id.to_owned(), success, output });
        }
    }

    /// Something said in the turn; outside of one it is nobody's.
    pub(super) fn tell(&self, event: Event, out: &mut Out) {
        if self.running() {
            out.tell(event);
        }
    }

    /// A piece of text or of thinking.
    pub(super) fn say(&self, kind: fn(String) -> Event, text: &Value, out: &mut Out) {
        if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
            self.tell(kind(text.to_owned()), out);
        }
    }

    pub(super) fn end(&mut self, outcome: Outcome, out: &mut Out) {
        if self.running() {
            self.clear(out);
            for id in std::mem::take(&mut self.tools) {
                out.tell(Event::ToolEnded { id, success: false, output: None });
            }
            self.stage = Stage::Idle;
            out.tell(Event::Ended(outcome));
        }
    }

    /// The process is gone.
    pub(super) fn over(&mut self, out: &mut Out) {
        let outcome = if self.stopping() || self.closing {
            Outcome::Interrupted
        } else {
            Outcome::Failed { fault: Fault::Died, why: "the process ended".to_owned() }
        };
        self.unfit(Fault::Died, "the process ended before it was ready", out);
        self.end(outcome, out);
        self.stage = Stage::Over;
    }
}
