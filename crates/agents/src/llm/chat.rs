//! The seam between a turn and whichever model answers it.
//!
//! The law, kept by every provider and checked by one suite:
//! - An answer is a stream of [`Piece`]s that ends with exactly one [`Piece::End`], or with an error. What came before
//!   an error was really said, and is marked as partial by whoever keeps it.
//! - Tool calls arrive whole, with arguments that are valid JSON objects; a model that sends anything else is an
//!   [`Error::Malformed`].
//! - Usage is what the provider reports. Where it reports none, [`Usage::estimated`] says so.
//! - Dropping the stream stops the request. Nothing waits longer than the limits of the [`Request`].

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A model that can be asked.
#[async_trait]
pub trait ChatModel: Send + Sync + fmt::Debug {
    /// Starts an answer.
    async fn ask(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<Piece, Error>>, Error>;
}

/// What is asked of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The provider's own name of the model.
    pub model: String,
    /// What the agent is told by its owner. The only text with authority.
    pub system: String,
    /// The conversation, oldest first, ending with what is to be answered.
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    /// The one of them that must be called; none: whatever the model likes.
    pub must_call: Option<String>,
    pub temperature: f64,
    pub max_tokens: u32,
    /// How long the first piece may take.
    pub first_piece: Duration,
    /// How long the stream may be silent after that.
    pub silence: Duration,
}

/// A part of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    User(String),
    Assistant {
        text: String,
        calls: Vec<ToolCall>,
    },
    /// What a tool gave back, for the call of that id.
    ToolResult {
        id: String,
        name: String,
        content: String,
        failed: bool,
    },
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of the arguments, an object.
    pub parameters: Value,
}

/// A tool that the model wants called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the answer; providers without ids get one made.
    pub id: String,
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Text(String),
    Call(ToolCall),
    End { stop: Stop, usage: Usage },
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Done,
    /// It wants tools called and their results.
    Tools,
    /// The limit on tokens was reached; the text is cut.
    Length,
    /// The provider's filter stopped it.
    Filtered,
}

/// Tokens, as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    /// Of the input, what came from the provider's cache.
    pub cached: u64,
    pub output: u64,
    /// The provider gave no figures; these are ours.
    pub estimated: bool,
}

/// Why there is no answer. Whether to try again is a question to the error.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("the model service is busy (status {status})")]
    Busy { status: u16, retry_after: Option<Duration> },
    /// Nothing came in time.
    #[error("the model service did not answer in time")]
    Timeout,
    #[error("the model service cannot be reached: {0}")]
    Unreachable(String),
    /// The stream broke off in the middle.
    #[error("the answer broke off: {0}")]
    Cut(String),
    /// The account has no quota left; worth another try only after the reset.
    #[error("the quota of the model service is used up: {message}")]
    Quota { message: String, reset_after: Option<Duration> },
    #[error("the model service refused the key")]
    Unauthorised,
    #[error("the model service refused the request (status {status}): {message}")]
    Refused { status: u16, message: String },
    #[error("the model service sent what cannot be understood: {0}")]
    Malformed(String),
}

impl Error {
    /// Whether the same request may well be answered a little later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Timeout | Self::Unreachable(_) | Self::Cut(_) => true,
            Self::Quota { .. } | Self::Unauthorised | Self::Refused { .. } | Self::Malformed(_) => {
                false
            }
        }
    }

    /// What the service asked us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            Self::Quota { reset_after, .. } => *reset_after,
            Self::Timeout
            | Self::Unreachable(_)
            | Self::Cut(_)
            | Self::Unauthorised
            | Self::Refused { .. }
            | Self::Malformed(_) => None,
        }
    }
}
