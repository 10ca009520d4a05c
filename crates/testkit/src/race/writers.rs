//! Many writers at once: every request is answered well, and nothing in the log says otherwise.

use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;
use serde_json::json;
use tokio::task::JoinSet;

use super::{Outcome, per_second, percentile, project, runtime};
use crate::client::Client;
use crate::crash::workload::{agents, new_agent};
use crate::server::Artel;

const PROJECTS: usize = 8;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub writers: usize,
    pub time: Duration,
    pub seed: u64,
}

pub fn run(artel: &Artel, options: Options) -> Result<Outcome> {
    let (mut times, mut violations) =
        runtime()?.block_on(race(&artel.client("writers")?, options))?;
    // The words SQLite uses when a writer did not wait its turn.
    let log = artel.log();
    for words in ["database is locked", "database table is locked", "SQLITE_BUSY"] {
        if log.contains(words) {
            violations.push(format!("the log says {words:?}"));
        }
    }
    let count = times.len();
    let figures = format!(
        "{} writers for {:.0} s: {count} writes ({}/s), p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
        options.writers,
        options.time.as_secs_f64(),
        per_second(count as u64, options.time),
        millis(percentile(&mut times, 50)),
        millis(percentile(&mut times, 99)),
        millis(percentile(&mut times, 100)),
    );
    Ok(Outcome { name: "writers", figures, violations })
}

async fn race(client: &Client, options: Options) -> Result<(Vec<Duration>, Vec<String>)> {
    let mut projects = Vec::new();
    for number in 0..PROJECTS {
        projects.push(project(client, &format!("writers-{number}")).await?);
    }
    let end = Instant::now() + options.time;
    let mut tasks = JoinSet::new();
    for number in 0..options.writers {
        let project = projects[number % PROJECTS].clone();
        let rng = Rng::with_seed(options.seed.wrapping_add(number as u64));
        tasks.spawn(write(client.clone(), project, number, rng, end));
    }
    let (mut times, mut violations) = (Vec::new(), Vec::new());
    while let Some(task) = tasks.join_next().await {
        let (mut own, result) = task?;
        times.append(&mut own);
        if let Err(error) = result {
            violations.push(format!("{error:#}"));
        }
    }
    Ok((times, violations))
}

/// Creates, updates and deletes agents of its own until the end; stops at the first bad answer.
async fn write(
    client: Client,
    project: String,
    number: usize,
    mut rng: Rng,
    end: Instant,
) -> (Vec<Duration>, Result<()>) {
    let mut times = Vec::new();
    let result = async {
        let (path, mut agent) = (agents(&project), None);
        for round in 0_u64.. {
            let begin = Instant::now();
            if begin >= end {
                break;
            }
            match &agent {
                None => {
                    let body = new_agent(&format!("w{number}-{round}"));
                    let made = client.post(&path, &body).await?.success()?;
                    agent = made["id"].as_str().map(|id| format!("{path}{id}"));
                }
                Some(own) if rng.u32(0..10) == 0 => {
                    client.delete(own).await?.success()?;
                    agent = None;
                }
                Some(own) => {
                    let body = json!({ "config": { "temperature": rng.u32(0..20) / 10 } });
                    client.patch(own, &body).await?.success()?;
                }
            }
            times.push(begin.elapsed());
        }
        Ok(())
    }
    .await;
    (times, result)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
