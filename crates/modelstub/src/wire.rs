//! The wire formats, each in a file of its own: how a request is read, and how an answer is
//! written whole and as a stream.
//!
//! A request becomes an [`Asked`], the same for all formats, at which rules look. An answer is
//! turned into JSON, or into all [`Frame`]s of its stream at once: sending them, slowly or not to
//! the end, is not the business of a format.

mod chat;
pub(crate) mod error;
pub(crate) mod gemini;
mod messages;
mod responses;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reply::Answer;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// `OpenAI` chat completions.
    Chat,
    /// `OpenAI` responses.
    Responses,
    /// Anthropic messages.
    Messages,
    /// Gemini generateContent.
    Gemini,
    /// `OpenAI` embeddings.
    Embeddings,
}

/// A request, as rules look at it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) wire: Wire,
    pub(crate) model: String,
    pub(crate) delivery: Delivery,
    pub(crate) system: String,
    pub(crate) turns: Vec<Turn>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) body: Value,
    /// The body as it was sent.
    pub(crate) raw: String,
    /// What the id of the answer is made of, also in an error that comes late.
    pub(crate) answer_id: String,
}

/// How the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    Events,
    /// Chat completions tell what a stream has cost only when asked to.
    EventsWithUsage,
    /// Gemini without `alt=sse`: one JSON array that grows.
    Array,
}

#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) speaker: Speaker,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
    Tool,
}

/// A tool that the request offers.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) kind: ToolKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolKind {
    Function,
    /// Takes text instead of JSON; only in the responses format.
    Custom,
    /// A function in a group, called by both names; only in the responses format.
    Grouped {
        group: String,
        name: String,
    },
}

/// A part of a stream that is sent at once.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) text: String,
    pub(crate) kind: FrameKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Carries a piece of what is said; faults count these, as they are the same in all formats.
    Piece,
    Frame,
}

impl Asked {
    /// Takes what it can find: whether the request is sound is not judged here.
    pub(crate) fn read(wire: Wire, path: &str, query: &str, body: Value, raw: String) -> Self {
        let mut asked = Self {
            wire,
            model: text_of(&body["model"]),
            delivery: Delivery::Whole,
            system: String::new(),
            turns: Vec::new(),
            tools: Vec::new(),
            body: Value::Null,
            raw,
            answer_id: id("", 48),
        };
        match wire {
            Wire::Chat => chat::read(&mut asked, &body),
            Wire::Responses => responses::read(&mut asked, &body),
            Wire::Messages => messages::read(&mut asked, &body),
            Wire::Gemini => gemini::read(&mut asked, path, query, &body),
            Wire::Embeddings => asked.say(Speaker::User, flat(&body["input"])),
        }
        asked.body = body;
        asked
    }

    pub(crate) fn last_user(&self) -> &str {
        self.last(Speaker::User)
    }

    pub(crate) fn last_tool_result(&self) -> &str {
        self.last(Speaker::Tool)
    }

    pub(crate) fn ends_in_tool_result(&self) -> bool {
        self.turns.last().is_some_and(|turn| turn.speaker == Speaker::Tool)
    }

    pub(crate) fn user_turns(&self) -> usize {
        self.turns.iter().filter(|turn| turn.speaker == Speaker::User).count()
    }

    fn last(&self, speaker: Speaker) -> &str {
        let turn = self.turns.iter().rev().find(|turn| turn.speaker == speaker);
        turn.map_or("", |turn| turn.text.as_str())
    }

    fn say(&mut self, speaker: Speaker, text: String) {
        self.turns.push(Turn { speaker, text });
    }

    fn instruct(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push('\n');
        }
        self.system.push_str(text);
    }

    fn offer(&mut self, name: &Value) {
        self.tools.push(Tool { name: text_of(name), kind: ToolKind::Function });
    }

    /// For the formats in which `"stream": true` asks for events.
    fn read_stream(&mut self, body: &Value) {
        if body["stream"] == true {
            self.delivery = Delivery::Events;
        }
    }
}

/// The answer in one piece.
pub(crate) fn whole(asked: &Asked, answer: &Answer) -> Value {
    match asked.wire {
        Wire::Chat => chat::whole(asked, answer),
        Wire::Responses => responses::whole(asked, answer),
        Wire::Messages => messages::whole(asked, answer),
        Wire::Gemini => gemini::whole(asked, answer),
        Wire::Embeddings => Value::Null,
    }
}

/// The answer as a stream.
pub(crate) fn stream(asked: &Asked, answer: &Answer) -> Vec<Frame> {
    match asked.wire {
        Wire::Chat => chat::stream(asked, answer),
        Wire::Responses => responses::stream(asked, answer),
        Wire::Messages => messages::stream(asked, answer),
        Wire::Gemini => gemini::stream(asked, answer),
        Wire::Embeddings => Vec::new(),
    }
}

/// An error after so many frames of a stream, as the provider sends it.
pub(crate) fn late_error(asked: &Asked, error: &Value, frames: usize) -> Frame {
    match asked.wire {
        Wire::Chat | Wire::Embeddings => Frame::data(error),
        Wire::Responses => responses::failed(asked, error, frames),
        Wire::Messages => Frame::event("error", error),
        Wire::Gemini => gemini::frame(asked, error),
    }
}

impl Frame {
    fn new(text: String) -> Self {
        Self { text, kind: FrameKind::Frame }
    }

    fn data(data: &Value) -> Self {
        Self::new(format!("data: {data}\n\n"))
    }

    fn event(name: &str, data: &Value) -> Self {
        Self::new(format!("event: {name}\ndata: {data}\n\n"))
    }

    fn piece(self) -> Self {
        Self { kind: FrameKind::Piece, ..self }
    }
}

/// A number of tokens that grows with the text; the same for every model.
pub(crate) fn estimate(text: &str) -> u64 {
    u64::try_from(text.chars().count().div_ceil(4)).unwrap_or(u64::MAX).max(1)
}

/// A fresh id that looks like the provider's: a prefix and so many letters and digits.
pub(crate) fn id(prefix: &str, length: usize) -> String {
    let random = std::iter::repeat_with(fastrand::alphanumeric).take(length);
    prefix.chars().chain(random).collect()
}

/// Seconds since 1970, for the `created` fields.
fn now() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the stub stands outside the house rules")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The elements of an array; of anything else, none.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a content field: a string, a block, or a list of them.
fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Object(block) => ["text", "content", "output"]
            .iter()
            .find_map(|key| block.get(*key))
            .map_or_else(String::new, flat),
        Value::Array(blocks) => {
            let texts: Vec<String> =
                blocks.iter().map(flat).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
