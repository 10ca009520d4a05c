//! A message to an agent whose model takes no time: what one costs the server and how long it takes, beside what the
//! disk takes to sync; and how many a second 64 at a time get, beside rows that share commits.
//!
//! A message is durable three times: when it is taken, when its task starts, and with its answer.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use artel_testkit::client::Client;
use artel_testkit::server::Artel;
use serde_json::json;
use tokio::task::JoinSet;

use crate::append::{as_the_server, bare};
use crate::place::{self, Place};
use crate::report::{Goal, Report, Row};
use crate::usage::{cpu, median, median_micros};
use crate::wire::{self, Connection};

const ROUNDS: usize = 5;
/// Messages of one client in a round.
const ALONE: usize = 200;
const CLIENTS: usize = 64;
/// Messages of each of many clients in a round.
const TOGETHER: usize = 20;
/// Agents that take the messages of all clients at once, ten each.
const AGENTS: usize = 7;
/// Microseconds of CPU.
const GOAL: f64 = 500.0;

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let folder = place.at("messages");
    std::fs::create_dir_all(folder.join("scripts"))?;
    std::fs::write(folder.join("scripts/echo.toml"), "[[rules]]\ntext = 'You said: {message}'\n")?;
    let artel = place.server("messages").start()?;
    let mut sync = bare::Sync::open(&folder.join("sync"))?;
    let mut group = bare::Sqlite::open(&as_the_server()?, &folder.join("bare.db"))?;
    let runtime = place::clients()?;
    let requests = runtime.block_on(requests(&artel, &artel.client("bench")?))?;
    let mut rounds = Vec::new();
    // The first warms up.
    for _ in 0..=ROUNDS {
        let synced = median_micros(&sync.writes(ALONE)?);
        let mut round = runtime.block_on(alone(&artel, &requests[0]))?;
        round.synced = synced;
        let rate = group.groups(TOGETHER, CLIENTS)?;
        let (drained, cost) = runtime.block_on(together(&artel, &requests))?;
        (round.group_rate, round.drained, round.drain_cpu) = (rate, drained, cost);
        rounds.push(round);
    }
    rounds.remove(0);
    tell(report, &rounds);
    Ok(())
}

/// What a round gives; times in microseconds.
#[derive(Debug, Default)]
struct Round {
    cpu: f64,
    middle: f64,
    slow: f64,
    synced: f64,
    drained: f64,
    drain_cpu: f64,
    group_rate: f64,
}

fn tell(report: &mut Report, rounds: &[Round]) {
    let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
    let synced = of(|round| round.synced);
    report.add(
        Row::new("message, CPU of the server", of(|round| round.cpu), "µs")
            .goal(Goal::AtMost(GOAL)),
    );
    for (name, figure) in [
        ("message, p50", (|round| round.middle) as fn(&Round) -> f64),
        ("message, p99", |round| round.slow),
    ] {
        let ratio = median(rounds.iter().map(|round| figure(round) / round.synced));
        report.add(Row::new(name, of(figure), "µs").beside("fdatasync of 4 KiB", synced, ratio));
    }
    report.add(
        Row::new(format!("messages, {CLIENTS} at a time"), of(|round| round.drained), "/s").beside(
            "rows, as many in a commit",
            of(|round| round.group_rate),
            median(rounds.iter().map(|round| round.drained / round.group_rate)),
        ),
    );
    report.add(
        Row::new(format!("messages, {CLIENTS} at a time, CPU each"), of(|r| r.drain_cpu), "µs")
            .goal(Goal::AtMost(GOAL)),
    );
}

/// A request for each client, in a session of its own.
async fn requests(artel: &Artel, client: &Client) -> Result<Vec<Vec<u8>>> {
    let body = json!({ "name": "bench", "starter_pack": "none" });
    let project = format!("/my/projects/{}", client.post("/my/projects", &body).await?.id()?);
    for number in 0..AGENTS {
        let name = format!("a{number}");
        let agent = json!({ "name": name, "model": "scripted/echo", "concurrency_limit": 10 });
        client.post(&format!("{project}/agents"), &agent).await?.success()?;
    }
    let address = wire::address(artel.url())?;
    let mut requests = Vec::new();
    for number in 0..CLIENTS {
        let made = client.post(&format!("{project}/chat/sessions"), &json!({})).await?;
        let path = format!("{project}/chat/{}/message", made.id()?);
        let agent = format!("a{}", number % AGENTS);
        let body = json!({ "content": "hello", "target_agent": agent }).to_string();
        requests.push(wire::request("POST", &path, address, client.token(), &body));
    }
    Ok(requests)
}

/// One client, which waits for each answer.
async fn alone(artel: &Artel, request: &[u8]) -> Result<Round> {
    let mut connection = Connection::open(wire::address(artel.url())?).await?;
    let before = cpu(artel.pid()?)?;
    let mut spans = Vec::with_capacity(ALONE);
    for _ in 0..ALONE {
        let start = Instant::now();
        connection.exchange(request).await?;
        spans.push(start.elapsed());
    }
    let used = (cpu(artel.pid()?)? - before) / ALONE as f64;
    spans.sort_unstable();
    let at = |share: usize| spans.get(ALONE * share / 100).map(Duration::as_secs_f64);
    let (middle, slow) = at(50).zip(at(99)).context("messages were sent")?;
    Ok(Round { cpu: used, middle: middle * 1e6, slow: slow * 1e6, ..Round::default() })
}

/// Many clients, each of which waits for its own; messages a second, and CPU of each.
async fn together(artel: &Artel, requests: &[Vec<u8>]) -> Result<(f64, f64)> {
    let (address, before) = (wire::address(artel.url())?, cpu(artel.pid()?)?);
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for request in requests {
        let request = request.clone();
        clients.spawn(async move {
            let mut connection = Connection::open(address).await?;
            for _ in 0..TOGETHER {
                connection.exchange(&request).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = clients.join_next().await {
        done??;
    }
    let messages = (requests.len() * TOGETHER) as f64;
    let used = cpu(artel.pid()?)? - before;
    Ok((messages / start.elapsed().as_secs_f64(), used / messages))
}
