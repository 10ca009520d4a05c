//! Values with a time to live, in memory.
//!
//! Bounded by count and by bytes. When it is full, the value that would go soonest goes first; what is too large for
//! the whole cache is not kept at all. The clock is tokio's, so that tests can stop it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::bus::LONGEST_TTL;

const MOST_KEYS: usize = 65_536;
const MOST_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Cache {
    /// Sorted by key, for `forget_prefix`.
    values: BTreeMap<String, Value>,
    /// The same keys in the order in which they go.
    order: BTreeSet<(Instant, String)>,
    bytes: usize,
    most_keys: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct Value {
    bytes: Bytes,
    until: Instant,
}

impl Cache {
    pub(super) fn new() -> Self {
        Self::bounded(MOST_KEYS, MOST_BYTES)
    }

    fn bounded(most_keys: usize, most_bytes: usize) -> Self {
        let (values, order) = (BTreeMap::new(), BTreeSet::new());
        Self { values, order, bytes: 0, most_keys, most_bytes }
    }

    pub(super) fn put(&mut self, key: &str, bytes: Bytes, ttl: Duration) {
        let now = Instant::now();
        self.forget(key);
        self.expire(now);
        let size = key.len() + bytes.len();
        if ttl.is_zero() || size > self.most_bytes {
            return;
        }
        while self.values.len() >= self.most_keys || self.bytes + size > self.most_bytes {
            self.forget_first();
        }
        let until = now + ttl.min(LONGEST_TTL);
        self.bytes += size;
        self.order.insert((until, key.to_owned()));
        self.values.insert(key.to_owned(), Value { bytes, until });
    }

    pub(super) fn get(&mut self, key: &str) -> Option<Bytes> {
        self.expire(Instant::now());
        self.values.get(key).map(|value| value.bytes.clone())
    }

    pub(super) fn forget(&mut self, key: &str) {
        if let Some((key, value)) = self.values.remove_entry(key) {
            self.bytes -= key.len() + value.bytes.len();
            self.order.remove(&(value.until, key));
        }
    }

    pub(super) fn forget_prefix(&mut self, prefix: &str) -> u64 {
        self.expire(Instant::now());
        let keys: Vec<String> = self
            .values
            .range(prefix.to_owned()..)
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .cloned()
            .collect();
        for key in &keys {
            self.forget(key);
        }
        keys.len() as u64
    }

    fn expire(&mut self, now: Instant) {
        while self.order.first().is_some_and(|(until, _)| *until <= now) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, key)) = self.order.first().cloned() {
            self.forget(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_secs(1);
    const LONG: Duration = Duration::from_secs(9);

    fn value(size: usize) -> Bytes {
        vec![0; size].into()
    }

    #[tokio::test(start_paused = true)]
    async fn values_go_when_their_time_has_come() {
        let mut cache = Cache::new();
        cache.put("short", value(1), SHORT);
        cache.put("long", value(1), LONG);
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(cache.get("short").is_some());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(cache.get("short").is_none());
        assert!(cache.get("long").is_some());
        assert_eq!(cache.bytes, "long".len() + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn full_it_forgets_what_would_go_soonest() {
        let mut cache = Cache::bounded(2, 100);
        cache.put("long", value(1), LONG);
        cache.put("short", value(1), SHORT);
        cache.put("third", value(1), LONG);
        assert!(cache.get("short").is_none());
        assert!(cache.get("long").is_some());

        cache.put("big", value(90), LONG);
        assert!(cache.get("long").is_none());
        assert!(cache.get("big").is_some());
        assert!(cache.bytes <= 100);

        cache.put("big", value(101), LONG);
        assert!(
            cache.get("big").is_none(),
            "larger than the cache, and the old value is not true any more"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn emptied_it_counts_nothing() {
        let mut cache = Cache::new();
        for key in ["a", "ab", "b"] {
            cache.put(key, value(7), Duration::MAX);
            cache.put(key, value(3), LONG);
        }
        assert_eq!(cache.forget_prefix("a"), 2);
        assert_eq!(cache.forget_prefix(""), 1);
        assert_eq!((cache.bytes, cache.order.len()), (0, 0));
    }
}
