//! A node that programs run on: its folders, its walls and its places.
//!
//! Whoever wants an agent here gives an [`Opening`], which is data and can travel: the same on the server's own machine
//! and on a worker far from it.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use artel_domain::clock::Clock;
use artel_domain::process::{Runtime, Sandbox};
use artel_domain::{AgentId, UserId};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::availability::{self, Availability};
use crate::kind::{Abilities, Credentials, Kind, Unusable, Wish};
use crate::kinds;
use crate::life::Watcher;
use crate::log::LogSink;
use crate::member::Member;
use crate::sandbox::{Choice, Keeper, Mark, Means, Sandbox as Walls};
use crate::toolbox::ToolSpec;

mod admission;
mod entrance;
mod lent;
mod opening;

use admission::Admission;
use entrance::Residents;

/// What can be set about the programs of a node.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Tells what is ours from what is another node's: the same after a restart.
    pub node: String,
    /// Where their homes, workspaces and logs are, and what stands around them needs.
    pub dir: PathBuf,
    /// This very program, which is also the one that stands around each of theirs, and the one that they call us with.
    pub binary: PathBuf,
    /// Where their programs are looked for.
    pub path: Vec<PathBuf>,
    /// Where they may run; the first unless an agent says otherwise.
    pub sandboxes: Vec<Sandbox>,
    /// Folders of this machine that they may be given to work in.
    pub workspaces: Vec<PathBuf>,
    pub docker: PathBuf,
    pub image: String,
    /// How long one may take to answer.
    pub turn_timeout: Duration,
    /// Processes at a time, in all and of one user.
    pub most: usize,
    pub most_per_user: usize,
}

/// An agent that is wanted on a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opening {
    pub agent: AgentId,
    pub user: UserId,
    pub runtime: Runtime,
    pub instructions: String,
    pub tools: Vec<ToolSpec>,
    #[serde(with = "lent")]
    pub credentials: Credentials,
    /// The conversation to take up again.
    pub resume: Option<String>,
}

/// Where what becomes of it goes.
#[derive(Debug)]
pub struct Ears {
    pub watcher: Arc<dyn Watcher>,
    pub log: Arc<dyn LogSink>,
    pub clock: Arc<dyn Clock>,
}

/// Why an agent cannot be had on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    #[error("{field} {why}")]
    Invalid { field: String, why: String },
    #[error("{0}")]
    NoSandbox(String),
    #[error("{0}")]
    NotInstalled(String),
    #[error("{0}")]
    NotLoggedIn(String),
    #[error("{0}")]
    Unusable(String),
    /// A fault of the node's.
    #[error("{0}")]
    Broken(String),
}

impl Refusal {
    /// What is missing on which of several nodes.
    #[must_use]
    pub fn on(self, node: &str) -> Self {
        if let Self::NotInstalled(why) = self {
            return Self::NotInstalled(format!("On {node}: {why}"));
        }
        self
    }

    fn invalid(field: &str, why: impl Into<String>) -> Self {
        Self::Invalid { field: field.to_owned(), why: why.into() }
    }

    fn broken(what: &Path, error: &io::Error) -> Self {
        Self::Broken(format!("{}: {error}", what.display()))
    }
}

/// A node that programs run on. Share it in an `Arc`.
#[derive(Debug)]
pub struct Host {
    settings: Settings,
    walls: [OnceCell<Arc<Walls>>; 3],
    admission: Arc<Admission>,
    residents: Arc<Residents>,
}

impl Host {
    pub fn new(settings: Settings) -> Self {
        let admission = Arc::new(Admission::new(settings.most, settings.most_per_user));
        Self { settings, walls: Default::default(), admission, residents: Arc::default() }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Prepares everything that the agent needs; its process is started when it is first needed.
    pub async fn open(&self, opening: Opening, ears: Ears) -> Result<Member, Refusal> {
        opening::open(self, opening, ears).await
    }

    /// An agent's number in the queue for a place here.
    pub fn waiting(&self, agent: AgentId) -> Option<usize> {
        self.admission.place(agent)
    }

    /// Whether one more would have to wait.
    pub fn is_full(&self) -> bool {
        self.admission.is_full()
    }

    /// Its own folder: home, workspace, tools.
    pub fn folder(&self, agent: AgentId) -> PathBuf {
        self.settings.dir.join(agent.to_string())
    }

    /// Nothing is kept of a deleted agent's home, workspace and log.
    pub async fn forget(&self, agent: AgentId) {
        match tokio::fs::remove_dir_all(self.folder(agent)).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%agent, %error, "the folder of a deleted agent stays");
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// Where it runs unless it says.
    pub fn standard(&self) -> Sandbox {
        self.settings.sandboxes.first().copied().unwrap_or(Sandbox::Bubblewrap)
    }

    /// What is wrong with a configuration on this node, as far as can be said before anything is opened.
    pub fn check(&self, runtime: &Runtime) -> Result<(), Refusal> {
        check(runtime)?;
        self.allowed(runtime)?;
        if let Some(folder) = &runtime.workspace {
            self.allowed_folder("config.runtime.workspace", folder)?;
        }
        Ok(())
    }

    /// A folder that users may name, beneath one that the node's owner lets agents work in.
    pub fn allowed_folder(&self, field: &str, folder: &str) -> Result<PathBuf, Refusal> {
        let allowed = &self.settings.workspaces;
        let real = std::fs::canonicalize(folder).ok();
        let within =
            |real: &PathBuf| real.is_dir() && allowed.iter().any(|root| real.starts_with(root));
        real.filter(within).ok_or_else(|| {
            let why = "is no folder that agents may work in; the server's owner names those in agent_workspaces";
            Refusal::invalid(field, why)
        })
    }

    /// Each kind, and whether it can be had here with these credentials.
    pub async fn kinds(
        &self,
        credentials: impl Fn(&str) -> Credentials,
    ) -> BTreeMap<&'static str, Result<Availability, String>> {
        let walls = self.walls(choice(self.standard())).await;
        let mut all = BTreeMap::new();
        for kind in kinds::all() {
            let wish = Wish { credentials: credentials(kind.name()), ..Wish::default() };
            let looked = match &walls {
                Ok(walls) => self.look(*kind, &wish, walls, &self.settings.dir).await,
                // Nothing can be had where nothing can run.
                Err(refusal) => kind.program(&wish).map(|program| Availability::NotInstalled {
                    program: program.name,
                    install: refusal.to_string(),
                }),
            };
            all.insert(kind.name(), looked.map_err(|unusable| unusable.to_string()));
        }
        all
    }

