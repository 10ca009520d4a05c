//! Who listens to which channel, in memory.
//!
//! A channel exists while somebody listens to it: the last listener to leave takes it along.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::broadcast::Sender;

use crate::bus::mailbox::{Mailbox, mailbox};
use crate::bus::{Heard, Listener};

#[derive(Debug, Default)]
pub(super) struct Channels(Mutex<Listening>);

#[derive(Debug, Default)]
struct Listening {
    by_channel: HashMap<String, Vec<(u64, Sender<Heard>)>>,
    last: u64,
}

impl Channels {
    pub(super) fn ring(&self, channel: &str, payload: &Bytes) {
        let listening = self.lock();
        for (_, mailbox) in listening.by_channel.get(channel).into_iter().flatten() {
            let heard = Heard::Ring { channel: channel.to_owned(), payload: payload.clone() };
            // It fails only for a listener that is just leaving.
            let _ = mailbox.send(heard);
        }
    }

    pub(super) fn listen(self: &Arc<Self>, names: BTreeSet<String>) -> Subscription {
        let (sender, mailbox) = mailbox();
        let mut listening = self.lock();
        listening.last += 1;
        let number = listening.last;
        for name in &names {
            let listeners = listening.by_channel.entry(name.clone()).or_default();
            listeners.push((number, sender.clone()));
        }
        Subscription { mailbox, names, number, channels: Arc::downgrade(self) }
    }

    fn leave(&self, names: &BTreeSet<String>, leaver: u64) {
        let mut listening = self.lock();
        for name in names {
            if let Some(listeners) = listening.by_channel.get_mut(name) {
                listeners.retain(|(number, _)| *number != leaver);
                if listeners.is_empty() {
                    listening.by_channel.remove(name);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Listening> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Weak, so that a listener does not keep the bus alive: with the bus go the senders, and the mailbox says so.
pub(super) struct Subscription {
    mailbox: Mailbox,
    names: BTreeSet<String>,
    number: u64,
    channels: Weak<Channels>,
}

#[async_trait]
impl Listener for Subscription {
    async fn next(&mut self) -> Option<Heard> {
        self.mailbox.next().await
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(channels) = self.channels.upgrade() {
            channels.leave(&self.names, self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_listener_takes_the_channel_along() {
        let channels = Arc::new(Channels::default());
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let first = channels.listen(names(&["a", "b"]));
        let second = channels.listen(names(&["b"]));
        drop(first);
        assert_eq!(channels.lock().by_channel.keys().collect::<Vec<_>>(), ["b"]);
        drop(second);
        assert!(channels.lock().by_channel.is_empty());
    }
}
