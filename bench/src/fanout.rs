//! An event to 500 listeners: CPU of the server per delivery, beside plain axum.
//!
//! Ours are made by changing an agent, which is a durable commit; the peer's by posting the same payload. What
//! making them costs is measured first, without listeners, and taken off on both sides, so that what is left is
//! the delivery. Every listener checks that it got every event once and in order.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use artel_domain::event::{AgentChange, AgentStatusChanged};
use artel_domain::{AgentId, AgentStatus};
use artel_testkit::client::Client;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::listener::follow;
use crate::peer::Peer;
use crate::place::{self, Place, Project};
use crate::report::{Goal, Report, Row};
use crate::usage::{cpu, median};
use crate::wire::{self, Connection};

const LISTENERS: usize = 500;
const EVENTS: u64 = 200;
const ROUNDS: usize = 5;
const GOAL: f64 = 0.7;
/// Between two events when they are paced; long enough for two cores to deliver each before the next, on both sides.
const PACE: Duration = Duration::from_millis(10);
/// Until a server is done with what it was just given, such as connections that were closed.
const SETTLE: Duration = Duration::from_millis(300);

/// How the events come.
#[derive(Debug, Clone, Copy)]
enum Rhythm {
    Paced,
    Burst,
}

/// A server, and what to send to it.
struct Side {
    pid: u32,
    address: SocketAddr,
    publish: Vec<u8>,
    listen: Vec<u8>,
}

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let artel = place.server("fanout").start()?;
    let peer = Peer::start()?;
    place::clients()?.block_on(async {
        let client = artel.client("bench")?;
        let project = Project::make(&client).await?;
        let address = wire::address(artel.url())?;
        let ours = ours(artel.pid()?, address, &client, &project)?;
        let theirs = theirs(&peer, &project)?;
        for rhythm in [Rhythm::Paced, Rhythm::Burst] {
            let mut costs = Vec::new();
            for _ in 0..ROUNDS {
                costs.push((delivery(&ours, rhythm).await?, delivery(&theirs, rhythm).await?));
            }
            let name = match rhythm {
                Rhythm::Paced => {
                    format!("event to {LISTENERS} listeners, {} apart, CPU", millis(PACE))
                }
                Rhythm::Burst => format!("event to {LISTENERS} listeners, {EVENTS} at once, CPU"),
            };
            let ratio = median(costs.iter().map(|(ours, theirs)| ours / theirs));
            let (ours, theirs) =
                (median(costs.iter().map(|cost| cost.0)), median(costs.iter().map(|cost| cost.1)));
            report.add(
                Row::new(name, ours, "µs each")
                    .beside("plain axum", theirs, ratio)
                    .goal(Goal::RatioAtMost(GOAL)),
            );
        }
        Ok(())
    })
}

fn ours(pid: u32, address: SocketAddr, client: &Client, project: &Project) -> Result<Side> {
    let change = r#"{"temperature":0.5}"#;
    Ok(Side {
        pid,
        address,
        publish: wire::request("PATCH", &project.agent()?, address, client.token(), change),
        listen: wire::request("GET", &project.events(), address, client.token(), ""),
    })
}

fn theirs(peer: &Peer, project: &Project) -> Result<Side> {
    let agent = &project.agents[0];
    let text = |field: &str| agent[field].as_str().context("agents have ids and names");
    let payload = AgentStatusChanged {
        agent_id: text("id")?.parse::<AgentId>()?,
        name: text("name")?.to_owned(),
        status: AgentStatus::Ready,
        change: AgentChange::Updated,
    };
    let payload = serde_json::to_string(&payload)?;
    Ok(Side {
        pid: peer.pid(),
        address: peer.address,
        publish: wire::request("POST", "/publish", peer.address, "", &payload),
        listen: wire::request("GET", "/events", peer.address, "", ""),
    })
}

/// What one delivery costs the server, in microseconds of CPU.
async fn delivery(side: &Side, rhythm: Rhythm) -> Result<f64> {
    sleep(SETTLE).await;
    let before = cpu(side.pid)?;
    publish(side, rhythm).await?;
    sleep(SETTLE).await;
    let making = cpu(side.pid)? - before;

    let mut connections = Vec::with_capacity(LISTENERS);
    for _ in 0..LISTENERS {
        let mut connection = Connection::open(side.address).await?;
        connection.stream(&side.listen).await?;
        connections.push(connection);
    }
    let listeners = spawn_blocking(|| follow(connections, EVENTS));
    sleep(SETTLE).await;
    let before = cpu(side.pid)?;
    publish(side, rhythm).await?;
    // Kept open until the clock is read: closing costs the server too.
    let _open = listeners.await??;
    sleep(SETTLE).await;
    let both = cpu(side.pid)? - before;
    Ok((both - making) / (EVENTS as f64 * LISTENERS as f64))
}

async fn publish(side: &Side, rhythm: Rhythm) -> Result<()> {
    match rhythm {
        Rhythm::Paced => {
            let mut connection = Connection::open(side.address).await?;
            let mut pace = interval(PACE);
            // One that comes late is not followed by another at once: who has to deliver two together has it easier.
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            for _ in 0..EVENTS {
                pace.tick().await;
                connection.exchange(&side.publish).await?;
            }
        }
        Rhythm::Burst => {
            let mut at_once = JoinSet::new();
            for _ in 0..EVENTS {
                let (mut connection, request) =
                    (Connection::open(side.address).await?, side.publish.clone());
                at_once.spawn(async move { connection.exchange(&request).await });
            }
            while let Some(sent) = at_once.join_next().await {
                sent??;
            }
        }
    }
    Ok(())
}

fn millis(span: Duration) -> String {
    format!("{} ms", span.as_millis())
}
