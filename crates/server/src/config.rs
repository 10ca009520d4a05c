//! Configuration: defaults, then a TOML file, then `ARTEL_*` variables, then flags.
//!
//! [`keys::KEYS`] is the one list of what can be set; the file, the environment, `artel config` and the manual all
//! come from it. Typed and meant are two things: [`Resolved`] holds what was said and where, [`Config`] what it
//! means once it was checked. A key that does not exist, or a value that makes no sense, is an error that names it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use artel_storage::{Database, Places};
use secrecy::SecretString;

mod keys;
mod memory;
mod models;
mod programs;
mod secret;
mod value;
mod workers;

pub(crate) use keys::{KEYS, Key};
pub(crate) use value::{Value, parse_span};
pub(crate) use workers::Worker;

/// Where a value came from; the later wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "${name}"),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}

/// A mistake in the configuration, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Mistake(pub String);

/// What was said, and where.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    settings: BTreeMap<&'static str, (Value, Origin)>,
    /// Variables of others that tell where models and programs are.
    others: BTreeMap<String, String>,
}

/// What was given on the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    pub config: Option<PathBuf>,
    pub listen: Option<String>,
    pub data_dir: Option<PathBuf>,
}

/// Variables that are ours but set nothing here: they are read by clients and by the tests.
const OTHER_VARIABLES: [&str; 4] = ["ARTEL_CONFIG", "ARTEL_SERVER", "ARTEL_TOKEN", "ARTEL_LOG"];

/// What model services and their programs are found by; the names that those programs use.
const OTHERS: [&str; 10] = [
    "PATH",
    "FACTORY_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "GEMINI_API_KEY",
    "GEMINI_BASE_URL",
    "OLLAMA_HOST",
];

impl Resolved {
    /// Reads everything that was said.
    pub(crate) fn read(
        flags: &Flags,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, Mistake> {
        let defaults =
            KEYS.iter().map(|key| (key.name, (key.default(environment), Origin::Default)));
        let others = OTHERS.iter().filter_map(|name| {
            let value = environment.get(*name).filter(|value| !value.trim().is_empty())?;
            Some(((*name).to_owned(), value.clone()))
        });
        let mut all = Self { settings: defaults.collect(), others: others.collect() };
        if let Some(path) = config_file(flags, environment) {
            all.take_file(&path)?;
        }
        all.take_environment(environment)?;
        if let Some(listen) = &flags.listen {
            all.set("listen", Value::Text(listen.clone()), Origin::Flag("listen"));
        }
        if let Some(folder) = &flags.data_dir {
            let text = folder.to_string_lossy().into_owned();
            all.set("data_dir", Value::Text(text), Origin::Flag("data-dir"));
        }
        Ok(all)
    }

    /// On a machine of one person's own, programs work in their folder and with their keys unless something else was
    /// said.
    pub(crate) fn for_one_person(&mut self, folder: &Path) {
        let folder = folder.to_string_lossy().into_owned();
        for (name, value) in
            [("share_keys", Value::Flag(true)), ("agent_workspaces", Value::List(vec![folder]))]
        {
            if self.settings[name].1 == Origin::Default {
                self.set(name, value, Origin::Flag("up"));
            }
        }
    }

    fn set(&mut self, name: &'static str, value: Value, origin: Origin) {
        self.settings.insert(name, (value, origin));
    }

    fn take_file(&mut self, path: &Path) -> Result<(), Mistake> {
        let shown = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|error| Mistake(format!("{shown}: {error}")))?;
        let table: toml::Table =
            text.parse().map_err(|error| Mistake(format!("{shown}: {error}")))?;
        for (name, value) in table {
            let key = known(&name).ok_or_else(|| {
                Mistake(format!(
                    "{shown}: unknown key {name:?}; `artel config` lists those that exist"
                ))
            })?;
            let value = Value::from_toml(key.kind(), value)
                .map_err(|why| Mistake(format!("{shown}: {name}: {why}")))?;
            self.set(key.name, value, Origin::File(path.to_owned()));
        }
        Ok(())
    }

    fn take_environment(&mut self, environment: &BTreeMap<String, String>) -> Result<(), Mistake> {
        for (variable, text) in environment {
            let Some(name) = variable.strip_prefix("ARTEL_") else { continue };
            if OTHER_VARIABLES.contains(&variable.as_str()) || name.starts_with("TEST_") {
                continue;
            }
            let key = known(&name.to_ascii_lowercase()).ok_or_else(|| {
                Mistake(format!(
                    "unknown variable {variable}; `artel config` lists what can be set"
                ))
            })?;
            let value = Value::from_text(key.kind(), text)
                .map_err(|why| Mistake(format!("{variable}: {why}")))?;
            self.set(key.name, value, Origin::Environment(variable.clone()));
        }
        Ok(())
    }