    /// Whether a program can be had within these walls.
    async fn look(
        &self,
        kind: &dyn Kind,
        wish: &Wish,
        walls: &Walls,
        home: &Path,
    ) -> Result<Availability, Unusable> {
        let folders = &self.settings.path;
        match walls {
            Walls::Plain(_) | Walls::Bubblewrap(_) => {
                availability::look(kind, wish, folders, home).await
            }
            Walls::Docker(image) => {
                availability::look_in_image(kind, wish, image, folders, home).await
            }
        }
    }

    /// Ends a process that an earlier server left.
    pub async fn end_left(&self, sandbox: Sandbox, mark: &Mark) -> Result<(), Refusal> {
        let walls = self.walls(choice(sandbox)).await?;
        walls.end_left(mark).await.map_err(|error| Refusal::Broken(error.to_string()))
    }

    /// Ends containers that an earlier server left and that nobody wrote down: it died between the two. Without a
    /// Docker there are none, and other programs need none.
    pub async fn end_containers(&self) {
        if !self.settings.sandboxes.contains(&Sandbox::Docker) {
            return;
        }
        match self.walls(Choice::Docker).await {
            Ok(walls) => match walls.end_all_left(&self.settings.node).await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "containers of an earlier server were ended"),
                Err(error) => tracing::warn!(%error, "containers that were left stay"),
            },
            Err(refusal) => tracing::warn!(%refusal, "there is no Docker for programs"),
        }
    }

    /// Where it runs: what it says, if the node lets it.
    fn allowed(&self, runtime: &Runtime) -> Result<Choice, Refusal> {
        let wanted = runtime.sandbox.unwrap_or(self.standard());
        if self.settings.sandboxes.contains(&wanted) {
            return Ok(choice(wanted));
        }
        let why = "is not among those that the server lets programs run in (agent_sandboxes)";
        Err(Refusal::invalid("config.runtime.sandbox", why))
    }

    /// The walls of a sort, tried once.
    async fn walls(&self, choice: Choice) -> Result<Arc<Walls>, Refusal> {
        let cell = match choice {
            Choice::Plain => &self.walls[0],
            Choice::Bubblewrap => &self.walls[1],
            Choice::Docker => &self.walls[2],
        };
        let Settings { node, binary, dir, docker, image, .. } = &self.settings;
        let means = Means {
            keeper: Keeper { program: binary.clone(), words: vec!["keeper".to_owned()] },
            dir: dir.clone(),
            docker: docker.clone(),
            image: image.clone(),
            owner: node.clone(),
        };
        let found = cell.get_or_try_init(|| async {
            let walls = Walls::find(choice, means)
                .await
                .map_err(|unusable| Refusal::NoSandbox(unusable.to_string()))?;
            tracing::info!(walls = walls.describe(), "a sandbox for programs");
            Ok(Arc::new(walls))
        });
        found.await.map(Arc::clone)
    }
}

/// The kind that an agent is of.
pub fn known(runtime: &Runtime) -> Result<&'static dyn Kind, Refusal> {
    kinds::find(&runtime.kind).ok_or_else(|| {
        let all: Vec<_> = kinds::all().iter().map(Kind::name).collect();
        let why = format!("{:?} is none of {}", runtime.kind, all.join(", "));
        Refusal::invalid("config.runtime.kind", why)
    })
}

/// What an agent can do, on whichever node.
pub fn abilities(runtime: &Runtime) -> Result<Abilities, Refusal> {
    let kind = known(runtime)?;
    Ok(Abilities { patience: kind.patience(&wish(runtime)), ..kind.abilities() })
}

/// What is wrong with a configuration on whichever node.
pub fn check(runtime: &Runtime) -> Result<(), Refusal> {
    let usable = known(runtime)?.program(&wish(runtime)).map(drop);
    usable.map_err(|unusable| Refusal::invalid("config.runtime", unusable.to_string()))
}

/// What its owner decided.
fn wish(runtime: &Runtime) -> Wish {
    Wish {
        command: runtime.command.iter().map(|word| word.0.clone()).collect(),
        model: runtime.model.clone(),
        unattended: runtime.unattended,
        environment: runtime.environment.clone(),
        options: runtime.options.clone(),
        ..Wish::default()
    }
}

const fn choice(sandbox: Sandbox) -> Choice {
    match sandbox {
        Sandbox::None => Choice::Plain,
        Sandbox::Bubblewrap => Choice::Bubblewrap,
        Sandbox::Docker => Choice::Docker,
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
