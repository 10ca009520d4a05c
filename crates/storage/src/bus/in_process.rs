//! The bus of a single node: everything in this process's memory, gone with it.
//!
//! Nothing here fails but a call that makes no sense. Every map is bounded; what goes first when one is full is said
//! in its file. Time is tokio's clock, so that tests can stop it. The locks are std's: they are held for a few map
//! operations and never over an await.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use self::cache::Cache;
use self::channels::Channels;
use self::streams::Streams;
use super::id::Id;
use super::{Bus, Consumer, Entry, LONGEST_WAIT, Listener, Result};

mod cache;
mod channels;
mod streams;

/// Share it in an `Arc`; dropped, its listeners hear `None`.
#[derive(Debug)]
pub struct InProcess {
    channels: Arc<Channels>,
    cache: Mutex<Cache>,
    streams: Mutex<Streams>,
}

impl InProcess {
    pub fn new() -> Self {
        Self {
            channels: Arc::default(),
            cache: Mutex::new(Cache::new()),
            streams: Mutex::default(),
        }
    }

    /// Looks until something is found or the time is over.
    async fn look<F>(&self, stream: &str, wait: Duration, mut look: F) -> Vec<Entry>
    where
        F: FnMut(&mut Streams) -> Vec<Entry> + Send,
    {
        if wait.is_zero() {
            return look(&mut lock(&self.streams));
        }
        let until = Instant::now() + wait.min(LONGEST_WAIT);
        let bell = lock(&self.streams).bell(stream);
        loop {
            // Asked for before looking, so that what is appended in between still rings.
            let rung = bell.notified();
            let found = look(&mut lock(&self.streams));
            if !found.is_empty() || timeout_at(until, rung).await.is_err() {
                return found;
            }
        }
    }
}

impl Default for InProcess {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Bus for InProcess {
    fn kind(&self) -> &'static str {
        "in-process"
    }

    fn is_shared(&self) -> bool {
        false
    }

    async fn ping(&self) -> Result<()> {
        Ok(())
    }

    async fn ring(&self, channel: &str, payload: Bytes) -> Result<()> {
        self.channels.ring(channel, &payload);
        Ok(())
    }

    async fn listen(&self, channels: &[&str]) -> Result<Box<dyn Listener>> {
        Ok(Box::new(self.channels.listen(super::channel_names(channels)?)))
    }

    async fn put(&self, key: &str, value: Bytes, ttl: Duration) -> Result<()> {
        lock(&self.cache).put(key, value, ttl);
        Ok(())
    }

    async fn get(&self, key: &str) -> Result<Option<Bytes>> {
        Ok(lock(&self.cache).get(key))
    }

    async fn forget(&self, key: &str) -> Result<()> {
        lock(&self.cache).forget(key);
        Ok(())
    }

    async fn forget_prefix(&self, prefix: &str) -> Result<u64> {
        Ok(lock(&self.cache).forget_prefix(prefix))
    }

    async fn append(&self, stream: &str, fields: &[(&str, &[u8])], keep: usize) -> Result<String> {
        super::check_fields(fields)?;
        Ok(lock(&self.streams).append(stream, fields, keep).to_string())
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
        Ok(self.look(stream, wait, |streams| streams.read(stream, after, limit)).await)
    }

    async fn take(
        &self,
        consumer: Consumer<'_>,
        limit: usize,
        wait: Duration,
    ) -> Result<Vec<Entry>> {
        let Some(limit) = super::bounded(limit) else { return Ok(Vec::new()) };
        let Consumer { stream, group, name: _ } = consumer;
        Ok(self.look(stream, wait, |streams| streams.take(stream, group, limit)).await)
    }

    async fn claim(
        &self,
        consumer: Consumer<'_>,
        idle: Duration,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let Some(limit) = super::bounded(limit) else { return Ok(Vec::new()) };
        Ok(lock(&self.streams).claim(consumer.stream, consumer.group, idle, limit))
    }

    async fn acknowledge(&self, stream: &str, group: &str, ids: &[String]) -> Result<()> {
        let ids: Vec<Id> = ids.iter().map(|id| id.parse()).collect::<Result<_>>()?;
        lock(&self.streams).acknowledge(stream, group, &ids);
        Ok(())
    }
}

/// A panic elsewhere leaves nothing half done here that a later call could trip over.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
