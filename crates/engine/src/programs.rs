//! Agents that are programs: each is one long-lived process on this node, started when it is needed and kept in order.
//!
//! The process itself is the business of [`artel_programs`]; here it gets its place, its tools and its credentials, its
//! states become rows, and what an earlier server left is ended.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use artel_domain::process::{Process, Runtime, Sandbox, State};
use artel_domain::task::Status;
use artel_domain::{Agent, AgentConfig, AgentId, Timestamp, UserId};
use artel_programs::availability::Availability;
use artel_programs::kind::{Kind as ProgramKind, Wish};
use artel_programs::life::State as Life;
use artel_programs::member::Member;
use artel_programs::runner::Doing;
use artel_programs::{availability, kinds};
use artel_storage::{Scope, agents, processes};
use secrecy::SecretString;
use serde::Serialize;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use crate::{App, Caller, Error, Kind, Result};

mod admission;
mod credentials;
mod left;
mod logs;
mod opening;
mod sending;
mod watching;

pub use artel_programs::log::{Entry, Page as LogPage, Stream as LogStream};
pub use credentials::{CredentialsShown, SetCredentials};
pub use logs::Lines;
pub use sending::{AnswerQuestion, Delivery, TellAgent, Told};

use admission::{Admission, Full};
use artel_programs::sandbox::Sandbox as Walls;

/// What can be set about programs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where their homes, workspaces and logs are.
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
    pub found: Found,
}

/// What the server itself has for programs whose owners gave them nothing: keys, and where the services are.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub anthropic: (Option<SecretString>, Option<String>),
    pub openai: (Option<SecretString>, Option<String>),
    pub gemini: (Option<SecretString>, Option<String>),
    pub factory: Option<SecretString>,
}

/// How an agent's process stands, as people see it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProcessView {
    #[serde(flatten)]
    pub process: Process,
    /// What it does while it runs: `idle`, `working`, `running a tool`, `waiting for a person`, `retrying its model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// Its number in the queue for a place on this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<usize>,
    /// In bytes, of all its processes together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// A kind of program, and whether it can be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct RuntimeView {
    #[schema(example = "claude-code")]
    pub kind: String,
    /// `ready`, `not_logged_in` or `not_installed`; `configurable` where the agent names the program.
    #[schema(example = "ready")]
    pub status: &'static str,
    /// What was found, or what to do.
    pub detail: String,
}

/// The programs of this node.
#[derive(Debug)]
pub(crate) struct Programs {
    seats: Mutex<HashMap<AgentId, Arc<Seat>>>,
    walls: [OnceCell<Arc<Walls>>; 3],
    admission: Arc<Admission>,
    /// Ends streams of logs, first of all when the server stops.
    closing: CancellationToken,
    /// Nothing begins before what an earlier server left has ended.
    cleared: OnceCell<()>,
}

/// An agent's place, whether its process runs or not.
#[derive(Debug, Default)]
struct Seat {
    member: OnceCell<Opened>,
    /// What it was opened with has changed: it is opened anew for its next turn.
    stale: AtomicBool,
}

#[derive(Debug, Clone)]
struct Opened {
    member: Member,
    user: UserId,
    /// The agent as it was then: changed since, it is opened anew.
    of: Timestamp,
}

