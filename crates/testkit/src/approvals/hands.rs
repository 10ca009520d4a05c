//! A client that touches no file: it says what a write would change, and that it is done.
//!
//! It follows the project's events from the first on, over every restart of the server, and posts what it has to say
//! until it is heard. So whatever it is told to do it is told once, and it counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::Client;
use crate::race::until_done;

/// Far more often than it must, so that a busy machine does not make it look gone.
const ANNOUNCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Hands {
    client: Client,
    project: String,
    id: Uuid,
    executions: Mutex<HashMap<String, u32>>,
}

impl Hands {
    pub(super) fn new(client: Client, project: String, rng: &mut Rng) -> Arc<Self> {
        let id = Uuid::from_u128(rng.u128(..));
        Arc::new(Self { client, project, id, executions: Mutex::default() })
    }

    /// How often a call was to be carried out.
    pub(super) fn executions(&self, call: &str) -> u32 {
        self.counts().get(call).copied().unwrap_or(0)
    }

    /// Works until it is aborted, or until the server refuses what it says.
    pub(super) async fn work(self: Arc<Self>, mut rng: Rng) -> Result<()> {
        let mut after = 0;
        loop {
            self.follow(&mut after, &mut rng).await?;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Does what comes, until the stream is cut.
    async fn follow(&self, after: &mut u64, rng: &mut Rng) -> Result<()> {
        let path = format!("{}/events", self.project);
        let Ok(mut events) = self.client.events(&path, Some(*after)).await else { return Ok(()) };
        // Its first tick is at once.
        let mut again = tokio::time::interval(ANNOUNCE);
        loop {
            tokio::select! {
                event = events.numbered() => {
                    let Ok(Some((number, frame))) = event else { return Ok(()) };
                    *after = number;
                    if frame.event == "tool_execution_signal" {
                        self.attend(frame.payload(), rng).await?;
                    }
                }
                _ = again.tick() => self.announce(rng).await?,
            }
        }
    }

    async fn announce(&self, rng: &mut Rng) -> Result<()> {
        let path = format!("{}/client", self.project);
        let body = json!({
            "client_id": self.id,
            "workspace": "/nowhere",
            "host": "testkit",
            "version": "0",
            "sandbox": false,
        });
        until_done(rng, || self.client.put(&path, &body)).await.context("announcing")?;
        Ok(())
    }

    async fn attend(&self, signal: &Value, rng: &mut Rng) -> Result<()> {
        if signal["client_id"] != json!(self.id) {
            return Ok(());
        }
        let call = signal["tool_id"].as_str().context("a signal names its call")?;
        let (what, mut body) = if signal["phase"] == "prepare" {
            let diff = "@@ -0,0 +1 @@\n+x\n";
            ("prepared", json!({ "success": true, "diff": diff, "base": "absent" }))
        } else {
            *self.counts().entry(call.to_owned()).or_default() += 1;
            ("result", json!({ "success": true, "result": { "size": 1 } }))
        };
        body["client_id"] = json!(self.id);
        let path = format!("{}/tools/{call}/{what}", self.project);
        until_done(rng, || self.client.post(&path, &body)).await.context(what)?;
        Ok(())
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.executions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