    /// Every key with its value, as it may be shown, and its origin.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&'static Key, String, &Origin)> {
        KEYS.iter().map(|key| {
            let (value, origin) = &self.settings[key.name];
            let text = match value {
                Value::Unset => String::new(),
                _ if key.secret => "(hidden)".to_owned(),
                Value::Text(_)
                | Value::Number(_)
                | Value::Flag(_)
                | Value::List(_)
                | Value::Span(_) => keys::without_password(&value.to_string()),
            };
            (key, text, origin)
        })
    }

    /// A variable of others.
    fn variable(&self, name: &str) -> Option<&str> {
        self.others.get(name).map(String::as_str)
    }

    fn text(&self, name: &str) -> Option<String> {
        match &self.settings[name].0 {
            Value::Text(text) => Some(text.clone()),
            Value::Unset | Value::Number(_) | Value::Flag(_) | Value::List(_) | Value::Span(_) => {
                None
            }
        }
    }

    fn number(&self, name: &str) -> u64 {
        match self.settings[name].0 {
            Value::Number(number) => number,
            Value::Unset | Value::Text(_) | Value::Flag(_) | Value::List(_) | Value::Span(_) => 0,
        }
    }

    fn flag(&self, name: &str) -> bool {
        self.settings[name].0 == Value::Flag(true)
    }

    fn list(&self, name: &str) -> Vec<String> {
        match &self.settings[name].0 {
            Value::List(items) => items.clone(),
            Value::Unset | Value::Text(_) | Value::Flag(_) | Value::Number(_) | Value::Span(_) => {
                Vec::new()
            }
        }
    }

    /// Where the server keeps everything.
    pub(crate) fn data_dir(&self) -> PathBuf {
        PathBuf::from(self.text("data_dir").unwrap_or_default())
    }

    fn span(&self, name: &str) -> Duration {
        match self.settings[name].0 {
            Value::Span(span) => span,
            Value::Unset | Value::Text(_) | Value::Flag(_) | Value::Number(_) | Value::List(_) => {
                Duration::ZERO
            }
        }
    }
}

