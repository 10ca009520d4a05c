//! What goes over the [endpoint](super::endpoint), whether by HTTP or through its folder.

use std::fmt;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ToolSpec;

/// A call as a file of the spool.
#[derive(Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) token: String,
    /// None asks which tools there are.
    pub(crate) tool: Option<String>,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
}

/// The body of a call over HTTP.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Body {
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
}

/// What is answered to either.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reply {
    Result(String),
    Tools(Vec<ToolSpec>),
    Error(Refusal),
}

/// Why a call came to nothing, in words for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub reason: Reason,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The caller is not let in.
    Denied,
    /// It cannot be read, or is too large.
    Malformed,
    /// There is no such tool.
    Unknown,
    /// The tool does not take these arguments.
    Arguments,
    /// Too many calls are running.
    Busy,
    /// It took too long.
    Late,
    /// The tool said no.
    Failed,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    /// Says nothing that whoever guesses could use.
    pub(crate) fn denied() -> Self {
        Self::new(Reason::Denied, "Not let in")
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(Reason::Malformed, format!("A call may hold at most {limit} bytes"))
    }
}

impl Reason {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Denied => StatusCode::UNAUTHORIZED,
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Unknown => StatusCode::NOT_FOUND,
            Self::Arguments | Self::Failed => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::Late => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

impl From<Result<String, Refusal>> for Reply {
    fn from(result: Result<String, Refusal>) -> Self {
        result.map_or_else(Self::Error, Self::Result)
    }
}

impl fmt::Debug for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Letter({:?})", self.tool)
    }
}
