//! All processes of a command: what they use, and their end.
//!
//! In a sandbox they are the descendants of bubblewrap, since none can leave its process namespace. Without one a
//! process can turn away from its parent; it is then known by its group, and by a mark in its environment.

use std::collections::HashSet;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use procfs::process::all_processes;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

/// The variable that marks what runs without a sandbox.
pub(super) const MARK: &str = "ARTEL_COMMAND";

/// How often a tree is looked at.
const PERIOD: Duration = Duration::from_millis(150);

/// A limit that was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    Memory,
    Processes,
}

/// A value for [`MARK`] that no other command of this machine has.
pub(super) fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

#[derive(Debug, Clone)]
pub(super) struct Tree {
    root: i32,
    /// Only without a sandbox.
    mark: Option<String>,
}

impl Tree {
    pub(super) fn new(root: u32, mark: Option<String>) -> Self {
        Self { root: root.cast_signed(), mark }
    }

    pub(super) fn is_bare(&self) -> bool {
        self.mark.is_some()
    }

    /// Returns when the tree has passed a limit.
    pub(super) async fn exceeds(&self, memory: u64, processes: usize) -> Excess {
        loop {
            sleep(PERIOD).await;
            let tree = self.clone();
            let (count, bytes) = super::blocking(move || tree.usage()).await;
            if count > processes {
                return Excess::Processes;
            }
            if bytes > memory {
                return Excess::Memory;
            }
        }
    }

    /// Kills every process of the tree, its root only when it is `whole`, and says how many there were.
    ///
    /// The root of a sandbox waits for what it holds and ends by itself; when it is gone, so is everything.
    pub(super) async fn strike(&self, whole: bool) -> usize {
        let tree = self.clone();
        super::blocking(move || {
            let mut members = tree.members();
            members.retain(|&pid| whole || pid != tree.root);
            for pid in members.iter().filter_map(|&pid| Pid::from_raw(pid)) {
                // One that is gone already is what was wanted.
                let _ = kill_process(pid, Signal::KILL);
            }
            members.len()
        })
        .await
    }

    fn usage(&self) -> (usize, u64) {
        let members = self.members();
        let bytes = |&pid: &i32| {
            let status =
                procfs::process::Process::new(pid).and_then(|process| process.status()).ok()?;
            // What is mapped from files is shared with everybody and no burden.
            Some((status.rssanon.unwrap_or(0) + status.rssshmem.unwrap_or(0)) * 1024)
        };
        (members.len(), members.iter().filter_map(bytes).sum())
    }

    /// The tree as it is now; the dead are no part of it.
    fn members(&self) -> Vec<i32> {
        let Ok(all) = all_processes() else { return Vec::new() };
        let mut found = HashSet::new();
        let mut others = Vec::new();
        for process in all.filter_map(Result::ok) {
            let Ok(stat) = process.stat() else { continue };
            if matches!(stat.state, 'Z' | 'X') {
                continue;
            }
            let marked = || {
                let environment = process.environ().ok();
                environment.and_then(|all| all.get(MARK.as_ref() as &std::ffi::OsStr).cloned())
                    == self.mark.as_ref().map(Into::into)
            };
            if stat.pid == self.root || stat.pgrp == self.root || (self.is_bare() && marked()) {
                found.insert(stat.pid);
            } else {
                others.push((stat.pid, stat.ppid));
            }
        }
        loop {
            let before = found.len();
            others.retain(|&(pid, parent)| !(found.contains(&parent) && found.insert(pid)));
            if found.len() == before {
                return found.into_iter().collect();
            }
        }
    }
}
