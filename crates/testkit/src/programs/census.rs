//! The processes of this machine, as the kernel tells of them.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// The variable that has an agent's word.
pub(super) const NAME: &str = "MARK";
/// Clock ticks of a second, as every Linux tells of them.
const TICKS: u64 = 100;

/// A process; its number may be another's later, with its start it is nobody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Being {
    pub(super) pid: u32,
    pub(super) started: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    parent: u32,
    started: u64,
    /// It has ended, and nobody has asked how.
    zombie: bool,
}

#[derive(Debug)]
pub(super) struct Census {
    all: HashMap<u32, Entry>,
}

impl Census {
    pub(super) fn now() -> Self {
        let entry =
            |pid| Some((pid, entry(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?));
        Self { all: pids().into_iter().filter_map(entry).collect() }
    }

    /// Everything alive that a process started, and what that started.
    pub(super) fn below(&self, root: u32) -> Vec<Being> {
        let alive =
            self.all.iter().filter(|(pid, entry)| !entry.zombie && self.is_below(**pid, root));
        alive.map(|(&pid, entry)| Being { pid, started: entry.started }).collect()
    }

    /// What ended below a process and was not buried.
    pub(super) fn zombies_below(&self, root: u32) -> Vec<u32> {
        let dead =
            self.all.iter().filter(|(pid, entry)| entry.zombie && self.is_below(**pid, root));
        dead.map(|(&pid, _)| pid).collect()
    }

    pub(super) fn is_alive(&self, being: Being) -> bool {
        let entry = self.all.get(&being.pid);
        entry.is_some_and(|entry| !entry.zombie && entry.started == being.started)
    }

    pub(super) fn is_below(&self, pid: u32, root: u32) -> bool {
        let mut at = pid;
        // A number that was given anew while we read could close a circle.
        for _ in 0..self.all.len() {
            match self.parent(at) {
                Some(parent) if parent == root => return true,
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    pub(super) fn parent(&self, pid: u32) -> Option<u32> {
        self.all.get(&pid).map(|entry| entry.parent)
    }
}

/// Processes that have an agent's word, with the agent's number; a zombie has none.
pub(super) fn marked(word: &str) -> Vec<(u32, usize)> {
    let prefix = format!("{NAME}={word}");
    let number = |pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut variables = environment.split(|&byte| byte == 0);
        let own = |variable: &[u8]| variable.strip_prefix(prefix.as_bytes()).map(<[u8]>::to_vec);
        let number = variables.find_map(own)?;
        Some((pid, str::from_utf8(&number).ok()?.parse().ok()?))
    };
    pids().into_iter().filter_map(number).collect()
}

/// What a process is called with, for people.
pub(super) fn words(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text: String =
        String::from_utf8_lossy(&words).replace('\0', " ").chars().take(80).collect();
    format!("{pid} ({})", text.trim_end())
}

/// The processor's time that a process itself has used, without its children's.
pub(super) fn used(pid: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let field = |at: usize| fields(&stat)?.nth(at)?.parse::<u64>().ok();
    let ticks = field(11).zip(field(12)).context("a process has its times")?;
    Ok(Duration::from_millis((ticks.0 + ticks.1) * 1000 / TICKS))
}

fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn entry(stat: &str) -> Option<Entry> {
    let mut fields = fields(stat)?;
    let zombie = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some(Entry { parent, started, zombie })
}

/// From the state on; the name before it may contain anything.
fn fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_rest() {
        let stat = "7 (a) Z 1 (b) S 5 7 7 0 -1 4194560 1 0 0 0 11 12 0 0 20 0 1 0 6577560 1 1";
        let entry = entry(stat).unwrap();
        assert_eq!((entry.parent, entry.started, entry.zombie), (5, 6_577_560, false));
    }

    #[test]
    fn we_are_below_who_started_us() {
        let (own, census) = (std::process::id(), Census::now());
        let parent = census.parent(own).unwrap();
        assert!(census.is_below(own, parent) && !census.is_below(parent, own));
        assert!(census.below(parent).iter().any(|being| being.pid == own));
    }
}
