//! The killer: when and how the server dies, and whether it comes back in time.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;
use reqwest::StatusCode;
use tokio::runtime::Runtime;

use super::check::Kind;
use super::report::Report;
use super::{At, Options, Victim};
use crate::client::Client;
use crate::postgres;
use crate::server::{Artel, Builder};

/// `/ready` must answer 200 within this time of a start.
const READY_LIMIT: Duration = Duration::from_secs(10);
/// How long a server under strace may live before the cycle is given up.
const FSYNC_LIMIT: Duration = Duration::from_secs(10);
/// A fresh start has fewer fsyncs than this.
const FRESH_STARTS: u32 = 30;
const POLL: Duration = Duration::from_millis(2);

pub(super) struct Killer<'a> {
    pub(super) artel: Artel,
    pub(super) database: Option<postgres::Database>,
    pub(super) options: &'a Options,
    pub(super) rng: Rng,
}

impl Killer<'_> {
    /// All cycles; leaves the server running. Ends early when it does not come back.
    pub(super) fn run(
        &mut self,
        runtime: &Runtime,
        client: &Client,
        report: &mut Report,
    ) -> Result<()> {
        for cycle in 1..=self.options.kills {
            match self.options.at {
                At::Random => self.random(report)?,
                At::Fsync => self.fsync(cycle, report)?,
            }
            // Whoever dies without being killed has failed, too.
            if let Ok(Some(status)) = self.artel.ended() {
                let text = format!("after {cycle} kills it ended by itself: {status}");
                report.violate(Kind::Recovery, format!("{text}\n{}", self.artel.log_tail()));
                return Ok(());
            }
            let start = Instant::now();
            if !self.artel.runs()
                && let Err(error) = self.artel.restart()
            {
                report.violate(Kind::Recovery, format!("after {cycle} kills: {error:#}"));
                return Ok(());
            }
            if !runtime.block_on(ready(client)) {
                let text = format!("after {cycle} kills: not ready within {READY_LIMIT:?}");
                report.violate(Kind::Recovery, format!("{text}\n{}", self.artel.log_tail()));
                return Ok(());
            }
            report.slowest_start = report.slowest_start.max(start.elapsed());
            if cycle % 50 == 0 {
                (self.options.progress)(&format!("{cycle} of {} cycles", self.options.kills));
            }
        }
        Ok(())
    }

    fn random(&mut self, report: &mut Report) -> Result<()> {
        thread::sleep(Duration::from_millis(self.rng.u64(10..500)));
        if let Some(database) = self.database.as_mut().and_then(postgres::Database::server)
            && self.options.victim == Victim::ServerOrDatabase
            && self.rng.bool()
        {
            database.restart()?;
            report.database_kills += 1;
            return Ok(());
        }
        self.artel.kill()?;
        report.kills += 1;
        // Now and then it dies again before it has recovered from the last time.
        while self.rng.u32(0..8) == 0 {
            self.artel.stumble(Duration::from_millis(self.rng.u64(1..80)))?;
            report.kills_at_start += 1;
        }
        Ok(())
    }

    fn fsync(&mut self, number: u32, report: &mut Report) -> Result<()> {
        // A moment of life without strace, so that clients settle what is in doubt.
        thread::sleep(Duration::from_millis(self.rng.u64(10..100)));
        self.artel.kill()?;
        match die_at_fsync(&mut self.artel, number)? {
            Death::Serving => report.kills += 1,
            Death::Starting => report.kills_at_start += 1,
            Death::Missed => report.missed += 1,
        }
        Ok(())
    }
}

/// Kills a first start at each of its fsyncs, each time on an empty folder; the second must do.
pub(super) fn fresh_starts(
    builder: &Builder,
    folder: &Path,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    for number in 1..=options.kills.min(FRESH_STARTS) {
        let data = folder.join(format!("fresh-{number}"));
        let mut artel = builder.clone().data_dir(&data).prepare()?;
        let death = die_at_fsync(&mut artel, number)?;
        if let Err(error) = artel.restart() {
            let text = format!("first start killed at fsync {number}: {error:#}");
            report.violate(Kind::Recovery, text);
        }
        artel.kill()?;
        match death {
            Death::Starting => report.kills_at_start += 1,
            // It came to serve: its start has no more fsyncs.
            Death::Serving | Death::Missed => break,
        }
    }
    Ok(())
}

enum Death {
    Serving,
    Starting,
    Missed,
}

/// Starts it so that it dies on entering the N-th fsync of any of its threads. Leaves it dead.
fn die_at_fsync(artel: &mut Artel, number: u32) -> Result<Death> {
    let inject = format!("inject=fsync,fdatasync:signal=KILL:when={number}");
    // -D keeps the server, not strace, our child. Without `trace` nothing would be injected.
    let strace = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "signal=none"];
    let what = ["-e", "trace=fsync,fdatasync", "-e", inject.as_str()];
    let start = Instant::now();
    artel.under(&[&strace[..], &what[..]].concat());
    let started = artel.restart();
    artel.under(&[]);
    if let Err(error) = started {
        // Dead before it listened, unless it was something else.
        return if start.elapsed() < FSYNC_LIMIT { Ok(Death::Starting) } else { Err(error) };
    }
    let mut death = Death::Missed;
    while start.elapsed() < FSYNC_LIMIT {
        if artel.ended()?.is_some() {
            death = Death::Serving;
            break;
        }
        thread::sleep(POLL);
    }
    artel.kill()?;
    Ok(death)
}

/// Whether `/ready` says 200 in time.
async fn ready(client: &Client) -> bool {
    let asked = async {
        while !client.get("/ready").await.is_ok_and(|answer| answer.status == StatusCode::OK) {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(READY_LIMIT, asked).await.is_ok()
}
