//! The crash harness: kill the server again and again, and check that no promise broke.
//!
//! Clients work over HTTP and write a history (`history`), readers follow event streams
//! (`reader`), and the server is killed under them: at random moments, or exactly at its N-th
//! fsync. In the end `state` asks the server what there is and `check` compares. A power failure
//! is not covered: what the kernel was given survives a killed process.

pub mod check;
pub mod facts;
pub mod history;
mod kill;
pub mod reader;
mod report;
pub mod state;
pub mod workload;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

pub use check::{Kind, Violation};
pub use report::Report;

use check::Doubt;
use facts::Facts;
use history::History;
use reader::Followed;
use state::State;
use workload::{Shared, Worker};

use crate::client::Client;
use crate::postgres;
use crate::server::Artel;

/// How long the workers and readers may take to come to an end when nobody disturbs them.
const DRAIN_LIMIT: Duration = Duration::from_mins(2);
const ARENAS: usize = 2;
const READERS: usize = 2;

/// Which store is under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    Sqlite,
    Postgres,
}

/// When the server dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// 10 to 500 ms after it is ready; now and then while it starts.
    Random,
    /// On entering its N-th fsync, N = 1, 2, 3, …; SQLite only, as there the server itself syncs.
    Fsync,
}

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    Server,
    /// The server or the database, by chance.
    ServerOrDatabase,
}

/// One run.
#[derive(Debug, Clone)]
pub struct Options {
    pub artel: PathBuf,
    pub kills: u32,
    pub store: Store,
    pub at: At,
    pub victim: Victim,
    pub seed: u64,
    pub writers: usize,
    /// Hears how far the run is.
    pub progress: fn(&str),
}

impl Options {
    pub fn new(artel: impl Into<PathBuf>, store: Store) -> Self {
        Self {
            artel: artel.into(),
            kills: 50,
            store,
            at: At::Random,
            victim: Victim::Server,
            seed: 1,
            writers: 8,
            progress: |_| {},
        }
    }
}

/// Runs it; broken promises are in the report, an error means that the run itself failed.
pub fn run(options: &Options) -> Result<Report> {
    let folder = tempfile::Builder::new().prefix("artel-crash-").tempdir()?;
    let result = run_in(options, folder.path());
    // What went wrong is to be looked at.
    if !result.as_ref().is_ok_and(Report::is_clean) {
        let kept = folder.keep();
        (options.progress)(&format!("kept: {}", kept.display()));
    }
    result
}

fn run_in(options: &Options, folder: &Path) -> Result<Report> {
    let begin = Instant::now();
    let database = match options.store {
        Store::Sqlite => None,
        Store::Postgres => Some(postgres::Database::alone()?),
    };
    let mut builder = Artel::new(&options.artel).stable_port()?;
    if let Some(database) = &database {
        builder = builder.database(database.url());
    }
    let mut report = Report::default();
    if options.at == At::Fsync {
        kill::fresh_starts(&builder, folder, options, &mut report)?;
    }
    let artel = builder.clone().data_dir(folder.join("data")).start()?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let client = artel.client("crash")?;
    let arenas = runtime.block_on(arenas(&client))?;
    let shared = Arc::new(Shared {
        history: History::create(&folder.join("history.jsonl"))?,
        arenas,
        finish: AtomicBool::new(false),
    });
    let crew = Crew::start(&runtime, &client, &shared, options)?;
    let mut killer = kill::Killer { artel, database, options, rng: Rng::with_seed(options.seed) };
    let killed = killer.run(&runtime, &client, &mut report);
    shared.finish.store(true, Ordering::Relaxed);
    if killed.is_err() || !report.is_clean() {
        return killed.map(|()| report);
    }
    let followed = runtime.block_on(crew.end(&client, &shared, &mut report))?;
    let facts = Facts::of(&History::load(shared.history.path())?);
    (options.progress)(&format!("checking {} acknowledged operations", facts.counts.acknowledged));
    let state = runtime
        .block_on(State::gather(&client, &facts))
        .with_context(|| killer.artel.log_tail())?;
    let doubt = match options.store {
        Store::Sqlite => Doubt::Ends,
        Store::Postgres => Doubt::Lasts,
    };
    report.violations.extend(check::check(&facts, &state, &followed, &shared.arenas, doubt));
    report.count(&facts, &state, &followed);
    report.elapsed = begin.elapsed();
    Ok(report)
}

/// The projects that everyone works in; made while nothing is killed.
async fn arenas(client: &Client) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for number in 0..ARENAS {
        let body = json!({ "name": format!("arena-{number}"), "starter_pack": "none" });
        ids.push(client.post("/my/projects/", &body).await?.id()?.to_owned());
    }
    Ok(ids)
}

/// Workers and readers.
struct Crew {
    workers: Vec<JoinHandle<Result<()>>>,
    readers: Vec<JoinHandle<Result<Followed>>>,
}

impl Crew {
    fn start(
        runtime: &Runtime,
        client: &Client,
        shared: &Arc<Shared>,
        options: &Options,
    ) -> Result<Self> {
        let mut crew = Self { workers: Vec::new(), readers: Vec::new() };
        for number in 0..options.writers {
            let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
            let worker = Worker::new(number, client.apart()?, Arc::clone(shared), seed);
            crew.workers.push(runtime.spawn(worker.run()));
        }
        for number in 0..READERS {
            let project = shared.arenas[number % ARENAS].clone();
            crew.readers.push(runtime.spawn(reader::follow(client.apart()?, project)));
        }
        Ok(crew)
    }

    /// Lets the workers finish what is in flight, then the readers reach the end of the logs.
    async fn end(
        self,
        client: &Client,
        shared: &Shared,
        report: &mut Report,
    ) -> Result<Vec<Followed>> {
        for worker in self.workers {
            match tokio::time::timeout(DRAIN_LIMIT, worker).await.context("a worker hangs")?? {
                Ok(()) => {}
                Err(error) => report.violate(Kind::Recovery, format!("{error:#}")),
            }
        }
        for arena in &shared.arenas {
            state::mark(client, arena).await?;
        }
        let mut followed = Vec::new();
        for reader in self.readers {
            match tokio::time::timeout(DRAIN_LIMIT, reader).await {
                Ok(reader) => match reader? {
                    Ok(reader) => followed.push(reader),
                    Err(error) => report.violate(Kind::Gap, format!("{error:#}")),
                },
                Err(_) => report.violate(Kind::Lost, "a reader never saw the end".to_owned()),
            }
        }
        Ok(followed)
    }
}
