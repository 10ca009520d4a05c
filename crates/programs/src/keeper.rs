//! The little program that stands around every agent: `keeper [WISH…] -- PROGRAM [ARGUMENT…]`.
//!
//! It gives its own standard streams to the program and waits for its end. Whatever the program started then ends too,
//! also what turned away from it: the keeper is the one to whom orphans fall. Signals go to the program alone. When
//! its standard input is hung up, or who started it is gone, there is nobody left to work for: the program sees the
//! end of its input, and after a grace everything is killed. It does the same as the first process of a namespace.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Command, ExitCode};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, getppid, getrlimit,
    kill_process, set_child_subreaper, set_parent_process_death_signal, setrlimit, setsid, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::tree;

/// How long a program may take to end after it was left alone.
pub const GRACE: Duration = Duration::from_secs(5);
/// Open files of one process.
const FILES: u64 = 65_536;
const BETWEEN_STRIKES: Duration = Duration::from_millis(5);
/// More processes than can be held still are killed running.
const HOLDS: u32 = 200;

const BAD_WORDS: u8 = 125;
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// What the keeper is told.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Wishes {
    /// Whose end is its own: who starts it.
    pub parent: Option<u32>,
    /// The control groups that it joins before anything else.
    pub groups: Vec<PathBuf>,
    /// All variables that the program may see, if not all.
    pub only: Option<Vec<String>>,
    /// How many processes the kernel is to let it have; it counts by user, so only a namespace of users has its own
    /// count.
    pub processes: Option<u64>,
    /// It turns into the program instead of standing around it.
    pub become_it: bool,
}

impl Wishes {
    /// As words that [`main`] understands, up to the program.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(parent) = self.parent {
            words.extend(["--parent".into(), parent.to_string().into()]);
        }
        for group in &self.groups {
            words.extend(["--group".into(), group.into()]);
        }
        if let Some(only) = &self.only {
            words.extend(["--only".into(), only.join(",").into()]);
        }
        if let Some(processes) = self.processes {
            words.extend(["--processes".into(), processes.to_string().into()]);
        }
        if self.become_it {
            words.push("--become".into());
        }
        words.push("--".into());
        words
    }

    /// The wishes, and the program with its arguments.
    fn read(words: impl IntoIterator<Item = OsString>) -> Result<(Self, Vec<OsString>), String> {
        let mut words = words.into_iter();
        let mut wishes = Self::default();
        loop {
            let word = words.next().ok_or("there is no program to keep")?;
            let mut value = || words.next().ok_or(format!("{} wants a value", word.display()));
            match word.as_bytes() {
                b"--" => break,
                b"--parent" => wishes.parent = Some(number(&value()?)?),
                b"--processes" => wishes.processes = Some(number(&value()?)?),
                b"--group" => wishes.groups.push(value()?.into()),
                b"--only" => {
                    let names = value()?.into_string().map_err(|_| "--only wants names")?;
                    wishes.only = Some(names.split(',').map(str::to_owned).collect());
                }
                b"--become" => wishes.become_it = true,
                _ => return Err(format!("{} is not understood", word.display())),
            }
        }
        let program: Vec<OsString> = words.collect();
        if program.is_empty() {
            Err("there is no program to keep".to_owned())
        } else {
            Ok((wishes, program))
        }
    }
}

fn number<N: FromStr>(word: &OsStr) -> Result<N, String> {
    let number = word.to_str().and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("{} is not a number", word.display()))
}

/// Keeps the program that the words name until its end, and ends as it did.
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let (wishes, program) = match Wishes::read(words) {
        Ok(read) => read,
        Err(complaint) => return fail(BAD_WORDS, &complaint),
    };
    for group in &wishes.groups {
        // A limit that was promised stands before the program does.
        if let Err(error) = fs::write(group.join("cgroup.procs"), process::id().to_string()) {
            return fail(BAD_WORDS, &format!("cannot join {}: {error}", group.display()));
        }
    }
    let command = command(&wishes, &program);
    if wishes.become_it { turn_into(command) } else { keep(command, &wishes) }
}

fn command(wishes: &Wishes, program: &[OsString]) -> Command {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]);
    if let Some(only) = &wishes.only {
        let kept =
            |(name, _): &(OsString, OsString)| only.iter().any(|kept| OsStr::new(kept) == name);
        let kept: Vec<_> = std::env::vars_os().filter(kept).collect();
        command.env_clear().envs(kept);
    }
    command
}

fn turn_into(mut command: Command) -> ExitCode {
    let error = command.exec();
    cannot_run(&command, &error)
}

