//! How long a task may take: its own time, which stands still while it waits for others.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Patience {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Clone, Copy)]
enum State {
    RunsOut(Instant),
    /// So much is left once the last of so many pauses is over.
    StandsStill(Duration, usize),
}

impl Patience {
    pub(super) fn new(left: Duration) -> Self {
        Self { state: Mutex::new(State::RunsOut(Instant::now() + left)), changed: Notify::new() }
    }

    /// Stops the clock for as long as the pause lives, and any other.
    pub(super) fn pause(&self) -> Pause<'_> {
        self.change(|state| match state {
            State::RunsOut(end) => {
                State::StandsStill(end.saturating_duration_since(Instant::now()), 1)
            }
            State::StandsStill(left, pauses) => State::StandsStill(left, pauses + 1),
        });
        Pause(self)
    }

    /// Returns when the time is over.
    pub(super) async fn runs_out(&self) {
        loop {
            let changed = self.changed.notified();
            let state = *self.lock();
            match state {
                State::RunsOut(end) => tokio::select! {
                    () = tokio::time::sleep_until(end) => return,
                    () = changed => {}
                },
                State::StandsStill(..) => changed.await,
            }
        }
    }

    /// Returns as soon as the task waits for others.
    pub(super) async fn stands_still(&self) {
        loop {
            let changed = self.changed.notified();
            if matches!(*self.lock(), State::StandsStill(..)) {
                return;
            }
            changed.await;
        }
    }

    fn change(&self, next: impl FnOnce(State) -> State) {
        let mut state = self.lock();
        *state = next(*state);
        drop(state);
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Pause<'a>(&'a Patience);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.change(|state| match state {
            State::StandsStill(left, pauses @ 2..) => State::StandsStill(left, pauses - 1),
            State::StandsStill(left, _) => State::RunsOut(Instant::now() + left),
            State::RunsOut(end) => State::RunsOut(end),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WS-22.1: time spent waiting for others is not counted.
    #[tokio::test(start_paused = true)]
    async fn a_pause_is_not_counted() {
        let patience = Patience::new(Duration::from_secs(30));
        let began = Instant::now();
        let work = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            let pauses = [patience.pause(), patience.pause()];
            for pause in pauses {
                tokio::time::sleep(Duration::from_secs(150)).await;
                drop(pause);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! { () = work => {}, () = patience.runs_out() => {} }
        assert_eq!(began.elapsed(), Duration::from_secs(330));
    }
}
