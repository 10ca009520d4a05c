//! The events of one turn, on their way from the process to whoever reads the turn.
//!
//! What lies unread is bounded: text is put together with the text before it, and when there is still too much, the
//! process has to wait.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::codec::{Event, Fault, Outcome};

/// What may lie unread.
const MOST_EVENTS: usize = 1024;
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Text is put together up to this.
const MERGED: usize = 64 * 1024;

/// A turn. Dropped before its end, it is interrupted.
#[derive(Debug)]
pub struct Turn {
    shared: Arc<Shared>,
    over: bool,
}

/// The process's side of a turn.
#[derive(Debug)]
pub(super) struct Feed(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    unread: Mutex<Unread>,
    /// Rung for the reader.
    news: Notify,
    /// Rung for the process: there is room, or nobody reads any more.
    room: Notify,
}

#[derive(Debug, Default)]
struct Unread {
    events: VecDeque<(Event, usize)>,
    bytes: usize,
    /// The process's side is gone.
    left: bool,
    /// The reader's side is gone.
    abandoned: bool,
}

impl Turn {
    pub(super) fn new() -> (Feed, Self) {
        let shared = Arc::new(Shared::default());
        (Feed(Arc::clone(&shared)), Self { shared, over: false })
    }

    /// What happens next in it; its last is [`Event::Ended`], and after that comes `None`. Nothing is lost when this is
    /// dropped.
    pub async fn next(&mut self) -> Option<Event> {
        if self.over {
            return None;
        }
        loop {
            let (event, left) = {
                let mut unread = self.shared.lock();
                (unread.pop(), unread.left)
            };
            let event = event.or_else(|| left.then(stopped));
            if let Some(event) = event {
                self.over = matches!(event, Event::Ended(_));
                self.shared.room.notify_one();
                return Some(event);
            }
            self.shared.news.notified().await;
        }
    }

    /// Passes over everything up to how it ended.
    pub async fn outcome(mut self) -> Outcome {
        loop {
            if let Some(Event::Ended(outcome)) = self.next().await {
                return outcome;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut unread = self.shared.lock();
        unread.abandoned = true;
        unread.events.clear();
        unread.bytes = 0;
        drop(unread);
        self.shared.room.notify_one();
    }
}

impl Feed {
    /// Adds an event that came with so many bytes.
    pub(super) fn push(&self, event: Event, bytes: usize) {
        let mut unread = self.0.lock();
        if !unread.abandoned {
            unread.push(event, bytes);
        }
        drop(unread);
        self.0.news.notify_one();
    }

    pub(super) fn is_full(&self) -> bool {
        let unread = self.0.lock();
        unread.events.len() >= MOST_EVENTS || unread.bytes >= MOST_BYTES
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.0.lock().abandoned
    }

    /// Waits until the reader has taken something or has gone.
    pub(super) async fn changed(&self) {
        self.0.room.notified().await;
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.lock().left = true;
        self.0.news.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Unread> {
        // Nothing can fail while it is held.
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unread {
    fn push(&mut self, event: Event, bytes: usize) {
        self.bytes += bytes;
        if let Some((last, size)) = self.events.back_mut()
            && *size < MERGED
            && merge(last, &event)
        {
            *size += bytes;
            return;
        }
        self.events.push_back((event, bytes));
    }

    fn pop(&mut self) -> Option<Event> {
        let (event, bytes) = self.events.pop_front()?;
        self.bytes -= bytes;
        Some(event)
    }
}

/// Puts text to the text before it, if both are of one sort.
fn merge(last: &mut Event, next: &Event) -> bool {
    if let (Event::Text(last), Event::Text(next)) | (Event::Thinking(last), Event::Thinking(next)) =
        (last, next)
    {
        last.push_str(next);
        return true;
    }
    false
}

/// For a turn whose process was dropped together with whoever owned it.
fn stopped() -> Event {
    Event::Ended(Outcome::Failed { fault: Fault::Died, why: "it was stopped".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CA-2.4: whoever reads slowly gets everything, text in larger pieces.
    #[tokio::test]
    async fn text_is_put_together_and_nothing_is_lost() {
        let (feed, mut turn) = Turn::new();
        for piece in ["a", "b"] {
            feed.push(Event::Text(piece.to_owned()), 1);
        }
        feed.push(Event::Thinking("c".to_owned()), 1);
        for piece in ["d", "e"] {
            feed.push(Event::Text(piece.to_owned()), MERGED);
        }
        feed.push(Event::Ended(Outcome::Interrupted), 0);
        let mut all = Vec::new();
        while let Some(event) = turn.next().await {
            all.push(event);
        }
        let text = |text: &str| Event::Text(text.to_owned());
        let thinking = Event::Thinking("c".to_owned());
        let ended = Event::Ended(Outcome::Interrupted);
        assert_eq!(all, [text("ab"), thinking, text("d"), text("e"), ended]);
    }

    #[tokio::test]
    async fn too_much_is_said_and_room_is_told() {
        let (feed, mut turn) = Turn::new();
        for _ in 0..MOST_EVENTS {
            assert!(!feed.is_full());
            feed.push(Event::Garbage { why: String::new() }, 1);
        }
        assert!(feed.is_full());
        turn.next().await;
        feed.changed().await;
        assert!(!feed.is_full());
        feed.push(Event::Text(String::new()), MOST_BYTES);
        assert!(feed.is_full());
        drop(turn);
        feed.changed().await;
        assert!(feed.is_abandoned() && !feed.is_full());
    }

    #[tokio::test]
    async fn a_turn_ends_also_when_its_process_is_dropped() {
        let (feed, mut turn) = Turn::new();
        feed.push(Event::Text("so far".to_owned()), 6);
        drop(feed);
        assert_eq!(turn.next().await, Some(Event::Text("so far".to_owned())));
        assert_eq!(turn.next().await, Some(stopped()));
        assert_eq!(turn.next().await, None);
    }
}
