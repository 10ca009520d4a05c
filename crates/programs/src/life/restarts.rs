//! How soon what failed is tried again, and when no more.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// How often and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first pause; each one after is twice as long.
    pub pause: Duration,
    pub longest: Duration,
    /// So many times within the window; then it is given up.
    pub most: usize,
    pub window: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(1),
            longest: Duration::from_mins(1),
            most: 5,
            window: Duration::from_mins(10),
        }
    }
}

/// The failures that count.
#[derive(Debug)]
pub(super) struct Restarts {
    backoff: Backoff,
    failures: VecDeque<Instant>,
}

impl Restarts {
    pub(super) fn new(backoff: Backoff) -> Self {
        Self { backoff, failures: VecDeque::new() }
    }

    /// It failed: the pause before it is tried again, or `None` if that is no use. `chance` is between 0 and 1.
    pub(super) fn pause(&mut self, now: Instant, chance: f64) -> Option<Duration> {
        let Backoff { pause, longest, most, window } = self.backoff;
        self.failures.retain(|failure| *failure + window > now);
        if self.failures.len() >= most {
            return None;
        }
        let doublings = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
        self.failures.push_back(now);
        let pause = pause.saturating_mul(2_u32.saturating_pow(doublings)).min(longest);
        // Half of it by chance, so that those that failed together do not come back together.
        Some(pause.mul_f64(0.5 + chance / 2.0))
    }

    /// Somebody starts it: what was is forgotten.
    pub(super) fn forget(&mut self) {
        self.failures.clear();
    }

    /// In words, for the reason of a failure.
    pub(super) fn told(&self) -> String {
        let Backoff { most, window, .. } = self.backoff;
        format!("it failed {} times within {} min", most + 1, window.as_secs().div_ceil(60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CA-2.2: pauses double up to a minute, and after too many failures there is none.
    #[test]
    fn pauses_double_and_come_to_an_end() {
        let backoff = Backoff { most: 8, ..Backoff::default() };
        let mut restarts = Restarts::new(backoff);
        let now = Instant::now();
        let pauses: Vec<_> = (0..8).map(|_| restarts.pause(now, 1.0).unwrap().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(restarts.pause(now, 1.0), None);
        // What is long ago does not count.
        let later = now + backoff.window;
        assert_eq!(restarts.pause(later, 0.0), Some(Duration::from_millis(500)));
        restarts.forget();
        assert_eq!(restarts.pause(later, 1.0), Some(Duration::from_secs(1)));
    }
}
