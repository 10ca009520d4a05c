//! What a space costs while nobody uses it, and how long the first request for it takes.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::sleep;

use crate::place::{self, Place, Project};
use crate::report::{Report, Row};
use crate::usage::{median_micros, memory};
use crate::wire::{self, Connection};

const SPACES: usize = 2000;
/// Opened before it is measured, as they pay for what all share.
const FIRST: usize = 50;
const SETTLE: Duration = Duration::from_secs(1);

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let builder = place.server("idle-spaces").env("ARTEL_MAX_PROJECTS", "10000");
    let mut artel = builder.start()?;
    let runtime = place::clients()?;
    let client = artel.client("bench")?;
    let projects = runtime.block_on(async {
        let mut ids = Vec::with_capacity(SPACES);
        for _ in 0..SPACES {
            ids.push(Project::make(&client).await?.id);
        }
        anyhow::Ok(ids)
    })?;
    // A project is made with its space open; after this all are closed.
    artel.restart()?;
    let (pid, address) = (artel.pid()?, wire::address(artel.url())?);
    let token = artel.client("bench")?.token().to_owned();
    let (bytes, spans) = runtime.block_on(async {
        let mut connection = Connection::open(address).await?;
        let (mut before, mut spans) = (0.0, Vec::new());
        for (number, project) in projects.iter().enumerate() {
            if number == FIRST {
                sleep(SETTLE).await;
                before = memory(pid)?;
            }
            let path = format!("/my/projects/{project}/space");
            let request = wire::request("GET", &path, address, &token, "");
            let start = Instant::now();
            connection.exchange(&request).await?;
            spans.push(start.elapsed());
        }
        sleep(SETTLE).await;
        anyhow::Ok(((memory(pid)? - before) * 1024.0 / (SPACES - FIRST) as f64, spans))
    })?;
    report.add(Row::new(format!("idle space of four agents, at {SPACES}"), bytes, "bytes"));
    report.add(Row::new("first request for a space", median_micros(&spans[FIRST..]), "µs"));
    Ok(())
}
