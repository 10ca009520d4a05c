//! Plans that come with their tasks, in projects of their own.

use anyhow::{Context, Result, ensure};
use artel_testkit::client::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::MODEL;
use crate::wire::{self, Connection};

/// Tasks that an agent takes at a time; the most that is possible.
pub(super) const LIMIT: usize = 10;
/// The longest that a plan is waited for, in seconds.
const PATIENCE: u32 = 600;

/// So many chains side by side, whose tasks go round among the agents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) tasks: usize,
    /// Chains.
    pub(super) width: usize,
    pub(super) agents: usize,
    /// Whether what was done before has something to do with what comes next, so that agents remember it.
    pub(super) alike: bool,
}

impl Shape {
    fn description(self, at: usize) -> String {
        if self.alike {
            return format!("Take care of part {at}");
        }
        let word = || (0..8).map(|_| fastrand::alphabetic()).collect::<String>();
        std::array::from_fn::<_, 4, _>(|_| word()).join(" ")
    }

    fn draft(self) -> Vec<Value> {
        let task = |at: usize| {
            let before = at.checked_sub(self.width).map(|before| format!("t{before}"));
            json!({
                "name": format!("t{at}"),
                "description": self.description(at),
                "agent": format!("a{}", at % self.agents),
                "depends_on": before.as_slice(),
            })
        };
        (0..self.tasks).map(task).collect()
    }
}

/// A plan that waits for its approval.
pub(super) struct Given {
    client: Client,
    path: String,
    approve: Vec<u8>,
    wait: Vec<u8>,
}

impl Given {
    pub(super) async fn make(client: &Client, shape: Shape) -> Result<Self> {
        let body = json!({ "name": "bench", "starter_pack": "none" });
        let made = client.post("/my/projects", &body).await?;
        let project = format!("/my/projects/{}", made.id()?);
        for number in 0..shape.agents {
            let (name, model) = (format!("a{number}"), format!("scripted/{MODEL}"));
            let agent = json!({ "name": name, "model": model, "concurrency_limit": LIMIT });
            client.post(&format!("{project}/agents"), &agent).await?.success()?;
        }
        let body = json!({ "request": "Take care of all parts", "tasks": shape.draft() });
        let made = client.post(&format!("{project}/plans"), &body).await?;
        let path = format!("{project}/plans/{}", made.id()?);
        let asked = client.post(&format!("{path}/execute"), &json!({})).await?.success()?;
        ensure!(asked["status"] == "waiting_approval", "the plan is {}", asked["status"]);

        let (address, token) = (wire::address(client.base())?, client.token());
        let approve = wire::request("POST", &format!("{path}/approve"), address, token, "{}");
        let wait = format!("{path}?wait={PATIENCE}");
        let wait = wire::request("GET", &wait, address, token, "");
        Ok(Self { client: client.clone(), path, approve, wait })
    }

    /// Many of them, each in a project of its own.
    pub(super) async fn make_many(
        client: &Client,
        count: usize,
        shape: Shape,
    ) -> Result<Vec<Self>> {
        let mut making = JoinSet::new();
        for _ in 0..count {
            let client = client.clone();
            making.spawn(async move { Self::make(&client, shape).await });
        }
        let mut made = Vec::with_capacity(count);
        while let Some(plan) = making.join_next().await {
            made.push(plan??);
        }
        Ok(made)
    }

    /// Lets it run.
    pub(super) async fn approve(&self, connection: &mut Connection) -> Result<()> {
        connection.exchange(&self.approve).await
    }

    /// Lets it run and waits for its end.
    pub(super) async fn run(&self, connection: &mut Connection) -> Result<()> {
        self.approve(connection).await?;
        connection.exchange(&self.wait).await
    }

    /// A plan that failed has ended soon, and would be a fine figure.
    pub(super) async fn succeeded(&self) -> Result<()> {
        let plan = self.client.get(&self.path).await?.success()?;
        ensure!(plan["status"] == "completed", "the plan is {}: {}", plan["status"], plan["note"]);
        Ok(())
    }

    /// How many of its tasks stand so.
    pub(super) async fn count(&self, status: &str) -> Result<usize> {
        let tasks = self.client.get(&format!("{}/tasks?status={status}", self.path)).await?;
        let total = tasks.success()?["total"].as_u64().context("a list has a total")?;
        Ok(usize::try_from(total)?)
    }
}
