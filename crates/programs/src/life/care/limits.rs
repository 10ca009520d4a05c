//! What ends a process that does nothing wrong: its age, its idleness, its memory. Always between turns.

use tokio::time::Instant;

use super::{Care, Process};
use crate::life::Warning;
use crate::life::state::State;
use crate::runner::Doing;

impl Care {
    /// The next moment at which something is to be done.
    pub(super) fn due(&self) -> Option<Instant> {
        let policy = &self.parts.policy;
        let mut all = vec![self.again, self.measure_at];
        if let (State::Running(doing), Process::Up(kept), false) =
            (self.state(), &self.process, self.is_single())
        {
            if !kept.warned {
                all.push(Some(kept.since + policy.ttl.saturating_sub(policy.warn_before)));
            }
            if doing == Doing::Idle {
                all.extend([Some(kept.since + policy.ttl), Some(kept.idle + policy.idle)]);
            }
        }
        all.into_iter().flatten().min()
    }

    pub(super) async fn look_at_times(&mut self) {
        let now = Instant::now();
        if self.again.is_some_and(|again| now >= again) {
            self.again = None;
            self.start().await;
        }
        if self.measure_at.is_some_and(|at| now >= at)
            && let Process::Up(kept) = &self.process
        {
            let handle = kept.runner.handle().clone();
            self.measuring = Some(Box::pin(async move { handle.uses().await }));
            self.measure_at = Some(now + self.parts.policy.look_every);
        }
        self.warn_of_age(now).await;
    }

    async fn warn_of_age(&mut self, now: Instant) {
        let policy = self.parts.policy;
        let single = self.is_single();
        if let Process::Up(kept) = &mut self.process
            && !kept.warned
            && !single
            && now >= kept.since + policy.ttl.saturating_sub(policy.warn_before)
        {
            kept.warned = true;
            let left = (kept.since + policy.ttl).saturating_duration_since(now);
            self.parts.watcher.warned(Warning::TtlNear { left }).await;
        }
    }

    /// Ends a process that is due to end, if it is at nothing.
    pub(super) async fn between_turns(&mut self) {
        let policy = self.parts.policy;
        let (State::Running(Doing::Idle), Process::Up(kept)) = (self.state(), &self.process) else {
            return;
        };
        if self.is_single() {
            return;
        }
        let now = Instant::now();
        let (ran, idle) = (now - kept.since, now - kept.idle);
        let (warning, again) = if ran >= policy.ttl {
            (Warning::TtlOver { ran }, false)
        } else if let (Some(used), Some(limit)) = (self.too_much, policy.memory) {
            (Warning::Memory { used, limit }, true)
        } else if idle >= policy.idle {
            (Warning::Idle { idle }, false)
        } else {
            return;
        };
        let reason = warning.to_string();
        self.parts.watcher.warned(warning).await;
        self.stop(&reason).await;
        self.then_start |= again;
    }
}
