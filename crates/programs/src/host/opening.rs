//! Opening an agent: its folders, its walls, its tools and its credentials, before anything runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;

use super::entrance::Entrance;
use super::{Ears, Host, Opening, Refusal, Settings, make};
use crate::availability::Availability;
use crate::kind::{Kind, Wish};
use crate::life::{Parts, Policy};
use crate::log::{Log, Redactor};
use crate::member::{Desk, Member};
use crate::runner::Patience;
use crate::sandbox::{self, Limits, Network, Room, Sandbox};
use crate::toolbox::endpoint::{Endpoint, Setup};
use crate::toolbox::{self, Toolbox};

/// What all processes of an agent may use up, beside its memory.
const PROCESSES: u64 = 1024;
const CPU: u32 = 4000;
/// So much of its memory, in hundredths, makes a program start anew, before the kernel ends it.
const THRESHOLD: u64 = 90;
/// How the programs that we are ourselves are called inside.
const OUR_NAMES: [&str; 2] = ["artel", "orchestrator"];

pub(super) async fn open(host: &Host, opening: Opening, ears: Ears) -> Result<Member, Refusal> {
    let Opening { agent, user, runtime, instructions, tools: specs, credentials, resume } = opening;
    let settings = &host.settings;
    let kind = super::known(&runtime)?;
    let walls = host.walls(host.allowed(&runtime)?).await?;
    let own = host.folder(agent);
    let (home, tools) = (own.join("home"), own.join("tools"));
    let workspace = match &runtime.workspace {
        Some(folder) => host.allowed_folder("config.runtime.workspace", folder)?,
        None => own.join("workspace"),
    };
    if let Some(login) = &credentials.login {
        host.allowed_folder("login_dir", &login.to_string_lossy())?;
    }
    for folder in [&home, &tools, &workspace] {
        make(folder).map_err(|error| Refusal::broken(folder, &error))?;
    }
    let wish = Wish {
        instructions,
        tools: specs,
        credentials,
        resume: resume.filter(|_| kind.abilities().resume),
        ..super::wish(&runtime)
    };
    at_hand(host, kind, &wish, &walls, &home).await?;
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
    .map_err(|error| Refusal::broken(&tools, &error))?;
    let ours = our_programs(settings).map_err(|error| Refusal::broken(&settings.dir, &error))?;
    let mut programs = vec![ours];
    programs.extend(settings.path.iter().filter(|folder| folder.is_dir()).cloned());
    log_in(kind, &wish, &home).map_err(|error| Refusal::broken(&home, &error))?;
    let memory = u64::from(runtime.memory) * 1024 * 1024;
    let room = Room {
        name: agent.to_string(),
        home,
        workspace,
        tools,
        programs,
        shown: Vec::new(),
        network: if runtime.network { Network::Open } else { Network::None },
        limits: Limits { memory, processes: PROCESSES, cpu: CPU },
    };
    let redactor = Redactor::new(wish.credentials.key.iter().chain([&token]));
    let Ears { watcher, log, clock } = ears;
    let log = Log::open(log, Arc::clone(&clock), redactor)
        .await
        .map_err(|error| Refusal::Broken(format!("its log: {error}")))?;
    let starter = Entrance {
        walls,
        loopback: endpoint.url().map(str::to_owned),
        token,
        admission: Arc::clone(&host.admission),
        residents: Arc::clone(&host.residents),
        agent,
        user,
    };
    let policy = Policy {
        ttl: Duration::from_secs(runtime.ttl.into()),
        idle: Duration::from_secs(runtime.idle.into()),
        patience: Patience { turn: settings.turn_timeout, ..Patience::default() },
        memory: Some(memory / 100 * THRESHOLD),
        // It may have to wait for a place.
        start_within: settings.turn_timeout,
        ..Policy::default()
    };
    let (kind, starter) = (Arc::new(kind), Arc::new(starter));
    let parts = Parts { kind, wish, room, starter, policy, clock, log, watcher };
    let member = Member::new(parts, desk, endpoint);
    host.residents.enter(agent, user, &member);
    Ok(member)
}

/// Says what is missing before anything is started.
async fn at_hand(
    host: &Host,
    kind: &dyn Kind,
    wish: &Wish,
    walls: &Sandbox,
    home: &Path,
) -> Result<(), Refusal> {
    match host.look(kind, wish, walls, home).await {
        Ok(Availability::Ready { .. }) => Ok(()),
        Ok(Availability::NotInstalled { program, install }) => {
            Err(Refusal::NotInstalled(format!("{program} is not installed; {install}")))
        }
        Ok(Availability::NotLoggedIn { remedy, .. }) => Err(Refusal::NotLoggedIn(remedy)),
        Err(unusable) => Err(Refusal::Unusable(unusable.to_string())),
    }
}

/// A log-in of the program's own is copied into the agent's home, where the program can renew it.
fn log_in(kind: &dyn Kind, wish: &Wish, home: &Path) -> io::Result<()> {
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
    /// Agents that are opened at the same time would take each other's unfinished files away.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
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

fn random_token() -> Result<SecretString, Refusal> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| Refusal::Broken(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(random).into())
}
