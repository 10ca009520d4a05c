//! Readers that connect and never read, among many that do.
//!
//! The stalled ones ask for a long log, so that the server's buffers towards them are full at
//! once. The others must get each event as fast as without them, and the server's memory must stay
//! within bounds. The stalled ones must be cut off in time ([`TIMEOUT`]), and miss nothing when
//! they come back.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{LIMIT, Outcome, agent, percentile, project, runtime};
use crate::client::Client;
use crate::client::sse::Parser;
use crate::crash::workload::events;
use crate::server::Artel;

/// What to start the server with: how long it may wait for a reader.
pub const TIMEOUT: (&str, &str) = ("ARTEL_STALL_TIMEOUT", "5s");
/// Longer than [`TIMEOUT`], counted from the start of the second measured part.
const CUT_LIMIT: Duration = Duration::from_secs(8);
/// Between two events of the measured part.
const PACE: Duration = Duration::from_millis(50);
const MEASURED: u64 = 60;
/// A stalled reader may cost this much at most.
const MEMORY_EACH: u64 = 8 << 20;
/// Noise of a machine with other work to do.
const MEMORY_SLACK: u64 = 64 << 20;
const TIME_SLACK: Duration = Duration::from_millis(150);

#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub readers: usize,
    pub stalled: usize,
    /// Events in the log before the readers come.
    pub backlog: u64,
}

pub fn run(artel: &Artel, options: Options) -> Result<Outcome> {
    let runtime = runtime()?;
    let client = artel.client("stalled")?;
    let (project, path) = runtime.block_on(prepare(&client, options.backlog))?;
    let mut last = options.backlog + 1;

    let mut quiet = runtime.block_on(measure(&client, &project, &path, options.readers, last))?;
    last += MEASURED;
    let (before, begin) = (artel.memory()?, Instant::now());
    let stalled: Vec<_> =
        (0..options.stalled).map(|_| Stalled::open(&client, &project)).collect::<Result<_>>()?;
    let mut beside = runtime.block_on(measure(&client, &project, &path, options.readers, last))?;
    last += MEASURED;
    let grown = artel.memory()?.saturating_sub(before);

    let mut violations = Vec::new();
    let (quiet, beside) = (percentile(&mut quiet, 99), percentile(&mut beside, 99));
    if beside > quiet * 2 + TIME_SLACK {
        violations.push(format!("p99 of delivery was {quiet:?}, with stalled readers {beside:?}"));
    }
    let bound = MEMORY_SLACK + options.stalled as u64 * MEMORY_EACH;
    if grown > bound {
        violations.push(format!("memory grew by {} MiB", grown >> 20));
    }
    std::thread::sleep(CUT_LIMIT.saturating_sub(begin.elapsed()));
    let mut buffered = 0;
    for reader in stalled {
        match reader.wake(last) {
            Ok(number) if number == last => violations.push("a reader was not cut off".to_owned()),
            Ok(number) => {
                buffered = number.max(buffered);
                let rest = resume(&client, &project, number, last);
                if let Err(error) = runtime.block_on(rest) {
                    violations.push(format!("resumed after {number}: {error:#}"));
                }
            }
            Err(error) => violations.push(format!("woken: {error:#}")),
        }
    }
    let figures = format!(
        "{} readers beside {} stalled ones (cut off after {buffered} of {last} events): p99 of delivery {:.1} ms, without them {:.1} ms; memory {} MiB, grown by {} MiB",
        options.readers,
        options.stalled,
        beside.as_secs_f64() * 1000.0,
        quiet.as_secs_f64() * 1000.0,
        before >> 20,
        grown >> 20,
    );
    Ok(Outcome { name: "stalled", figures, violations })
}

