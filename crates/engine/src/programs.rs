//! Agents that are programs: each is one long-lived process, on this node or on a worker, started when it is needed and
//! kept in order.
//!
//! The process itself is the business of [`artel_programs`], workers that of [`artel_nodes`]; here it gets its tools and
//! its credentials, its states become rows, and what an earlier server left is ended.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use artel_domain::process::{Process, Runtime, State};
use artel_domain::task::Status;
use artel_domain::{Agent, AgentConfig, AgentId, Clock, Timestamp};
use artel_nodes::server::{self, Left, Workers};
use artel_nodes::wire::Line;
use artel_programs::availability::{self, Availability};
use artel_programs::host::{self, Host, Refusal};
use artel_programs::life::State as Life;
use artel_programs::runner::Doing;
use artel_storage::bus::Bus;
use artel_storage::{Scope, agents, processes};
use secrecy::SecretString;
use serde::Serialize;
use tokio::sync::{OnceCell, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use utoipa::ToSchema;

use crate::{App, Caller, Error, Kind, Result};

mod credentials;
mod left;
mod logs;
mod opening;
mod sending;
mod somewhere;
mod watching;

pub use artel_programs::host::Settings as HostSettings;
pub use artel_programs::log::{Entry, Page as LogPage, Stream as LogStream};
pub use credentials::{CredentialsShown, SetCredentials};
pub(crate) use left::hear_left;
pub use logs::Lines;
pub use sending::{AnswerQuestion, Delivery, TellAgent, Told};
pub use somewhere::NodeView;
pub(crate) use somewhere::Program;

/// How long programs have to end when the server stops; those here take less.
const STOPPING: Duration = Duration::from_secs(20);

/// What can be set about programs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This node, as far as it runs them itself.
    pub host: HostSettings,
    /// They run on workers instead.
    pub workers: Option<WorkerSettings>,
    pub found: Found,
}

/// What can be set about workers.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// What both sides seal their words with.
    pub secret: SecretString,
    /// After so long without a word, a worker is given up.
    pub lost_after: Duration,
    pub lost_agents: LostAgents,
}

/// What becomes of an agent's work when its worker is lost in the middle of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostAgents {
    /// It is given to another worker, with the word that something may have been done already.
    Restart,
    /// Its user is told, and decides.
    Report,
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
    /// `ready`, `not_logged_in` or `not_installed`; `configurable` where the agent names the program; with workers
    /// `installed`, since each agent brings its own credentials.
    #[schema(example = "ready")]
    pub status: String,
    /// What was found, or what to do.
    pub detail: String,
}

/// The programs of this node, and of the workers that it uses.
#[derive(Debug)]
pub(crate) struct Programs {
    seats: Mutex<HashMap<AgentId, Arc<Seat>>>,
    host: Host,
    workers: Option<Workers>,
    /// Ends streams of logs, first of all when the server stops.
    closing: CancellationToken,
    /// Workers are heard until everything that runs there was stopped.
    hearing: CancellationToken,
    /// Nothing begins before what an earlier server left has ended.
    cleared: OnceCell<()>,
}

/// An agent's place, whether its process runs or not.
#[derive(Debug, Default)]
struct Seat {
    program: OnceCell<Opened>,
    /// What it was opened with has changed: it is opened anew for its next turn.
    stale: AtomicBool,
}

#[derive(Debug, Clone)]
struct Opened {
    program: Program,
    /// The agent as it was then: changed since, it is opened anew.
    of: Timestamp,
}

impl Programs {
    /// With workers, what they have ended of an earlier run of this server.
    pub(crate) fn new(
        settings: &crate::Settings,
        bus: &Arc<dyn Bus>,
        clock: &Arc<dyn Clock>,
        tracker: &TaskTracker,
    ) -> (Self, Option<mpsc::Receiver<Left>>) {
        let hearing = CancellationToken::new();
        let start = |of: &WorkerSettings| {
            let (line, clock) = (Line::new(Arc::clone(bus), &of.secret), Arc::clone(clock));
            let own = server::Settings { name: settings.node.clone(), lost_after: of.lost_after };
            Workers::start(line, clock, own, tracker, hearing.clone())
        };
        let (workers, left) = settings.programs.workers.as_ref().map(start).unzip();
        let programs = Self {
            seats: Mutex::default(),
            host: Host::new(settings.programs.host.clone()),
            workers,
            closing: CancellationToken::new(),
            hearing,
            cleared: OnceCell::new(),
        };
        (programs, left)
    }

