//! A tool on the user's machine: a file read by a client on the same machine, from the call to its result, beside what
//! the disk takes to sync; and what it costs the server and the client.
//!
//! A call is durable twice: when it is sent to the client, and with its result.

mod open;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use artel_testkit::client::Client;
use artel_testkit::postgres;
use artel_testkit::process::Process;
use artel_testkit::server::Artel;
use serde_json::json;

use crate::append::bare::Sync;
use crate::place::{self, Place};
use crate::report::{Goal, Report, Row};
use crate::usage::{cpu, median, median_micros};
use crate::wire::{self, Connection};

const ROUNDS: usize = 5;
/// Calls of a round; many, as the kernel shows CPU time in hundredths of a second.
const CALLS: usize = 500;
const SYNCS: usize = 200;
/// What a call may take beside the disk, in microseconds.
const GOAL: f64 = 1000.0;
/// How long a client may take to be there.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let server = place.server("tools").start()?;
    calls(place, &server, &place.at("tools"), "SQLite", report)?;
    drop(server);
    if std::env::var(postgres::SHARED).is_err() {
        report.skip("tool call, PostgreSQL", "ARTEL_TEST_POSTGRES_URL is not set");
    } else {
        let database = postgres::database()?;
        let server = place.server("tools-postgres").database(database.url()).start()?;
        // The database of a run keeps its files among the temporary ones.
        calls(place, &server, &std::env::temp_dir(), "PostgreSQL", report)?;
    }
    open::measure(&place.at("tools-open"), report)
}

/// What a round gives; times in microseconds.
struct Round {
    server: f64,
    client: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    synced: f64,
}

/// Reads a file again and again; `disk` is a folder on the disk of the database.
fn calls(
    place: &Place,
    server: &Artel,
    disk: &Path,
    name: &str,
    report: &mut Report,
) -> Result<()> {
    let workspace = place.at("tools-workspace");
    std::fs::create_dir_all(&workspace)?;
    std::fs::write(workspace.join("notes.txt"), "the door is green\n")?;
    let probe = tempfile::Builder::new().prefix("artel-bench-").tempfile_in(disk)?;
    let mut sync = Sync::open(probe.path())?;
    let (runtime, user) = (place::clients()?, server.client("bench")?);
    let project = runtime.block_on(project(&user))?;
    let client = start(place, server, &user, &project, &workspace)?;
    let mut rounds = Vec::new();
    runtime.block_on(async {
        present(&user, &project).await?;
        let address = wire::address(server.url())?;
        let body = json!({ "tool_name": "tool_read_file", "tool_params": { "path": "notes.txt" } });
        let path = format!("/my/projects/{project}/tools/execute?wait=10");
        let request = wire::request("POST", &path, address, user.token(), &body.to_string());
        let mut connection = Connection::open(address).await?;
        // The first warms up.
        for _ in 0..=ROUNDS {
            let synced = median_micros(&sync.writes(SYNCS)?);
            let before = (cpu(server.pid()?)?, cpu(client.pid())?);
            let mut spans = Vec::with_capacity(CALLS);
            for _ in 0..CALLS {
                let start = Instant::now();
                connection.exchange(&request).await?;
                spans.push(start.elapsed());
            }
            let used = |now: f64, before: f64| (now - before) / CALLS as f64;
            let (server, client) =
                (used(cpu(server.pid()?)?, before.0), used(cpu(client.pid())?, before.1));
            spans.sort_unstable();
            let [p50, p95, p99] =
                [50, 95, 99].map(|share| spans[CALLS * share / 100].as_secs_f64() * 1e6);
            rounds.push(Round { server, client, p50, p95, p99, synced });
        }
        all_succeeded(&user, &project).await
    })?;
    rounds.remove(0);
    tell(report, name, &rounds);
    Ok(())
}

fn tell(report: &mut Report, database: &str, rounds: &[Round]) {
    let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
    let beside = |figure: fn(&Round) -> f64, peer: fn(&Round) -> f64| {
        (of(peer), median(rounds.iter().map(|round| figure(round) / peer(round))))
    };
    let name = |what: &str| format!("tool call, {what}, {database}");
    let p50 = || Row::new(name("p50"), of(|round| round.p50), "µs");
    let (peer, ratio) = beside(|round| round.p50, |round| GOAL + 2.0 * round.synced);
    report.add(p50().beside("1 ms + 2 × fdatasync", peer, ratio).goal(Goal::RatioAtMost(1.0)));
    let (peer, ratio) = beside(|round| round.p50, |round| GOAL + round.synced);
    report.add(p50().beside("1 ms + fdatasync", peer, ratio));
    for (what, figure) in
        [("p95", (|round| round.p95) as fn(&Round) -> f64), ("p99", |round| round.p99)]
    {
        let (synced, ratio) = beside(figure, |round| round.synced);
        report.add(Row::new(name(what), of(figure), "µs").beside(
            "fdatasync of 4 KiB",
            synced,
            ratio,
        ));
    }
    report.add(Row::new(name("CPU of the server"), of(|round| round.server), "µs"));
    report.add(Row::new(name("CPU of the client"), of(|round| round.client), "µs"));
}

async fn project(user: &Client) -> Result<String> {
    let body = json!({ "name": "bench", "starter_pack": "none" });
    Ok(user.post("/my/projects", &body).await?.id()?.to_owned())
}

/// The client as a user starts it.
fn start(
    place: &Place,
    server: &Artel,
    user: &Client,
    project: &str,
    workspace: &Path,
) -> Result<Process> {
    let mut command = Command::new(place.artel());
    command
        .args(["client", "--project", project, "--workspace"])
        .arg(workspace)
        .env_clear()
        .env("PATH", std::env::var("PATH")?)
        .env("ARTEL_SERVER", server.url())
        .env("ARTEL_TOKEN", user.token())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Process::spawn(&mut command)
}

/// Waits until the client is there.
async fn present(user: &Client, project: &str) -> Result<()> {
    let (path, begin) = (format!("/my/projects/{project}/client"), Instant::now());
    while user.get(&path).await?.status != 200 {
        ensure!(begin.elapsed() < PATIENCE, "no client after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// A call that failed is answered well and soon, and would be a fine figure.
async fn all_succeeded(user: &Client, project: &str) -> Result<()> {
    let path = format!("/my/projects/{project}/tools?limit=1&status=succeeded");
    let succeeded = user.get(&path).await?.success()?["total"].as_u64();
    let succeeded = succeeded.context("a list has a total")?;
    let calls = (ROUNDS + 1) * CALLS;
    ensure!(succeeded == calls as u64, "{succeeded} of {calls} calls succeeded");
    Ok(())
}
