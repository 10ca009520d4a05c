//! What the clients of a crash run do while the server is killed under them.
//!
//! A [`Worker`] creates projects and agents, writes growing numbers into its own agents, reads
//! them back and deletes them, one operation after the other. It never gives up an operation: cut
//! off, it asks again after the restart, a creation with the same key. It judges nothing, it only
//! records; [`super::check`] judges.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fastrand::Rng;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::history::{Action, History, Phase};
use crate::client::{Answer, Client};

/// How long an operation may stay without an answer before the run is called broken.
const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(5);
const MOST_AGENTS: usize = 6;
const MOST_PROJECTS: usize = 40;

/// What all workers share.
#[derive(Debug)]
pub struct Shared {
    pub history: History,
    /// Projects in which everyone works.
    pub arenas: Vec<String>,
    /// Set when no more operations shall begin.
    pub finish: AtomicBool,
}

/// One client; owns the agents it made.
#[derive(Debug)]
pub struct Worker {
    number: usize,
    client: Client,
    shared: Arc<Shared>,
    rng: Rng,
    projects: Vec<String>,
    agents: Vec<Owned>,
}

#[derive(Debug, Clone)]
struct Owned {
    project: String,
    id: String,
    key: String,
    name: String,
    /// The last number tried.
    value: u64,
}

/// What one request came to.
enum Outcome {
    Answer(Answer),
    NotSent,
    Unknown(String),
}

impl Worker {
    pub fn new(number: usize, client: Client, shared: Arc<Shared>, seed: u64) -> Self {
        let rng = Rng::with_seed(seed);
        Self { number, client, shared, rng, projects: Vec::new(), agents: Vec::new() }
    }

    /// Works until told to finish; ends with nothing in flight.
    pub async fn run(mut self) -> Result<()> {
        while !self.shared.finish.load(Ordering::Relaxed) {
            let full = self.agents.len() >= MOST_AGENTS;
            match self.rng.u32(0..100) {
                0..2 if self.projects.len() < MOST_PROJECTS => self.create_project().await?,
                2..22 if !full => self.create_agent().await?,
                _ if self.agents.is_empty() => self.create_agent().await?,
                22..36 => self.delete().await?,
                36..40 => self.replay().await?,
                40..46 => self.read().await?,
                _ => self.update().await?,
            }
        }
        Ok(())
    }

    async fn create_project(&mut self) -> Result<()> {
        let name = format!("w{}-{:016x}", self.number, self.rng.u64(..));
        let action = Action::CreateProject { key: format!("project-{name}"), name };
        if let Phase::Ok { id: Some(id), .. } = self.perform(action).await? {
            self.projects.push(id);
        }
        Ok(())
    }

    async fn create_agent(&mut self) -> Result<()> {
        let own = !self.projects.is_empty() && self.rng.u32(0..5) == 0;
        let choice = if own { &self.projects } else { &self.shared.arenas };
        let project = choice[self.rng.usize(..choice.len())].clone();
        let name = format!("w{}-{:016x}", self.number, self.rng.u64(..));
        let key = format!("agent-{name}");
        let action =
            Action::CreateAgent { key: key.clone(), project: project.clone(), name: name.clone() };
        if let Phase::Ok { id: Some(id), .. } = self.perform(action).await? {
            self.agents.push(Owned { project, id, key, name, value: 0 });
        }
        Ok(())
    }

    async fn replay(&mut self) -> Result<()> {
        let Owned { project, id, key, name, .. } = self.any().clone();
        self.perform(Action::Replay { key, project, name, id }).await?;
        Ok(())
    }

    async fn read(&mut self) -> Result<()> {
        let Owned { project, id: agent, .. } = self.any().clone();
        self.perform(Action::Read { project, agent }).await?;
        Ok(())
    }

    async fn update(&mut self) -> Result<()> {
        let owned = self.any();
        owned.value += 1;
        let Owned { project, id: agent, value, .. } = owned.clone();
        let action = Action::Update { project: project.clone(), agent: agent.clone(), value };
        // Whether it happened must be seen before the next number hides it.
        if let Phase::Unknown { .. } = self.perform(action).await? {
            self.perform(Action::Read { project, agent }).await?;
        }
        Ok(())
    }

