//! Where a program runs: as it is, in bubblewrap, or in a container. The same inside, whichever it is.

use std::fmt;
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::codec::Signal;

/// The folders of one agent, as the server sees them, and what it may use up.
#[derive(Debug, Clone)]
pub struct Room {
    /// Tells its processes and containers from others': the agent's id.
    pub name: String,
    pub home: PathBuf,
    pub workspace: PathBuf,
    /// Where its tools' socket and spool are.
    pub tools: PathBuf,
    /// Folders of programs that are shown to it, read-only; the one with `orchestrator` is first.
    pub programs: Vec<PathBuf>,
    /// Further folders that are shown to it, read-only, such as a log-in: outside and inside.
    pub shown: Vec<(PathBuf, PathBuf)>,
    pub network: Network,
    pub limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Its tools' socket is all that it reaches.
    None,
    /// As the server's machine.
    Open,
}

/// What all processes of an agent may use up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// In bytes.
    pub memory: u64,
    pub processes: u64,
    /// In thousandths of a core.
    pub cpu: u32,
}

/// A process that was started, with its pipes.
pub struct Started {
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    pub running: Box<dyn Running>,
}

/// A process, or a container. Dropping it kills it and everything that it started.
#[async_trait]
pub trait Running: Send + fmt::Debug {
    /// What finds it again after the server was killed.
    fn mark(&self) -> Mark;
    /// Waits for its end; when that is there, nothing that it started is left.
    async fn wait(&mut self) -> io::Result<Exit>;
    /// To the program itself, not to whatever stands around it.
    async fn signal(&mut self, signal: Signal) -> io::Result<()>;
    /// Ends it and everything that it started, at once.
    async fn kill(&mut self) -> io::Result<()>;
    /// What it uses now, with everything that it started.
    async fn uses(&self) -> io::Result<Uses>;
}

/// What finds a process again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// With its start time, in the kernel's ticks since boot: a number alone may be another's by now.
    Process {
        pid: u32,
        started: u64,
    },
    Container {
        id: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses {
    pub memory: u64,
    pub processes: u64,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It used more memory than it may.
    Memory,
}
