//! Writers to one project while readers of its stream are cut off and resume.
//!
//! Each reader must see 1, 2, 3, … and all the same events, however often it was cut; and there
//! are exactly as many as were acknowledged.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use fastrand::Rng;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{LIMIT, Outcome, agent, per_second, project, runtime};
use crate::client::{Client, Frame};
use crate::crash::reader::{MARKER, Seen};
use crate::crash::workload::events;
use crate::server::Artel;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub writers: usize,
    pub readers: usize,
    /// Updates to acknowledge.
    pub events: u64,
    /// Cuts over all readers.
    pub cuts: u64,
    pub seed: u64,
}

pub fn run(artel: &Artel, options: Options) -> Result<Outcome> {
    runtime()?.block_on(race(artel.client("streams")?, options))
}

async fn race(client: Client, options: Options) -> Result<Outcome> {
    let begin = Instant::now();
    let project = project(&client, "streams").await?;
    let written = Arc::new(AtomicU64::new(0));
    let mut readers = JoinSet::new();
    for number in 0..options.readers {
        let share = options.cuts / options.readers as u64
            + u64::from((number as u64) < options.cuts % options.readers as u64);
        let reader = Reader {
            client: client.apart()?,
            path: events(&project),
            rng: Rng::with_seed(options.seed.wrapping_add(number as u64)),
            cuts: share,
            stride: 2 * options.events / share.max(1) + 1,
            seen: Vec::new(),
        };
        readers.spawn(reader.run());
    }
    let mut writers = JoinSet::new();
    for number in 0..options.writers {
        let path = agent(&client, &project, &format!("w{number}")).await?;
        writers.spawn(write(client.clone(), path, Arc::clone(&written), options.events));
    }
    let mut acknowledged = 0;
    while let Some(count) = writers.join_next().await {
        acknowledged += count??;
    }
    let writing = begin.elapsed();
    agent(&client, &project, MARKER).await?;
    let expected = options.writers as u64 + acknowledged + 1;

    let (mut violations, mut first) = (Vec::new(), None);
    while let Some(reader) = timeout(10 * LIMIT, readers.join_next()).await? {
        match reader? {
            Ok(seen) if seen.len() as u64 != expected => {
                violations.push(format!("a reader saw {} events of {expected}", seen.len()));
            }
            Ok(seen) => match &first {
                None => first = Some(seen),
                Some(first) if *first != seen => {
                    violations.push("two readers saw different events".to_owned());
                }
                Some(_) => {}
            },
            Err(error) => violations.push(format!("{error:#}")),
        }
    }
    let figures = format!(
        "{} writers, {acknowledged} updates acknowledged in {:.1} s ({}/s), {} readers, {} cuts, {:.1} s",
        options.writers,
        writing.as_secs_f64(),
        per_second(acknowledged, writing),
        options.readers,
        options.cuts,
        begin.elapsed().as_secs_f64(),
    );
    Ok(Outcome { name: "streams", figures, violations })
}

/// Updates one agent until all writers together have done enough.
async fn write(client: Client, path: String, written: Arc<AtomicU64>, enough: u64) -> Result<u64> {
    let mut count = 0;
    while written.fetch_add(1, Ordering::Relaxed) < enough {
        let body = json!({ "config": { "system_prompt": format!("counter {count}") } });
        client.patch(&path, &body).await?.success()?;
        count += 1;
    }
    Ok(count)
}

/// Follows the stream from the first event to the marker, cutting itself off.
struct Reader {
    client: Client,
    path: String,
    rng: Rng,
    /// Cuts left.
    cuts: u64,
    /// At most so many events between two cuts.
    stride: u64,
    /// A hash per event: what is compared later need not be kept.
    seen: Vec<u64>,
}

impl Reader {
    async fn run(mut self) -> Result<Vec<u64>> {
        let mut whole = None;
        loop {
            self.seen.clear();
            while !self.connection().await? {}
            // With cuts left it reads everything again, and it must be the same again.
            ensure!(whole.as_ref().is_none_or(|whole| *whole == self.seen), "the log has changed");
            whole = Some(self.seen.clone());
            if self.cuts == 0 {
                return Ok(self.seen);
            }
        }
    }

    /// One connection, to its cut or to the marker.
    async fn connection(&mut self) -> Result<bool> {
        let after = self.seen.len() as u64;
        let mut stream = timeout(LIMIT, self.client.events(&self.path, Some(after))).await??;
        // Half of the cuts come at an event, half at a moment, in the middle of whatever is there.
        let (mut left, moment) = match (self.cuts, self.rng.bool()) {
            (0, _) => (u64::MAX, LIMIT * 60),
            (_, true) => (self.rng.u64(0..self.stride), LIMIT * 60),
            (_, false) => (u64::MAX, Duration::from_micros(self.rng.u64(0..300_000))),
        };
        let cut = sleep(moment);
        tokio::pin!(cut);
        while left > 0 {
            let frame = tokio::select! {
                () = &mut cut => break,
                frame = timeout(LIMIT, stream.next()) => frame??,
            };
            let Some(frame) = frame else { bail!("the server ended the stream") };
            let Some(number) = frame.id else { continue };
            let expected = self.seen.len() as u64 + 1;
            ensure!(number == expected, "event {number} came where {expected} belongs");
            self.seen.push(fingerprint(&frame));
            if Seen::new(number, &frame).is_marker() {
                return Ok(true);
            }
            left -= 1;
        }
        self.cuts -= 1;
        Ok(false)
    }
}

fn fingerprint(frame: &Frame) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&frame.event, frame.data.to_string()).hash(&mut hasher);
    hasher.finish()
}
