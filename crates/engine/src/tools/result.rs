//! Reading on in a result that was too long to be handed on whole.

use artel_agents::llm::chat::ToolSpec;
use artel_domain::{Agent, PlanId};
use artel_storage::{Scope, plans};
use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::Tool;
use crate::plans::words;
use crate::{App, Error, Result};

/// Characters that one call gives.
const AT_ONCE: usize = 20_000;

#[derive(Debug)]
pub(crate) struct ReadResult;

impl ReadResult {
    pub(crate) const NAME: &str = "read_result";
}

#[async_trait]
impl Tool for ReadResult {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: Self::NAME.to_owned(),
            description: "The result of a task of a plan, from a character on".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "plan": { "type": "string", "description": "the plan's id" },
                    "task": { "type": "string", "description": "the task's name within the plan" },
                    "offset": { "type": "integer", "minimum": 0 },
                },
                "required": ["plan", "task"],
            }),
        }
    }

    async fn run(
        &self,
        app: &App,
        scope: Scope,
        _: &Agent,
        arguments: &Map<String, Value>,
    ) -> Result<String> {
        let word = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        let plan: PlanId = word("plan").parse().map_err(|_| Error::not_found("plan"))?;
        let (name, offset) = (word("task").to_owned(), arguments.get("offset"));
        let offset = offset.and_then(Value::as_u64).unwrap_or(0);
        let read = app.0.storage.db.read(move |conn| {
            Box::pin(async move {
                plans::get(conn, scope, plan).await?;
                plans::task(conn, plan, &name).await
            })
        });
        let result = read.await?.result.unwrap_or_default();
        let rest = usize::try_from(offset).ok().and_then(|at| result.char_indices().nth(at));
        let rest = rest.map_or("", |(at, _)| &result[at..]);
        Ok(words::start(rest, AT_ONCE).to_owned())
    }
}
