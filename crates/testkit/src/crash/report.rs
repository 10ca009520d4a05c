//! The outcome of a crash run, and how it reads.

use std::fmt;
use std::time::Duration;

use super::check::{Kind, Violation};
use super::facts::{Counts, Facts};
use super::reader::Followed;
use super::state::State;

#[derive(Debug, Default)]
pub struct Report {
    /// SIGKILLs of the server while it served.
    pub kills: u32,
    /// SIGKILLs while it was starting.
    pub kills_at_start: u32,
    pub database_kills: u32,
    /// Cycles in which the server did not come as far as the chosen fsync.
    pub missed: u32,
    /// The longest time from launching to `/ready`.
    pub slowest_start: Duration,
    pub counts: Counts,
    /// Numbered events over all projects.
    pub events: u64,
    /// Times that a reader had to connect.
    pub connections: u64,
    pub violations: Vec<Violation>,
    pub elapsed: Duration,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    pub fn of(&self, kind: Kind) -> usize {
        self.violations.iter().filter(|violation| violation.kind == kind).count()
    }

    pub(super) fn violate(&mut self, kind: Kind, text: String) {
        self.violations.push(Violation { kind, text });
    }

    pub(super) fn count(&mut self, facts: &Facts, state: &State, followed: &[Followed]) {
        self.counts = facts.counts;
        self.events = state.projects.iter().map(|project| project.log.len() as u64).sum();
        self.connections = followed.iter().map(|reader| reader.connections).sum();
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "kills {} serving, {} starting, {} of the database, {} missed; slowest start {} ms",
            self.kills,
            self.kills_at_start,
            self.database_kills,
            self.missed,
            self.slowest_start.as_millis()
        )?;
        writeln!(
            f,
            "operations {} acknowledged, {} unknown, {} not sent; events {}; readers connected {} times",
            self.counts.acknowledged,
            self.counts.unknown,
            self.counts.not_sent,
            self.events,
            self.connections
        )?;
        writeln!(
            f,
            "lost {}, duplicated {}, resurrected {}, gaps {}, others {}; {:.1} s",
            self.of(Kind::Lost),
            self.of(Kind::Duplicated),
            self.of(Kind::Resurrected),
            self.of(Kind::Gap),
            self.violations.len()
                - self.of(Kind::Lost)
                - self.of(Kind::Duplicated)
                - self.of(Kind::Resurrected)
                - self.of(Kind::Gap),
            self.elapsed.as_secs_f64()
        )?;
        for violation in &self.violations {
            writeln!(f, "  {violation}")?;
        }
        Ok(())
    }
}
