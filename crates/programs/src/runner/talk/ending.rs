//! How a process comes to its end: asked to, given up, or by itself.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Step, Talk};
use crate::codec::{Command, Fault, Out, Outcome};
use crate::log::Entry;
use crate::runner::warden::Exited;
use crate::runner::{Doing, End, Stage};
use crate::sandbox::Exit;

/// So many characters of each of its last lines are told.
const WORDS: usize = 300;

impl Talk {
    /// Nothing more is to be had from it.
    pub(super) fn give_up(&mut self, fault: Fault, why: String) {
        self.verdict.get_or_insert((fault, why));
        self.stopping = Some((Step::Kill, Instant::now()));
        self.warden.kill();
    }

    /// It can no longer be spoken to, and should be about to end.
    pub(super) fn await_end(&mut self) {
        let until = Instant::now() + self.settings.patience.rest;
        self.rest.get_or_insert(until);
    }

    pub(super) fn stop(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        self.ready_by = None;
        self.stopping = Some((Step::Turn, Instant::now() + self.settings.patience.stop_turn));
        // Without a turn there is nothing to wait for; with one its end goes on from here.
        if self.turn.is_none() || self.command(Command::Interrupt).is_err() {
            self.stop_by_closing();
        }
    }

    pub(super) fn stop_by_closing(&mut self) {
        self.stopping = Some((Step::Close, Instant::now() + self.settings.patience.stop_close));
        // A codec that is not ready for it has nothing to say; the end of its input says it.
        let _ = self.command(Command::Close);
        self.pipes.input.close();
    }

    pub(super) fn finish(mut self) {
        let why = self.why();
        // Whoever waits to say something hears that it has ended.
        self.held = None;
        let mut out = Out::default();
        self.codec.ended(&mut out);
        self.apply(out, 0);
        self.end_turn(Outcome::Failed { fault: Fault::Died, why: why.clone() });
        let exit = self.exit.and_then(|Exited(exit)| exit);
        let fault = self.verdict.map(|(fault, _)| fault);
        tracing::info!(agent = self.settings.name, why, "process_stopped");
        self.facts.send_modify(|facts| {
            let was_ready = facts.stage == Stage::Ready;
            facts.doing = Doing::Idle;
            facts.stage = Stage::Ended(End { exit, was_ready, fault, why });
        });
    }

    /// Whether it ended, and not as a program does that has done what it should.
    pub(super) fn failed(&self) -> bool {
        self.exit.is_some_and(|Exited(exit)| exit != Some(Exit::Code(0)))
    }

    /// Why it has ended.
    pub(super) fn why(&self) -> String {
        if let Some((_, why)) = &self.verdict {
            return why.clone();
        }
        let mut why = match self.exit.and_then(|Exited(exit)| exit) {
            Some(Exit::Code(code)) => format!("it ended with exit code {code}"),
            Some(Exit::Signal(signal)) => format!("it was ended by signal {signal}"),
            Some(Exit::Memory) => "it used more memory than it may".to_owned(),
            None => "it has ended".to_owned(),
        };
        if !self.last_words.is_empty() {
            why.push_str("; its last words: ");
            let words = |entry: &Arc<Entry>| entry.line.chars().take(WORDS).collect::<String>();
            why.push_str(&self.last_words.iter().map(words).collect::<Vec<_>>().join("\n"));
        }
        why
    }
}
