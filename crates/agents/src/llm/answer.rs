//! An answer while it is being put together.
//!
//! The wires say what they read; this keeps the law of [`super::chat`]: text goes out at once, tool calls only when
//! they are whole and at the end, then exactly one end. What one answer may hold is bounded.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use super::chat::{Error, Piece, Stop, ToolCall, Usage};
use super::tokens::Count;

const MAX_CALLS: usize = 128;
/// All arguments of one answer. A call that writes a file carries the file.
const MAX_ARGUMENTS: usize = 1024 * 1024;

/// Ids that we made, for services that give none.
pub(super) const MADE: &str = "artel_call_";

#[derive(Debug)]
pub(super) struct Answer {
    ready: VecDeque<Piece>,
    calls: Vec<Call>,
    arguments: usize,
    stop: Option<Stop>,
    usage: Option<Usage>,
    asked: u64,
    said: Count,
    moved: bool,
    marked: bool,
}

/// A tool call whose arguments are still arriving.
#[derive(Debug)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Answer {
    /// `asked` is our own count of the input, for services that give none.
    pub(super) fn new(asked: u64) -> Self {
        Self {
            ready: VecDeque::new(),
            calls: Vec::new(),
            arguments: 0,
            stop: None,
            usage: None,
            asked,
            said: Count::default(),
            moved: false,
            marked: false,
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.moved = true;
            self.said.add(text);
            self.ready.push_back(Piece::Text(text.to_owned()));
        }
    }

    /// The model is at work, though there is nothing to hand out.
    pub(super) fn thought(&mut self) {
        self.moved = true;
    }

    /// Begins a tool call, or adds to the one of that index. A new id at an old index is a new call: some services
    /// number every call 0.
    pub(super) fn call(&mut self, index: u64, id: &str, name: &str) -> Result<(), Error> {
        self.moved = true;
        let known = self.calls.iter_mut().rev().find(|call| call.index == index);
        if let Some(call) = known
            && (id.is_empty() || call.id.is_empty() || call.id == id)
        {
            if call.id.is_empty() {
                id.clone_into(&mut call.id);
            }
            if call.name.is_empty() {
                name.clone_into(&mut call.name);
            }
            return Ok(());
        }
        if self.calls.len() == MAX_CALLS {
            return Err(Error::Malformed(format!("more than {MAX_CALLS} tool calls")));
        }
        self.grow(name)?;
        self.calls.push(Call {
            index,
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: String::new(),
        });
        Ok(())
    }

    /// Adds to the arguments of the call of that index.
    pub(super) fn arguments(&mut self, index: u64, fragment: &str) -> Result<(), Error> {
        self.moved = true;
        self.grow(fragment)?;
        match self.calls.iter_mut().rev().find(|call| call.index == index) {
            Some(call) => call.arguments.push_str(fragment),
            None if fragment.is_empty() => {}
            None => return Err(Error::Malformed("arguments without a tool call".to_owned())),
        }
        Ok(())
    }

    pub(super) fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }

    pub(super) fn stop(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// The service has said that nothing more will come.
    pub(super) fn mark_end(&mut self) {
        self.marked = true;
    }

    pub(super) fn is_marked(&self) -> bool {
        self.marked
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether anything of the answer itself came since this was last asked.
    pub(super) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    pub(super) fn take(&mut self) -> Option<Piece> {
        self.ready.pop_front()
    }

    /// Nothing more comes: hands out the tool calls and the end, if the model had come to one.
    pub(super) fn close(&mut self) -> Result<(), Error> {
        let Some(stop) = self.stop else {
            return Err(Error::Cut("the stream ended before the answer did".to_owned()));
        };
        for call in &self.calls {
            self.said.add(&call.name);
            self.said.add(&call.arguments);
        }
        let calls = match stop {
            Stop::Done | Stop::Tools => whole(&self.calls)?,
            // The last call may lack arguments without showing it, and half of what was wanted is worse than nothing.
            Stop::Length | Stop::Filtered => Vec::new(),
        };
        let stop = match stop {
            Stop::Done | Stop::Tools if calls.is_empty() => Stop::Done,
            Stop::Done | Stop::Tools => Stop::Tools,
            Stop::Length | Stop::Filtered => stop,
        };
        let usage = self.usage.unwrap_or(Usage {
            input: self.asked,
            cached: 0,
            output: self.said.total(),
            estimated: true,
        });
        self.ready.extend(calls.into_iter().map(Piece::Call));
        self.ready.push_back(Piece::End { stop, usage });
        Ok(())
    }

    fn grow(&mut self, text: &str) -> Result<(), Error> {
        self.arguments += text.len();
        if self.arguments > MAX_ARGUMENTS {
            return Err(Error::Malformed("tool calls that are too long".to_owned()));
        }
        Ok(())
    }
}

fn whole(calls: &[Call]) -> Result<Vec<ToolCall>, Error> {
    let mut ids = HashSet::new();
    let mut made = Vec::with_capacity(calls.len());
    for call in calls {
        if call.name.is_empty() {
            return Err(Error::Malformed("a tool call without a name".to_owned()));
        }
        let mut id = call.id.clone();
        while id.is_empty() || !ids.insert(id.clone()) {
            id = format!("{MADE}{:016x}", fastrand::u64(..));
        }
        made.push(ToolCall { id, name: call.name.clone(), arguments: object(call)? });
    }
    Ok(made)
}

fn object(call: &Call) -> Result<Map<String, Value>, Error> {
    if call.arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(&call.arguments).map_err(|_| {
        Error::Malformed(format!("arguments of the tool {:?} that are no JSON object", call.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(answer: &mut Answer) -> Vec<Piece> {
        answer.close().unwrap();
        std::iter::from_fn(|| answer.take()).collect()
    }

    #[test]
    fn calls_are_put_together_and_get_ids() {
        let mut answer = Answer::new(7);
        answer.call(0, "a", "read").unwrap();
        answer.arguments(0, "{\"path\":").unwrap();
        answer.call(1, "", "list").unwrap();
        answer.arguments(0, "\"x\"}").unwrap();
        // A service that numbers every call 0 tells them apart by id.
        answer.call(0, "b", "read").unwrap();
        answer.stop(Stop::Done);
        let pieces = closed(&mut answer);
        let calls: Vec<_> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Call(call) => Some(call),
                Piece::Text(_) | Piece::End { .. } => None,
            })
            .collect();
        assert_eq!(calls.len(), 3);
        assert_eq!(calls[0].arguments["path"], "x");
        assert!(calls[1].id.starts_with(MADE) && calls[1].arguments.is_empty());
        assert_eq!(calls[2].id, "b");
        let Some(Piece::End { stop: Stop::Tools, usage }) = pieces.last() else {
            panic!("{pieces:?}")
        };
        assert!(usage.estimated && usage.input == 7 && usage.output > 0);
    }

    #[test]
    fn an_answer_that_was_cut_short_hands_out_no_calls() {
        let mut answer = Answer::new(0);
        answer.call(0, "a", "delete").unwrap();
        answer.stop(Stop::Length);
        assert!(matches!(closed(&mut answer)[..], [Piece::End { stop: Stop::Length, .. }]));
    }

    #[test]
    fn what_is_too_much_or_no_object_is_malformed() {
        let mut answer = Answer::new(0);
        answer.call(0, "a", "x").unwrap();
        assert!(answer.arguments(0, &"x".repeat(MAX_ARGUMENTS)).is_err());
        assert!(answer.arguments(9, "{}").is_err());

        for bad in ["[1]", "{\"a\":", "no"] {
            let mut answer = Answer::new(0);
            answer.call(0, "a", "x").unwrap();
            answer.arguments(0, bad).unwrap();
            answer.stop(Stop::Tools);
            assert!(matches!(answer.close(), Err(Error::Malformed(_))), "{bad}");
        }

        let mut answer = Answer::new(0);
        let refused = (0..1000).find_map(|index| answer.call(index, "", "x").err());
        assert!(refused.is_some());
    }
}
