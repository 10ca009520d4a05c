//! Following a log: what is kept, then what comes, in order and once.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::Entry;

/// Gives the lines of a log as they come.
#[derive(Debug)]
pub struct Follow {
    kept: std::vec::IntoIter<Entry>,
    live: broadcast::Receiver<Arc<Entry>>,
    /// Was heard already, or counted as missed, and is the next to be given.
    next: Option<Arc<Entry>>,
    /// The number of the line that was given last.
    last: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    Line(Arc<Entry>),
    /// So many lines are gone: the follower was too slow for them, or came too late.
    Missed(u64),
}

impl Follow {
    pub(super) fn new(live: broadcast::Receiver<Arc<Entry>>, kept: Vec<Entry>, last: u64) -> Self {
        Self { kept: kept.into_iter(), live, next: None, last }
    }

    /// What comes next; `None` when nothing comes any more. Nothing is lost when this is dropped.
    pub async fn next(&mut self) -> Option<Followed> {
        let entry = match self.next.take() {
            Some(entry) => entry,
            None => self.newer().await?,
        };
        let missed = entry.number - self.last - 1;
        if missed > 0 {
            self.last = entry.number - 1;
            self.next = Some(entry);
            return Some(Followed::Missed(missed));
        }
        self.last = entry.number;
        Some(Followed::Line(entry))
    }

    /// The next line that was not given yet.
    async fn newer(&mut self) -> Option<Arc<Entry>> {
        if let Some(entry) = self.kept.by_ref().find(|entry| entry.number > self.last) {
            return Some(Arc::new(entry));
        }
        loop {
            match self.live.recv().await {
                Ok(entry) if entry.number > self.last => return Some(entry),
                // Kept lines are heard as well; what was lost by lagging shows in the numbers.
                Ok(_) | Err(RecvError::Lagged(_)) => (),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
