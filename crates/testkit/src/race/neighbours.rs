//! A user with a thousand tasks in the queue beside one with a single task, which must not have to wait for them.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use super::{Outcome, percentile, runtime};
use crate::client::Client;
use crate::server::Artel;

/// What an agent says, in about half a second, as a model would: some words at a time.
pub const SCRIPT: &str = "[[rules]]\ntext = 'one two three four five six seven eight nine ten eleven twelve thirteen fourteen'\npause_ms = 30\n";
/// The name of the script, in the server's folder.
pub const NAME: &str = "steady";

const AGENTS: usize = 10;
const SESSIONS: usize = 50;
/// Single tasks, before and during.
const SINGLE: usize = 20;
/// How much longer a single task may take beside the thousand.
const MOST: u32 = 2;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub queued: usize,
}

/// The server must know the script.
pub fn run(artel: &Artel, options: Options) -> Result<Outcome> {
    runtime()?.block_on(race(&artel.client("greedy")?, &artel.client("modest")?, options))
}

async fn race(greedy: &Client, modest: &Client, options: Options) -> Result<Outcome> {
    let crowd = paths(greedy, AGENTS, SESSIONS).await?;
    let single = paths(modest, 1, 1).await?.remove(0);
    let mut alone = singles(modest, &single).await?;
    let mut crowded = JoinSet::new();
    for number in 0..options.queued {
        let (client, path) = (greedy.clone(), crowd[number % SESSIONS].clone());
        crowded.spawn(async move {
            let body = json!({ "content": "x", "target_agent": format!("a{}", number % AGENTS) });
            client.post(&path, &body).await
        });
    }
    let space = crowd[0].split("/chat/").next().unwrap_or_default().to_owned() + "/space";
    let begin = Instant::now();
    let waiting = loop {
        let now = greedy.get(&space).await?.success()?;
        let waiting = now["queued_tasks"].as_u64().unwrap_or(0);
        if waiting >= options.queued as u64 * 3 / 4 {
            break waiting;
        }
        ensure!(begin.elapsed() < super::LIMIT, "only {waiting} tasks wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let mut beside = singles(modest, &single).await?;
    let left = greedy.get(&space).await?.success()?["queued_tasks"].as_u64().unwrap_or(0);
    let (alone, beside) = (percentile(&mut alone, 95), percentile(&mut beside, 95));
    let mut violations = Vec::new();
    if beside > alone * MOST {
        violations.push(format!("a single task takes {beside:?} beside others, {alone:?} alone"));
    }
    if left == 0 {
        violations.push("the others were done too early to tell".to_owned());
    }
    crowded.abort_all();
    let figures = format!(
        "{waiting} tasks of one user waiting, {left} when it was over: another's single task takes p95 {} ms, alone {} ms",
        beside.as_millis(),
        alone.as_millis()
    );
    Ok(Outcome { name: "neighbours", figures, violations })
}

/// A project with agents; where to send messages of each of its sessions.
async fn paths(client: &Client, agents: usize, sessions: usize) -> Result<Vec<String>> {
    let project = format!("/my/projects/{}", super::project(client, "neighbours").await?);
    for number in 0..agents {
        let model = format!("scripted/{NAME}");
        let agent = json!({ "name": format!("a{number}"), "model": model, "concurrency_limit": 3 });
        client.post(&format!("{project}/agents/"), &agent).await?.success()?;
    }
    let mut paths = Vec::new();
    for _ in 0..sessions {
        let made = client.post(&format!("{project}/chat/sessions/"), &json!({})).await?;
        paths.push(format!("{project}/chat/{}/message/", made.id()?));
    }
    Ok(paths)
}

/// How long single tasks take, one after the other.
async fn singles(client: &Client, path: &str) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..SINGLE {
        let begin = Instant::now();
        let body = json!({ "content": "x", "target_agent": "a0" });
        let answer = client.post(path, &body).await?.success()?;
        ensure!(answer["success"] == true, "{answer}");
        times.push(begin.elapsed());
    }
    Ok(times)
}
