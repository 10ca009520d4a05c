//! What is due in a conversation when nothing happens.

use tokio::time::Instant;

use super::{Step, Talk};
use crate::codec::{Command, Fault, Out, Outcome, Refused};

impl Talk {
    /// The next moment at which something is to be done if nothing happens.
    pub(super) fn due(&self) -> Option<Instant> {
        let patience = &self.settings.patience;
        if self.exit.is_some() {
            return self.rest;
        }
        // Its end is on the way, and nothing else matters.
        if self.stopping.is_some_and(|(step, _)| step == Step::Kill) {
            return None;
        }
        let turn = self.turn.as_ref().and_then(|turn| match &turn.interrupted {
            Some((until, _)) => Some(*until),
            // It is not the process that is slow.
            None => (!turn.held_up).then(|| turn.vigil.due(patience)),
        });
        let quiet = self.quiet.map(|(_, due)| due);
        let input = self.pipes.input.due(patience.input);
        let all = [self.ready_by, self.rest, quiet, turn, input, self.stopping.map(|(_, due)| due)];
        all.into_iter().flatten().min()
    }

    pub(super) fn look_at_times(&mut self, now: Instant) {
        let patience = self.settings.patience;
        if self.ready_by.is_some_and(|due| now >= due) {
            let why = format!("it was not ready within {} s", self.limits.ready_within.as_secs());
            self.give_up(Fault::Other, why);
        }
        if self.exit.is_none() && self.rest.take_if(|due| now >= *due).is_some() {
            self.give_up(Fault::Died, "it closed its pipes without ending".to_owned());
        }
        if self.quiet.take_if(|(_, due)| now >= *due).is_some() {
            let mut out = Out::default();
            self.codec.quiet(&mut out);
            self.apply(out, 0);
        }
        if self.pipes.input.due(patience.input).is_some_and(|due| now >= due) {
            let limit = patience.input.as_secs();
            self.give_up(Fault::Other, format!("it did not read its input for {limit} s"));
        }
        self.look_at_turn(now);
        match self.stopping.filter(|(_, due)| now >= *due) {
            Some((Step::Turn, _)) => self.stop_by_closing(),
            Some((Step::Close, _)) => {
                self.warden.signal(self.limits.stop);
                self.stopping = Some((Step::Signal, now + patience.stop_signal));
            }
            Some((Step::Signal, _)) => {
                self.warden.kill();
                self.stopping = Some((Step::Kill, now));
            }
            Some((Step::Kill, _)) | None => (),
        }
    }

    pub(super) fn look_at_turn(&mut self, now: Instant) {
        let patience = self.settings.patience;
        let Some(turn) = &mut self.turn else { return };
        if let Some((until, outcome)) = &turn.interrupted {
            if now >= *until {
                let (fault, why) = match outcome {
                    Some(Outcome::Failed { fault, why }) => (*fault, why.clone()),
                    Some(Outcome::Completed { .. } | Outcome::Interrupted) | None => {
                        (Fault::Other, "it did not end its turn when interrupted".to_owned())
                    }
                };
                self.give_up(fault, why);
            }
        } else if !turn.held_up && now >= turn.vigil.due(&patience) {
            let outcome = turn.vigil.verdict(&patience, now);
            // It is over now, whatever the codec says to that.
            turn.interrupted = Some((now, Some(outcome.clone())));
            if self.command(Command::Interrupt).is_ok()
                && let Some(turn) = &mut self.turn
            {
                turn.interrupted = Some((now + patience.interrupted, Some(outcome)));
            }
        }
    }

    pub(super) fn look_at_reader(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        if turn.feed.is_abandoned() && !turn.let_go {
            turn.let_go = true;
            // One that cannot be interrupted goes on unseen, as long as any other may.
            let _ = self.interrupt();
        }
    }

    pub(super) fn interrupt(&mut self) -> Result<(), Refused> {
        self.command(Command::Interrupt)?;
        let until = Instant::now() + self.settings.patience.interrupted;
        if let Some(turn) = &mut self.turn {
            turn.interrupted.get_or_insert((until, None));
        }
        Ok(())
    }
}
