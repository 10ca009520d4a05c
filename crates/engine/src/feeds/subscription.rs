//! One listener's place in a project's log.

use std::sync::Arc;

use artel_domain::SessionId;
use artel_domain::event::{Error as Farewell, Heartbeat, Resync, ResyncReason};
use artel_storage::events;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::window::View;
use super::{Ended, Feed, Feeds, Frame, Pulse, lock, signal};
use crate::Result;

/// Events handed over at a time.
const AT_ONCE: usize = 256;

/// A stream of frames; dropped, it leaves.
pub struct Subscription {
    feeds: Feeds,
    feed: Arc<Feed>,
    pulse: watch::Receiver<Pulse>,
    /// Pieces in flight that were passed on or passed over.
    heard: u64,
    session: Option<SessionId>,
    cursor: u64,
    /// Something to say before anything else.
    first: Option<Frame>,
    _place: OwnedSemaphorePermit,
}

/// What comes next.
#[derive(Debug)]
pub enum Batch {
    Frames(Vec<Frame>),
    /// The last frame, if there is something to say, and then nothing more.
    End(Option<Frame>),
}

impl Subscription {
    pub(super) fn new(
        feeds: Feeds,
        feed: Arc<Feed>,
        session: Option<SessionId>,
        after: u64,
        head: u64,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let pulse = feed.pulse.subscribe();
        let heard = pulse.borrow().flown;
        let unknown = (after > head).then(|| {
            let resync =
                Resync { requested: after, resumed_after: head, reason: ResyncReason::Unknown };
            signal(feeds.0.clock.as_ref(), &resync.into())
        });
        Self {
            feeds,
            feed,
            pulse,
            heard,
            session,
            cursor: after.min(head),
            first: unknown,
            _place: place,
        }
    }

    /// Waits for events and gives them. May be dropped while it waits; nothing is lost.
    pub async fn next(&mut self) -> Result<Batch> {
        if let Some(first) = self.first.take() {
            return Ok(Batch::Frames(vec![first]));
        }
        loop {
            let pulse = *self.pulse.borrow_and_update();
            if pulse.ended == Some(Ended::Closing) {
                return Ok(Batch::End(None));
            }
            // Text in flight first: what it grows into must not come before it.
            if pulse.flown > self.heard {
                let flying = self.flying();
                if !flying.is_empty() {
                    return Ok(Batch::Frames(flying));
                }
            }
            if pulse.newest > self.cursor {
                let frames = self.advance(pulse.newest).await?;
                if !frames.is_empty() {
                    return Ok(Batch::Frames(frames));
                }
                continue;
            }
            if pulse.ended == Some(Ended::Deleted) {
                return Ok(Batch::End(Some(self.deleted())));
            }
            if self.pulse.changed().await.is_err() {
                return Ok(Batch::End(None));
            }
        }
    }

    /// What has flown by since, of what the listener asked for.
    fn flying(&mut self) -> Vec<Frame> {
        let mut frames;
        // More may have flown by than the pulse had said: what is taken here must not be taken again.
        (frames, self.heard) = lock(&self.feed.flight).since(self.heard);
        if let Some(session) = self.session {
            frames.retain(|frame| frame.session == Some(session));
        }
        frames
    }

    /// A sign of life.
    pub fn heartbeat(&self) -> Frame {
        let clock = self.feeds.0.clock.as_ref();
        signal(clock, &Heartbeat { timestamp: clock.now() }.into())
    }

    /// Moves the cursor and gives those of the passed events that the listener asked for.
    async fn advance(&mut self, newest: u64) -> Result<Vec<Frame>> {
        let view = lock(&self.feed.window).after(self.cursor, AT_ONCE);
        let (mut frames, gap) = match view {
            View::Frames(frames) => (frames, None),
            View::Elsewhere => self.read_log(newest).await?,
        };
        if let Some(last) = frames.iter().rev().find_map(|frame| frame.seq) {
            self.cursor = last;
        }
        if let Some(session) = self.session {
            frames.retain(|frame| frame.session == Some(session));
        }
        frames.splice(0..0, gap);
        Ok(frames)
    }

    /// Reads from the database. What it no longer has is said, never passed over.
    async fn read_log(&mut self, newest: u64) -> Result<(Vec<Frame>, Option<Frame>)> {
        let (project, after) = (self.feed.project, self.cursor);
        let limit = u32::try_from(AT_ONCE).expect("it is small");
        let log =
            self.feeds.0.db.read(move |conn| Box::pin(events::after(conn, project, after, limit)));
        let recorded = log.await?;
        if recorded.is_empty() && self.pulse.borrow().ended.is_some() {
            self.cursor = newest;
            return Ok((Vec::new(), None));
        }
        // Numbers have no holes, so what does not follow the cursor was pruned (or went with the project).
        let follows = recorded.first().map_or(newest, |event| event.seq - 1);
        let gap = (follows > self.cursor).then(|| {
            let resync = Resync {
                requested: self.cursor,
                resumed_after: follows,
                reason: ResyncReason::TooOld,
            };
            signal(self.feeds.0.clock.as_ref(), &resync.into())
        });
        self.cursor = follows;
        Ok((recorded.iter().map(Frame::of_event).collect(), gap))
    }

    fn deleted(&self) -> Frame {
        let ended = Farewell {
            error_code: "project_deleted".to_owned(),
            detail: "The project was deleted".to_owned(),
        };
        signal(self.feeds.0.clock.as_ref(), &ended.into())
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}
