//! What waits for a person, over all their projects: told when it changes, and not what has changed, which can be asked.

use std::sync::atomic::Ordering;
use std::time::Duration;

use artel_domain::{ApprovalId, UserId};
use artel_storage::approvals;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::Feeds;
use crate::{App, Caller, Result};

/// How often it is looked at when other nodes may change it.
const LOOK: Duration = Duration::from_secs(2);

/// One listener. It costs nothing while nothing happens, and one question to the database when something does.
#[derive(Debug)]
pub struct Inbox {
    feeds: Feeds,
    user: UserId,
    moved: watch::Receiver<u64>,
    known: Option<Vec<ApprovalId>>,
    _place: OwnedSemaphorePermit,
}

impl Inbox {
    /// How much waits now: at first, and whenever something came or went. None: the server is stopping.
    pub async fn next(&mut self) -> Result<Option<usize>> {
        loop {
            self.moved.borrow_and_update();
            if self.feeds.0.closing.load(Ordering::SeqCst) {
                return Ok(None);
            }
            let user = self.user;
            let pending =
                self.feeds.0.db.read(move |conn| Box::pin(approvals::pending(conn, user)));
            let pending = pending.await?;
            if self.known.as_ref() != Some(&pending) {
                let count = pending.len();
                self.known = Some(pending);
                return Ok(Some(count));
            }
            let changed = self.moved.changed();
            if self.feeds.0.shared {
                // Either way it is looked at again.
                let _ = tokio::time::timeout(LOOK, changed).await;
            } else {
                let _ = changed.await;
            }
        }
    }
}

impl App {
    /// Listens to what waits for the caller.
    pub fn inbox(&self, caller: &Caller) -> Result<Inbox> {
        let feeds = &self.0.feeds;
        let place = feeds.place(caller.user, self.0.limits.streams_per_user())?;
        let moved = feeds.0.approvals.subscribe();
        Ok(Inbox { feeds: feeds.clone(), user: caller.user, moved, known: None, _place: place })
    }
}
