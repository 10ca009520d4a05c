//! From nothing to the first answer, and what the server takes up when it has done nothing yet.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use artel_testkit::server::SECRET;

use crate::place::{self, Place, Project};
use crate::report::{Goal, Report, Row};
use crate::usage::{median, memory};
use crate::wire::{self, Connection};

const TIMES: usize = 10;
const SLOWEST: f64 = 150.0;
const LARGEST: f64 = 50.0;
const IDLE: Duration = Duration::from_secs(2);

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let existing = place.at("start-existing");
    fill(place)?;
    let (mut empty, mut used, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for time in 0..TIMES {
        empty.push(start(place, &place.at(&format!("start-{time}")))?.1);
        let (server, took) = start(place, &existing)?;
        used.push(took);
        if time == 0 {
            thread::sleep(IDLE);
            sizes.push(memory(server.child.id())? / 1024.0);
        }
    }
    report
        .add(Row::new("start on an empty folder", median(empty), "ms").goal(Goal::AtMost(SLOWEST)));
    report
        .add(Row::new("start on an existing one", median(used), "ms").goal(Goal::AtMost(SLOWEST)));
    report.add(Row::new("memory when idle", median(sizes), "MiB").goal(Goal::AtMost(LARGEST)));
    Ok(())
}

/// Some data to find at the next start.
fn fill(place: &Place) -> Result<()> {
    let mut artel = place.server("start-existing").start()?;
    place::clients()?.block_on(async {
        let client = artel.client("bench")?;
        for _ in 0..10 {
            Project::make(&client).await?;
        }
        anyhow::Ok(())
    })?;
    artel.terminate()?;
    Ok(())
}

/// A server that is killed on drop. The test kit's looks for its address every few milliseconds, too coarse here.
struct Server {
    child: Child,
    /// Read to the end of the first line; kept, as the server has more to say.
    _said: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, and nobody is left to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server and gives the milliseconds until it said that it is ready.
fn start(place: &Place, data: &Path) -> Result<(Server, f64)> {
    let begin = Instant::now();
    let mut child = Command::new(place.artel())
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data)
        .env_clear()
        .env("ARTEL_JWT_SECRET", SECRET)
        .env("ARTEL_LOG_LEVEL", "warn")
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = BufReader::new(child.stdout.take().context("it was asked for")?);
    let mut line = String::new();
    said.read_line(&mut line)?;
    let server = Server { child, _said: said };
    let (_, url) = line.trim().rsplit_once(' ').context("the server did not start")?;
    let address = wire::address(url)?;
    place::clients()?.block_on(async {
        let request = wire::request("GET", "/ready", address, "", "");
        Connection::open(address).await?.exchange(&request).await
    })?;
    Ok((server, begin.elapsed().as_secs_f64() * 1000.0))
}