/// A project with a long log: one creation and `backlog` updates; gives the agent's path, too.
pub(super) async fn prepare(client: &Client, backlog: u64) -> Result<(String, String)> {
    const WRITERS: u64 = 16;
    let project = project(client, "stalled").await?;
    // A long name makes long events.
    let path = agent(client, &project, &"n".repeat(100)).await?;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let share = backlog / WRITERS + u64::from(writer < backlog % WRITERS);
        let (client, path) = (client.clone(), path.clone());
        writers.spawn(async move {
            for count in 0..share {
                update(&client, &path, count).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer??;
    }
    Ok((project, path))
}

async fn update(client: &Client, path: &str, count: u64) -> Result<()> {
    let body = json!({ "config": { "system_prompt": format!("counter {count}") } });
    client.patch(path, &body).await?.success()?;
    Ok(())
}

/// How long each event takes from the request to each reader.
async fn measure(
    client: &Client,
    project: &str,
    path: &str,
    readers: usize,
    last: u64,
) -> Result<Vec<Duration>> {
    let mut tasks = JoinSet::new();
    for _ in 0..readers {
        let mut stream = client.events(&events(project), Some(last)).await?;
        tasks.spawn(async move {
            let mut arrivals = Vec::new();
            for expected in last + 1..=last + MEASURED {
                let event = timeout(LIMIT, stream.numbered()).await.context("no event came")??;
                let (number, _) = event.context("the stream ended")?;
                ensure!(number == expected, "event {number} came where {expected} belongs");
                arrivals.push(Instant::now());
            }
            Ok(arrivals)
        });
    }
    let mut sent = Vec::new();
    for count in 0..MEASURED {
        sent.push(Instant::now());
        update(client, path, count).await?;
        sleep(PACE).await;
    }
    let mut times = Vec::new();
    while let Some(arrivals) = tasks.join_next().await {
        let pairs = arrivals??.into_iter().zip(&sent);
        times.extend(pairs.map(|(arrival, sent)| arrival.duration_since(*sent)));
    }
    Ok(times)
}

/// From `after` to `last`, nothing missing.
async fn resume(client: &Client, project: &str, after: u64, last: u64) -> Result<()> {
    let mut stream = client.events(&events(project), Some(after)).await?;
    for expected in after + 1..=last {
        let event = timeout(LIMIT, stream.numbered()).await??;
        let (number, _) = event.context("the stream ended")?;
        ensure!(number == expected, "event {number} came where {expected} belongs");
    }
    Ok(())
}

/// A connection that asked for everything and reads nothing.
pub(super) struct Stalled {
    socket: TcpStream,
}

impl Stalled {
    pub(super) fn open(client: &Client, project: &str) -> Result<Self> {
        let host = client.host()?;
        let mut socket = TcpStream::connect(host)?;
        // Version 1.0 knows no chunks: what follows the head is the stream itself.
        let request = format!(
            "GET {} HTTP/1.0\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
             accept: text/event-stream\r\nlast-event-id: 0\r\n\r\n",
            events(project),
            client.token()
        );
        socket.write_all(request.as_bytes())?;
        Ok(Self { socket })
    }

    /// Reads at last; gives the last number it got, `last` or less if it was cut off.
    fn wake(mut self, last: u64) -> Result<u64> {
        self.socket.set_read_timeout(Some(LIMIT))?;
        let (mut parser, mut frames) = (Parser::default(), VecDeque::new());
        let (mut number, mut buffer) = (0, vec![0; 64 << 10]);
        let mut head = Vec::new();
        while number < last {
            let size = match self.socket.read(&mut buffer) {
                Ok(0) => break,
                Ok(size) => size,
                // A reset loses what was on its way, as any cut does.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error.into()),
            };
            parser.push(body(&mut head, &buffer[..size]), &mut frames);
            for frame in frames.drain(..) {
                let Some(id) = frame.id else { continue };
                if id != number + 1 {
                    bail!("event {id} follows {number}");
                }
                number = id;
            }
        }
        ensure!(head.starts_with(b"HTTP/1.0 200") || head.starts_with(b"HTTP/1.1 200"), "refused");
        Ok(number)
    }
}

/// What of these bytes belongs to the body; collects the head until it is whole.
fn body<'a>(head: &mut Vec<u8>, bytes: &'a [u8]) -> &'a [u8] {
    let whole = |head: &[u8]| head.ends_with(b"\r\n\r\n");
    for (at, byte) in bytes.iter().enumerate() {
        if whole(head) {
            return &bytes[at..];
        }
        head.push(*byte);
    }
    &[]
}
