//! The tools there are, and how their arguments are read.
//!
//! A tool's schema is told to models and checks what they send, so the two cannot differ; what a schema cannot say
//! (bytes, paths, `..`) stands in [`bounds`]. All of it is lexical: the server runs it before anything reaches a
//! client, which still has the operating system decide what a path is.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use artel_domain::RiskLevel;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::Request;

mod bounds;

pub(crate) use bounds::climbs;

/// A file that is larger is neither written nor searched.
pub const MAX_CONTENT: usize = 100 * 1024 * 1024;
/// The most that one read returns.
pub const MAX_READ: u64 = 1024 * 1024;
pub const MAX_PATTERN: usize = 4096;
pub const MAX_RESULTS: u32 = 1000;
/// In seconds.
pub const MAX_TIMEOUT: u32 = 300;

/// A tool as models and the server know it.
#[derive(Debug, Clone)]
pub struct Spec {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON Schema of its arguments. Who calls is known from the token and no argument.
    pub parameters: Value,
    /// Whether it may change something.
    pub effects: bool,
    /// How risky a call of it is at least; [`crate::policy`] judges each.
    pub risk: RiskLevel,
    /// Whether it is first prepared, so that a person sees what it would change.
    pub previewed: bool,
    /// The longest that it may take; a command says how much of that it wants.
    pub longest: Duration,
}

/// Why a call cannot be carried out as it is, in words that help to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("There is no tool `{0}`; there are {names}", names = names())]
    Unknown(String),
    #[error("{0}")]
    Arguments(String),
    #[error("Path is outside workspace bounds")]
    Outside,
}

/// All tools, in the order in which they are shown.
pub fn all() -> &'static [Spec] {
    &*SPECS
}

pub fn find(name: &str) -> Option<&'static Spec> {
    all().iter().find(|spec| spec.name == name)
}

/// Reads and bounds the arguments of a call.
///
/// Paths are relative to the workspace. An absolute one is made relative when the `workspace` is known and it lies
/// beneath; otherwise it is refused.
pub fn read(
    name: &str,
    arguments: &Map<String, Value>,
    workspace: Option<&Path>,
) -> Result<Request, Invalid> {
    let known = all().iter().zip(VALIDATORS.iter()).find(|(spec, _)| spec.name == name);
    let (spec, validator) = known.ok_or_else(|| Invalid::Unknown(shorten(name)))?;
    let value = Value::Object(arguments.clone());
    if let Some(error) = validator.iter_errors(&value).next() {
        return Err(Invalid::Arguments(describe(&error)));
    }
    let mut request = match spec.name {
        "tool_read_file" => Request::ReadFile(typed(value)?),
        "tool_write_file" => Request::WriteFile(typed(value)?),
        "tool_edit_file" => Request::EditFile(typed(value)?),
        "tool_list_directory" => Request::ListDirectory(typed(value)?),
        "tool_search_files" => Request::SearchFiles(typed(value)?),
        _ => Request::ExecuteCommand(typed(value)?),
    };
    bounds::check(&mut request, workspace)?;
    Ok(request)
}

static VALIDATORS: LazyLock<Vec<Validator>> = LazyLock::new(|| {
    let validator = |spec: &Spec| {
        jsonschema::validator_for(&spec.parameters).expect("the schemas below are valid")
    };
    SPECS.iter().map(validator).collect()
});

