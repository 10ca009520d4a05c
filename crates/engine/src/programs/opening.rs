//! Opening an agent that is a program: its folders, its walls, its tools and its credentials, before anything runs.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use artel_domain::process::{Runtime, Sandbox};
use artel_domain::{Agent, AgentId, UserId};
use artel_programs::availability::{self, Availability};
use artel_programs::codec::Signal;
use artel_programs::kind::{Kind as ProgramKind, Launch, Place, Wish};
use artel_programs::life::{Parts, Policy, Starter};
use artel_programs::log::Redactor;
use artel_programs::member::{Desk, Member};
use artel_programs::runner::Patience;
use artel_programs::sandbox::{
    Choice, Exit, Keeper, Limits, Mark, Means, Network, Room, Running, Sandbox as Walls, Started,
    Uses,
};
use artel_programs::toolbox::endpoint::{Endpoint, Setup};
use artel_programs::toolbox::{self, ToolSpec, Toolbox};
use artel_programs::{kinds, sandbox};
use artel_storage::{Scope, processes};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;

use super::admission::{self, Admission};
use super::watching::Notes;
use super::{Opened, Programs, Settings};
use crate::tools::result::ReadResult;
use crate::tools::speaking;
use crate::{App, Error, Inner, Kind, Result};

/// What all processes of an agent may use up, beside its memory.
const PROCESSES: u64 = 1024;
const CPU: u32 = 4000;
/// So much of its memory makes a program start anew, before the kernel ends it.
const THRESHOLD: f64 = 0.9;
/// How the programs that we are ourselves are called inside.
const OUR_NAMES: [&str; 2] = ["artel", "orchestrator"];

pub(super) async fn open(
    app: &App,
    scope: Scope,
    agent: &Agent,
    runtime: &Runtime,
) -> Result<Opened> {
    app.clear_programs().await?;
    let settings = &app.0.settings.programs;
    let kind = known(runtime)?;
    let walls = app.0.programs.walls(&app.0.settings, allowed(settings, runtime)?).await?;
    let own = settings.dir.join(agent.id.to_string());
    let (home, tools) = (own.join("home"), own.join("tools"));
    let workspace = match &runtime.workspace {
        Some(folder) => app.allowed_folder("config.runtime.workspace", folder)?,
        None => own.join("workspace"),
    };
    for folder in [&home, &tools, &workspace] {
        make(folder).map_err(|error| cannot(folder, &error))?;
    }
    let (credentials, _) = app.credentials_for(scope, agent.id, runtime).await?;
    let id = agent.id;
    let row = app.0.storage.db.read(move |conn| Box::pin(processes::get(conn, id))).await?;
    let earlier = row.as_ref().and_then(|row| row.conversation.clone());
    let wish = Wish {
        instructions: agent.config.system_prompt.clone(),
        tools: specs(app, agent),
        credentials,
        resume: earlier.filter(|_| kind.abilities().resume),
        ..wish(runtime)
    };
    at_hand(kind, &wish, settings, &home).await?;
    let token = random_token()?;
    let desk = Desk::new(wish.tools.clone());
    let endpoint = Endpoint::open(Setup {
        socket: tools.join(sandbox::SOCKET),
        spool: tools.join(sandbox::SPOOL),
        loopback: runtime.network,
        token: token.clone(),
        toolbox: Arc::clone(&desk) as Arc<dyn Toolbox>,
        limits: toolbox::Limits::default(),
    })
    .map_err(|error| cannot(&tools, &error))?;
    let memory = u64::from(runtime.memory) * 1024 * 1024;
    let ours = our_programs(settings).map_err(|error| cannot(&settings.dir, &error))?;
    let mut programs = vec![ours];
    programs.extend(settings.path.iter().filter(|folder| folder.is_dir()).cloned());
    log_in(kind, &wish, &home).map_err(|error| cannot(&home, &error))?;
    let room = Room {
        name: agent.id.to_string(),
        home,
        workspace,
        tools,
        programs,
        shown: Vec::new(),
        network: if runtime.network { Network::Open } else { Network::None },
        limits: Limits { memory, processes: PROCESSES, cpu: CPU },
    };
    let secrets = wish.credentials.key.iter().chain([&token]);
    let log = app.open_log(agent.id, Redactor::new(secrets)).await?;
    let starter = Entrance {
        walls,
        loopback: endpoint.url().map(str::to_owned),
        token,
        admission: Arc::clone(&app.0.programs.admission),
        agent: agent.id,
        user: scope.user,
        app: Arc::downgrade(&app.0),
    };
    let policy = Policy {
        ttl: Duration::from_secs(runtime.ttl.into()),
        idle: Duration::from_secs(runtime.idle.into()),
        patience: Patience { turn: settings.turn_timeout, ..Patience::default() },
        memory: Some(threshold(memory)),
        // It may have to wait for a place.
        start_within: settings.turn_timeout,
        ..Policy::default()
    };
    let first = app.first_row(agent)?;
    let notes = Notes::new(Arc::downgrade(&app.0), scope, row.unwrap_or(first));
    let parts = Parts {
        kind: Arc::new(kind),
        wish,
        room,
        starter: Arc::new(starter),
        policy,
        clock: Arc::clone(&app.0.clock),
        log,
        watcher: Arc::new(notes),
    };
    let member = Member::new(parts, desk, endpoint);
    Ok(Opened { member, user: scope.user, of: agent.updated_at })
}

