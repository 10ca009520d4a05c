//! Logs of agents as streams (`agent:logs:{agent_id}`), so that every node can read what any node's programs wrote.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use artel_domain::{AgentId, Timestamp};
use artel_programs::log::{Entry, Followed, KEPT, LogSink, Stream};
use artel_storage::bus::{self, Bus, MOST_ENTRIES};
use async_trait::async_trait;
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep};

use crate::PAUSE;

/// Lines that are on their way at a time.
const AT_ONCE: usize = 100;
/// How long lines wait for a bus that is away. Others that come meanwhile push out the oldest.
const PATIENCE: Duration = Duration::from_mins(1);
/// A reader waits so long for a line and then asks again.
const WAIT: Duration = Duration::from_secs(20);

/// The log of one agent on the bus.
#[derive(Debug, Clone)]
pub struct StreamLog {
    bus: Arc<dyn Bus>,
    stream: String,
}

impl StreamLog {
    pub fn new(bus: Arc<dyn Bus>, agent: AgentId) -> Self {
        Self { bus, stream: format!("agent:logs:{agent}") }
    }

    /// New lines as they come; given the number of a line, first those after it that are kept.
    pub async fn tail(&self, after: Option<u64>) -> io::Result<Tail> {
        let kept = self.kept().await.map_err(io::Error::other)?;
        let position = kept.last().map_or_else(|| "0".to_owned(), |(id, _)| id.clone());
        let newest = kept.last().map_or(0, |(_, entry)| entry.number);
        let last = after.unwrap_or(newest);
        let mut waiting: Vec<_> = kept.into_iter().map(|(_, entry)| entry).collect();
        waiting.retain(|entry| entry.number > last);
        Ok(Tail { log: self.clone(), position, last, waiting: waiting.into_iter() })
    }

    /// Nothing stays of it.
    pub async fn forget(&self) -> bus::Result<()> {
        self.bus.forget(&self.stream).await
    }

    async fn kept(&self) -> bus::Result<Vec<(String, Entry)>> {
        let (mut all, mut after) = (Vec::new(), "0".to_owned());
        loop {
            let read = self.bus.read(&self.stream, &after, MOST_ENTRIES, Duration::ZERO).await?;
            let Some(last) = read.last() else { break };
            after.clone_from(&last.id);
            all.extend(read.into_iter().filter_map(|it| Some((it.id.clone(), parsed(&it)?))));
        }
        Ok(all.split_off(all.len().saturating_sub(KEPT)))
    }

    async fn append(&self, entry: &Entry) -> bus::Result<()> {
        let stream = match entry.stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        let (number, timestamp) = (entry.number.to_string(), entry.timestamp.to_string());
        let fields: [(&str, &[u8]); 4] = [
            ("stream", stream.as_bytes()),
            ("line", entry.line.as_bytes()),
            ("timestamp", timestamp.as_bytes()),
            ("number", number.as_bytes()),
        ];
        self.bus.append(&self.stream, &fields, KEPT).await.map(drop)
    }
}

#[async_trait]
impl LogSink for StreamLog {
    async fn write(&self, entries: &[Arc<Entry>]) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        for some in entries.chunks(AT_ONCE) {
            // Sent in order over one connection. After a failure some may be there already: readers know them by
            // their numbers.
            while let Err(error) = try_join_all(some.iter().map(|it| self.append(it))).await {
                let away = matches!(error, bus::Error::Unreachable(_));
                if !away || Instant::now() >= until {
                    return Err(io::Error::other(error));
                }
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }

    async fn read(&self) -> io::Result<Vec<Entry>> {
        let mut kept: Vec<_> =
            self.kept().await.map_err(io::Error::other)?.into_iter().map(|(_, it)| it).collect();
        kept.sort_by_key(|entry| entry.number);
        kept.dedup_by_key(|entry| entry.number);
        Ok(kept)
    }
}

/// The lines of a log as they come, whichever node writes them.
#[derive(Debug)]
pub struct Tail {
    log: StreamLog,
    position: String,
    last: u64,
    waiting: std::vec::IntoIter<Entry>,
}

impl Tail {
    /// What comes next. It waits for as long as it takes, also while the bus is away; nothing is lost when it is given
    /// up.
    pub async fn next(&mut self) -> Followed {
        loop {
            let next = self.waiting.as_slice().first().map(|entry| entry.number);
            match next {
                // The numbers begin anew when the stream was lost.
                Some(1) if self.last > 0 => self.last = 0,
                Some(number) if number <= self.last => drop(self.waiting.next()),
                Some(number) if number > self.last + 1 && self.last > 0 => {
                    let missed = number - self.last - 1;
                    self.last = number - 1;
                    return Followed::Missed(missed);
                }
                Some(number) => {
                    self.last = number;
                    if let Some(entry) = self.waiting.next() {
                        return Followed::Line(Arc::new(entry));
                    }
                }
                None => self.read().await,
            }
        }
    }

    async fn read(&mut self) {
        let StreamLog { bus, stream } = &self.log;
        match bus.read(stream, &self.position, MOST_ENTRIES, WAIT).await {
            Ok(read) => {
                if let Some(last) = read.last() {
                    self.position.clone_from(&last.id);
                }
                let parsed: Vec<_> = read.iter().filter_map(parsed).collect();
                self.waiting = parsed.into_iter();
            }
            Err(error) => {
                tracing::debug!(%error, "a log cannot be read now");
                sleep(PAUSE).await;
            }
        }
    }
}

/// An entry that is none of ours is passed over.
fn parsed(entry: &bus::Entry) -> Option<Entry> {
    let text = |name: &str| {
        let found = entry.fields.iter().find(|(key, _)| key == name)?;
        std::str::from_utf8(&found.1).ok()
    };
    Some(Entry {
        number: text("number")?.parse().ok()?,
        timestamp: moment(text("timestamp")?)?,
        stream: if text("stream")? == "stderr" { Stream::Stderr } else { Stream::Stdout },
        line: text("line")?.to_owned(),
    })
}

fn moment(text: &str) -> Option<Timestamp> {
    serde_json::from_value(text.into()).ok()
}
