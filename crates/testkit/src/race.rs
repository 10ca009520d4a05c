//! Races: many at once on one living server, and what each may expect of it.
//!
//! Every scenario gets a running server and returns an [`Outcome`]: figures to print, and the
//! promises that broke. `streams` is about resuming event streams under concurrent writers,
//! `writers` about writers alone, `shutdown` about SIGTERM in full swing, `stalled` about readers
//! that do not read, `neighbours` about one user's load on another.

pub mod neighbours;
pub mod shutdown;
pub mod stalled;
pub mod streams;
pub mod writers;

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fastrand::Rng;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::client::{Answer, Client};
use crate::crash::Store;
use crate::crash::workload::{agents, new_agent};
use crate::postgres;
use crate::process::raise_open_files;
use crate::server::Artel;

/// How long anything may take that should take no time.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);
/// Before something is asked for again, in milliseconds.
const PAUSE: Range<u64> = 5..50;

/// What a scenario came to.
#[derive(Debug)]
pub struct Outcome {
    pub name: &'static str,
    pub figures: String,
    pub violations: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}; violations {}", self.name, self.figures, self.violations.len())?;
        self.violations.iter().try_for_each(|violation| writeln!(f, "  {violation}"))
    }
}

/// A server to race on, with its database when that is not its own.
#[derive(Debug)]
pub struct Ground {
    pub artel: Artel,
    // Dropped after the server.
    _database: Option<postgres::Database>,
    _folder: TempDir,
}

impl Ground {
    /// Starts it with the given variables besides the usual ones.
    pub fn open(binary: &Path, store: Store, environment: &[(&str, &str)]) -> Result<Self> {
        // Thousands of connections; the child inherits the limit.
        raise_open_files(16_384)?;
        let folder = tempfile::Builder::new().prefix("artel-race-").tempdir()?;
        std::fs::create_dir(folder.path().join("scripts"))?;
        let script = folder.path().join(format!("scripts/{}.toml", neighbours::NAME));
        std::fs::write(script, neighbours::SCRIPT)?;
        let start = Artel::new(binary).data_dir(folder.path());
        let mut builder = environment.iter().fold(start, |start, (n, v)| start.env(n, v));
        let database = match store {
            Store::Sqlite => None,
            Store::Postgres => Some(postgres::database()?),
        };
        if let Some(database) = &database {
            builder = builder.database(database.url());
        }
        Ok(Self { artel: builder.start()?, _database: database, _folder: folder })
    }
}

/// A runtime for the clients.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// An empty project.
pub(crate) async fn project(client: &Client, name: &str) -> Result<String> {
    let body = json!({ "name": name, "starter_pack": "none" });
    Ok(client.post("/my/projects/", &body).await?.id()?.to_owned())
}

/// An agent in it; gives the agent's own path.
pub(crate) async fn agent(client: &Client, project: &str, name: &str) -> Result<String> {
    let path = agents(project);
    let answer = client.post(&path, &new_agent(name)).await?;
    Ok(format!("{path}{}", answer.id()?))
}

/// Asks until there is an answer that says yes.
pub(crate) async fn until_done<F: Future<Output = Result<Answer, reqwest::Error>>>(
    rng: &mut Rng,
    mut ask: impl FnMut() -> F,
) -> Result<Answer> {
    let begin = Instant::now();
    loop {
        ensure!(begin.elapsed() < LIMIT, "no answer");
        match ask().await {
            Ok(answer) if answer.status.is_success() => return Ok(answer),
            // Killed, or just started: the same again.
            Ok(answer) if answer.status == 503 => {}
            Ok(answer) => anyhow::bail!("{} {}", answer.status, answer.body),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(PAUSE))).await;
    }
}

/// The smallest value that so many of a hundred do not pass; sorts.
pub(crate) fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}

pub(crate) fn per_second(count: u64, time: Duration) -> u128 {
    u128::from(count) * 1000 / time.as_millis().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_twenty_is_beyond_the_95th() {
        let mut times: Vec<_> = (1..=20).rev().map(Duration::from_secs).collect();
        let at = [50, 95, 99, 100].map(|percent| percentile(&mut times, percent).as_secs());
        assert_eq!(at, [10, 19, 20, 20]);
        assert_eq!(percentile(&mut [], 50), Duration::ZERO);
    }
}