impl Programs {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            seats: Mutex::default(),
            walls: Default::default(),
            admission: Arc::new(Admission::new(settings.most, settings.most_per_user)),
            closing: CancellationToken::new(),
            cleared: OnceCell::new(),
        }
    }

    /// The program of an agent, if it is open here.
    pub(crate) fn find(&self, agent: AgentId) -> Option<Member> {
        let seat = Arc::clone(self.seats().get(&agent)?);
        seat.member.get().map(|opened| opened.member.clone())
    }

    /// Whether an agent of this node is a program.
    pub(crate) fn holds(&self, agent: AgentId) -> bool {
        self.seats().contains_key(&agent)
    }

    /// Streams of logs end.
    pub(crate) fn close_streams(&self) {
        self.closing.cancel();
    }

    /// How many are open, and how many of them run.
    pub(crate) fn count(&self) -> (usize, usize) {
        let open: Vec<_> = self.seats().values().cloned().collect();
        let runs = |seat: &&Arc<Seat>| {
            seat.member.get().is_some_and(|opened| is_alive(opened.member.status().state))
        };
        (open.len(), open.iter().filter(runs).count())
    }

    fn seat(&self, agent: AgentId) -> Arc<Seat> {
        Arc::clone(self.seats().entry(agent).or_default())
    }

    /// It is opened anew before its next turn.
    fn outdate(&self, agent: AgentId) {
        if let Some(seat) = self.seats().get(&agent) {
            seat.stale.store(true, Ordering::Relaxed);
        }
    }

    fn leave(&self, agent: AgentId) -> Option<Member> {
        let seat = self.seats().remove(&agent)?;
        seat.member.get().map(|opened| opened.member.clone())
    }

    fn all(&self) -> Vec<Opened> {
        self.seats().values().filter_map(|seat| seat.member.get().cloned()).collect()
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<AgentId, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    /// The program of an agent, opened if it is not; its process may still be down.
    pub(crate) async fn program(
        &self,
        scope: Scope,
        agent: &Agent,
        runtime: &Runtime,
    ) -> Result<Member> {
        loop {
            let seat = self.0.programs.seat(agent.id);
            let opened =
                seat.member.get_or_try_init(|| opening::open(self, scope, agent, runtime)).await;
            match opened {
                Ok(opened)
                    if opened.of == agent.updated_at && !seat.stale.load(Ordering::Relaxed) =>
                {
                    return Ok(opened.member.clone());
                }
                Ok(_) => self.close_program(agent.id, "What it was started with has changed").await,
                Err(error) => {
                    self.0.programs.leave(agent.id);
                    return Err(error);
                }
            }
        }
    }

    /// Agents of this node that are programs, and how many of them run.
    pub fn count_programs(&self) -> (usize, usize) {
        self.0.programs.count()
    }

    /// Ends what an earlier server left, once.
    pub(crate) async fn clear_programs(&self) -> Result<()> {
        self.0.programs.cleared.get_or_try_init(|| left::end_left(self)).await?;
        Ok(())
    }

    /// Ends an agent's program and lets its place go.
    pub(crate) async fn close_program(&self, agent: AgentId, why: &str) {
        if let Some(member) = self.0.programs.leave(agent) {
            member.stop(why).await;
        }
    }

    /// Nothing is kept of a deleted agent's home, workspace and log.
    pub(crate) async fn forget_program(&self, agent: AgentId) {
        let folder = self.0.settings.programs.dir.join(agent.to_string());
        match tokio::fs::remove_dir_all(&folder).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%agent, %error, "the folder of a deleted agent stays");
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// Somebody waits for a place: of the programs that have nothing to do, the one that has run longest gives up its
    /// own. A user who has too many makes room with their own.
    fn make_room(&self, full: Full) {
        let idle = |opened: &Opened| {
            opened.member.status().state == Life::Running(Doing::Idle)
                && match full {
                    Full::Node => true,
                    Full::User(user) => opened.user == user,
                }
        };
        let mut all = self.0.programs.all();
        all.retain(idle);
        let longest = all.into_iter().min_by_key(|opened| opened.member.status().since);
        let Some(Opened { member, .. }) = longest else { return };
        self.0.tracker.spawn(async move {
            member.stop("Another agent needed its place; a message starts it again").await;
        });
    }

    /// Ends all programs of this node; the server stops.
    pub(crate) async fn close_programs(&self) {
        let all = self.0.programs.all();
        let stops = all.iter().map(|opened| opened.member.stop("The server was stopped"));
        futures_util::future::join_all(stops).await;
    }

    /// How an agent's process stands.
    pub async fn process(&self, caller: &Caller, id: AgentId) -> Result<ProcessView> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        let first = self.first_row(&agent)?;
        let task = self.running_task(scope, id).await?;
        let asks = task.is_some_and(|task| task.status == Status::WaitingApproval);
        let read = self.0.storage.db.read(move |conn| Box::pin(processes::get(conn, id)));
        let process = read.await?.unwrap_or(first);
        let member = self.0.programs.find(id);
        let status = member.as_ref().map(Member::status);
        let memory = match &member {
            Some(member) => member.uses().await.map(|uses| uses.memory),
            None => None,
        };
        Ok(ProcessView {
            activity: status.and_then(|status| activity(status.state, asks)).map(str::to_owned),
            waiting: self.0.programs.admission.place(id),
            memory,
            process,
        })
    }

    /// Starts an agent's process and waits until it takes messages.
    pub async fn start_process(&self, caller: &Caller, id: AgentId) -> Result<ProcessView> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        let runtime = runtime_of(&agent)?;
        let member = self.program(scope, &agent, runtime).await?;
        member.start().await.map_err(|down| {
            Error::new(Kind::Conflict, "not_started", format!("It cannot be started: {down}"))
        })?;
        self.process(caller, id).await
    }

    /// Stops an agent's process; the task that it works on is cancelled.
    pub async fn stop_process(&self, caller: &Caller, id: AgentId) -> Result<ProcessView> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        runtime_of(&agent)?;
        if let Some(task) = self.running_task(scope, id).await?
            && let Err(error) = self.cancel_task(caller, scope.project, task.id).await
            && error.kind != Kind::Conflict
        {
            return Err(error);
        }
        self.close_program(id, "Stopped by its owner").await;
        self.process(caller, id).await
    }

    /// Kinds of programs, and whether each can be had here.
    pub async fn runtimes(&self) -> Vec<RuntimeView> {
        let settings = &self.0.settings.programs;
        let mut all = Vec::new();
        for kind in kinds::all() {
            all.push(runtime_view(*kind, settings).await);
        }
        all
    }

    /// An agent of the caller's, wherever it is.
    async fn find_agent(&self, caller: &Caller, id: AgentId) -> Result<(Scope, Agent)> {
        let user = caller.user;
        let found = self.0.storage.db.read(move |conn| Box::pin(agents::find(conn, user, id)));
        Ok(found.await?)
    }

    /// What is known of a process before it was ever started.
    fn first_row(&self, agent: &Agent) -> Result<Process> {
        let runtime = runtime_of(agent)?;
        let settings = &self.0.settings;
        let standard = settings.programs.sandboxes.first().copied().unwrap_or(Sandbox::Bubblewrap);
        Ok(Process {
            agent_id: agent.id,
            state: State::Init,
            reason: None,
            node: settings.node.clone(),
            sandbox: runtime.sandbox.unwrap_or(standard),
            mark: None,
            conversation: None,
            version: None,
            model: None,
            session_id: None,
            restarts: 0,
            started_at: None,
            updated_at: agent.updated_at,
        })
    }

    /// What is wrong with a configuration is told when it is made, not when the first message comes.
    pub(crate) fn check_runtime(&self, config: &AgentConfig) -> Result<()> {
        let Some(runtime) = &config.runtime else { return Ok(()) };
        let kind = opening::known(runtime)?;
        opening::allowed(&self.0.settings.programs, runtime)?;
        if let Some(folder) = &runtime.workspace {
            self.allowed_folder("config.runtime.workspace", folder)?;
        }
        let usable = kind.program(&opening::wish(runtime)).map(drop);
        usable.map_err(|unusable| Error::invalid_field("config.runtime", unusable.to_string()))
    }

    /// A folder that users may name, beneath one that the server's owner lets agents work in.
    fn allowed_folder(&self, field: &str, folder: &str) -> Result<PathBuf> {
        let allowed = &self.0.settings.programs.workspaces;
        let real = std::fs::canonicalize(folder).ok();
        match real.filter(|real| real.is_dir() && allowed.iter().any(|root| real.starts_with(root)))
        {
            Some(real) => Ok(real),
            None => Err(Error::invalid_field(
                field,
                "is no folder that agents may work in; the server's owner names those in agent_workspaces",
            )),
        }
    }
}

