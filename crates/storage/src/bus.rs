//! What nodes share besides rows: a doorbell, a cache with a time to live, and streams.
//!
//! The law, kept by both sides and checked by one suite (`tests/bus.rs`):
//! - A ring is a hint. It may be lost; whoever listens is told [`Heard::Lost`] after a time in which rings
//!   may have been missed, and then looks at the database.
//! - A cached value is gone after its time to live, and after `forget` returned it is gone on every node.
//! - A stream keeps about its last `keep` entries. Within a group every entry goes to one consumer, and comes
//!   again (to whoever claims it) until it is acknowledged.
//! - Nothing here blocks for ever, and nothing grows without bound.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

mod id;
pub mod in_process;
mod mailbox;
pub mod redis;

/// No read waits longer, whatever it asks for.
pub const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Nothing is cached longer, whatever is asked for.
pub const LONGEST_TTL: Duration = Duration::from_hours(365 * 24);
/// No call hands out more entries, whatever its limit.
pub const MOST_ENTRIES: usize = 1_000;

/// Errors of the bus. The embedded side has only [`Error::Invalid`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("redis is unreachable")]
    Unreachable(#[source] ::redis::RedisError),
    #[error("redis refused the command")]
    Refused(#[source] ::redis::RedisError),
    #[error("redis url is not valid")]
    Url(#[source] ::redis::RedisError),
    /// The caller's mistake, the same on both sides.
    #[error("{0}")]
    Invalid(String),
}

pub type Result<T> = std::result::Result<T, Error>;

/// One entry of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Grows within the stream; `"0"` is before the first. Shaped `number-number` on both sides: two ids compare
    /// as pairs of numbers, not as text.
    pub id: String,
    pub fields: Vec<(String, Bytes)>,
    /// How often it was handed out before, for entries read in a group.
    pub deliveries: u64,
}

/// What a listener hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Ring {
        channel: String,
        payload: Bytes,
    },
    /// Rings may have been missed: look at the database.
    Lost,
}

/// A subscription to some channels; dropped, it ends.
#[async_trait]
pub trait Listener: Send {
    /// The next thing heard; `None` when the bus was dropped. A call that is given up loses nothing.
    async fn next(&mut self) -> Option<Heard>;
}

/// Who reads a stream in a group. The name should stay the same over restarts: Redis remembers every name it was told.
#[derive(Debug, Clone, Copy)]
pub struct Consumer<'a> {
    pub stream: &'a str,
    pub group: &'a str,
    pub name: &'a str,
}

#[async_trait]
pub trait Bus: Send + Sync + std::fmt::Debug {
    /// `in-process` or `redis`, for `/health` and `doctor`.
    fn kind(&self) -> &'static str;
    /// Whether other nodes are on it too.
    fn is_shared(&self) -> bool;
    /// Answers when the bus can be used now.
    async fn ping(&self) -> Result<()>;

    async fn ring(&self, channel: &str, payload: Bytes) -> Result<()>;
    /// The subscription is in force when this returns: what is rung later is heard, or `Lost` is. With Redis away it
    /// is Ok all the same, so that a server can start: the listener says `Lost` once it has got through.
    async fn listen(&self, channels: &[&str]) -> Result<Box<dyn Listener>>;

    /// A full cache may forget it before its time; a `ttl` of zero forgets it at once.
    async fn put(&self, key: &str, value: Bytes, ttl: Duration) -> Result<()>;
    async fn get(&self, key: &str) -> Result<Option<Bytes>>;
    async fn forget(&self, key: &str) -> Result<()>;
    /// Forgets every key that starts with `prefix`, and says how many.
    async fn forget_prefix(&self, prefix: &str) -> Result<u64>;

    /// Appends and returns the entry's id. An entry has at least one field.
    async fn append(&self, stream: &str, fields: &[(&str, &[u8])], keep: usize) -> Result<String>;
    /// Entries after `after`, oldest first; waits up to `wait` while there are none. An error does not wait: who
    /// reads in a loop makes a pause after one.
    async fn read(
        &self,
        stream: &str,
        after: &str,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<Entry>>;
    /// Entries that nobody of the group has had yet. The group is made when it is missing, from the stream's
    /// beginning. A call that is given up while it waits may have been handed entries: `claim` finds them.
    async fn take(
        &self,
        consumer: Consumer<'_>,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<Entry>>;
    /// Takes over entries that were handed out at least `idle` ago and never acknowledged.
    async fn claim(
        &self,
        consumer: Consumer<'_>,
        idle: Duration,
        limit: usize,
    ) -> Result<Vec<Entry>>;
    /// Says that the work on these entries is done.
    async fn acknowledge(&self, stream: &str, group: &str, ids: &[String]) -> Result<()>;
}

/// How many entries a call may hand out; none when it wants none.
fn bounded(limit: usize) -> Option<usize> {
    (limit > 0).then_some(limit.min(MOST_ENTRIES))
}

fn channel_names(channels: &[&str]) -> Result<BTreeSet<String>> {
    if channels.is_empty() {
        return Err(Error::Invalid("a listener listens to at least one channel".to_owned()));
    }
    Ok(channels.iter().map(|&channel| channel.to_owned()).collect())
}

fn check_fields(fields: &[(&str, &[u8])]) -> Result<()> {
    if fields.is_empty() {
        return Err(Error::Invalid("an entry has at least one field".to_owned()));
    }
    Ok(())
}
