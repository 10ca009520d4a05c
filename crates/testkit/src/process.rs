//! A child process that dies with its owner.
//!
//! [`Process`] wraps `std::process::Child`: it can be asked to stop, be killed, and be waited for
//! with a bound. Nothing outlives a test: dropping it kills and reaps the child.

use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

/// How often a wait looks again.
pub(crate) const POLL: Duration = Duration::from_millis(5);

/// A running child; killed and reaped on drop.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self { child })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends a signal; a child that is already gone is no error.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            kill_process(Pid::from_child(&self.child), signal)?;
        }
        Ok(())
    }

    /// SIGKILL, and wait until the kernel has let go of it.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        self.child.kill()?;
        Ok(self.child.wait()?)
    }

    /// The exit status if the child has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits for the end, at most `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if start.elapsed() > limit {
                bail!("process {} still runs after {limit:?}", self.pid());
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; an already reaped child is the usual one.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago; whoever uses it must be ready to lose the race.
///
/// It lies below the range that the kernel gives to outgoing connections. A client that knocks at
/// a stopped server there could otherwise be given the very port, and meet itself.
pub fn free_port() -> Result<u16> {
    const RANGE: std::ops::Range<u16> = 10_240..32_768;
    for _ in 0..1_000 {
        let port = fastrand::u16(RANGE);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port in {RANGE:?}")
}

/// Raises the limit of open files as far as it goes, at most to `wanted`; children inherit it.
pub fn raise_open_files(wanted: u64) -> Result<u64> {
    let now = getrlimit(Resource::Nofile);
    let hard = now.maximum.unwrap_or(u64::MAX);
    let soft = now.current.unwrap_or(u64::MAX);
    if soft >= wanted {
        return Ok(soft);
    }
    let next = wanted.min(hard);
    setrlimit(Resource::Nofile, Rlimit { current: Some(next), maximum: now.maximum })?;
    Ok(next)
}

/// Calls `ready` until it says yes; fails when the child ends or `limit` passes.
pub(crate) fn wait_ready(
    process: &mut Process,
    what: &str,
    limit: Duration,
    mut ready: impl FnMut() -> bool,
) -> Result<()> {
    let start = Instant::now();
    while !ready() {
        if let Some(status) = process.ended()? {
            bail!("{what} ended before it was ready: {status}");
        }
        if start.elapsed() > limit {
            bail!("{what} was not ready after {limit:?}");
        }
        thread::sleep(POLL);
    }
    Ok(())
}
