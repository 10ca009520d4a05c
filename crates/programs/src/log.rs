//! What an agent's programs print: the last lines of both pipes, over all its processes.
//!
//! A line is numbered, made fit to be shown and handed on at once, without waiting; a task of the log's own brings
//! batches to the [`LogSink`]. When lines come faster than they can be kept, the oldest of those that wait are dropped:
//! they would have to go anyway. Numbers go on without a gap, so whoever follows knows what is missing.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use artel_domain::clock::{Clock, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

mod files;
mod follow;
mod redact;

pub use files::Files;
pub use follow::{Follow, Followed};
pub use redact::Redactor;

/// So many lines are kept, about.
pub const KEPT: usize = 1000;
/// So much of a line is kept.
pub const LONGEST: usize = 16 * 1024;
const CUT: &str = " … (cut)";
/// What waits to be kept, at most.
const WAITING_BYTES: usize = 4 * 1024 * 1024;
/// A batch of so many lines is a flood: the next one is let grow, since most of it will have to go anyway.
const FLOOD: usize = 200;
const PAUSE: Duration = Duration::from_millis(20);
/// How far behind a follower may be.
const BEHIND: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A line, as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Counts from 1 over the whole life of the agent.
    pub number: u64,
    pub timestamp: Timestamp,
    pub stream: Stream,
    pub line: String,
}

/// Where lines are kept.
#[async_trait]
pub trait LogSink: Send + Sync + fmt::Debug {
    /// Adds lines, which come in order, and lets go of the oldest beyond [`KEPT`].
    async fn write(&self, entries: &[Arc<Entry>]) -> io::Result<()>;
    /// All that is kept, oldest first.
    async fn read(&self) -> io::Result<Vec<Entry>>;
}

/// A part of what is kept, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page {
    pub entries: Vec<Entry>,
    /// How many lines are kept.
    pub total: usize,
}

impl Page {
    /// Of everything that is kept, up to `limit` lines, leaving out the newest `offset`.
    pub fn of(mut entries: Vec<Entry>, limit: usize, offset: usize) -> Self {
        let total = entries.len();
        entries.truncate(total.saturating_sub(offset));
        let first = entries.len().saturating_sub(limit);
        Self { entries: entries.split_off(first), total }
    }
}

/// The log of one agent. Clones are the same log.
#[derive(Debug, Clone)]
pub struct Log(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    redactor: Redactor,
    sink: Arc<dyn LogSink>,
    queue: Arc<Queue>,
    live: broadcast::Sender<Arc<Entry>>,
    writer: TaskTracker,
    /// What was still to be kept is kept when the last one lets go.
    _ends_writer: DropGuard,
}

/// What waits to be kept.
#[derive(Debug)]
struct Queue {
    waiting: Mutex<Waiting>,
    bell: Notify,
    /// Everything up to this number was given to the sink.
    written: watch::Sender<u64>,
}

#[derive(Debug)]
struct Waiting {
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    last: u64,
}

impl Log {
    /// Goes on with the numbers where the sink's lines end.
    pub async fn open(
        sink: Arc<dyn LogSink>,
        clock: Arc<dyn Clock>,
        redactor: Redactor,
    ) -> io::Result<Self> {
        let last = sink.read().await?.last().map_or(0, |entry| entry.number);
        let waiting = Mutex::new(Waiting { entries: VecDeque::new(), bytes: 0, last });
        let queue =
            Arc::new(Queue { waiting, bell: Notify::new(), written: watch::Sender::new(last) });
        let (writer, stop) = (TaskTracker::new(), CancellationToken::new());
        writer.spawn(keep(Arc::clone(&queue), Arc::clone(&sink), stop.clone()));
        writer.close();
        let shared = Shared {
            clock,
            redactor,
            sink,
            queue,
            live: broadcast::Sender::new(BEHIND),
            writer,
            _ends_writer: stop.drop_guard(),
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Adds a line; `cut` says that it was longer. Never waits.
    pub fn append(&self, stream: Stream, line: &[u8], cut: bool) -> Arc<Entry> {
        let shared = &self.0;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut shown = shared.redactor.show(line, LONGEST);
        if cut || line.len() > LONGEST {
            shown.push_str(CUT);
        }
        let timestamp = shared.clock.now();
        let mut waiting = shared.queue.lock();
        let entry = Arc::new(Entry { number: waiting.last + 1, timestamp, stream, line: shown });
        waiting.add(Arc::clone(&entry));
        // Under the lock, so that followers hear in order; it fails when there are none.
        let _ = shared.live.send(Arc::clone(&entry));
        drop(waiting);
        shared.queue.bell.notify_one();
        entry
    }

    /// Waits until everything that was added so far is kept.
    pub async fn flush(&self) {
        let last = self.0.queue.lock().last;
        let mut written = self.0.queue.written.subscribe();
        // It fails only without a writer, and then nothing more is written.
        let _ = written.wait_for(|written| *written >= last).await;
    }

    /// Up to `limit` lines, leaving out the newest `offset`.
    pub async fn page(&self, limit: usize, offset: usize) -> io::Result<Page> {
        Ok(Page::of(self.kept().await?, limit, offset))
    }

    /// New lines as they come; given the number of a line, first those after it that are kept.
    pub async fn follow(&self, after: Option<u64>) -> io::Result<Follow> {
        // Listened to first: what comes while the rest is read is heard, and known by its number.
        let (live, last) = {
            let waiting = self.0.queue.lock();
            (self.0.live.subscribe(), waiting.last)
        };
        let Some(after) = after else { return Ok(Follow::new(live, Vec::new(), last)) };
        Ok(Follow::new(live, self.kept().await?, after))
    }

    /// As it may be shown, for texts that are no lines of the log.
    pub fn show(&self, text: &str) -> String {
        self.0.redactor.show(text.as_bytes(), LONGEST)
    }

    /// Lets go of the log and waits until what was added is kept.
    pub async fn close(self) {
        self.flush().await;
        let writer = self.0.writer.clone();
        let last_one = Arc::into_inner(self.0).is_some();
        if last_one {
            writer.wait().await;
        }
    }

    async fn kept(&self) -> io::Result<Vec<Entry>> {
        self.flush().await;
        self.0.sink.read().await
    }
}

impl Queue {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        // Nothing can fail while it is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, entry: Arc<Entry>) {
        self.last = entry.number;
        self.bytes += entry.line.len();
        self.entries.push_back(entry);
        while self.entries.len() > KEPT || self.bytes > WAITING_BYTES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.line.len();
        }
    }

    fn take(&mut self) -> Vec<Arc<Entry>> {
        self.bytes = 0;
        std::mem::take(&mut self.entries).into()
    }
}

/// Brings what waits to the sink, batch after batch.
async fn keep(queue: Arc<Queue>, sink: Arc<dyn LogSink>, stop: CancellationToken) {
    let mut failing = false;
    loop {
        let stopping = stop.is_cancelled();
        let batch = queue.lock().take();
        let Some(last) = batch.last().map(|entry| entry.number) else {
            if stopping {
                return;
            }
            tokio::select! {
                () = queue.bell.notified() => (),
                () = stop.cancelled() => (),
            }
            continue;
        };
        match sink.write(&batch).await {
            Ok(()) => failing = false,
            Err(error) if !failing => {
                failing = true;
                tracing::warn!(%error, "lines of an agent's log could not be kept");
            }
            Err(_) => (),
        }
        queue.written.send_replace(last);
        if batch.len() >= FLOOD && !stopping {
            sleep(PAUSE).await;
        }
    }
}
