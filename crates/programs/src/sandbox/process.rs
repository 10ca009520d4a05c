//! A process of this machine with everything that it started: what [`super::Plain`] and [`super::Bubblewrap`] share.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::pending;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use rustix::process as kernel;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::group::{Group, Groups};
use super::older::Controls;
use super::watcher::{Excess, Watcher};
use super::{Exit, Limits, Mark, Room, Running, Started, Uses};
use crate::codec::Signal;
use crate::tree;

/// One that is struck ends by itself, or is ended from without after so many times.
const STRIKES: u32 = 250;
/// So many of them are for the keeper to come to an end.
const GENTLE: u32 = 10;
const BETWEEN_STRIKES: Duration = Duration::from_millis(20);
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// How long the keeper may take until it can pass a signal on.
const HEARING: Duration = Duration::from_secs(5);

/// Starts processes of this machine.
#[derive(Debug)]
pub(super) struct Starter {
    jobs: mpsc::Sender<Job>,
    groups: Option<Groups>,
    watcher: Watcher,
    pub(super) tasks: TaskTracker,
}

struct Job {
    command: Command,
    runtime: Handle,
    done: oneshot::Sender<io::Result<Child>>,
}

/// What is to be started.
pub(super) struct Order {
    pub(super) words: Vec<OsString>,
    pub(super) folder: PathBuf,
    pub(super) environment: BTreeMap<String, OsString>,
    pub(super) group: Option<Group>,
    pub(super) walls: Walls,
}

/// What holds the processes together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Walls {
    /// The keeper alone, who is the process. What got away from it is known by its tools' socket.
    None { socket: OsString },
    /// A namespace of processes, whose first is the keeper and the process' only child.
    Namespace,
}

impl Starter {
    /// The kernel tells a process of the end of the thread that started it, so there is one thread for all, which
    /// stays.
    pub(super) fn new() -> io::Result<Self> {
        let (jobs, orders) = mpsc::channel::<Job>();
        thread::Builder::new().name("artel-starter".to_owned()).spawn(move || {
            for Job { mut command, runtime, done } in orders {
                let _inside = runtime.enter();
                // Who no longer waits drops the process, and it ends by the hang-up of its input.
                let _ = done.send(command.spawn());
            }
        })?;
        let (groups, watcher) = (Groups::find(), Watcher::new()?);
        Ok(Self { jobs, groups, watcher, tasks: TaskTracker::new() })
    }

    /// Which limits stand.
    pub(super) fn describe(&self) -> String {
        let limits = |what| self.groups.as_ref().is_some_and(|groups| groups.limit_in_part(what));
        let said = match (limits(Controls::Processes), limits(Controls::Cpu)) {
            _ if self.groups.as_ref().is_some_and(Groups::limit) => {
                return "The kernel limits memory, processes and CPU, by control groups."
                    .to_owned();
            }
            (true, true) => {
                "The kernel limits processes and CPU, by control groups; memory is watched and ended above its limit"
            }
            (true, false) => {
                "The kernel limits processes, by control groups; memory is watched and ended above its limit, CPU is \
                 not limited"
            }
            (false, true) => {
                "The kernel limits CPU, by control groups; memory and processes are watched and ended above their \
                 limits"
            }
            (false, false) if self.groups.is_some() => {
                "A control group holds together what an agent starts, but does not limit it: memory and processes are \
                 watched and ended above their limits, CPU is not limited"
            }
            (false, false) => {
                "There are no control groups (version 2) that the server may use: memory and processes are watched \
                 and ended above their limits, CPU is not limited"
            }
        };
        format!(
            "{said}. For limits by the kernel give the server a group of its own, as by `Delegate=yes` under systemd."
        )
    }

    pub(super) async fn group(&self, room: &Room) -> io::Result<Option<Group>> {
        let Some(groups) = self.groups.clone() else { return Ok(None) };
        let (name, limits) = (room.name.clone(), room.limits);
        blocking(move || groups.make(&name, &limits)).await?.map(Some)
    }