/// What kind of program the agent is.
fn runtime_of(agent: &Agent) -> Result<&Runtime> {
    agent.config.runtime.as_ref().ok_or_else(|| {
        let message = "The agent is a model behind an API, and no program; it has no process";
        Error::new(Kind::Conflict, "no_program", message)
    })
}

const fn is_alive(state: Life) -> bool {
    matches!(state, Life::Starting | Life::Running(_) | Life::Stopping)
}

/// What it does, as people say it. Whom it has asked with a tool of ours, it waits for as well.
const fn activity(state: Life, asks: bool) -> Option<&'static str> {
    match state {
        Life::Running(_) if asks => Some("waiting for a person"),
        Life::Running(Doing::Idle) => Some("idle"),
        Life::Running(Doing::Working) => Some("working"),
        Life::Running(Doing::Tool) => Some("running a tool"),
        Life::Running(Doing::Waiting) => Some("waiting for a person"),
        Life::Running(Doing::Retrying) => Some("retrying its model"),
        Life::Init
        | Life::Starting
        | Life::Stopping
        | Life::Stopped
        | Life::Failed
        | Life::Killed
        | Life::Crashed => None,
    }
}

/// Whether a kind can be had with what the server itself has.
async fn runtime_view(kind: &dyn ProgramKind, settings: &Settings) -> RuntimeView {
    let credentials = settings.found.credentials(kind.name());
    let wish = Wish { credentials, ..Wish::default() };
    let looked = availability::look(kind, &wish, &settings.path, &settings.dir).await;
    let of = |found: availability::Found| {
        let version = found.version.unwrap_or_else(|| "of unknown version".to_owned());
        format!("{} {version}", found.path.display())
    };
    let (status, detail) = match looked {
        Ok(Availability::Ready { found }) => ("ready", of(found)),
        Ok(Availability::NotLoggedIn { found, remedy }) => {
            ("not_logged_in", format!("{}; {remedy}", of(found)))
        }
        Ok(Availability::NotInstalled { program, install }) => {
            ("not_installed", format!("{program} is not there; {install}"))
        }
        Err(unusable) => ("configurable", unusable.to_string()),
    };
    RuntimeView { kind: kind.name().to_owned(), status, detail }
}
