//! Somebody who makes a plan, lets it run, and sees it through to its end, whenever the server dies.
//!
//! A plan is made under its key, until there is an answer. Everything else is asked for once at a time: whether it was
//! heard is seen from where the plan stands then, and so is what to do next.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

use super::graphs::{Draft, Stop};
use super::{Room, STEADY};
use crate::client::Client;
use crate::race::until_done;

/// How long a plan may take, kills included.
const PATIENCE: Duration = Duration::from_mins(15);
/// Before something is asked for again, in milliseconds.
const PAUSE: Range<u64> = 5..50;

/// A plan that has ended, and what its owner knows of it.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub(super) draft: Draft,
    pub(super) id: String,
    /// The plan that was named when the same was sent again under the same key.
    pub(super) again: Option<String>,
    pub(super) retries: Asked,
    pub(super) cancellations: Asked,
}

/// How often something was asked for, and how often the owner was told that it was done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    pub(super) sent: u32,
    pub(super) told: u32,
}

/// What came of asking once.
#[derive(Debug)]
enum Reply {
    Done,
    /// With the word for why.
    Refused(String),
    /// The server died first.
    Lost,
}

/// Makes a plan of the draft and stays with it until it has ended for good.
pub(super) async fn see_through(room: &Room, draft: Draft, mut rng: Rng) -> Result<Life> {
    let (client, path) = (&room.client, format!("{}/plans", room.path));
    let (key, body) = (draft.request(), draft.body(&mut rng));
    let mut ids = Vec::new();
    // Some are not sure that they were heard.
    for _ in 0..rng.u8(1..=2) {
        let made = until_done(&mut rng, || client.post_once(&path, &key, &body)).await;
        ids.push(made.context("making it")?.id()?.to_owned());
    }
    let (id, again) = (ids.remove(0), ids.pop());
    let (client, path) = (client.clone(), format!("{path}/{id}"));
    let (stop, retries, nothing) = (draft.stop, draft.retries, Asked::default());
    let life = Life { draft, id, again, retries: nothing, cancellations: nothing };
    let mut owner = Owner { client, path, rng, stop, retries, life };
    owner.stay().await?;
    Ok(owner.life)
}

struct Owner {
    client: Client,
    path: String,
    rng: Rng,
    /// When it is still to be stopped.
    stop: Option<Stop>,
    /// How often it may still be tried again.
    retries: u32,
    life: Life,
}

impl Owner {
    async fn stay(&mut self) -> Result<()> {
        let (begin, nothing) = (Instant::now(), json!({}));
        loop {
            let plan = self.look().await?;
            let status = plan["status"].as_str().context("a plan has a status")?;
            ensure!(begin.elapsed() < PATIENCE, "it does not end; it is {status}");
            match (status, self.stop) {
                ("pending", _) => {
                    self.ask("execute", &nothing).await?;
                }
                ("waiting_approval", Some(Stop::Asked)) => self.cancel().await?,
                ("waiting_approval", _) => {
                    self.ask("approve", &nothing).await?;
                }
                ("executing", Some(Stop::Running(after))) => {
                    tokio::time::sleep(after).await;
                    self.cancel().await?;
                }
                ("executing", _) => {
                    // For the plan's end, or the server's.
                    let _ = self.client.get(&format!("{}?wait=10", self.path)).await;
                }
                _ => {
                    if !self.try_again(&plan).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The plan as it is now.
    async fn look(&mut self) -> Result<Value> {
        Ok(until_done(&mut self.rng, || self.client.get(&self.path)).await?.body)
    }

    async fn cancel(&mut self) -> Result<()> {
        self.life.cancellations.sent += 1;
        match self.ask("cancel", &json!({})).await? {
            Reply::Done => {
                self.life.cancellations.told += 1;
                self.stop = None;
            }
            // It had ended.
            Reply::Refused(_) => self.stop = None,
            Reply::Lost => {}
        }
        Ok(())
    }

    /// Has what came to nothing done again; says whether there is anything more to wait for.
    async fn try_again(&mut self, plan: &Value) -> Result<bool> {
        self.stop = None;
        if self.retries == 0 || plan["status"] == "completed" {
            return Ok(false);
        }
        let body = self.what_again(plan);
        self.life.retries.sent += 1;
        match self.ask("retry", &body).await? {
            Reply::Done => {
                self.life.retries.told += 1;
                self.retries -= 1;
            }
            // It was stopped before anybody let it run.
            Reply::Refused(why) if why == "not_approved" => self.retries = 0,
            Reply::Refused(why) => bail!("trying {body} again was refused: {why}"),
            Reply::Lost => {}
        }
        Ok(true)
    }

    /// Everything that came to nothing, or one that failed, by an agent that does not. Of a plan that was stopped all
    /// is taken up, so that nothing of it stays stopped.
    fn what_again(&mut self, plan: &Value) -> Value {
        let tasks = plan["tasks"].as_array().into_iter().flatten();
        let failed: Vec<_> = tasks.filter(|task| task["status"] == "failed").collect();
        match self.rng.choice(failed) {
            Some(task) if plan["status"] != "cancelled" && self.rng.bool() => {
                json!({ "task": task["task_id"], "agent": STEADY.0 })
            }
            _ => json!({}),
        }
    }

    async fn ask(&mut self, verb: &str, body: &Value) -> Result<Reply> {
        match self.client.post(&format!("{}/{verb}", self.path), body).await {
            Ok(answer) if answer.status.is_success() => return Ok(Reply::Done),
            Ok(answer) if answer.status == 409 => {
                let why = answer.body["error_code"].as_str().unwrap_or_default();
                return Ok(Reply::Refused(why.to_owned()));
            }
            // Killed, or just started.
            Ok(answer) if answer.status == 503 => {}
            Ok(answer) => bail!("{verb}: {} {}", answer.status, answer.body),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(self.rng.u64(PAUSE))).await;
        Ok(Reply::Lost)
    }
}
