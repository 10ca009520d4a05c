//! Those who wait: for an agent to be up, or for its process to end.

use tokio::sync::oneshot;

use super::{Care, Process, Up};
use crate::codec::Refused;
use crate::life::state::State;
use crate::runner::Error;

/// How many may wait for it to start.
const MOST_WAITING: usize = 64;

/// Somebody who waits until it is up.
pub(super) enum Waiter {
    Message { text: String, reply: oneshot::Sender<Result<Up, Error>> },
    Start(oneshot::Sender<Result<(), Error>>),
}

impl Care {
    /// A message has come.
    pub(super) async fn wanted(&mut self, text: String, reply: oneshot::Sender<Result<Up, Error>>) {
        let status = self.status.borrow().clone();
        match (status.state, &self.process) {
            (State::Running(_), Process::Up(kept)) if !status.single => {
                let _ = reply.send(Ok(Up::Process(kept.runner.handle().clone())));
            }
            (State::Running(_), Process::None) if status.single => {
                self.open_alone(text, reply).await;
            }
            (State::Running(_), _) => {
                let _ = reply.send(Err(Refused::Busy.into()));
            }
            (State::Failed, _) if self.again.is_none() => {
                let _ = reply.send(Err(Error::Failed(status.reason.unwrap_or_default())));
            }
            (State::Killed, _) => {
                let why = "it was killed; start it again".to_owned();
                let _ = reply.send(Err(Error::Ended(why)));
            }
            (
                State::Init
                | State::Starting
                | State::Stopping
                | State::Stopped
                | State::Failed
                | State::Crashed,
                _,
            ) => self.wait(Waiter::Message { text, reply }).await,
        }
    }

    /// Somebody waits until it is up, for which it may have to be started.
    pub(super) async fn wait(&mut self, waiter: Waiter) {
        self.waiting.retain(|waiter| !waiter.has_gone());
        if self.waiting.len() >= MOST_WAITING {
            waiter.turn_away(Refused::Busy.into());
            return;
        }
        let by_hand = matches!(waiter, Waiter::Start(_));
        self.waiting.push(waiter);
        if !matches!(self.process, Process::None) {
            self.then_start |= self.state() != State::Starting;
        } else if self.again.is_none() || by_hand {
            self.start().await;
        }
    }

    pub(super) fn serve_waiting(&mut self) {
        let Process::Up(kept) = &self.process else { return };
        for waiter in self.waiting.drain(..) {
            match waiter {
                Waiter::Message { reply, .. } => {
                    let _ = reply.send(Ok(Up::Process(kept.runner.handle().clone())));
                }
                Waiter::Start(reply) => {
                    let _ = reply.send(Ok(()));
                }
            }
        }
    }

    pub(super) fn when_ended(&mut self, reply: oneshot::Sender<()>) {
        if let Process::Up(_) = self.process {
            self.ending.retain(|reply| !reply.is_closed());
            self.ending.push(reply);
        } else {
            let _ = reply.send(());
        }
    }

    pub(super) fn turn_away(&mut self, error: &Error) {
        for waiter in self.waiting.drain(..) {
            waiter.turn_away(error.clone());
        }
    }
}

impl Waiter {
    fn has_gone(&self) -> bool {
        match self {
            Self::Message { reply, .. } => reply.is_closed(),
            Self::Start(reply) => reply.is_closed(),
        }
    }

    pub(super) fn turn_away(self, error: Error) {
        // Whoever waited may have gone.
        match self {
            Self::Message { reply, .. } => _ = reply.send(Err(error)),
            Self::Start(reply) => _ = reply.send(Err(error)),
        }
    }
}
