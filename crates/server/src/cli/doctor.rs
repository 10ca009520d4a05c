//! `artel doctor`: looks at everything that can be wrong, and says how to mend it.

use std::net::TcpListener;

use artel_agents::embed::{self, Embedder};
use artel_engine::Page;
use artel_engine::access::Accounts;
use artel_storage::{Database, Storage};
use artel_tools::shell::Sandbox;
use serde::Serialize;

use super::print;
use crate::config::{Config, Mistake, Resolved};
use crate::serve::model_of;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// Works, but somebody should know.
    Note,
    Wrong,
}

#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    state: State,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Finding {
    fn ok(what: &'static str, detail: impl Into<String>) -> Self {
        Self { what, state: State::Ok, detail: detail.into(), remedy: None }
    }

    fn note(what: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what, state: State::Note, detail: detail.into(), remedy: Some(remedy.into()) }
    }

    fn wrong(what: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what, state: State::Wrong, detail: detail.into(), remedy: Some(remedy.into()) }
    }
}

/// Less room than this on the disk is worth a word.
const ROOM: u64 = 512 * 1024 * 1024;

pub(super) async fn examine(said: Result<Resolved, Mistake>, as_json: bool) -> anyhow::Result<()> {
    let findings = match said.and_then(|said| Config::from(&said)) {
        Ok(config) => look(&config).await,
        Err(mistake) => {
            vec![Finding::wrong(
                "configuration",
                mistake.to_string(),
                "mend it; `artel config` shows what is set where",
            )]
        }
    };
    if as_json {
        print(&serde_json::to_string_pretty(&findings)?)?;
    } else {
        for Finding { what, state, detail, remedy } in &findings {
            let mark = match state {
                State::Ok => "ok   ",
                State::Note => "note ",
                State::Wrong => "WRONG",
            };
            print(&format!("{mark}  {what}: {detail}"))?;
            if let Some(remedy) = remedy {
                print(&format!("       -> {remedy}"))?;
            }
        }
    }
    let wrong = findings.iter().filter(|finding| finding.state == State::Wrong).count();
    anyhow::ensure!(wrong == 0, "{wrong} of {} things are wrong", findings.len());
    Ok(())
}

async fn look(config: &Config) -> Vec<Finding> {
    let mut findings = vec![
        Finding::ok("configuration", "valid"),
        data_folder(config),
        Finding::ok("secret", "long enough, and only its owner can read it"),
        port(config),
    ];
    let embedder = match embed::open(&config.embeddings) {
        Ok(embedder) => embedder,
        Err(error) => {
            let remedy = "set embeddings to auto or lexical, or mend it";
            findings.push(Finding::wrong("embeddings", error.to_string(), remedy));
            return findings;
        }
    };
    findings.push(embeddings(embedder.as_ref()));
    findings.push(sandbox().await);
    match Storage::open(&config.places, model_of(embedder.as_ref())).await {
        Ok(storage) => {
            findings
                .push(Finding::ok("database", format!("{}, schema up to date", storage.db.kind())));
            findings.push(bus(&storage).await);
            findings.push(memory(config, &storage).await);
            findings.push(accounts(config, &storage).await);
        }
        Err(error) => {
            let remedy = match config.places.database {
                Database::Sqlite(_) => {
                    "check that the disk has room and the data folder is yours to write"
                }
                Database::Postgres(_) => {
                    "check that the server runs and database_url names it, its user and its password"
                }
            };
            findings.push(Finding::wrong("database", error.to_string(), remedy));
        }
    }
    findings
}

fn data_folder(config: &Config) -> Finding {
    let shown = config.data_dir.display();
    match rustix::fs::statvfs(&config.data_dir) {
        Ok(disk) if disk.f_bavail * disk.f_frsize < ROOM => {
            let left = disk.f_bavail * disk.f_frsize / 1024 / 1024;
            Finding::note(
                "data folder",
                format!("{shown}: {left} MiB left"),
                "make room on that disk",
            )
        }
        Ok(disk) => {
            let left = disk.f_bavail * disk.f_frsize / 1024 / 1024 / 1024;
            Finding::ok("data folder", format!("{shown}, {left} GiB left"))
        }
        Err(error) => Finding::wrong(
            "data folder",
            format!("{shown}: {error}"),
            "choose another with --data-dir",
        ),
    }
}

fn port(config: &Config) -> Finding {
    match TcpListener::bind(config.listen) {
        Ok(_) => Finding::ok("port", format!("{} is free", config.listen)),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Finding::note(
            "port",
            format!("{} is taken", config.listen),
            "fine if that is artel itself; otherwise choose another with --listen",
        ),
        Err(error) => Finding::wrong(
            "port",
            format!("{}: {error}", config.listen),
            "choose another with --listen",
        ),
    }
}

async fn bus(storage: &Storage) -> Finding {
    match storage.bus.ping().await {
        Ok(()) => Finding::ok("bus", storage.bus.kind()),
        Err(error) => Finding::wrong(
            "bus",
            format!("{}: {error}", storage.bus.kind()),
            "check that Redis runs where redis_url says, or leave redis_url out on a single node",
        ),
    }
}

fn embeddings(embedder: &dyn Embedder) -> Finding {
    let detail = format!("{} ({} dimensions)", embedder.name(), embedder.dimensions());
    match embedder.kind() {
        embed::Kind::Service | embed::Kind::Local => Finding::ok("embeddings", detail),
        embed::Kind::Lexical => Finding::note(
            "embeddings",
            format!("{detail}: memories are found by their words, not by their meaning"),
            "set OPENAI_API_KEY, or fetch the local model: scripts/fetch-weights.sh DIR, and set weights_dir",
        ),
    }
}

/// Tried for real: what is installed need not be allowed.
async fn sandbox() -> Finding {
    match Sandbox::find().await {
        found @ Sandbox::Bubblewrap(_) => Finding::ok("sandbox", found.name()),
        Sandbox::Missing { why } => Finding::note(
            "sandbox",
            why,
            "a client on this machine runs commands only after a person approved each; on Debian: apt install bubblewrap",
        ),
    }
}

async fn memory(config: &Config, storage: &Storage) -> Finding {
    match storage.vectors.ping().await {
        Ok(()) if config.places.redis.is_some() && storage.vectors.kind() == "embedded" => {
            Finding::note(
                "memory",
                "embedded: in the data folder of this node",
                "several nodes need one Qdrant server: set qdrant_url",
            )
        }
        Ok(()) => Finding::ok("memory", storage.vectors.kind()),
        Err(error) => Finding::wrong(
            "memory",
            error.to_string(),
            "check that Qdrant runs where qdrant_url says (its gRPC port), or leave qdrant_url out",
        ),
    }
}

async fn accounts(config: &Config, storage: &Storage) -> Finding {
    let clock = std::sync::Arc::new(artel_domain::SystemClock);
    let total = match Accounts::new(storage.db.clone(), clock, &config.engine.access) {
        Ok(accounts) => accounts.list(Page { limit: 1, offset: 0 }).await.map(|page| page.total),
        Err(error) => Err(error),
    };
    match total {
        Ok(0) => {
            Finding::note("accounts", "there is none yet", "make one: artel user add NAME --admin")
        }
        Ok(total) => Finding::ok("accounts", total.to_string()),
        Err(error) => Finding::wrong("accounts", error.to_string(), "see the database above"),
    }
}