    async fn delete(&mut self) -> Result<()> {
        let at = self.rng.usize(..self.agents.len());
        let Owned { project, id: agent, .. } = self.agents.swap_remove(at);
        self.perform(Action::Delete { project, agent }).await?;
        Ok(())
    }

    fn any(&mut self) -> &mut Owned {
        let at = self.rng.usize(..self.agents.len());
        &mut self.agents[at]
    }

    /// Sends an operation until it has an answer, and records every step.
    async fn perform(&mut self, action: Action) -> Result<Phase> {
        let (op, begin) = (self.shared.history.operation(), Instant::now());
        let mut maybe_done = false;
        loop {
            self.record(op, &action, Phase::Invoke)?;
            let phase = match self.send(&action).await {
                Outcome::NotSent => Phase::NotSent,
                Outcome::Unknown(detail) => Phase::Unknown { detail },
                Outcome::Answer(answer) => judge(&action, &answer, maybe_done),
            };
            self.record(op, &action, phase.clone())?;
            match phase {
                Phase::Ok { .. } | Phase::Refused { .. } => return Ok(phase),
                // A number is not written twice: the next one is larger.
                Phase::Unknown { .. } if matches!(action, Action::Update { .. }) => {
                    return Ok(phase);
                }
                Phase::Unknown { .. } => maybe_done = true,
                Phase::NotSent | Phase::Invoke => {}
            }
            if begin.elapsed() > PATIENCE {
                bail!("no answer to {action:?} within {PATIENCE:?}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn record(&self, op: u64, action: &Action, phase: Phase) -> Result<()> {
        self.shared.history.record(self.number, op, action, phase)
    }

    async fn send(&self, action: &Action) -> Outcome {
        let client = &self.client;
        let result = match action {
            Action::CreateProject { key, name } => {
                client.post_once("/my/projects/", key, &json!({ "name": name })).await
            }
            Action::CreateAgent { key, project, name }
            | Action::Replay { key, project, name, .. } => {
                client.post_once(&agents(project), key, &new_agent(name)).await
            }
            Action::Update { project, agent, value } => {
                let body = json!({ "config": { "system_prompt": prompt(*value) } });
                client.patch(&format!("{}{agent}", agents(project)), &body).await
            }
            Action::Delete { project, agent } => {
                client.delete(&format!("{}{agent}", agents(project))).await
            }
            Action::Read { project, agent } => {
                client.get(&format!("{}{agent}", agents(project))).await
            }
        };
        match result {
            Ok(answer) if busy(answer.status) => {
                Outcome::Unknown(format!("{}: {}", answer.status, answer.body))
            }
            Ok(answer) => Outcome::Answer(answer),
            Err(error) if error.is_connect() => Outcome::NotSent,
            Err(error) => Outcome::Unknown(error.to_string()),
        }
    }
}

/// The path of a project's agents.
pub fn agents(project: &str) -> String {
    format!("/my/projects/{project}/agents/")
}

/// The path of a project's events.
pub fn events(project: &str) -> String {
    format!("/my/projects/{project}/events/")
}

/// The body that makes an agent.
pub fn new_agent(name: &str) -> Value {
    json!({ "name": name, "config": { "system_prompt": prompt(0), "model": "gpt-4" } })
}

/// The number written into an agent, as it is read back.
pub fn value(agent: &Value) -> Option<u64> {
    agent["config"]["system_prompt"].as_str()?.strip_prefix("counter ")?.parse().ok()
}

pub(super) fn prompt(value: u64) -> String {
    format!("counter {value}")
}

/// Answers that promise nothing either way; the client asks again.
fn busy(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

fn judge(action: &Action, answer: &Answer, maybe_done: bool) -> Phase {
    let gone = matches!(action, Action::Delete { .. }) && answer.status == StatusCode::NOT_FOUND;
    // The first attempt may have deleted it before the connection broke.
    if answer.status.is_success() || (gone && maybe_done) {
        let id = answer.body["id"].as_str().map(ToOwned::to_owned);
        return Phase::Ok { id, value: value(&answer.body) };
    }
    Phase::Refused { detail: format!("{}: {}", answer.status, answer.body) }
}