impl Programs {
    /// The walls of a sort, tried once.
    pub(super) async fn walls(
        &self,
        settings: &crate::Settings,
        choice: Choice,
    ) -> Result<Arc<Walls>> {
        let cell = match choice {
            Choice::Plain => &self.walls[0],
            Choice::Bubblewrap => &self.walls[1],
            Choice::Docker => &self.walls[2],
        };
        let programs = &settings.programs;
        let means = Means {
            keeper: Keeper { program: programs.binary.clone(), words: vec!["keeper".to_owned()] },
            docker: programs.docker.clone(),
            image: programs.image.clone(),
            owner: settings.node.clone(),
        };
        let found = cell.get_or_try_init(|| async {
            let walls = Walls::find(choice, means).await.map_err(|unusable| {
                Error::new(Kind::Conflict, "no_sandbox", unusable.to_string())
            })?;
            tracing::info!(walls = walls.describe(), "a sandbox for programs");
            Ok::<_, Error>(Arc::new(walls))
        });
        Ok(Arc::clone(found.await?))
    }
}

/// What its owner decided.
pub(super) fn wish(runtime: &Runtime) -> Wish {
    Wish {
        command: runtime.command.iter().map(|word| word.0.clone()).collect(),
        model: runtime.model.clone(),
        unattended: runtime.unattended,
        environment: runtime.environment.clone(),
        options: runtime.options.clone(),
        ..Wish::default()
    }
}

/// Where it runs: what it says, if the server lets it.
pub(super) fn allowed(settings: &Settings, runtime: &Runtime) -> Result<Choice> {
    let first = settings.sandboxes.first().copied().unwrap_or(Sandbox::Bubblewrap);
    let wanted = runtime.sandbox.unwrap_or(first);
    if settings.sandboxes.contains(&wanted) {
        return Ok(choice(wanted));
    }
    let remedy = "is not among those that the server lets programs run in (agent_sandboxes)";
    Err(Error::invalid_field("config.runtime.sandbox", remedy))
}

pub(super) const fn choice(sandbox: Sandbox) -> Choice {
    match sandbox {
        Sandbox::None => Choice::Plain,
        Sandbox::Bubblewrap => Choice::Bubblewrap,
        Sandbox::Docker => Choice::Docker,
    }
}

/// Everything that the agent may call, as programs are told of it.
fn specs(app: &App, agent: &Agent) -> Vec<ToolSpec> {
    let names = agent.config.tools.iter().map(|tool| tool.0.as_str());
    let more = Some(ReadResult::NAME).filter(|name| !names.clone().any(|it| it == *name));
    let offered = app.0.tools.offered(names.chain(more));
    let all = speaking::specs().into_iter().chain(offered);
    let of = |spec: artel_agents::llm::chat::ToolSpec| ToolSpec {
        name: spec.name,
        description: spec.description,
        parameters: spec.parameters,
    };
    all.map(of).collect()
}

