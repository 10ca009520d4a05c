//! Whoever waits on this node for something to move on.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bells by what they ring for.
#[derive(Debug)]
pub(crate) struct Waiting<K>(Mutex<HashMap<K, (Arc<Notify>, usize)>>);

impl<K> Default for Waiting<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash> Waiting<K> {
    pub(crate) fn join(&self, key: K) -> Waiter<'_, K> {
        let mut all = self.lock();
        let (bell, waiters) = all.entry(key).or_default();
        *waiters += 1;
        Waiter { all: self, key, bell: Arc::clone(bell) }
    }

    /// It has moved on.
    pub(crate) fn ring(&self, key: K) {
        if let Some((bell, _)) = self.lock().get(&key) {
            bell.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (Arc<Notify>, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits; dropped, it leaves.
pub(crate) struct Waiter<'a, K: Copy + Eq + Hash> {
    all: &'a Waiting<K>,
    key: K,
    pub(crate) bell: Arc<Notify>,
}

impl<K: Copy + Eq + Hash> Drop for Waiter<'_, K> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some((_, waiters)) = all.get_mut(&self.key) {
            *waiters -= 1;
            if *waiters == 0 {
                all.remove(&self.key);
            }
        }
    }
}
