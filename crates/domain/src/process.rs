//! A program that is an agent: what its owner decides about it, and how its process stands.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::approval::UnknownWord;
use crate::{AgentId, SessionId, Timestamp};

/// Which program the agent is, instead of a model behind an API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// `claude-code`, `codex`, `gemini-cli`, `factory-droid`, or `acp` and `line` for any other program.
    #[schema(min_length = 1, max_length = 50, example = "claude-code")]
    pub kind: String,
    /// The program and its arguments, where the kind has none of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100, default = json!([]), example = json!(["qwen", "--acp"]))]
    pub command: Vec<Word>,
    /// As the program calls it; without one the program's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200, example = "claude-sonnet-4-5")]
    pub model: Option<String>,
    /// Where it runs; without one as the server is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// A folder on the server's machine that the server lets agents work in; without one a folder of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 4096)]
    pub workspace: Option<String>,
    /// It asks nobody before it does what its sandbox lets it.
    #[serde(default)]
    #[schema(default = false)]
    pub unattended: bool,
    /// Without it only its tools are reached, and no model.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub network: bool,
    /// More for its environment. Not the place for a key: those are credentials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// What only its kind understands.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub options: Map<String, Value>,
    /// After how many seconds its process is ended, between two turns.
    #[serde(default = "two_hours")]
    #[schema(minimum = 60, maximum = 604_800, default = 7200)]
    pub ttl: u32,
    /// After how many seconds without a message its process is ended.
    #[serde(default = "half_an_hour")]
    #[schema(minimum = 10, maximum = 604_800, default = 1800)]
    pub idle: u32,
    /// In MiB, of all its processes together.
    #[serde(default = "four_gibibytes")]
    #[schema(minimum = 64, maximum = 1_048_576, default = 4096)]
    pub memory: u32,
}

const fn yes() -> bool {
    true
}

const fn two_hours() -> u32 {
    7200
}

const fn half_an_hour() -> u32 {
    1800
}

const fn four_gibibytes() -> u32 {
    4096
}

/// One word of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, max_length = 4096)]
pub struct Word(pub String);

/// What stands between a program and the server's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    None,
    Bubblewrap,
    Docker,
}

/// How the process of an agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schema(as = ProcessState)]
pub enum State {
    /// It was never started.
    Init,
    Starting,
    Running,
    Stopping,
    Stopped,
    /// It could not be started.
    Failed,
    /// It was ended by force, or with the server that it belonged to.
    Killed,
    /// It died by itself.
    Crashed,
}

impl State {
    const ALL: [Self; 8] = [
        Self::Init,
        Self::Starting,
        Self::Running,
        Self::Stopping,
        Self::Stopped,
        Self::Failed,
        Self::Killed,
        Self::Crashed,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Init => "INIT",
            Self::Starting => "STARTING",
            Self::Running => "RUNNING",
            Self::Stopping => "STOPPING",
            Self::Stopped => "STOPPED",
            Self::Failed => "FAILED",
            Self::Killed => "KILLED",
            Self::Crashed => "CRASHED",
        }
    }

    /// Whether there may be a process.
    pub const fn is_alive(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Stopping)
    }
}

impl FromStr for State {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// What is kept of an agent's process, so that it is found again after the server was killed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Process {
    pub agent_id: AgentId,
    pub state: State,
    /// Why it is so, where that needs a word.
    pub reason: Option<String>,
    /// The node that it runs on.
    pub node: String,
    pub sandbox: Sandbox,
    /// The process or the container: `{"process": {"pid", "started"}}` or `{"container": {"id"}}`.
    #[schema(value_type = Option<Object>)]
    pub mark: Option<Value>,
    /// The conversation's name in the program's own files.
    pub conversation: Option<String>,
    pub version: Option<String>,
    pub model: Option<String>,
    /// The session of messages that were sent to the agent without naming one.
    pub session_id: Option<SessionId>,
    /// How often it was started again because it died.
    pub restarts: u32,
    pub started_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}
