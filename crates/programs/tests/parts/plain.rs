//! Plain children as processes of agents: a group of their own, which is killed together.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

use artel_programs::codec::Signal;
use artel_programs::kind::{Launch, Place};
use artel_programs::life::Starter;
use artel_programs::sandbox::{Exit, Mark, Room, Running, Started, Uses};
use async_trait::async_trait;
use rustix::process::{Pid, Signal as Kernel, kill_process, kill_process_group};
use tokio::process::{Child, Command};

/// Starts plain children, and counts them.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    pub(crate) starts: AtomicU64,
    /// What every process says it uses.
    pub(crate) memory: AtomicU64,
}

#[derive(Debug)]
struct PlainChild {
    child: Child,
    pid: Pid,
    memory: u64,
}

#[async_trait]
impl Starter for Plain {
    fn place(&self, room: &Room) -> Place {
        Place {
            home: room.home.clone(),
            workspace: room.workspace.clone(),
            path: room.programs.clone(),
            socket: room.tools.join("socket"),
            spool: room.tools.join("spool"),
            loopback: None,
            token: "a-token-of-the-tools".to_owned().into(),
        }
    }

    async fn start(&self, room: &Room, _: &Place, launch: &Launch) -> io::Result<Started> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        start(launch, &room.workspace, self.memory.load(Ordering::SeqCst))
    }
}

fn start(launch: &Launch, folder: &Path, memory: u64) -> io::Result<Started> {
    let mut child = Command::new(&launch.argv[0])
        .args(&launch.argv[1..])
        .envs(&launch.environment)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("it just started");
    Ok(Started {
        stdin: Box::new(child.stdin.take().expect("it is piped")),
        stdout: Box::new(child.stdout.take().expect("it is piped")),
        stderr: Box::new(child.stderr.take().expect("it is piped")),
        running: Box::new(PlainChild { child, pid, memory }),
    })
}

#[async_trait]
impl Running for PlainChild {
    fn mark(&self) -> Mark {
        Mark::Process { pid: self.pid.as_raw_nonzero().get().cast_unsigned(), started: 0 }
    }

    async fn wait(&mut self) -> io::Result<Exit> {
        let status = self.child.wait().await?;
        let _ = kill_process_group(self.pid, Kernel::KILL);
        let signal = || Exit::Signal(status.signal().unwrap_or(0));
        Ok(status.code().map_or_else(signal, Exit::Code))
    }

    async fn signal(&mut self, signal: Signal) -> io::Result<()> {
        let signal = match signal {
            Signal::Interrupt => Kernel::INT,
            Signal::Terminate => Kernel::TERM,
        };
        Ok(kill_process(self.pid, signal)?)
    }

    async fn kill(&mut self) -> io::Result<()> {
        Ok(kill_process_group(self.pid, Kernel::KILL)?)
    }

    async fn uses(&self) -> io::Result<Uses> {
        Ok(Uses { memory: self.memory, processes: 1 })
    }
}

impl Drop for PlainChild {
    fn drop(&mut self) {
        // Not when it was waited for: its number may be another's by now.
        if self.child.id().is_some() {
            let _ = kill_process_group(self.pid, Kernel::KILL);
        }
    }
}