/// Says what is missing before anything is started.
async fn at_hand(
    kind: &dyn ProgramKind,
    wish: &Wish,
    settings: &Settings,
    home: &Path,
) -> Result<()> {
    let conflict = |code, message: String| Err(Error::new(Kind::Conflict, code, message));
    match availability::look(kind, wish, &settings.path, home).await {
        Ok(Availability::Ready { .. }) => Ok(()),
        Ok(Availability::NotInstalled { program, install }) => conflict(
            "not_installed",
            format!("{program} is not installed on the server; {install}"),
        ),
        Ok(Availability::NotLoggedIn { remedy, .. }) => conflict("not_logged_in", remedy),
        Err(unusable) => conflict("unusable", unusable.to_string()),
    }
}

/// A log-in of the program's own is copied into the agent's home, where the program can renew it.
fn log_in(kind: &dyn ProgramKind, wish: &Wish, home: &Path) -> io::Result<()> {
    let (Some(login), Some(access)) = (&wish.credentials.login, kind.access()) else {
        return Ok(());
    };
    let folder = home.join(access.folder);
    make(&folder)?;
    for file in access.files {
        let (from, to) = (login.join(file), folder.join(file));
        if from.is_file() && !to.exists() {
            if let Some(parent) = to.parent() {
                make(parent)?;
            }
            std::fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// The folder in which programs find us under our names. A link costs nothing; on another disk it is a copy.
fn our_programs(settings: &Settings) -> io::Result<PathBuf> {
    let folder = settings.dir.join("bin");
    make(&folder)?;
    let now = std::fs::metadata(&settings.binary)?;
    for name in OUR_NAMES {
        let ours = folder.join(name);
        let same = std::fs::metadata(&ours).is_ok_and(|there| {
            there.len() == now.len() && there.modified().ok() >= now.modified().ok()
        });
        if same {
            continue;
        }
        let fresh = folder.join(format!("{name}.new"));
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        if std::fs::hard_link(&settings.binary, &fresh).is_err() {
            std::fs::copy(&settings.binary, &fresh)?;
        }
        std::fs::rename(&fresh, &ours)?;
    }
    Ok(folder)
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn cannot(folder: &Path, error: &io::Error) -> Error {
    Error::internal(format!("{}: {error}", folder.display()))
}

pub(super) fn known(runtime: &Runtime) -> Result<&'static dyn ProgramKind> {
    kinds::find(&runtime.kind).ok_or_else(|| {
        let all: Vec<_> = kinds::all().iter().map(ProgramKind::name).collect();
        let remedy = format!("{:?} is none of {}", runtime.kind, all.join(", "));
        Error::invalid_field("config.runtime.kind", remedy)
    })
}

fn random_token() -> Result<SecretString> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(random).into())
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a size need not be exact"
)]
fn threshold(memory: u64) -> u64 {
    (memory as f64 * THRESHOLD) as u64
}

/// Lets processes in to their walls when there is a place for them.
#[derive(Debug)]
struct Entrance {
    walls: Arc<Walls>,
    loopback: Option<String>,
    token: SecretString,
    admission: Arc<Admission>,
    agent: AgentId,
    user: UserId,
    /// Not held: the app holds this.
    app: Weak<Inner>,
}

#[async_trait]
impl Starter for Entrance {
    fn place(&self, room: &Room) -> Place {
        self.walls.place(room, self.token.clone(), self.loopback.clone())
    }

    async fn start(&self, room: &Room, place: &Place, launch: &Launch) -> io::Result<Started> {
        let full = |full| {
            if let Some(inner) = self.app.upgrade() {
                App(inner).make_room(full);
            }
        };
        let held = self.admission.enter(self.agent, self.user, full).await;
        let started = self.walls.start(room, place, launch).await?;
        let running = Box::new(Held { running: started.running, _place: held });
        Ok(Started { running, ..started })
    }
}

/// A process with its place on this node.
#[derive(Debug)]
struct Held {
    running: Box<dyn Running>,
    _place: admission::Place,
}

#[async_trait]
impl Running for Held {
    fn mark(&self) -> Mark {
        self.running.mark()
    }

    async fn wait(&mut self) -> io::Result<Exit> {
        self.running.wait().await
    }

    async fn signal(&mut self, signal: Signal) -> io::Result<()> {
        self.running.signal(signal).await
    }

    async fn kill(&mut self) -> io::Result<()> {
        self.running.kill().await
    }

    async fn uses(&self) -> io::Result<Uses> {
        self.running.uses().await
    }
}
