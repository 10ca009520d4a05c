//! Watches over what the kernel does not limit: one thread for all agents, since looking means going through every
//! process of the machine.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, setpriority_process};
use rustix::thread::gettid;
use tokio::sync::oneshot;

use super::{Limits, group};
use crate::tree::{self, Table};

/// How often everything is looked at, in ticks.
const PERIOD: u32 = 20;
/// How often it is looked whether the machine fills up with processes, which takes one small file.
const TICK: Duration = Duration::from_millis(10);
/// So many new ones are reason to look at everything at once.
const CROWD: u64 = 32;

/// As the kernel counts, from -20 to 19.
const FIRST: i32 = -20;

/// A limit that was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    Memory,
    Processes,
}

#[derive(Debug)]
pub(super) struct Watcher(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// By what everything is below.
    watched: HashMap<i32, Watched>,
    over: bool,
}

#[derive(Debug)]
struct Watched {
    limits: Limits,
    group: Option<PathBuf>,
    tell: oneshot::Sender<Excess>,
}

impl Watcher {
    pub(super) fn new() -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let watching = Arc::clone(&shared);
        thread::Builder::new().name("artel-watcher".to_owned()).spawn(move || watching.run())?;
        Ok(Self(shared))
    }

    /// Tells when what is below a process has passed its limits, after a first strike. Ends when nobody listens.
    pub(super) fn watch(
        &self,
        root: i32,
        limits: Limits,
        group: Option<&Path>,
    ) -> oneshot::Receiver<Excess> {
        let (tell, told) = oneshot::channel();
        let watched = Watched { limits, group: group.map(Path::to_owned), tell };
        self.0.lock().watched.insert(root, watched);
        self.0.changed.notify_one();
        told
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // Among thousands that want to run it must still have its turn, where the server may ask for that.
        let _ = setpriority_process(Some(gettid()), FIRST);
        while self.is_wanted() {
            let before = tasks();
            for _ in 0..PERIOD {
                thread::sleep(TICK);
                if tasks() > before + CROWD {
                    break;
                }
            }
            let mut state = self.lock();
            state.watched.retain(|_, watched| !watched.tell.is_closed());
            // Groups are counted first: that is quick, also when the machine is full.
            state.strike(|_, watched| {
                let group = watched.group.as_ref()?;
                let crowded = group::count(group) > watched.limits.processes;
                crowded.then_some((Excess::Processes, Vec::new()))
            });
            drop(state);
            let table = Table::now();
            self.lock().strike(|root, watched| {
                let below = table.below(root);
                Some((excess(&below, &watched.limits)?, below))
            });
        }
    }

    /// Waits until there is something to watch; false when there will be no more.
    fn is_wanted(&self) -> bool {
        let idle = |state: &mut State| state.watched.is_empty() && !state.over;
        let state = self.changed.wait_while(self.lock(), idle);
        !state.unwrap_or_else(PoisonError::into_inner).over
    }
}

impl State {
    /// Ends those that have passed a limit at once: until somebody has acted on what he is told there would be more.
    fn strike(&mut self, excess: impl Fn(i32, &Watched) -> Option<(Excess, Vec<i32>)>) {
        let found = self.watched.iter().filter_map(|(&root, it)| Some((root, excess(root, it)?)));
        let found: Vec<_> = found.collect();
        for (root, (excess, below)) in found {
            let Some(watched) = self.watched.remove(&root) else { continue };
            // The reason comes before the end. Who no longer listens has ended it.
            let _ = watched.tell.send(excess);
            if let Some(group) = &watched.group {
                let _ = group::kill(group);
            }
            tree::signal(&below, Signal::KILL);
        }
    }
}

fn excess(below: &[i32], limits: &Limits) -> Option<Excess> {
    if below.len() as u64 > limits.processes {
        return Some(Excess::Processes);
    }
    (tree::uses(below).memory > limits.memory).then_some(Excess::Memory)
}

/// How many processes and threads the machine has.
fn tasks() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = load.split([' ', '/']).nth(4);
    tasks.and_then(|tasks| tasks.parse().ok()).unwrap_or(0)
}
