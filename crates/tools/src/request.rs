//! What is asked of the machine, and what came of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A call with its arguments, read and bounded (see [`crate::catalog`]).
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    ReadFile(ReadFile),
    WriteFile(WriteFile),
    EditFile(EditFile),
    ListDirectory(ListDirectory),
    SearchFiles(SearchFiles),
    ExecuteCommand(ExecuteCommand),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    pub path: String,
    /// In bytes.
    #[serde(default)]
    pub offset: u64,
    /// In bytes.
    pub limit: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    pub path: String,
    pub content: String,
    /// Whether missing folders above it are made.
    #[serde(default)]
    pub create_dirs: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditFile {
    pub path: String,
    /// Must stand in the file exactly once.
    pub old: String,
    pub new: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDirectory {
    #[serde(default = "here")]
    pub path: String,
    #[serde(default)]
    pub recursive: bool,
    /// A glob, such as `*.py`.
    pub pattern: Option<String>,
    /// Also what `.gitignore` names.
    #[serde(default = "yes")]
    pub ignored: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchFiles {
    /// A regular expression, or the text itself when it is `literal`.
    pub pattern: String,
    #[serde(default = "here")]
    pub path: String,
    /// Only files whose names fit.
    pub glob: Option<String>,
    #[serde(default = "yes")]
    pub case_sensitive: bool,
    #[serde(default)]
    pub literal: bool,
    #[serde(default = "hundred")]
    pub max_results: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecuteCommand {
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// In seconds.
    #[serde(default = "half_a_minute")]
    pub timeout: u32,
    /// Whether it may reach the network.
    #[serde(default)]
    pub network: bool,
}

impl ExecuteCommand {
    /// The command and its arguments.
    pub fn argv(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.command.as_str()).chain(self.args.iter().map(String::as_str))
    }
}

/// What came of a call: the fields of the tool's result, `success` and `error` apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    pub success: bool,
    /// For the agent and the person to read.
    pub error: Option<String>,
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl Outcome {
    pub fn done(fields: Map<String, Value>) -> Self {
        Self { success: true, error: None, fields }
    }

    pub fn failed(error: impl Into<String>) -> Self {
        Self { success: false, error: Some(error.into()), fields: Map::new() }
    }
}

/// What a write or an edit would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// Unified; cut and marked when it is long.
    pub diff: String,
    /// The SHA-256 of the file as it is, in hex, or `absent`.
    pub base: String,
}

fn here() -> String {
    ".".to_owned()
}

fn yes() -> bool {
    true
}

fn hundred() -> u32 {
    100
}

fn half_a_minute() -> u32 {
    30
}