fn keep(mut command: Command, wishes: &Wishes) -> ExitCode {
    let mut ears = match Ears::open() {
        Ok(ears) => ears,
        Err(error) => return fail(BAD_WORDS, &format!("cannot hear signals: {error}")),
    };
    limit(wishes.processes);
    // When the machine has no memory left, an agent goes before the server does.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
    // Who leads a group already has a session that is as good.
    let _ = setsid();
    if let Err(error) = set_child_subreaper(Some(getpid())) {
        return fail(BAD_WORDS, &format!("orphans cannot be caught: {error}"));
    }
    let mut left_alone = watch_parent(wishes).then(Instant::now);
    command.process_group(0);
    let program = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => return cannot_run(&command, &error),
    };
    let ended = loop {
        if let Some(ended) = reap(program).of_program {
            break Some(ended);
        }
        if ears.at_once.load(Ordering::Relaxed) {
            break None;
        }
        if ears.alone.swap(false, Ordering::Relaxed) {
            left_alone.get_or_insert_with(Instant::now);
        }
        for (heard, signal) in [(&ears.interrupt, Signal::INT), (&ears.terminate, Signal::TERM)] {
            if heard.swap(false, Ordering::Relaxed) {
                // It cannot be another's number: it is reaped here alone.
                let _ = kill_process(program, signal);
            }
        }
        let patience = left_alone.map(|since| GRACE.saturating_sub(since.elapsed()));
        if patience == Some(Duration::ZERO) {
            break None;
        }
        if ears.wait(left_alone.is_none(), patience) {
            left_alone = Some(Instant::now());
        }
    };
    let ended = end_all(program).or(ended);
    ExitCode::from(ended.map_or(128 + 9, code))
}

/// What wakes the keeper.
struct Ears {
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
    /// Who started it is gone.
    alone: Arc<AtomicBool>,
    /// Everything is to end now.
    at_once: Arc<AtomicBool>,
    bell: UnixStream,
}

impl Ears {
    fn open() -> io::Result<Self> {
        let (bell, rope) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let flags: [Arc<AtomicBool>; 4] = Default::default();
        // The flag is up before the bell rings.
        for (signal, flag) in [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().zip(&flags) {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal, rope.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, rope)?;
        let [interrupt, terminate, alone, at_once] = flags;
        Ok(Self { interrupt, terminate, alone, at_once, bell })
    }

    /// Returns after any signal; true when the standard input was hung up, of which nothing is read.
    fn wait(&mut self, watch_input: bool, patience: Option<Duration>) -> bool {
        let input = io::stdin();
        let mut sources = vec![PollFd::new(&self.bell, PollFlags::IN)];
        if watch_input {
            sources.push(PollFd::new(&input, PollFlags::empty()));
        }
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        // Interrupted is as good as woken.
        let _ = poll(&mut sources, patience.as_ref());
        let gone = PollFlags::HUP | PollFlags::ERR;
        let hung_up = sources.get(1).is_some_and(|input| input.revents().intersects(gone));
        drop(sources);
        let mut rings = [0; 64];
        while matches!(self.bell.read(&mut rings), Ok(1..)) {}
        hung_up
    }
}

/// No dumps, and a bounded number of files and processes.
fn limit(processes: Option<u64>) {
    // One that is lower already stays.
    let set = |resource, wanted: u64| {
        let most = getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted));
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    };
    set(Resource::Core, 0);
    set(Resource::Nofile, FILES);
    if let Some(processes) = processes {
        set(Resource::Nproc, processes);
    }
}

/// Asks to be told of the end of who started it; true when that has been already. The first process of a namespace is
/// watched over by who made it.
fn watch_parent(wishes: &Wishes) -> bool {
    if getpid().is_init() {
        return false;
    }
    let _ = set_parent_process_death_signal(Some(Signal::HUP));
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().cast_unsigned());
    wishes.parent.is_some() && parent != wishes.parent
}

/// What burying the dead showed.
struct Reaped {
    of_program: Option<WaitStatus>,
    /// Nobody is below any more: every orphan would be a child.
    alone: bool,
}

fn reap(program: Pid) -> Reaped {
    let mut of_program = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == program => of_program = Some(status),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Reaped { of_program, alone: false },
            Err(_) => return Reaped { of_program, alone: true },
        }
    }
}

/// Kills everything that is below, until nothing is. What forks faster than it can be killed is held still first.
fn end_all(program: Pid) -> Option<WaitStatus> {
    let me = process::id().cast_signed();
    let mut held = HashSet::new();
    for _ in 0..HOLDS {
        let new: Vec<i32> = tree::below(me).into_iter().filter(|&pid| held.insert(pid)).collect();
        if new.is_empty() {
            break;
        }
        tree::signal(&new, Signal::STOP);
    }
    let mut ended = None;
    loop {
        tree::signal(&tree::below(me), Signal::KILL);
        let reaped = reap(program);
        ended = reaped.of_program.or(ended);
        if reaped.alone {
            return ended;
        }
        thread::sleep(BETWEEN_STRIKES);
    }
}

/// As shells say it.
fn code(ended: WaitStatus) -> u8 {
    let code = ended.exit_status().or(ended.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

fn cannot_run(command: &Command, error: &io::Error) -> ExitCode {
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
    fail(code, &format!("cannot run {}: {error}", command.get_program().display()))
}

fn fail(code: u8, complaint: &str) -> ExitCode {
    // Nobody may be there to hear it.
    let _ = writeln!(io::stderr(), "artel: {complaint}");
    ExitCode::from(code)
}
