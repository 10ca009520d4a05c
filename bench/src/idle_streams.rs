//! What a stream costs while it has nothing to say: memory of the server at 5,000 of them, beside plain axum.
//!
//! Looked at after every stream has had a sign of life, as that is the state streams are in for most of their
//! lives. The kernel's own buffers are not counted, on either side.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::peer::Peer;
use crate::place::{self, Place, Project};
use crate::report::{Goal, Report, Row};
use crate::usage::memory;
use crate::wire::{self, Connection};

const USERS: usize = 5;
const EACH: usize = 1000;
const GOAL: f64 = 10.0;
/// Signs of life come every 15 seconds on both sides.
const PULSE: Duration = Duration::from_secs(17);
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let runtime = place::clients()?;
    let ours = {
        let artel = place.server("idle-streams").start()?;
        runtime.block_on(async {
            let address = wire::address(artel.url())?;
            let mut requests = Vec::new();
            for user in 0..USERS {
                let client = artel.client(&format!("user{user}"))?;
                let project = Project::make(&client).await?;
                requests.push(wire::request("GET", &project.events(), address, client.token(), ""));
            }
            per_stream(artel.pid()?, address, &requests).await
        })?
    };
    let theirs = {
        let peer = Peer::start()?;
        let request = wire::request("GET", "/events", peer.address, "", "");
        runtime.block_on(per_stream(peer.pid(), peer.address, &[request]))?
    };
    let name = format!("idle stream at {}, memory", USERS * EACH);
    report.add(
        Row::new(name, ours, "KiB")
            .beside("plain axum", theirs, ours / theirs)
            .goal(Goal::AtMost(GOAL)),
    );
    Ok(())
}

/// KiB per stream, when all are open.
async fn per_stream(pid: u32, address: SocketAddr, requests: &[Vec<u8>]) -> Result<f64> {
    // The first ones pay for what all share, such as connections to the database.
    let mut open = Vec::new();
    for request in requests {
        let mut connection = Connection::open(address).await?;
        connection.stream(request).await?;
        open.push(connection);
    }
    sleep(SETTLE).await;
    let before = memory(pid)?;
    let first = open.len();
    for number in 0..USERS * EACH - first {
        let mut connection = Connection::open(address).await?;
        connection.stream(&requests[number % requests.len()]).await?;
        open.push(connection);
    }
    sleep(PULSE).await;
    Ok((memory(pid)? - before) / (open.len() - first) as f64)
}
