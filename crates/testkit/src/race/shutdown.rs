//! SIGTERM with many streams open and requests under way.
//!
//! Every stream must end in order, every request the server had begun to read must be answered,
//! and the process must leave with 0 soon. A request is surely under way when half of it is sent;
//! whether one sent whole at that moment was accepted nobody could tell. Connections that read
//! nothing, and such that say nothing, must not hold it up.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::stalled::{self, Stalled};
use super::{LIMIT, Outcome, project, runtime};
use crate::client::Client;
use crate::crash::workload::{agents, events, new_agent};
use crate::server::Artel;

/// SIGTERM to the end of the process.
const EXIT_LIMIT: Duration = Duration::from_secs(3);
/// The second SIGTERM to the end of the process.
const AT_ONCE: Duration = Duration::from_millis(500);
/// Streams opened at a time, so as not to overrun the listener's queue.
const AT_A_TIME: usize = 64;
/// More events than fit into the buffers towards a reader who does not read.
const BACKLOG: u64 = 20_000;
/// The server has surely read what was sent so long ago.
const SETTLE: Duration = Duration::from_millis(300);

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Event streams that are read.
    pub streams: usize,
    /// Requests of which one half is sent.
    pub requests: usize,
    /// Event streams that are not read, and full.
    pub stalled: usize,
    /// Connections on which nothing was sent yet, as browsers open them in advance.
    pub silent: usize,
}

pub fn run(artel: &mut Artel, options: Options) -> Result<Outcome> {
    let runtime = runtime()?;
    let client = artel.client("shutdown")?;
    let (project, mut streams) = runtime.block_on(open(&client, options.streams))?;
    let held = hold(&runtime, &client, options)?;
    // Last: the server does not wait for ever for the other half, and what comes before takes a while.
    let mut requests = Vec::new();
    for number in 0..options.requests {
        requests.push(Half::send(&client, &project, number)?);
    }
    std::thread::sleep(SETTLE);

    // The rest of the requests goes out while the server is already stopping.
    let finish = std::thread::spawn(move || {
        std::thread::sleep(SETTLE);
        // All are finished before any answer is waited for.
        let finished: Vec<_> = requests.into_iter().map(Half::finish).collect();
        finished.into_iter().map(|sent| sent.and_then(Half::answer)).collect::<Vec<_>>()
    });
    let (status, took) = artel.terminate()?;
    drop(held);
    let mut violations = Vec::new();
    if !status.success() {
        violations.push(format!("ended with {status}\n{}", artel.log_tail()));
    }
    if took > EXIT_LIMIT {
        violations.push(format!("took {took:?} to end"));
    }
    let answers = finish.join().map_err(|_| anyhow::anyhow!("a client thread panicked"))?;
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    for error in answers.into_iter().filter_map(Result::err) {
        violations.push(format!("a request under way: {error:#}"));
    }
    let ended = runtime.block_on(async {
        let mut ended = 0;
        while let Some(stream) = timeout(LIMIT, streams.join_next()).await? {
            match stream? {
                Ok(()) => ended += 1,
                Err(error) => violations.push(format!("a stream: {error:#}")),
            }
        }
        anyhow::Ok(ended)
    })?;
    let figures = format!(
        "{ended} of {} streams ended in order, {answered} of {} requests under way answered, beside {} stalled and {} silent ones; left after {} ms with {status}",
        options.streams,
        options.requests,
        options.stalled,
        options.silent,
        took.as_millis(),
    );
    Ok(Outcome { name: "shutdown", figures, violations })
}

/// While it waits for a request that never ends, a second signal must end it at once.
pub fn twice(artel: &mut Artel) -> Result<Outcome> {
    let client = artel.client("shutdown")?;
    let project = runtime()?.block_on(project(&client, "twice"))?;
    let endless = Half::send(&client, &project, 0)?;
    std::thread::sleep(SETTLE);
    artel.signal(Signal::TERM)?;
    std::thread::sleep(SETTLE);
    let mut violations = Vec::new();
    if let Some(status) = artel.ended()? {
        violations.push(format!("left a request under way: {status}"));
    }
    let (_, took) = artel.terminate()?;
    drop(endless);
    if took > AT_ONCE {
        violations.push(format!("took {took:?} to end after the second signal"));
    }
    let figures = format!("left {} ms after the second signal", took.as_millis());
    Ok(Outcome { name: "shutdown twice", figures, violations })
}

/// Opens the streams; each task ends with its stream.
async fn open(client: &Client, count: usize) -> Result<(String, JoinSet<Result<()>>)> {
    let project = project(client, "shutdown").await?;
    let mut streams = JoinSet::new();
    while streams.len() < count {
        let mut opening = JoinSet::new();
        for _ in 0..AT_A_TIME.min(count - streams.len()) {
            let (client, path) = (client.clone(), events(&project));
            opening.spawn(async move { client.events(&path, Some(0)).await });
        }
        while let Some(stream) = timeout(LIMIT, opening.join_next()).await? {
            let mut stream = stream?.context("cannot open a stream")?;
            streams.spawn(async move {
                while stream.next().await?.is_some() {}
                Ok(())
            });
        }
    }
    Ok((project, streams))
}

/// Connections that do nothing; they live until dropped.
fn hold(
    runtime: &Runtime,
    client: &Client,
    options: Options,
) -> Result<(Vec<Stalled>, Vec<TcpStream>)> {
    let (mut stalled, mut silent) = (Vec::new(), Vec::new());
    if options.stalled > 0 {
        let (project, _) = runtime.block_on(stalled::prepare(client, BACKLOG))?;
        for _ in 0..options.stalled {
            stalled.push(Stalled::open(client, &project)?);
        }
    }
    for _ in 0..options.silent {
        silent.push(TcpStream::connect(client.host()?)?);
    }
    Ok((stalled, silent))
}

/// A request of which the server has read one half.
struct Half {
    socket: TcpStream,
    rest: Vec<u8>,
    begin: Instant,
}

impl Half {
    fn send(client: &Client, project: &str, number: usize) -> Result<Self> {
        let host = client.host()?;
        let body = new_agent(&format!("late-{number}")).to_string();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            agents(project),
            client.token(),
            body.len()
        );
        let mut socket = TcpStream::connect(host)?;
        socket.set_read_timeout(Some(LIMIT))?;
        let (first, rest) = body.as_bytes().split_at(body.len() / 2);
        socket.write_all(&[head.as_bytes(), first].concat())?;
        Ok(Self { socket, rest: rest.to_vec(), begin: Instant::now() })
    }

    fn finish(mut self) -> Result<Self> {
        self.socket.write_all(&self.rest).context("the connection was closed")?;
        Ok(self)
    }

    fn answer(mut self) -> Result<()> {
        let mut answer = Vec::new();
        let read = self.socket.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        if !answer.starts_with("HTTP/1.1 201") {
            let after = self.begin.elapsed();
            bail!("answered after {after:?} with {:?} ({read:?})", answer.lines().next());
        }
        Ok(())
    }
}
