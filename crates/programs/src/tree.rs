//! Processes as the kernel lists them: who is below whom, what they use, and who is who after a number was used again.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};

use procfs::process::{Process, all_processes};
use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::Uses;

/// The variable by which what was started is known when nothing else tells it from others.
pub(crate) const SOCKET: &str = "ORCH_SOCK";

/// All processes at one moment: the children of each, also the dead that nobody buried, which may have threads that
/// live.
pub(crate) struct Table(HashMap<i32, Vec<i32>>);

impl Table {
    pub(crate) fn now() -> Self {
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        let all = all_processes().into_iter().flatten().filter_map(Result::ok);
        for stat in all.filter_map(|process| process.stat().ok()) {
            children.entry(stat.ppid).or_default().push(stat.pid);
        }
        Self(children)
    }

    /// All that are below a process, however far.
    pub(crate) fn below(&self, root: i32) -> Vec<i32> {
        let mut found = Vec::new();
        // It was not read in one moment, so one could be seen twice.
        let mut seen = HashSet::from([root]);
        let mut next = vec![root];
        while let Some(pid) = next.pop() {
            let children = self.0.get(&pid).into_iter().flatten().copied();
            let new: Vec<i32> = children.filter(|&child| seen.insert(child)).collect();
            found.extend(&new);
            next.extend(new);
        }
        found
    }
}

pub(crate) fn below(root: i32) -> Vec<i32> {
    Table::now().below(root)
}

/// The first child of a process.
pub(crate) fn first_below(root: i32) -> Option<i32> {
    Table::now().0.remove(&root).and_then(|children| children.into_iter().min())
}

/// What is left of a session whose leader may be gone. Only what was started for an agent counts.
pub(crate) fn of_session(leader: i32) -> Vec<i32> {
    living(|process| {
        process.stat().is_ok_and(|stat| stat.session == leader) && socket(process).is_some()
    })
}

/// All that were started with this for their tools' socket, wherever they went since.
pub(crate) fn with_socket(wanted: &OsStr) -> Vec<i32> {
    living(|process| socket(process).is_some_and(|socket| socket == wanted))
}

fn living(wanted: impl Fn(&Process) -> bool) -> Vec<i32> {
    let all = all_processes().into_iter().flatten().filter_map(Result::ok);
    all.filter(|process| alive(process) && wanted(process)).map(|process| process.pid).collect()
}

fn alive(process: &Process) -> bool {
    process.stat().is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

fn socket(process: &Process) -> Option<OsString> {
    process.environ().ok()?.remove(OsStr::new(SOCKET))
}

pub(crate) fn signal(pids: &[i32], signal: Signal) {
    for pid in pids.iter().filter_map(|&pid| Pid::from_raw(pid)) {
        // One that is gone already is what was wanted.
        let _ = kill_process(pid, signal);
    }
}

/// When a process began, in ticks since boot; none when there is none, or only what is left of one.
pub(crate) fn started(pid: i32) -> Option<u64> {
    let process = Process::new(pid).ok().filter(alive)?;
    Some(process.stat().ok()?.starttime)
}

/// Whether a process hears this signal itself.
pub(crate) fn hears(pid: i32, signal: Signal) -> bool {
    let status = Process::new(pid).and_then(|process| process.status());
    status.is_ok_and(|status| status.sigcgt & (1 << (signal.as_raw() - 1)) != 0)
}

pub(crate) fn uses(pids: &[i32]) -> Uses {
    let memory = |&pid: &i32| {
        let status = Process::new(pid).and_then(|process| process.status()).ok()?;
        // What is mapped from files is shared with everybody and no burden.
        Some((status.rssanon.unwrap_or(0) + status.rssshmem.unwrap_or(0)) * 1024)
    };
    Uses { memory: pids.iter().filter_map(memory).sum(), processes: pids.len() as u64 }
}