    pub(super) async fn start(&self, order: Order, limits: Limits) -> io::Result<Started> {
        let Order { words, folder, environment, group, walls } = order;
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(folder).env_clear().envs(environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (done, child) = oneshot::channel();
        let job = Job { command, runtime: Handle::current(), done };
        let gone = || io::Error::other("the thread that starts processes is gone");
        self.jobs.send(job).map_err(|_| gone())?;
        let mut child = child.await.map_err(|_| gone())??;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr), Some(pid)) =
            (stdin, stdout, stderr, child.id())
        else {
            return Err(io::Error::other("it was started without its pipes"));
        };
        let root = pid.cast_signed();
        let limited = group.as_ref().is_some_and(Group::limits);
        let folder = group.as_ref().map(Group::folder);
        let excess = (!limited).then(|| self.watcher.watch(root, limits, folder));
        let kept = Kept { root, walls: walls.clone(), group, ended: false };
        let (tell, ended) = watch::channel(None);
        let kill = CancellationToken::new();
        let stop = kill.clone();
        self.tasks.spawn(async move {
            let exit = kept.follow(child, excess, stop).await;
            tell.send_replace(Some(exit));
        });
        let kills_when_dropped = kill.clone().drop_guard();
        let around = walls.clone();
        let mark = blocking(move || mark(root, &around)).await?;
        let running =
            Process { mark, root, walls, ended, kill, _kills_when_dropped: kills_when_dropped };
        Ok(Started {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            running: Box::new(running),
        })
    }
}

#[derive(Debug)]
struct Process {
    mark: Mark,
    root: i32,
    walls: Walls,
    ended: watch::Receiver<Option<Exit>>,
    kill: CancellationToken,
    _kills_when_dropped: DropGuard,
}

#[async_trait]
impl Running for Process {
    fn mark(&self) -> Mark {
        self.mark.clone()
    }

    async fn wait(&mut self) -> io::Result<Exit> {
        let ended = self.ended.wait_for(Option::is_some).await;
        let exit = ended.ok().and_then(|exit| *exit);
        exit.ok_or_else(|| io::Error::other("nobody waits for it: the server is ending"))
    }

    async fn signal(&mut self, signal: Signal) -> io::Result<()> {
        let signal = match signal {
            Signal::Interrupt => kernel::Signal::INT,
            Signal::Terminate => kernel::Signal::TERM,
        };
        let (root, walls) = (self.root, self.walls.clone());
        let ready = async || {
            loop {
                let walls = walls.clone();
                if let Some(keeper) = blocking(move || keeper(root, &walls, signal)).await? {
                    return Ok::<i32, io::Error>(keeper);
                }
                sleep(BETWEEN_STRIKES).await;
            }
        };
        let keeper = tokio::select! {
            _ = self.ended.wait_for(Option::is_some) => return Ok(()),
            keeper = timeout(HEARING, ready()) => keeper??,
        };
        tree::signal(&[keeper], signal);
        Ok(())
    }

    async fn kill(&mut self) -> io::Result<()> {
        self.kill.cancel();
        self.wait().await.map(|_| ())
    }

    async fn uses(&self) -> io::Result<Uses> {
        let root = self.root;
        blocking(move || tree::uses(&tree::below(root))).await
    }
}

/// The keeper: when it is gone, so is everything that it kept. In a namespace bubblewrap may go before.
fn mark(root: i32, walls: &Walls) -> Mark {
    let first = || match walls {
        Walls::None { .. } => Some(root),
        Walls::Namespace => tree::first_below(root),
    };
    let mut keeper = first();
    // One that has ended by now needs no mark.
    while keeper.is_none() && tree::started(root).is_some() {
        thread::sleep(BETWEEN_LOOKS);
        keeper = first();
    }
    let keeper = keeper.unwrap_or(root);
    let started = tree::started(keeper).unwrap_or_default();
    Mark::Process { pid: keeper.cast_unsigned(), started }
}

/// The keeper's number, when it is there and passes this signal on.
fn keeper(root: i32, walls: &Walls, signal: kernel::Signal) -> Option<i32> {
    let keeper = match walls {
        Walls::None { .. } => Some(root),
        Walls::Namespace => tree::first_below(root),
    };
    keeper.filter(|&keeper| tree::hears(keeper, signal))
}

/// A process whose end is awaited.
struct Kept {
    root: i32,
    walls: Walls,
    group: Option<Group>,
    ended: bool,
}

