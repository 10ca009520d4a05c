//! The newest events of a project, without a gap, within a bound.

use std::collections::VecDeque;

use artel_storage::events::Recorded;

use super::Frame;

const EVENTS: usize = 1024;
const BYTES: usize = 1024 * 1024;

/// What is asked of the window, and what it can give.
pub(super) enum View {
    /// These follow the cursor.
    Frames(Vec<Frame>),
    /// The window does not reach back to the cursor, or not up to the newest event: ask the log.
    Elsewhere,
}

#[derive(Debug, Default)]
pub(super) struct Window {
    frames: VecDeque<Frame>,
    bytes: usize,
    /// The number of the last frame; meaningless while there are none.
    last: u64,
}

impl Window {
    /// Adds events that follow each other and gives the number of the newest. Ones that it has are skipped; after
    /// a gap (another node has written in between) it starts anew, as its frames must follow each other.
    pub(super) fn extend(&mut self, events: &[Recorded]) -> u64 {
        for event in events {
            if !self.frames.is_empty() && event.seq <= self.last {
                continue;
            }
            if !self.frames.is_empty() && event.seq != self.last + 1 {
                self.frames.clear();
                self.bytes = 0;
            }
            let frame = Frame::of_event(event);
            self.bytes += frame.len();
            self.frames.push_back(frame);
            self.last = event.seq;
            while self.frames.len() > EVENTS || (self.bytes > BYTES && self.frames.len() > 1) {
                self.bytes -= self.frames.pop_front().map_or(0, |frame| frame.len());
            }
        }
        self.last
    }

    /// Up to `limit` frames after the cursor.
    pub(super) fn after(&self, cursor: u64, limit: usize) -> View {
        let first = self.last + 1 - self.frames.len() as u64;
        if self.frames.is_empty() || cursor + 1 < first || cursor >= self.last {
            return View::Elsewhere;
        }
        let skip = usize::try_from(cursor + 1 - first).expect("the window is small");
        View::Frames(self.frames.iter().skip(skip).take(limit).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artel_domain::{ProjectId, SystemClock, Timestamp};

    fn events(numbers: impl IntoIterator<Item = u64>) -> Vec<Recorded> {
        let project = ProjectId::new(&SystemClock);
        let at = Timestamp::from_micros(0);
        let event = |seq| Recorded {
            project,
            seq,
            at,
            session: None,
            kind: "k".to_owned(),
            payload: "{}".to_owned(),
        };
        numbers.into_iter().map(event).collect()
    }

    fn seen(window: &Window, cursor: u64) -> Option<Vec<u64>> {
        match window.after(cursor, 3) {
            View::Frames(frames) => Some(frames.iter().filter_map(|frame| frame.seq).collect()),
            View::Elsewhere => None,
        }
    }

    #[test]
    fn gives_what_follows_the_cursor_and_nothing_else() {
        let mut window = Window::default();
        assert_eq!(seen(&window, 0), None);
        assert_eq!(window.extend(&events(5..=9)), 9);
        assert_eq!(seen(&window, 3), None, "four is not here");
        assert_eq!(seen(&window, 4), Some(vec![5, 6, 7]));
        assert_eq!(seen(&window, 7), Some(vec![8, 9]));
        assert_eq!(seen(&window, 9), None);
    }

    #[test]
    fn repeats_are_skipped_and_a_gap_starts_it_anew() {
        let mut window = Window::default();
        window.extend(&events(1..=4));
        window.extend(&events([3, 4, 5]));
        assert_eq!(seen(&window, 2), Some(vec![3, 4, 5]));
        window.extend(&events([8]));
        assert_eq!(seen(&window, 4), None);
        assert_eq!(seen(&window, 7), Some(vec![8]));
    }

    #[test]
    fn stays_within_its_bounds() {
        let mut window = Window::default();
        window.extend(&events(1..=5000));
        assert_eq!(window.frames.len(), EVENTS);
        assert!(window.bytes <= BYTES);
        assert_eq!(seen(&window, 4999), Some(vec![5000]));
    }
}
