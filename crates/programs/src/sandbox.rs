//! Where a program runs: as it is, in bubblewrap, or in a container. The same inside, whichever it is.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::codec::Signal;
use crate::kind::{Launch, Place, Unusable};
use crate::tree;

mod bubblewrap;
mod docker;
mod files;
mod group;
mod older;
mod plain;
mod process;
mod programs;
mod watcher;

pub use bubblewrap::Bubblewrap;
pub use docker::Docker;
pub use plain::Plain;
pub(crate) use programs::is_system;

/// In [`Room::tools`].
pub const SOCKET: &str = "socket";
pub const SPOOL: &str = "spool";

/// The image that `docker/universal-worker.Dockerfile` makes.
pub const IMAGE: &str = "universal-worker";

/// Where things are inside, when that is not where they are outside.
const HOME: &str = "/home/agent";
const WORKSPACE: &str = "/workspace";
const TOOLS: &str = "/run/artel";
const KEEPER: &str = "/run/artel-keeper";

/// Where every system has programs.
const PATH: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin"];
const SHELLS: &[&str] = &["/bin/bash", "/bin/sh"];

/// Where programs run. What is started lives no longer than this.
#[derive(Debug)]
pub enum Sandbox {
    Plain(Plain),
    Bubblewrap(Bubblewrap),
    Docker(Docker),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// No walls but a cleared environment and limits.
    Plain,
    Bubblewrap,
    Docker,
}

/// What sandboxes stand on.
#[derive(Debug, Clone)]
pub struct Means {
    pub keeper: Keeper,
    /// Where a sandbox may keep files of its own.
    pub dir: PathBuf,
    /// Docker's socket.
    pub docker: PathBuf,
    pub image: String,
    /// Tells our containers from those of other servers: the same after a restart.
    pub owner: String,
}

/// How [`crate::keeper`] is reached.
#[derive(Debug, Clone)]
pub struct Keeper {
    pub program: PathBuf,
    /// What comes before its own words.
    pub words: Vec<String>,
}

impl Keeper {
    fn command(&self, at: &Path) -> Vec<OsString> {
        let words = self.words.iter().map(OsString::from);
        [at.into()].into_iter().chain(words).collect()
    }
}

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
pub trait Running: Send + Sync + fmt::Debug {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

impl Sandbox {
    /// Tries what is there.
    pub async fn find(choice: Choice, means: Means) -> Result<Self, Unusable> {
        match choice {
            Choice::Plain => Plain::find(means.keeper).map(Self::Plain),
            Choice::Bubblewrap => Bubblewrap::find(means).await.map(Self::Bubblewrap),
            Choice::Docker => Docker::find(means).await.map(Self::Docker),
        }
    }

    /// Which walls stand, and which do not, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Plain(plain) => plain.describe(),
            Self::Bubblewrap(bubblewrap) => bubblewrap.describe(),
            Self::Docker(docker) => docker.describe(),
        }
    }

    /// The room as it is seen from inside.
    pub fn place(&self, room: &Room, token: SecretString, loopback: Option<String>) -> Place {
        let [home, workspace, tools] = match self {
            Self::Plain(_) => [&room.home, &room.workspace, &room.tools].map(PathBuf::from),
            Self::Bubblewrap(_) | Self::Docker(_) => [HOME, WORKSPACE, TOOLS].map(PathBuf::from),
        };
        let mut path = room.programs.clone();
        for folder in PATH.iter().map(PathBuf::from) {
            if !path.contains(&folder) {
                path.push(folder);
            }
        }
        let (socket, spool) = (tools.join(SOCKET), tools.join(SPOOL));
        Place { home, workspace, path, socket, spool, loopback, token }
    }

    /// Writes the files that must stand, and starts the process. Both its outputs must be read.
    pub async fn start(&self, room: &Room, place: &Place, launch: &Launch) -> io::Result<Started> {
        files::write(room, place, &launch.files).await?;
        let environment = self.environment(place, launch)?;
        match self {
            Self::Plain(plain) => plain.start(room, &launch.argv, environment).await,
            Self::Bubblewrap(bubblewrap) => bubblewrap.start(room, &launch.argv, environment).await,
            Self::Docker(docker) => docker.start(room, &launch.argv, environment).await,
        }
    }

    /// Ends what an earlier server left; when this returns well, it is gone.
    pub async fn end_left(&self, mark: &Mark) -> io::Result<()> {
        match (self, mark) {
            (_, Mark::Process { pid, started }) => process::end_left(*pid, *started).await,
            (Self::Docker(docker), Mark::Container { id }) => docker.end_left(id).await,
            (Self::Plain(_) | Self::Bubblewrap(_), Mark::Container { id }) => {
                Err(io::Error::other(format!(
                    "container {id} was left, and Docker is not in use now. Remove it with `docker rm -f {id}`"
                )))
            }
        }
    }

    /// Ends every container of an owner, and says how many there were.
    pub async fn end_all_left(&self, owner: &str) -> io::Result<usize> {
        match self {
            Self::Docker(docker) => docker.end_all_left(owner).await,
            Self::Plain(_) | Self::Bubblewrap(_) => Ok(0),
        }
    }

    /// Waits until everything is gone that was killed or dropped.
    pub async fn close(&self) {
        let tasks = match self {
            Self::Plain(plain) => plain.tasks(),
            Self::Bubblewrap(bubblewrap) => bubblewrap.tasks(),
            Self::Docker(docker) => docker.tasks(),
        };
        tasks.close();
        tasks.wait().await;
    }

    /// All that the process learns by its environment. What the room says wins.
    fn environment(
        &self,
        place: &Place,
        launch: &Launch,
    ) -> io::Result<BTreeMap<String, OsString>> {
        let mut all = BTreeMap::new();
        for (name, value) in &launch.environment {
            if !is_name(name) || value.contains('\0') {
                return Err(invalid(format!("{name:?} cannot be a variable of an environment")));
            }
            all.insert(name.clone(), value.into());
        }
        let path = std::env::join_paths(&place.path).map_err(|error| invalid(error.to_string()))?;
        let here = |shell: &&&str| matches!(self, Self::Docker(_)) || Path::new(shell).exists();
        let shell = SHELLS.iter().find(here).unwrap_or(&SHELLS[0]);
        let temporary = match self {
            Self::Plain(_) => place.home.join(plain::TEMPORARY).into(),
            Self::Bubblewrap(_) | Self::Docker(_) => "/tmp".into(),
        };
        let own: [(&str, OsString); 9] = [
            ("PATH", path),
            ("HOME", place.home.clone().into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
            ("SHELL", shell.into()),
            ("TMPDIR", temporary),
            (tree::SOCKET, place.socket.clone().into()),
            ("ORCH_SPOOL", place.spool.clone().into()),
            ("ORCH_AUTH", place.token.expose_secret().into()),
        ];
        all.extend(own.map(|(name, value)| (name.to_owned(), value)));
        match &place.loopback {
            Some(url) => all.insert("ORCH_URL".to_owned(), url.into()),
            None => all.remove("ORCH_URL"),
        };
        Ok(all)
    }
}

impl Exit {
    /// As the keeper says it: an end by a signal is a code above 128.
    fn of_keeper(code: i32) -> Self {
        match code {
            129..=192 => Self::Signal(code - 128),
            _ => Self::Code(code),
        }
    }
}

/// Letters, digits and `_`, as shells have it.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(plain)
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
