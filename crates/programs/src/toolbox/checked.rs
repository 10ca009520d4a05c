//! A toolbox whose calls are checked, counted and timed, and whose panics stay inside.
//!
//! What a program sends is outside input. It reaches a tool only if it fits the tool's schema; if not, the agent is
//! told what was wrong and what is right, so that it can do better by itself.

use std::fmt;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::wire::{Reason, Refusal};
use super::{Limits, ToolSpec, Toolbox, schema};

/// How many faults of one call are told.
const FAULTS: usize = 5;

/// The tools of an agent as they were when this was made.
pub struct Checked {
    toolbox: Arc<dyn Toolbox>,
    tools: Vec<ToolSpec>,
    /// Of each tool, in the same order.
    validators: Vec<Validator>,
    places: Semaphore,
    limits: Limits,
}

impl Checked {
    /// Fails when a tool's schema is none.
    pub fn new(toolbox: Arc<dyn Toolbox>, limits: Limits) -> io::Result<Self> {
        let tools = toolbox.tools();
        let validators = tools
            .iter()
            .map(|tool| {
                jsonschema::validator_for(&tool.parameters).map_err(|error| {
                    let why = format!("the schema of the tool `{}` is wrong: {error}", tool.name);
                    io::Error::new(io::ErrorKind::InvalidInput, why)
                })
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { toolbox, tools, validators, places: Semaphore::new(limits.calls), limits })
    }

    pub fn specs(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// Runs a tool to its end, if the call is right. Dropping it gives the call up.
    pub async fn run(&self, tool: &str, arguments: Map<String, Value>) -> Result<String, Refusal> {
        let outcome = self.attempt(tool, arguments).await;
        if let Err(refusal) = &outcome {
            let tool: String = shorten(tool);
            tracing::info!(?tool, reason = ?refusal.reason, message = ?refusal.message, "a tool call came to nothing");
        }
        outcome
    }

    async fn attempt(&self, name: &str, arguments: Map<String, Value>) -> Result<String, Refusal> {
        let known = self.tools.iter().zip(&self.validators).find(|(tool, _)| tool.name == name);
        let (tool, validator) = known.ok_or_else(|| self.unknown(name))?;
        let arguments = check(tool, validator, arguments)?;
        let _place = self.places.try_acquire().map_err(|_| {
            let message = format!(
                "{} calls are running, and no more may at once: wait for one to end, then try again",
                self.limits.calls
            );
            Refusal::new(Reason::Busy, message)
        })?;
        let call = AssertUnwindSafe(self.toolbox.call(name, arguments)).catch_unwind();
        match tokio::time::timeout(self.limits.longest, call).await {
            Ok(Ok(result)) => result.map_err(|why| Refusal::new(Reason::Failed, why)),
            Ok(Err(_panic)) => {
                tracing::error!(tool = name, "a tool panicked");
                let message = format!("`{name}` broke off by a fault of the server, not of yours");
                Err(Refusal::new(Reason::Failed, message))
            }
            Err(_elapsed) => {
                let seconds = self.limits.longest.as_secs();
                let message = format!("`{name}` was given up: it took longer than {seconds} s");
                Err(Refusal::new(Reason::Late, message))
            }
        }
    }

    fn unknown(&self, name: &str) -> Refusal {
        let names: Vec<_> = self.tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
        let known = if names.is_empty() { "none at all".to_owned() } else { names.join(", ") };
        let message = format!("There is no tool `{}`; there are {known}", shorten(name));
        Refusal::new(Reason::Unknown, message)
    }
}

#[async_trait]
impl Toolbox for Checked {
    fn tools(&self) -> Vec<ToolSpec> {
        self.tools.clone()
    }

    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<String, String> {
        self.run(tool, arguments).await.map_err(|refusal| refusal.message)
    }
}

impl fmt::Debug for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked").field("toolbox", &self.toolbox).finish_non_exhaustive()
    }
}

fn check(
    tool: &ToolSpec,
    validator: &Validator,
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let value = Value::Object(arguments);
    let faults: Vec<_> =
        validator.iter_errors(&value).take(FAULTS).map(|it| describe(&it)).collect();
    if let Value::Object(arguments) = value
        && faults.is_empty()
    {
        return Ok(arguments);
    }
    let right = schema::form(&tool.name, &tool.parameters);
    Err(Refusal::new(Reason::Arguments, format!("{}. {right}", faults.join("; "))))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other fault says enough by itself")]
fn describe(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
    let within = if path.is_empty() { String::new() } else { format!(" in `{path}`") };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().take(FAULTS).map(|name| shorten(name)).collect();
            format!("`{}`: there is no such argument{within}", names.join("`, `"))
        }
        ValidationErrorKind::Required { property } => {
            format!("`{}` is missing{within}", property.as_str().unwrap_or_default())
        }
        // Values may be megabytes; the message names the rule instead.
        _ if path.is_empty() => error.masked_with("the value").to_string(),
        _ => format!("`{path}`: {}", error.masked_with("the value")),
    }
}

/// What a model made up may be long.
fn shorten(name: &str) -> String {
    name.chars().take(64).collect()
}