    /// The program of an agent, if it is open here.
    pub(crate) fn find(&self, agent: AgentId) -> Option<Program> {
        let seat = Arc::clone(self.seats().get(&agent)?);
        seat.program.get().map(|opened| opened.program.clone())
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
            seat.program.get().is_some_and(|opened| opened.program.status().state.is_up())
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

    fn leave(&self, agent: AgentId) -> Option<Program> {
        let seat = self.seats().remove(&agent)?;
        seat.program.get().map(|opened| opened.program.clone())
    }

    fn all(&self) -> Vec<Opened> {
        self.seats().values().filter_map(|seat| seat.program.get().cloned()).collect()
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
    ) -> Result<Program> {
        loop {
            let seat = self.0.programs.seat(agent.id);
            let opened =
                seat.program.get_or_try_init(|| opening::open(self, scope, agent, runtime)).await;
            match opened {
                Ok(opened)
                    if opened.of == agent.updated_at && !seat.stale.load(Ordering::Relaxed) =>
                {
                    return Ok(opened.program.clone());
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
        if let Some(program) = self.0.programs.leave(agent) {
            program.stop(why).await;
        }
    }

    /// Nothing is kept of a deleted agent's home, workspace and log; `node` is where it ran last.
    pub(crate) async fn forget_program(&self, agent: AgentId, node: Option<String>) {
        let Programs { host, workers, .. } = &self.0.programs;
        if let (Some(workers), Some(node)) = (workers, node) {
            workers.delete(agent, node);
        }
        host.forget(agent).await;
        self.forget_log(agent).await;
    }

    /// Ends all programs of this server, which stops. Workers end by themselves what they are not told in time.
    pub(crate) async fn close_programs(&self) {
        let all = self.0.programs.all();
        let stops = all.iter().map(|opened| opened.program.stop("The server was stopped"));
        if timeout(STOPPING, futures_util::future::join_all(stops)).await.is_err() {
            tracing::warn!("some programs on workers could not be told to stop");
        }
        self.0.programs.hearing.cancel();
    }

    /// How an agent's process stands.
    pub async fn process(&self, caller: &Caller, id: AgentId) -> Result<ProcessView> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        let first = self.first_row(&agent)?;
        let task = self.running_task(scope, id).await?;
        let asks = task.is_some_and(|task| task.status == Status::WaitingApproval);
        let read = self.0.storage.db.read(move |conn| Box::pin(processes::get(conn, id)));
        let process = read.await?.unwrap_or(first);
        let program = self.0.programs.find(id);
        let status = program.as_ref().map(Program::status);
        let (uses, waiting) = match &program {
            Some(program) => program.look(&self.0.programs.host, id).await,
            None => (None, None),
        };
        Ok(ProcessView {
            activity: status.and_then(|status| activity(status.state, asks)).map(str::to_owned),
            waiting,
            memory: uses.map(|uses| uses.memory),
            process,
        })
    }

    /// Starts an agent's process and waits until it takes messages.
    pub async fn start_process(&self, caller: &Caller, id: AgentId) -> Result<ProcessView> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        let runtime = runtime_of(&agent)?;
        let program = self.program(scope, &agent, runtime).await?;
        program.start().await.map_err(|down| {
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
        let Programs { host, workers, .. } = &self.0.programs;
        if let Some(workers) = workers {
            return somewhere::runtimes(workers);
        }
        let found = &self.0.settings.programs.found;
        let all = host.kinds(|kind| found.credentials(kind)).await;
        all.into_iter().map(|(kind, looked)| runtime_view(kind, looked)).collect()
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
        let standard = self.0.programs.host.standard();
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
        let Programs { host, workers, .. } = &self.0.programs;
        // What a worker allows, it says itself.
        let checked = if workers.is_some() { host::check(runtime) } else { host.check(runtime) };
        checked.map_err(refused)
    }
}

/// Why a node does not take an agent, as people and programs are told.
fn refused(refusal: Refusal) -> Error {
    let conflict = |code, message| Error::new(Kind::Conflict, code, message);
    match refusal {
        Refusal::Invalid { field, why } => Error::invalid_field(&field, why),
        Refusal::NoSandbox(why) => conflict("no_sandbox", why),
        Refusal::NotInstalled(why) => conflict("not_installed", why),
        Refusal::NotLoggedIn(why) => conflict("not_logged_in", why),
        Refusal::Unusable(why) => conflict("unusable", why),
        Refusal::Broken(why) => Error::internal(why),
    }
}

/// What kind of program the agent is.
fn runtime_of(agent: &Agent) -> Result<&Runtime> {
    agent.config.runtime.as_ref().ok_or_else(|| {
        let message = "The agent is a model behind an API, and no program; it has no process";
        Error::new(Kind::Conflict, "no_program", message)
    })
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
fn runtime_view(kind: &str, looked: std::result::Result<Availability, String>) -> RuntimeView {
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
        Err(unusable) => ("configurable", unusable),
    };
    RuntimeView { kind: kind.to_owned(), status: status.to_owned(), detail }
}
