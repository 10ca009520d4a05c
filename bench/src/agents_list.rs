//! A list of four agents over HTTP: with a token, through every layer, out of the database.

use std::time::Instant;

use anyhow::Result;
use artel_testkit::client::Client;
use artel_testkit::server::Artel;
use tokio::task::JoinSet;

use crate::place::{self, Place, Project};
use crate::report::{Goal, Report, Row};
use crate::usage::{cpu, median};
use crate::wire::{self, Connection};

const CONNECTIONS: usize = 16;
const ROUNDS: usize = 5;
/// Requests of each connection in a round.
const REQUESTS: usize = 1000;
const PER_CORE: f64 = 5000.0;

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let artel = place.server("agents-list").start()?;
    let runtime = place::clients()?;
    let rounds = runtime.block_on(rounds(&artel, &artel.client("bench")?))?;
    let per_second = median(rounds.iter().map(|round| round.per_second));
    let cost = median(rounds.iter().map(|round| round.cpu_micros));
    report.add(Row::new("agents list, all cores and the client", per_second, "/s"));
    report.add(Row::new("agents list, CPU of the server", cost, "µs"));
    report.add(Row::new("agents list, per core", 1e6 / cost, "/s").goal(Goal::AtLeast(PER_CORE)));
    Ok(())
}

struct Round {
    per_second: f64,
    cpu_micros: f64,
}

async fn rounds(artel: &Artel, client: &Client) -> Result<Vec<Round>> {
    let project = Project::make(client).await?;
    let address = wire::address(artel.url())?;
    let path = format!("/my/projects/{}/agents/", project.id);
    let request = wire::request("GET", &path, address, client.token(), "");
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(address).await?);
    }
    let mut rounds = Vec::new();
    // The first warms up: connections to the database are opened, statements prepared, accounts remembered.
    for _ in 0..=ROUNDS {
        let (before, start) = (cpu(artel.pid()?)?, Instant::now());
        let mut tasks = JoinSet::new();
        for mut connection in connections.drain(..) {
            let request = request.clone();
            tasks.spawn(async move {
                for _ in 0..REQUESTS {
                    connection.exchange(&request).await?;
                }
                anyhow::Ok(connection)
            });
        }
        while let Some(done) = tasks.join_next().await {
            connections.push(done??);
        }
        let took = start.elapsed().as_secs_f64();
        let used = cpu(artel.pid()?)? - before;
        let requests = (CONNECTIONS * REQUESTS) as f64;
        rounds.push(Round { per_second: requests / took, cpu_micros: used / requests });
    }
    rounds.remove(0);
    Ok(rounds)
}
