//! A message to an agent that is a program: until the program has read it from its standard input, from the request and
//! from the start of its task, beside what the disk takes to sync; and without the server, from the runner ([`runner`]).
//!
//! The program is the echo that comes with the server; told to, it answers with the moment at which it had the line. A
//! task of an idle agent starts as it is made, and nothing is said to a program before that is on disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use artel_domain::Timestamp;
use artel_testkit::client::Client;
use serde_json::{Value, json};

use crate::append::bare::Sync;
use crate::place::{self, Place};
use crate::report::{Goal, Report, Row};
use crate::usage::{median, median_micros};
use crate::wire::{self, Connection};

mod runner;

const ROUNDS: usize = 5;
const MESSAGES: usize = 300;
const SYNCS: usize = 200;
/// What a message may take from the start of its task, in microseconds.
const GOAL: f64 = 1000.0;
const SANDBOXES: [&str; 2] = ["bubblewrap", "none"];

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let echo = place.artel().with_file_name("line-agent");
    if !echo.exists() {
        let why = "line-agent is not beside the server: cargo build --release -p artel-programs";
        report.skip("message to a program", why);
        return Ok(());
    }
    // In a folder of its own: one that holds a server's data is shown to no program.
    let programs = place.at("programs");
    fs::create_dir_all(&programs)?;
    symlink(&echo, programs.join("line-agent"))?;
    let path = format!("{},/usr/local/bin,/usr/bin,/bin", programs.display());
    let server = place.server("stdin").env("ARTEL_AGENT_SANDBOXES", "bubblewrap,none");
    let server = server.env("ARTEL_AGENT_PATH", &path).start()?;
    let (runtime, user) = (place::clients()?, server.client("bench")?);
    let body = json!({ "name": "bench", "starter_pack": "none" });
    let project = runtime.block_on(user.post("/my/projects", &body))?.id()?.to_owned();
    for sandbox in SANDBOXES {
        let agent = runtime.block_on(agent(&user, &project, sandbox))?;
        let address = wire::address(server.url())?;
        let path = format!("/agents/{agent}/message?wait=20");
        let body = json!({ "message": "!when" }).to_string();
        let request = wire::request("POST", &path, address, user.token(), &body);
        let rounds = runtime.block_on(async {
            let mut connection = Connection::open(address).await?;
            rounds(&mut connection, &request, &place.at("stdin")).await
        })?;
        tell(report, sandbox, &rounds);
    }
    drop(server);
    runner::measure(place, &programs, report)
}

/// A program of its own, that runs.
async fn agent(user: &Client, project: &str, sandbox: &str) -> Result<String> {
    let body = json!({ "name": sandbox, "runtime": runtime(sandbox) });
    let made = user.post(&format!("/my/projects/{project}/agents"), &body).await?;
    let agent = made.id()?.to_owned();
    let started = user.post(&format!("/agents/{agent}/start"), &json!({})).await?.success()?;
    ensure!(started["state"] == "RUNNING", "{started}");
    Ok(agent)
}

fn runtime(sandbox: &str) -> Value {
    let protocol = json!({"ready": {"line": "^__READY__$"}, "turn_end": {"line": "^__DONE__$"}});
    json!({
        "kind": "line", "command": ["line-agent"], "sandbox": sandbox, "options": {"protocol": protocol},
    })
}

/// What a round gives, in microseconds.
struct Round {
    /// From the request: the middle, and the slowest hundredth.
    request: [f64; 2],
    /// From the start of the task.
    start: [f64; 2],
    synced: f64,
}

async fn rounds(connection: &mut Connection, request: &[u8], disk: &Path) -> Result<Vec<Round>> {
    let probe = tempfile::Builder::new().prefix("artel-bench-").tempfile_in(disk)?;
    let mut sync = Sync::open(probe.path())?;
    let mut rounds = Vec::new();
    // The first warms up.
    for _ in 0..=ROUNDS {
        let synced = median_micros(&sync.writes(SYNCS)?);
        let (mut requests, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..MESSAGES {
            let sent = now()?;
            let told = connection.answer(request).await?;
            let told: Value = serde_json::from_slice(&told)?;
            let (heard, start) = moments(&told).with_context(|| told.to_string())?;
            requests.push(heard.saturating_sub(sent));
            starts.push(heard.saturating_sub(start));
        }
        rounds.push(Round { request: shares(requests), start: shares(starts), synced });
    }
    rounds.remove(0);
    Ok(rounds)
}

/// When the program had the message, and when its task started; since 1970.
fn moments(told: &Value) -> Result<(Duration, Duration)> {
    let heard = told["answer"]["content"].as_str().context("it answered")?.trim().parse()?;
    let start: Timestamp = serde_json::from_value(told["task"]["started_at"].clone())?;
    Ok((Duration::from_nanos(heard), Duration::from_micros(start.as_micros().try_into()?)))
}

/// The clock that the program reads, too; since 1970.
fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}

/// The middle and the slowest hundredth, by nearest rank.
fn shares(mut spans: Vec<Duration>) -> [f64; 2] {
    spans.sort_unstable();
    [50, 99].map(|share| spans[(spans.len() * share).div_ceil(100) - 1].as_secs_f64() * 1e6)
}

fn tell(report: &mut Report, sandbox: &str, rounds: &[Round]) {
    let synced = median(rounds.iter().map(|round| round.synced));
    let mut add = |name: String, figure: fn(&Round) -> f64, goal: Option<Goal>| {
        let ratio = median(rounds.iter().map(|round| figure(round) / round.synced));
        let row = Row::new(name, median(rounds.iter().map(figure)), "µs");
        let row = row.beside("fdatasync of 4 KiB", synced, ratio);
        report.add(goal.into_iter().fold(row, Row::goal));
    };
    add(format!("request to stdin, p50, {sandbox}"), |round| round.request[0], None);
    add(format!("request to stdin, p99, {sandbox}"), |round| round.request[1], None);
    add(format!("task's start to stdin, p50, {sandbox}"), |round| round.start[0], None);
    let goal = Some(Goal::AtMost(GOAL));
    add(format!("task's start to stdin, p99, {sandbox}"), |round| round.start[1], goal);
}
