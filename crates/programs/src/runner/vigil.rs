//! What is open in a turn, and how long it may still be silent.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use tokio::time::Instant;

use super::{Doing, Patience};
use crate::codec::{CallId, Event, Fault, Outcome, RequestId};

/// What a program can have open at once, as far as it is remembered.
const MOST_OPEN: usize = 256;

/// The watch over one turn.
#[derive(Debug)]
pub(super) struct Vigil {
    began: Instant,
    /// When something came last, or the silence began to count again.
    heard: Instant,
    retrying: Option<Instant>,
    tools: Open,
    calls: Open,
    requests: Open,
}

/// Ids by their hash, since a program makes them as long as it likes.
#[derive(Debug, Default)]
struct Open {
    ids: HashSet<u64>,
    hasher: RandomState,
}

impl Vigil {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            heard: now,
            retrying: None,
            tools: Open::default(),
            calls: Open::default(),
            requests: Open::default(),
        }
    }

    /// A line has come, with what it meant.
    pub(super) fn heard(&mut self, events: &[Event], now: Instant) {
        let mut moved = events.is_empty();
        for event in events {
            moved |= self.saw(event, now);
        }
        if moved {
            self.heard = now;
        }
    }

    /// Whether it is a step forward.
    fn saw(&mut self, event: &Event, now: Instant) -> bool {
        match event {
            Event::Retrying { .. } => {
                self.retrying.get_or_insert(now);
                return false;
            }
            Event::Garbage { .. } => return false,
            Event::ToolStarted { id, .. } => self.tools.add(id),
            Event::ToolEnded { id, .. } => self.tools.remove(id),
            Event::Permission(permission) => self.requests.add(&permission.request.0),
            Event::Question { request, .. } => self.requests.add(&request.0),
            Event::Withdrawn(RequestId(id)) => {
                self.requests.remove(id);
                self.calls.remove(id);
            }
            Event::Call { call, .. } => self.calls.add(&call.0),
            Event::Ready { .. }
            | Event::Unfit { .. }
            | Event::Session(_)
            | Event::Text(_)
            | Event::Thinking(_)
            | Event::Usage(_)
            | Event::Ended(_) => (),
        }
        self.retrying = None;
        true
    }

    /// The silence counts from now: it was our turn to do something.
    pub(super) fn resume(&mut self, now: Instant) {
        self.heard = now;
    }

    /// It was told something: the answer to a request, what came of a call, or a word.
    pub(super) fn answered(
        &mut self,
        request: Option<&RequestId>,
        call: Option<&CallId>,
        now: Instant,
    ) {
        if let Some(RequestId(id)) = request {
            self.requests.remove(id);
        }
        if let Some(CallId(id)) = call {
            self.calls.remove(id);
        }
        self.heard = now;
    }

    pub(super) fn doing(&self) -> Doing {
        if !self.requests.is_empty() {
            Doing::Waiting
        } else if !self.tools.is_empty() || !self.calls.is_empty() {
            Doing::Tool
        } else if self.retrying.is_some() {
            Doing::Retrying
        } else {
            Doing::Working
        }
    }

    /// When the turn is to be given up, if nothing more happens.
    pub(super) fn due(&self, patience: &Patience) -> Instant {
        let end = self.began + patience.turn;
        let silent = match self.doing() {
            Doing::Working => self.heard + patience.silence,
            Doing::Retrying => self.retrying.unwrap_or(self.heard) + patience.unreachable,
            Doing::Idle | Doing::Tool | Doing::Waiting => end,
        };
        silent.min(end)
    }

    /// What is said of a turn that was given up.
    pub(super) fn verdict(&self, patience: &Patience, now: Instant) -> Outcome {
        let (fault, why) = if now >= self.began + patience.turn {
            (Fault::Other, format!("the turn took longer than {} s", patience.turn.as_secs()))
        } else if self.retrying.is_some() {
            let limit = patience.unreachable.as_secs();
            (Fault::Unreachable, format!("its model could not be reached for {limit} s"))
        } else {
            (Fault::Other, format!("nothing came from it for {} s", patience.silence.as_secs()))
        };
        Outcome::Failed { fault, why }
    }
}

