//! The bus of many nodes: Redis 6.2 or later.
//!
//! Names of keys, channels and streams go to Redis as they come; some are contracts with others. Nothing hangs when
//! Redis is gone: every call fails as [`Error::Unreachable`] within [`link::PATIENCE`], a waiting read soon after its
//! time, and all work again when it is back. A failed `append` may have happened all the same, like any write whose
//! answer was lost.

use std::fmt;
use std::time::Duration;

use ::redis::{
    Client, Cmd, ErrorKind, IntoConnectionInfo, ProtocolVersion, RedisError, RedisResult,
    ServerErrorKind, Value, cmd,
};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join_all;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::link::{Line, Seats};
use super::id::Id;
use super::mailbox::mailbox;
use super::{Bus, Consumer, Entry, Error, LONGEST_TTL, LONGEST_WAIT, Listener, Result};

mod link;
mod listener;
mod reply;

/// How many keys Redis looks at in one step of `forget_prefix`.
const SCAN_STEP: usize = 1_000;
/// How often `take` makes a group that somebody keeps removing.
const MOST_ATTEMPTS: usize = 8;
/// How often `claim` follows Redis through what is pending: it looks at ten times the limit each time.
const MOST_ROUNDS: usize = 64;

/// Share it in an `Arc`; dropped, its listeners hear `None`.
pub struct Redis {
    line: Line,
    seats: Seats,
    subscriber: Client,
    address: String,
    tasks: TaskTracker,
    closed: CancellationToken,
}

impl Redis {
    /// Only the URL is checked. Redis need not be up, and is dialed when it is first needed.
    pub fn connect(url: &str) -> Result<Self> {
        let info = url.into_connection_info().map_err(Error::Url)?;
        let speaking = |protocol| {
            let settings = info.redis_settings().clone().set_protocol(protocol);
            Client::open(info.clone().set_redis_settings(settings)).map_err(Error::Url)
        };
        // Only RESP3 connections say when they are lost, and the library's subscriber wants RESP2.
        let client = speaking(ProtocolVersion::RESP3)?;
        Ok(Self {
            line: Line::new(client.clone()),
            seats: Seats::new(client),
            subscriber: speaking(ProtocolVersion::RESP2)?,
            address: info.addr().to_string(),
            tasks: TaskTracker::new(),
            closed: CancellationToken::new(),
        })
    }

    /// Asks a stream for entries until a time. The command is built with the time that Redis may wait, if any.
    async fn ask_until(
        &self,
        until: Instant,
        command: impl Fn(Option<Duration>) -> Cmd + Send,
    ) -> RedisResult<Vec<Entry>> {
        let answer: Value = match self.seats.sit(until).await {
            Some(seat) => {
                let wait = until.saturating_duration_since(Instant::now());
                // To Redis, zero is for ever.
                let wait = wait.max(Duration::from_millis(1));
                seat.ask(&command(Some(wait)), wait).await?
            }
            None => self.line.ask(&command(None)).await?,
        };
        reply::read(answer)
    }

    async fn make_group(&self, stream: &str, group: &str) -> RedisResult<()> {
        let mut command = cmd("XGROUP");
        command.arg("CREATE").arg(stream).arg(group).arg("0").arg("MKSTREAM");
        match self.line.ask(&command).await {
            // Another node was faster.
            Err(error) if error.code() == Some("BUSYGROUP") => Ok(()),
            answer => answer,
        }
    }

    /// How often this entry was handed out before the claim that we just made.
    async fn deliveries(&self, consumer: Consumer<'_>, id: &str) -> RedisResult<u64> {
        let mut command = cmd("XPENDING");
        command.arg(consumer.stream).arg(consumer.group).arg(id).arg(id).arg(1);
        let count = reply::deliveries(self.line.ask(&command).await?)?;
        Ok(count.map_or(1, |count| count.saturating_sub(1)))
    }
}