static SPECS: LazyLock<[Spec; 6]> = LazyLock::new(|| {
    let path = json!({"type": "string", "minLength": 1, "maxLength": bounds::MAX_PATH,
        "description": "Relative to the workspace, such as `src/main.rs`"});
    let folder = json!({"type": "string", "minLength": 1, "maxLength": bounds::MAX_PATH, "default": ".",
        "description": "A folder, relative to the workspace"});
    let reading = Spec {
        name: "tool_read_file",
        description: "Reads a file of the workspace. Long files are read in pieces by `offset` and `limit`; \
                      `truncated` says that there is more.",
        parameters: object(
            &["path"],
            &json!({
                "path": path,
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Where to start, in bytes"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_READ, "description": "How many bytes at most"},
            }),
        ),
        effects: false,
        risk: RiskLevel::Low,
        previewed: false,
        longest: Duration::from_secs(30),
    };
    let writing = Spec {
        name: "tool_write_file",
        description: "Writes a whole file of the workspace, new or in place of the old one. The user may be shown \
                      the difference and asked first. To change a part of a file use `tool_edit_file`.",
        parameters: object(
            &["path", "content"],
            &json!({
                "path": path,
                "content": {"type": "string", "maxLength": MAX_CONTENT, "description": "All that the file will hold"},
                "create_dirs": {"type": "boolean", "default": false, "description": "Make missing folders above it"},
            }),
        ),
        effects: true,
        risk: RiskLevel::Medium,
        previewed: true,
        longest: Duration::from_mins(1),
    };
    let editing = Spec {
        name: "tool_edit_file",
        description: "Replaces one piece of text in a file of the workspace. `old` must stand in the file exactly \
                      once: take in enough of its surroundings.",
        parameters: object(
            &["path", "old", "new"],
            &json!({
                "path": path,
                "old": {"type": "string", "minLength": 1, "maxLength": MAX_CONTENT, "description": "The text as it stands"},
                "new": {"type": "string", "maxLength": MAX_CONTENT, "description": "The text in its place"},
            }),
        ),
        effects: true,
        risk: RiskLevel::Medium,
        previewed: true,
        longest: Duration::from_mins(1),
    };
    let listing = Spec {
        name: "tool_list_directory",
        description: "Lists a folder of the workspace: paths, types, sizes and times of change.",
        parameters: object(
            &[],
            &json!({
                "path": folder,
                "recursive": {"type": "boolean", "default": false},
                "pattern": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN,
                    "description": "Only what fits this glob, such as `*.py`"},
                "ignored": {"type": "boolean", "default": true, "description": "Also what .gitignore names"},
            }),
        ),
        effects: false,
        risk: RiskLevel::Low,
        previewed: false,
        longest: Duration::from_secs(30),
    };
    let searching = Spec {
        name: "tool_search_files",
        description: "Searches the files of the workspace line by line; what .gitignore names is left out.",
        parameters: object(
            &["pattern"],
            &json!({
                "pattern": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN,
                    "description": "A regular expression, or plain text when `literal`"},
                "path": folder,
                "glob": {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN,
                    "description": "Only files that fit, such as `*.rs`"},
                "case_sensitive": {"type": "boolean", "default": true},
                "literal": {"type": "boolean", "default": false},
                "max_results": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "default": 100},
            }),
        ),
        effects: false,
        risk: RiskLevel::Low,
        previewed: false,
        longest: Duration::from_mins(1),
    };
    let executing = Spec {
        name: "tool_execute_command",
        description: "Runs a program in the workspace, in a sandbox and without a shell: no pipes, no redirection, \
                      no variables; every argument is passed as it is. Standard input is empty. Unless it is known \
                      to only read, the user is asked first. Outside the workspace nothing can be written.",
        parameters: object(
            &["command"],
            &json!({
                "command": {"type": "string", "minLength": 1, "maxLength": bounds::MAX_COMMAND,
                    "description": "The program alone, such as `cargo`"},
                "args": {"type": "array", "maxItems": bounds::MAX_ARGS, "items": {"type": "string"}, "default": [],
                    "description": "Its arguments, one by one"},
                "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT, "default": 30,
                    "description": "In seconds"},
                "network": {"type": "boolean", "default": false,
                    "description": "Whether it must reach the network; the user is always asked then"},
            }),
        ),
        effects: true,
        risk: RiskLevel::Low,
        previewed: false,
        longest: Duration::from_secs(u64::from(MAX_TIMEOUT)),
    };
    [reading, writing, editing, listing, searching, executing]
});

fn object(required: &[&str], properties: &Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Invalid> {
    // The schema says all that the type wants; should it ever say less, the type has the last word.
    serde_json::from_value(value).map_err(|error| Invalid::Arguments(error.to_string()))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other fault says enough by itself")]
fn describe(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().take(5).map(|name| shorten(name)).collect();
            format!("`{}`: there is no such argument", names.join("`, `"))
        }
        ValidationErrorKind::Required { property } => {
            format!("`{}` is missing", property.as_str().unwrap_or_default())
        }
        // Values may be megabytes; the message names the rule instead.
        _ => {
            let field = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
            format!("`{field}`: {}", error.masked_with("the value"))
        }
    }
}

fn names() -> String {
    all().iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ")
}

/// What a model made up may be long.
fn shorten(name: &str) -> String {
    name.chars().take(64).collect()
}
