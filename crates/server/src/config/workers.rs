//! Workers: for a server that has its programs run by them, and for a worker itself.

use std::path::PathBuf;
use std::time::Duration;

use artel_engine::programs::{HostSettings, LostAgents, WorkerSettings};
use secrecy::{ExposeSecret, SecretString};

use super::{Config, LogFormat, Mistake, Resolved, programs, secret};

/// Shortest secret that is taken, in bytes.
const SECRET: usize = 32;
/// Nobody is given up sooner: both sides beat every second.
const SOONEST: Duration = Duration::from_secs(4);

/// What a worker goes by.
#[derive(Debug)]
pub(crate) struct Worker {
    pub data_dir: PathBuf,
    pub redis: String,
    pub secret: SecretString,
    pub name: String,
    pub lost_after: Duration,
    pub host: HostSettings,
    pub log_level: String,
    pub log_format: LogFormat,
}

/// None: programs run on the server's own node.
pub(super) fn settings(said: &Resolved) -> Result<Option<WorkerSettings>, Mistake> {
    match said.text("agent_nodes").as_deref() {
        Some("own") => return Ok(None),
        Some("workers") => {}
        _ => return Err(Mistake("agent_nodes: must be own or workers".to_owned())),
    }
    let lost_agents = match said.text("lost_agents").as_deref() {
        Some("restart") => LostAgents::Restart,
        Some("report") => LostAgents::Report,
        _ => return Err(Mistake("lost_agents: must be restart or report".to_owned())),
    };
    redis(said)?;
    let lost_after = said.span("worker_lost_after").max(SOONEST);
    Ok(Some(WorkerSettings { secret: shared_secret(said)?, lost_after, lost_agents }))
}

impl Worker {
    /// Checks what was said. Makes the data folder when it is not there yet.
    pub(crate) fn from(said: &Resolved, name: Option<String>) -> Result<Self, Mistake> {
        let data_dir = said.data_dir();
        secret::prepare_folder(&data_dir)?;
        let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        let name = name.or_else(|| said.text("worker_name")).unwrap_or_else(own);
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 100 || !name.chars().all(plain) {
            return Err(Mistake(format!(
                "worker_name: {name:?} must be 1 to 100 letters, digits, `-`, `_` and `.`"
            )));
        }
        let (log_level, log_format) = Config::logging(said)?;
        Ok(Self {
            redis: redis(said)?,
            secret: shared_secret(said)?,
            lost_after: said.span("worker_lost_after").max(SOONEST),
            host: programs::host(said, &data_dir, &name)?,
            name,
            log_level,
            log_format,
            data_dir,
        })
    }
}

fn redis(said: &Resolved) -> Result<String, Mistake> {
    said.text("redis_url").ok_or_else(|| {
        Mistake(
            "workers are reached over Redis: set redis_url (redis://…) on both sides".to_owned(),
        )
    })
}

fn shared_secret(said: &Resolved) -> Result<SecretString, Mistake> {
    let missing = "servers and workers share a secret that keys of models are sealed with on their way: set worker_secret \
                   or worker_secret_file to the same on both sides, for example the output of `openssl rand -base64 32`";
    let secret = secret::worker_secret(said)?.ok_or_else(|| Mistake(missing.to_owned()))?;
    if secret.expose_secret().len() < SECRET {
        return Err(Mistake(format!("worker_secret: must have at least {SECRET} bytes")));
    }
    Ok(secret)
}