#[async_trait]
impl Bus for Redis {
    fn kind(&self) -> &'static str {
        "redis"
    }

    fn is_shared(&self) -> bool {
        true
    }

    async fn ping(&self) -> Result<()> {
        Ok(self.line.ask(&cmd("PING")).await?)
    }

    async fn ring(&self, channel: &str, payload: Bytes) -> Result<()> {
        Ok(self.line.ask(cmd("PUBLISH").arg(channel).arg(&payload[..])).await?)
    }

    async fn listen(&self, channels: &[&str]) -> Result<Box<dyn Listener>> {
        let channels = super::channel_names(channels)?;
        let (sender, mailbox) = mailbox();
        let (tried, has_tried) = oneshot::channel();
        let (client, closed) = (self.subscriber.clone(), self.closed.clone());
        self.tasks.spawn(listener::run(client, channels, sender, tried, closed));
        // It fails only when the task has ended, and then the mailbox says so.
        let _ = has_tried.await;
        Ok(Box::new(mailbox))
    }

    async fn put(&self, key: &str, value: Bytes, ttl: Duration) -> Result<()> {
        if ttl.is_zero() {
            return self.forget(key).await;
        }
        let ttl = milliseconds(ttl.min(LONGEST_TTL));
        Ok(self.line.ask(cmd("SET").arg(key).arg(&value[..]).arg("PX").arg(ttl)).await?)
    }

    async fn get(&self, key: &str) -> Result<Option<Bytes>> {
        let value: Option<Vec<u8>> = self.line.ask(cmd("GET").arg(key)).await?;
        Ok(value.map(Bytes::from))
    }

    async fn forget(&self, key: &str) -> Result<()> {
        Ok(self.line.ask(cmd("UNLINK").arg(key)).await?)
    }

    async fn forget_prefix(&self, prefix: &str) -> Result<u64> {
        let pattern = format!("{}*", escaped(prefix));
        let (mut cursor, mut forgotten) = (0_u64, 0);
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCAN_STEP);
            // Streams may share the prefix and are not cached values.
            scan.arg("TYPE").arg("string");
            let (next, keys): (u64, Vec<Vec<u8>>) = self.line.ask(&scan).await?;
            if !keys.is_empty() {
                let unlinked: u64 = self.line.ask(cmd("UNLINK").arg(keys)).await?;
                forgotten += unlinked;
            }
            if next == 0 {
                return Ok(forgotten);
            }
            cursor = next;
        }
    }

    async fn append(&self, stream: &str, fields: &[(&str, &[u8])], keep: usize) -> Result<String> {
        super::check_fields(fields)?;
        let mut command = cmd("XADD");
        command.arg(stream).arg("MAXLEN").arg("~").arg(keep.max(1)).arg("*");
        for (name, value) in fields {
            command.arg(name).arg(value);
        }
        Ok(self.line.ask(&command).await?)
    }

    async fn read(
        &self,
        stream: &str,
        after: &str,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<Entry>> {
        let after: Id = after.parse()?;
        let Some(limit) = super::bounded(limit) else { return Ok(Vec::new()) };
        let until = Instant::now() + wait.min(LONGEST_WAIT);
        let entries = self.ask_until(until, |wait| {
            let mut command = cmd("XREAD");
            limited(&mut command, limit, wait);
            command.arg("STREAMS").arg(stream).arg(after.to_string());
            command
        });
        Ok(entries.await?)
    }

    async fn take(
        &self,
        consumer: Consumer<'_>,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<Entry>> {
        let Consumer { stream, group, name } = consumer;
        let Some(limit) = super::bounded(limit) else { return Ok(Vec::new()) };
        let until = Instant::now() + wait.min(LONGEST_WAIT);
        let command = |wait| {
            let mut command = cmd("XREADGROUP");
            command.arg("GROUP").arg(group).arg(name);
            limited(&mut command, limit, wait);
            command.arg("STREAMS").arg(stream).arg(">");
            command
        };
        for _ in 0..MOST_ATTEMPTS {
            match self.ask_until(until, command).await {
                Err(error) if lacks_group(&error) => self.make_group(stream, group).await?,
                answer => return Ok(answer?),
            }
        }
        Ok(self.ask_until(until, command).await?)
    }

    async fn claim(
        &self,
        consumer: Consumer<'_>,
        idle: Duration,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let Consumer { stream, group, name } = consumer;
        let Some(limit) = super::bounded(limit) else { return Ok(Vec::new()) };
        let (mut cursor, mut claimed) = ("0-0".to_owned(), Vec::new());
        // An answer may be empty and not the last: Redis counts what it looked at, too.
        for _ in 0..MOST_ROUNDS {
            let mut command = cmd("XAUTOCLAIM");
            command.arg(stream).arg(group).arg(name).arg(milliseconds(idle)).arg(&cursor);
            command.arg("COUNT").arg(limit - claimed.len());
            let (next, entries) = match self.line.ask(&command).await {
                Err(error) if lacks_group(&error) => break,
                answer => reply::claimed(answer?)?,
            };
            claimed.extend(entries);
            if next == "0-0" || claimed.len() >= limit {
                break;
            }
            cursor = next;
        }
        let counts = claimed.iter().map(|entry: &Entry| self.deliveries(consumer, &entry.id));
        let counts = try_join_all(counts).await?;
        for (entry, count) in claimed.iter_mut().zip(counts) {
            entry.deliveries = count;
        }
        Ok(claimed)
    }

    async fn acknowledge(&self, stream: &str, group: &str, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut command = cmd("XACK");
        command.arg(stream).arg(group);
        for id in ids {
            command.arg(id.parse::<Id>()?.to_string());
        }
        Ok(self.line.ask(&command).await?)
    }
}

/// Says where Redis is, and never with which password.
impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.closed.cancel();
        self.tasks.close();
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        let away = error.is_io_error()
            || matches!(
                error.kind(),
                ErrorKind::Server(
                    ServerErrorKind::BusyLoading
                        | ServerErrorKind::ClusterDown
                        | ServerErrorKind::MasterDown
                        | ServerErrorKind::ReadOnly
                        | ServerErrorKind::TryAgain
                )
            );
        if away { Self::Unreachable(error) } else { Self::Refused(error) }
    }
}

fn limited(command: &mut Cmd, limit: usize, wait: Option<Duration>) {
    command.arg("COUNT").arg(limit);
    if let Some(wait) = wait {
        command.arg("BLOCK").arg(milliseconds(wait));
    }
}

/// The group, or the whole stream, is not there; the second is said to those who wait while it vanishes.
fn lacks_group(error: &RedisError) -> bool {
    matches!(error.code(), Some("NOGROUP" | "UNBLOCKED"))
}

/// Rounded up, for nothing may come early, and within Redis's signed numbers.
fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// The prefix as a pattern that matches only itself.
fn escaped(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len());
    for character in prefix.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}