impl Open {
    fn add(&mut self, id: &str) {
        if self.ids.len() < MOST_OPEN {
            self.ids.insert(self.hasher.hash_one(id));
        }
    }

    fn remove(&mut self, id: &str) {
        self.ids.remove(&self.hasher.hash_one(id));
    }

    fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Map, Value};

    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn tool(id: &str) -> Event {
        let (name, title) = ("Bash".to_owned(), String::new());
        Event::ToolStarted { id: id.to_owned(), name, title, input: Value::Null }
    }

    fn tool_end(id: &str) -> Event {
        Event::ToolEnded { id: id.to_owned(), success: true, output: None }
    }

    #[test]
    fn silence_counts_only_while_nothing_is_open() {
        let patience = Patience::default();
        let start = Instant::now();
        let mut vigil = Vigil::new(start);
        assert_eq!(vigil.due(&patience), start + patience.silence);
        // A frame that means nothing to us is still one.
        vigil.heard(&[], start + seconds(10));
        assert_eq!(vigil.due(&patience), start + seconds(10) + patience.silence);
        vigil.heard(&[Event::Garbage { why: String::new() }], start + seconds(20));
        assert_eq!(vigil.due(&patience), start + seconds(10) + patience.silence);

        vigil.heard(&[tool("a"), tool("b")], start + seconds(30));
        assert_eq!((vigil.doing(), vigil.due(&patience)), (Doing::Tool, start + patience.turn));
        vigil.heard(&[tool_end("a")], start + seconds(40));
        assert_eq!(vigil.doing(), Doing::Tool);
        vigil.heard(&[tool_end("b")], start + seconds(50));
        assert_eq!(vigil.due(&patience), start + seconds(50) + patience.silence);

        let request = RequestId("r".to_owned());
        vigil.heard(&[Event::Question { request: request.clone(), items: vec![] }], start);
        assert_eq!((vigil.doing(), vigil.due(&patience)), (Doing::Waiting, start + patience.turn));
        vigil.answered(Some(&request), None, start + seconds(400));
        assert_eq!(vigil.due(&patience), start + seconds(400) + patience.silence);

        let call = CallId("c".to_owned());
        let asked = Event::Call { call: call.clone(), tool: "ask".into(), arguments: Map::new() };
        vigil.heard(&[asked], start + seconds(401));
        assert_eq!(vigil.doing(), Doing::Tool);
        vigil.answered(None, Some(&call), start + seconds(500));
        assert_eq!(vigil.due(&patience), start + seconds(500) + patience.silence);
    }

    #[test]
    fn a_model_that_does_not_answer_is_no_progress() {
        let patience = Patience::default();
        let start = Instant::now();
        let mut vigil = Vigil::new(start);
        let again = Event::Retrying { why: "refused".to_owned() };
        for second in 1..200 {
            vigil.heard(std::slice::from_ref(&again), start + seconds(second));
            // Frames of no meaning in between make no difference.
            vigil.heard(&[], start + seconds(second));
        }
        let due = start + seconds(1) + patience.unreachable;
        assert_eq!((vigil.doing(), vigil.due(&patience)), (Doing::Retrying, due));
        let Outcome::Failed { fault, .. } = vigil.verdict(&patience, due) else { panic!() };
        assert_eq!(fault, Fault::Unreachable);
        vigil.heard(&[Event::Text("here".to_owned())], start + seconds(200));
        assert_eq!(vigil.doing(), Doing::Working);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut vigil = Vigil::new(Instant::now());
        for id in 0..10_000 {
            vigil.heard(&[tool(&id.to_string())], Instant::now());
        }
        assert_eq!(vigil.tools.ids.len(), MOST_OPEN);
    }
}