/// What was meant.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    pub places: Places,
    pub embeddings: artel_agents::embed::Settings,
    pub allowed_hosts: Vec<String>,
    pub cors_origins: Vec<String>,
    pub body_limit: usize,
    pub heartbeat: Duration,
    pub stall_timeout: Duration,
    pub shutdown_timeout: Duration,
    pub max_connections: usize,
    pub log_level: String,
    pub log_format: LogFormat,
    pub engine: artel_engine::Settings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl Config {
    /// Checks what was said. Makes the data folder and the server's secret when they are not there yet.
    pub(crate) fn from(said: &Resolved) -> Result<Self, Mistake> {
        let required =
            |name: &str| said.text(name).ok_or_else(|| Mistake(format!("{name} is not set")));
        let listen: SocketAddr = required("listen")?.parse().map_err(|_| {
            Mistake("listen: must be an address and a port, such as 127.0.0.1:8787".to_owned())
        })?;
        let data_dir = PathBuf::from(required("data_dir")?);
        let allowed_hosts = said.list("allowed_hosts");
        if !listen.ip().is_loopback() && allowed_hosts.is_empty() {
            return Err(Mistake(format!(
                "refused to start: listening on {listen} lets other machines in, so say by which names they may \
                 come.\n  Set allowed_hosts, for example: ARTEL_ALLOWED_HOSTS=artel.example.org\n  \
                 Put a proxy with TLS in front: tokens travel in the clear otherwise."
            )));
        }
        let cors_origins = said.list("cors_origins");
        if let Some(bad) = cors_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(Mistake(format!(
                "cors_origins: {bad:?} is not an origin such as https://app.example.org (a wildcard would let \
                 every site use your users' tokens)"
            )));
        }
        secret::prepare_folder(&data_dir)?;
        let keys = secret::keys(said, &data_dir)?;
        let database = match said.text("database_url") {
            None => Database::Sqlite(data_dir.join("artel.db")),
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Database::Postgres(url)
            }
            Some(url) if url.starts_with("sqlite:") => {
                let path = url.trim_start_matches("sqlite:").trim_start_matches("//");
                Database::Sqlite(PathBuf::from(path))
            }
            Some(_) => {
                return Err(Mistake(
                    "database_url: must start with postgres:// or sqlite:".to_owned(),
                ));
            }
        };
        let redis = said.text("redis_url");
        if redis
            .as_ref()
            .is_some_and(|url| !["redis://", "rediss://"].iter().any(|s| url.starts_with(s)))
        {
            return Err(Mistake("redis_url: must start with redis:// or rediss://".to_owned()));
        }
        let (log_level, log_format) = Self::logging(said)?;
        let at_most = |name: &str, most: u64| match said.number(name) {
            number if number > most => {
                Err(Mistake(format!("{name}: {number} is more than {most}")))
            }
            number => Ok(number),
        };
        let small = |name: &str| {
            at_most(name, 1_000_000_000).map(|number| usize::try_from(number).unwrap_or(0))
        };
        let requests = u32::try_from(at_most("rate_limit_per_minute", 1_000_000)?).unwrap_or(0);
        let log_ins = u32::try_from(at_most("login_attempts_per_minute", 1000)?).unwrap_or(0);
        Ok(Self {
            listen,
            places: Places { database, redis, vectors: memory::place(said, &data_dir)? },
            embeddings: memory::embeddings(said, &data_dir)?,
            allowed_hosts,
            cors_origins,
            body_limit: small("body_limit")?,
            heartbeat: said
                .span("heartbeat")
                .clamp(Duration::from_millis(100), Duration::from_secs(30)),
            stall_timeout: said.span("stall_timeout"),
            shutdown_timeout: said.span("shutdown_timeout"),
            max_connections: small("max_connections")?,
            log_level,
            log_format,
            engine: artel_engine::Settings {
                node: secret::node_name(&data_dir)?,
                access: artel_engine::access::Settings {
                    keys,
                    token_ttl: said.span("token_ttl"),
                    auto_provision: said.flag("auto_provision"),
                },
                limits: artel_engine::limits::Settings {
                    requests: NonZeroU32::new(requests),
                    log_ins: NonZeroU32::new(log_ins).ok_or_else(|| {
                        Mistake("login_attempts_per_minute: must be at least 1".to_owned())
                    })?,
                    streams_per_user: small("streams_per_user")?,
                },
                providers: models::providers(said, &data_dir)?,
                programs: programs::settings(said, &data_dir, &secret::node_name(&data_dir)?)?,
                direct_timeout: said.span("direct_timeout"),
                plan_task_timeout: said.span("plan_task_timeout"),
                plan_parallel: usize::try_from(said.number("plan_parallel").max(1))
                    .unwrap_or(usize::MAX),
                planner_model: said.text("planner_model"),
                planner_timeout: said.span("planner_timeout"),
                approval_timeout: said.span("approval_timeout").max(Duration::from_secs(1)),
                space_idle: said.span("space_idle"),
                starter_pack: required("starter_pack")?,
                default_model: said.text("default_model"),
                packs_dir: Some(data_dir.join("packs")),
                archive_dir: data_dir.join("archive"),
                event_retention: said.span("event_retention"),
                reconcile_every: said.span("reconcile_every").max(Duration::from_millis(50)),
                cached_agents: said.number("cached_agents").max(1),
                max_projects: said.number("max_projects"),
                max_agents: said.number("max_agents"),
            },
            data_dir,
        })
    }
}

impl Config {
    /// What is logged, and how.
    fn logging(said: &Resolved) -> Result<(String, LogFormat), Mistake> {
        let format = match said.text("log_format").as_deref() {
            Some("text") => LogFormat::Text,
            Some("json") => LogFormat::Json,
            _ => return Err(Mistake("log_format: must be text or json".to_owned())),
        };
        let level = said.text("log_level");
        Ok((level.ok_or_else(|| Mistake("log_level is not set".to_owned()))?, format))
    }
}

fn known(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// The file that was named, or the first that exists in the usual places. Not the working folder: what lies in a
/// project must not configure a server.
fn config_file(flags: &Flags, environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let named = flags.config.clone().or_else(|| environment.get("ARTEL_CONFIG").map(PathBuf::from));
    named.or_else(|| {
        let home = environment.get("HOME").map(|home| PathBuf::from(home).join(".config"));
        let own = environment.get("XDG_CONFIG_HOME").map(PathBuf::from).or(home);
        let usual = [
            own.map(|folder| folder.join("artel/config.toml")),
            Some("/etc/artel/config.toml".into()),
        ];
        usual.into_iter().flatten().find(|path| path.is_file())
    })
}

fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    ["http", "https"].contains(&scheme) && !host.is_empty() && !host.contains(['/', '*', ' ', '@'])
}

/// A secret from a variable or file; never printed.
fn secret_text(text: &str) -> SecretString {
    SecretString::from(text.trim().to_owned())
}