impl Kept {
    async fn follow(
        mut self,
        mut child: Child,
        excess: Option<oneshot::Receiver<Excess>>,
        kill: CancellationToken,
    ) -> Exit {
        let exceeds = async {
            match excess {
                // Without an answer the watcher is gone, and the server ends.
                Some(excess) => match excess.await {
                    Ok(excess) => excess,
                    Err(_) => pending().await,
                },
                None => pending().await,
            }
        };
        let mut too_big = false;
        let status = tokio::select! {
            // The reason first, when the end is there already.
            biased;
            excess = exceeds => {
                too_big = excess == Excess::Memory;
                self.strike(&mut child).await
            }
            status = child.wait() => status,
            () = kill.cancelled() => self.strike(&mut child).await,
        };
        self.ended = true;
        self.sweep().await;
        let killed = |exit: &Exit| *exit == Exit::Signal(kernel::Signal::KILL.as_raw());
        // What cannot be waited for is nobody's child any more.
        let exit = status.map_or(Exit::Signal(kernel::Signal::KILL.as_raw()), exit);
        let out_of_memory = self.group.as_ref().is_some_and(Group::ran_out_of_memory);
        if too_big || (out_of_memory && killed(&exit)) { Exit::Memory } else { exit }
    }

    /// Brings the end about. The keeper buries what it held, or the kernel with the namespace; the group alone would
    /// leave that to whoever is the first process of the machine, so it comes later.
    async fn strike(&self, child: &mut Child) -> io::Result<ExitStatus> {
        for strike in 0..STRIKES {
            if let Some(group) = self.group.as_ref().filter(|_| strike >= GENTLE) {
                let _ = group.kill();
            }
            if matches!(self.walls, Walls::None { .. }) {
                tree::signal(&[self.root], kernel::Signal::QUIT);
            }
            let root = self.root;
            // The process itself waits for what it holds; when it is gone, so is everything.
            let _ = blocking(move || tree::signal(&tree::below(root), kernel::Signal::KILL)).await;
            if let Ok(status) = timeout(BETWEEN_STRIKES, child.wait()).await {
                return status;
            }
        }
        child.start_kill()?;
        child.wait().await
    }

    /// After the end: somebody may have killed the keeper, and not the rest.
    async fn sweep(&mut self) {
        if let Walls::None { socket } = self.walls.clone() {
            let root = self.root;
            let left = move || [tree::of_session(root), tree::with_socket(&socket)].concat();
            let _ = blocking(move || end(left)).await;
        }
        if let Some(group) = self.group.take() {
            let emptied = blocking(move || group.end().map(|()| group)).await;
            self.group = emptied.ok().and_then(Result::ok);
        }
    }
}

impl Drop for Kept {
    /// The runtime is ending: nobody will strike, so the keeper does it, or the kernel.
    fn drop(&mut self) {
        if !self.ended {
            let signal = match self.walls {
                Walls::None { .. } => kernel::Signal::QUIT,
                Walls::Namespace => kernel::Signal::KILL,
            };
            tree::signal(&[self.root], signal);
        }
    }
}

/// Ends a process that an earlier server left, and everything below it.
pub(super) async fn end_left(pid: u32, started: u64) -> io::Result<()> {
    let root = pid.cast_signed();
    blocking(move || {
        end(|| match tree::started(root) {
            Some(now) if now == started => {
                // A keeper ends by itself what is below it.
                tree::signal(&[root], kernel::Signal::QUIT);
                let mut all = tree::below(root);
                if all.is_empty() {
                    all.push(root);
                }
                all
            }
            // The number is another's now, so nothing is left of the session that had it.
            Some(_) => Vec::new(),
            None => tree::of_session(root),
        })
    })
    .await?
}

/// Kills what is left until nothing is.
fn end(left: impl Fn() -> Vec<i32>) -> io::Result<()> {
    for _ in 0..STRIKES {
        let left = left();
        if left.is_empty() {
            return Ok(());
        }
        tree::signal(&left, kernel::Signal::KILL);
        thread::sleep(BETWEEN_STRIKES);
    }
    Err(io::Error::other("what was left does not end"))
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::of_keeper(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)
}
