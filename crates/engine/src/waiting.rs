//! Whoever waits on this node for something to move on, and is handed its end if it ends here.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::Notify;

/// Bells by what they ring for.
#[derive(Debug)]
pub(crate) struct Waiting<K, V>(Mutex<HashMap<K, Place<V>>>);

/// A bell, and how many listen to it.
type Place<V> = (Arc<Bell<V>>, usize);

#[derive(Debug)]
pub(crate) struct Bell<V> {
    pub(crate) rung: Notify,
    /// What was waited for, if it ended on this node.
    pub(crate) ended: OnceLock<V>,
}

impl<K, V> Default for Waiting<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash, V> Waiting<K, V> {
    pub(crate) fn join(&self, key: K) -> Waiter<'_, K, V> {
        let silent = || (Arc::new(Bell { rung: Notify::new(), ended: OnceLock::new() }), 0);
        let mut all = self.lock();
        let (bell, waiters) = all.entry(key).or_insert_with(silent);
        *waiters += 1;
        Waiter { all: self, key, bell: Arc::clone(bell) }
    }

    /// It has moved on.
    pub(crate) fn ring(&self, key: K) {
        if let Some((bell, _)) = self.lock().get(&key) {
            bell.rung.notify_waiters();
        }
    }

    /// Its end, as it was committed: nobody here need read it again.
    pub(crate) fn hand_over(&self, key: K, end: impl FnOnce() -> V) {
        if let Some((bell, _)) = self.lock().get(&key) {
            bell.ended.get_or_init(end);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Place<V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits; dropped, it leaves.
pub(crate) struct Waiter<'a, K: Copy + Eq + Hash, V> {
    all: &'a Waiting<K, V>,
    pub(crate) key: K,
    pub(crate) bell: Arc<Bell<V>>,
}

impl<K: Copy + Eq + Hash, V> Drop for Waiter<'_, K, V> {
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
