//! What there is in the end, asked through the public interface only.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use reqwest::StatusCode;
use serde_json::Value;

use super::facts::Facts;
use super::reader::{self, MARKER, Seen};
use super::workload::{agents, new_agent, value};
use crate::client::Client;

/// Everything the server shows.
#[derive(Debug, Default)]
pub struct State {
    pub projects: Vec<Project>,
    /// Acknowledged deletions that can still be read, and what they answered.
    pub undead: BTreeMap<String, String>,
}

#[derive(Debug)]
pub struct Project {
    pub id: String,
    pub name: String,
    /// Agents by id, the marker left out; a double id would be two entries.
    pub agents: Vec<Agent>,
    pub log: Vec<Seen>,
}

#[derive(Debug)]
pub struct Agent {
    pub id: String,
    pub name: String,
    pub value: Option<u64>,
}

impl State {
    /// Ends every log with its marker, and reads everything.
    pub async fn gather(client: &Client, facts: &Facts) -> Result<Self> {
        let mut state = Self::default();
        for project in client.list("/my/projects/", "projects").await? {
            let (id, name) = (text(&project, "id")?, text(&project, "name")?);
            mark(client, &id).await?;
            let mut found = Vec::new();
            for agent in client.list(&agents(&id), "agents").await? {
                let (id, name) = (text(&agent, "id")?, text(&agent, "name")?);
                if name != MARKER {
                    found.push(Agent { id, name, value: value(&agent) });
                }
            }
            let log = reader::log(client, &id).await?;
            state.projects.push(Project { id, name, agents: found, log });
        }
        for (id, agent) in facts.agents.iter().filter(|(_, agent)| agent.deleted) {
            let answer = client.get(&format!("{}{id}", agents(&agent.project))).await?;
            if answer.status != StatusCode::NOT_FOUND {
                state.undead.insert(id.clone(), format!("{}: {}", answer.status, answer.body));
            }
        }
        Ok(state)
    }
}

/// Makes the marker; one that is there already is as good.
pub async fn mark(client: &Client, project: &str) -> Result<()> {
    let answer = client.post(&agents(project), &new_agent(MARKER)).await?;
    if !answer.status.is_success() && answer.status != StatusCode::CONFLICT {
        bail!("cannot mark {project}: {}: {}", answer.status, answer.body);
    }
    Ok(())
}

fn text(value: &Value, field: &str) -> Result<String> {
    let text = value[field].as_str().with_context(|| format!("no {field} in {value}"))?;
    Ok(text.to_owned())
}
