//! What comes in about tools: from people, and from clients.

use artel_domain::ClientId;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::input::Input;

/// The largest word of a client: a result with a megabyte on each stream, escaped.
const LARGEST: usize = 16 * 1024 * 1024;

/// A tool to use on the project's workspace.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteTool {
    #[schema(min_length = 1, max_length = 100, example = "tool_read_file")]
    pub tool_name: String,
    /// As `GET …/tools/available` describes them.
    #[serde(default)]
    #[schema(value_type = Object, default = json!({}), example = json!({"path": "README.md"}))]
    pub tool_params: Map<String, Value>,
}

/// A client that is there, or still is.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnnounceClient {
    /// Made anew by every start of a client.
    pub client_id: ClientId,
    /// The folder that it gives access to.
    #[schema(min_length = 1, max_length = 4096, example = "/home/ada/shop")]
    pub workspace: String,
    #[schema(min_length = 1, max_length = 255, example = "ada-laptop")]
    pub host: String,
    #[schema(min_length = 1, max_length = 100, example = "0.1.0")]
    pub version: String,
    /// Whether commands run in a sandbox there.
    pub sandbox: bool,
}

/// What a call would change.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolPrepared {
    pub client_id: ClientId,
    pub success: bool,
    /// Unified.
    #[schema(max_length = 100_000)]
    pub diff: Option<String>,
    /// The state of the file that the diff starts from.
    #[schema(max_length = 100)]
    pub base: Option<String>,
    /// Why it cannot be done.
    #[schema(max_length = 10_000)]
    pub error: Option<String>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolOutcome {
    pub client_id: ClientId,
    pub success: bool,
    /// As the tool describes it.
    #[serde(default)]
    #[schema(value_type = Object, default = json!({}))]
    pub result: Map<String, Value>,
    /// Why it failed.
    #[schema(max_length = 100_000)]
    pub error: Option<String>,
}

/// Something that need not be asked in this project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowTool {
    #[schema(min_length = 1, max_length = 100, example = "tool_execute_command")]
    pub tool_name: String,
    /// Of files, a glob on the path; of commands, words of which each may be a glob, and a last `*` stands for any more.
    /// Without one: every call of the tool that is not of high risk.
    #[schema(min_length = 1, max_length = 1000, example = "cargo test *")]
    pub pattern: Option<String>,
}

impl Input for ExecuteTool {
    const LARGEST: Option<usize> = Some(LARGEST);
}
impl Input for AnnounceClient {}
impl Input for ToolPrepared {}
impl Input for ToolOutcome {
    const LARGEST: Option<usize> = Some(LARGEST);
}
impl Input for AllowTool {}
