//! Agents that are programs, from outside: what becomes of their processes when the server is killed ([`kills`]), and
//! how many of them it carries ([`crowd`]).
//!
//! All of them are the echo that comes with the server (`line-agent`, beside its binary). Each has a word of its own in
//! its environment, by which everything that it ever started is found among the processes of this machine ([`census`]).

mod census;
pub mod crowd;
mod hands;
mod history;
pub mod kills;

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::client::Client;
use crate::race::project;
use crate::server::{Artel, Builder};

/// The most that is said of what went wrong.
const MOST: usize = 50;
/// Where every system has programs.
const PROGRAMS: &str = "/usr/local/bin,/usr/bin,/bin";

/// Where the agents run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walls {
    None,
    Bubblewrap,
    /// Every other one.
    Both,
}

impl Walls {
    fn of(self, number: usize) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Both if number.is_multiple_of(2) => "bubblewrap",
            Self::None | Self::Both => "none",
        }
    }
}

/// An agent as its user sees it.
#[derive(Debug, Clone)]
struct Agent {
    client: Client,
    project: String,
    id: String,
    number: usize,
}

/// A server that lets so many programs run.
fn server(binary: &Path, folder: &Path, agents: usize) -> Result<Builder> {
    let own = binary.canonicalize().with_context(|| format!("{}", binary.display()))?;
    let beside = own.parent().context("a program stands in a folder")?;
    let most = (2 * agents).to_string();
    Ok(Artel::new(own.clone())
        .stable_port()?
        .data_dir(folder)
        .env("ARTEL_AGENT_SANDBOXES", "bubblewrap,none")
        .env("ARTEL_AGENT_PATH", &format!("{},{PROGRAMS}", beside.display()))
        .env("ARTEL_MAX_PROGRAMS", &most)
        .env("ARTEL_MAX_PROGRAMS_PER_USER", &most)
        .env("ARTEL_RECONCILE_EVERY", "200ms")
        .env("ARTEL_LOG_LEVEL", "warn"))
}

/// A project of one user with so many agents, whose words begin with `word`.
async fn agents(artel: &Artel, count: usize, walls: Walls, word: &str) -> Result<Vec<Agent>> {
    let client = artel.client("ada")?;
    let project = format!("/my/projects/{}", project(&client, "programs").await?);
    let mut all = Vec::new();
    for number in 0..count {
        let runtime = json!({
            "kind": "line",
            "command": ["line-agent"],
            "sandbox": walls.of(number),
            "environment": {census::NAME: format!("{word}{number}")},
            "options": {"protocol": {
                "ready": {"line": "^__READY__$"},
                "turn_end": {"line": "^__DONE__$"},
                "interrupt": {"line": "__INTERRUPT__"},
            }},
        });
        let body = json!({"name": format!("agent {number}"), "runtime": runtime});
        let made = client.post(&format!("{project}/agents"), &body).await?;
        let id = made.id()?.to_owned();
        all.push(Agent { client: client.clone(), project: project.clone(), id, number });
    }
    Ok(all)
}

impl Agent {
    /// Where it is given messages; the answer is waited for so many seconds.
    fn door(&self, wait: u64) -> String {
        format!("/agents/{}/message?wait={wait}", self.id)
    }

    /// How its process stands.
    async fn process(&self) -> Result<Value> {
        self.client.get(&format!("/agents/{}/process", self.id)).await?.success()
    }
}

/// What went wrong, as much of it as anybody reads.
fn cut(mut violations: Vec<String>) -> Vec<String> {
    let more = violations.len().saturating_sub(MOST);
    violations.truncate(MOST);
    if more > 0 {
        violations.push(format!("and {more} more"));
    }
    violations
}
