//! `project`: an agent looks at its owner's projects, or makes one.

use artel_agents::llm::chat::ToolSpec;
use artel_domain::{Agent, ProjectId};
use artel_storage::{Page, Scope};
use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::Tool;
use crate::{App, Caller, Error, Result};

/// Projects that a list gives.
const LISTED: u32 = 100;

#[derive(Debug)]
pub(crate) struct Projects;

impl Projects {
    pub(crate) const NAME: &str = "project";
}

#[async_trait]
impl Tool for Projects {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: Self::NAME.to_owned(),
            description: "The user's projects: list them, get one, create one, or change one"
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "method": { "type": "string", "enum": ["list", "get", "create", "update"] },
                    "project_id": { "type": "string", "description": "for get and update; without it, this project" },
                    "name": { "type": "string", "minLength": 1, "maxLength": 255 },
                    "workspace_path": { "type": "string", "maxLength": 4096 },
                },
                "required": ["method"],
                "additionalProperties": false,
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
        let caller = Caller::on_behalf_of(scope.user);
        let word = |key: &str| arguments.get(key).and_then(Value::as_str);
        let id = match word("project_id") {
            None => scope.project,
            Some(id) => id.parse::<ProjectId>().map_err(|_| Error::not_found("project"))?,
        };
        let mut body = arguments.clone();
        body.retain(|key, _| key == "name" || key == "workspace_path");
        let body = Value::Object(body);
        let found = match word("method").unwrap_or_default() {
            "list" => {
                let page = Page { limit: LISTED, offset: 0 };
                let listed = app.list_projects(&caller, page).await?;
                json!({ "projects": listed.items, "total": listed.total })
            }
            "get" => json!(app.project(&caller, id).await?),
            "create" => {
                let made = app.create_project(&caller, app.schemas().check(body)?, None).await?;
                json!(made)
            }
            "update" => json!(app.update_project(&caller, id, app.schemas().check(body)?).await?),
            other => {
                let remedy = format!("is list, get, create or update, and not {other:?}");
                return Err(Error::invalid_field("method", remedy));
            }
        };
        Ok(found.to_string())
    }
}
