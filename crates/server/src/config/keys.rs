//! Everything that can be set.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::value::{Kind, Value};
use Preset::{DataDir, Flag, List, Number, Seconds, Text, Unset};

/// One thing that can be set: in the file by its name, in the environment as `ARTEL_` and its name in capitals.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    preset: Preset,
    pub(crate) about: &'static str,
    pub(crate) secret: bool,
}

/// What a key is when nobody says otherwise, which is also what kind of thing it is.
#[derive(Clone, Copy)]
enum Preset {
    Unset,
    DataDir,
    Text(&'static str),
    Number(u64),
    Flag(bool),
    List,
    Seconds(u64),
}

const DAY: u64 = 24 * 60 * 60;

pub(crate) const KEYS: [Key; 60] = [
    key("listen", Text("127.0.0.1:8787"), "address and port to listen on"),
    key("data_dir", DataDir, "folder for everything the server keeps"),
    key("database_url", Unset, "postgres://…; unset: SQLite in the data folder"),
    key("redis_url", Unset, "redis://…, shared by several nodes; unset: in process"),
    key(
        "qdrant_url",
        Unset,
        "http://…, the gRPC side of a Qdrant server; unset: files in the data folder",
    ),
    secret("qdrant_api_key", "key of the Qdrant server"),
    key(
        "qdrant_layout",
        Text("per_agent"),
        "per_agent: a collection each; shared: one for all, for thousands of agents",
    ),
    key(
        "embeddings",
        Text("auto"),
        "openai, local or lexical; auto: the first of these that can be had",
    ),
    key("embedding_model", Unset, "of the embedding service; unset: text-embedding-3-small"),
    key("embedding_dimensions", Number(0), "of the service's vectors; 0: the model's own"),
    key(
        "weights_dir",
        Unset,
        "files of the local model; unset: models/all-MiniLM-L6-v2 in the data folder",
    ),
    secret("jwt_secret", "secret that tokens are signed with; unset: made at first start"),
    key("jwt_secret_file", Unset, "file that holds the secret"),
    key("jwt_public_key_file", Unset, "public key (PEM) or JWKS file of an outside issuer"),
    key("jwt_issuer", Unset, "issuer that outside tokens must name"),
    key("jwt_audience", Unset, "audience that outside tokens must name"),
    key("token_ttl", Seconds(DAY), "how long a log-in lasts"),
    key("auto_provision", Flag(true), "make an account for a valid token of a new subject"),
    key("allowed_hosts", List, "names the server may be called by, besides this machine's own"),
    key("cors_origins", List, "origins of pages elsewhere that may use the API"),
    key("rate_limit_per_minute", Number(100), "requests per user; 0: no limit"),
    key("login_attempts_per_minute", Number(10), "attempts per account"),
    key("streams_per_user", Number(1024), "open event streams per user"),
    key("max_connections", Number(16_384), "open connections in all"),
    key("max_projects", Number(1000), "projects per user"),
    key("max_agents", Number(200), "agents per project"),
    key("cached_agents", Number(10_000), "agents held in memory, of all projects"),
    key("body_limit", Number(1024 * 1024), "largest request body, in bytes"),
    key("starter_pack", Text("workspace"), "team of a project that names none"),
    key(
        "default_provider",
        Unset,
        "model provider of bare names; unset: the first that is configured",
    ),
    key("default_model", Unset, "model of a starter pack's agents; unset: what the pack says"),
    key(
        "approval_timeout",
        Seconds(300),
        "how long a person has to decide, unless they set their own time",
    ),
    key("direct_timeout", Seconds(30), "how long an agent may take to answer a message"),
    key("plan_task_timeout", Seconds(600), "how long an agent may take for a task of a plan"),
    key("plan_parallel", Number(3), "tasks of one plan that run at a time"),
    key(
        "planner_model",
        Unset,
        "the model that plans where no agent is the orchestrator; unset: that of the first agent with a real one",
    ),
    key("planner_timeout", Seconds(5), "how long a model may plan before it is done without one"),
    key(
        "agent_sandboxes",
        List,
        "where programs that are agents may run: bubblewrap, docker, none; the first unless they say; unset: bubblewrap",
    ),
    key(
        "agent_workspaces",
        List,
        "folders of this machine that such agents may be given to work in",
    ),
    key("agent_path", List, "folders where their programs are looked for; unset: those of PATH"),
    key(
        "share_keys",
        Flag(false),
        "give the server's own model keys to programs that have none; each can read its own (`artel up` does)",
    ),
    key(
        "program_turn_timeout",
        Seconds(60 * 60),
        "how long a program may take to answer a message",
    ),
    key("max_programs", Number(100), "programs that run at a time; others wait"),
    key("max_programs_per_user", Number(20), "of them, of one user"),
    key(
        "docker_socket",
        Text("/var/run/docker.sock"),
        "of the Docker daemon, for agents in containers",
    ),
    key("worker_image", Text("universal-worker"), "image of agents in containers"),
    key(
        "agent_nodes",
        Text("own"),
        "where programs that are agents run: own, on this node; workers, on nodes that run `artel worker`",
    ),
    secret("worker_secret", "secret that servers and workers share, at least 32 bytes"),
    key("worker_secret_file", Unset, "file that holds it"),
    key("worker_name", Unset, "what a worker is called, over restarts; unset: the machine's name"),
    key(
        "worker_lost_after",
        Seconds(60),
        "a worker or server that is not heard of for so long is given up",
    ),
    key(
        "lost_agents",
        Text("restart"),
        "work that is lost with its worker: restart, on another; report, to its user",
    ),
    key("space_idle", Seconds(30 * 60), "a space that nobody has used for so long is let go"),
    key("event_retention", Seconds(30 * DAY), "how long events can be resumed from"),
    key("reconcile_every", Seconds(5), "how often what was left is picked up"),
    key("heartbeat", Seconds(15), "sign of life on quiet streams; at most 30s"),
    key("stall_timeout", Seconds(20), "a reader that takes nothing for so long is cut off"),
    key("shutdown_timeout", Seconds(10), "how long running work may take to end"),
    key("log_level", Text("info"), "error, warn, info, debug, or a filter"),
    key("log_format", Text("text"), "text or json"),
];

const fn key(name: &'static str, preset: Preset, about: &'static str) -> Key {
    Key { name, preset, about, secret: false }
}

const fn secret(name: &'static str, about: &'static str) -> Key {
    Key { secret: true, ..key(name, Unset, about) }
}

impl Key {
    pub(super) fn kind(&self) -> Kind {
        match self.preset {
            Unset | DataDir | Text(_) => Kind::Text,
            Number(_) => Kind::Number,
            Flag(_) => Kind::Flag,
            List => Kind::List,
            Seconds(_) => Kind::Span,
        }
    }

    /// What it is when nobody says otherwise.
    pub(super) fn default(&self, environment: &BTreeMap<String, String>) -> Value {
        match self.preset {
            Unset => Value::Unset,
            DataDir => Value::Text(data_dir(environment).to_string_lossy().into_owned()),
            Text(text) => Value::Text(text.to_owned()),
            Number(number) => Value::Number(number),
            Flag(flag) => Value::Flag(flag),
            List => Value::List(Vec::new()),
            Seconds(seconds) => Value::Span(Duration::from_secs(seconds)),
        }
    }
}

fn data_dir(environment: &BTreeMap<String, String>) -> PathBuf {
    let home = environment.get("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let base = environment.get("XDG_DATA_HOME").map(PathBuf::from).or(home);
    base.map_or_else(|| PathBuf::from("artel-data"), |base| base.join("artel"))
}

/// A URL without the password in it.
pub(super) fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@') else { return hide_query(text) };
    let Some(colon) = rest[..at].find(':') else { return hide_query(text) };
    hide_query(&format!("{scheme}://{}:(hidden){}", &rest[..colon], &rest[at..]))
}

/// PostgreSQL also takes the password as a parameter.
fn hide_query(text: &str) -> String {
    match text.split_once("password=") {
        Some((before, after)) => {
            let rest = after.find('&').map_or("", |at| &after[at..]);
            format!("{before}password=(hidden){rest}")
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_hidden() {
        let shown = [
            ("postgres://ada:s3cret@db/x", "postgres://ada:(hidden)@db/x"),
            ("postgres://ada:s3:c@r@et@db/x", "postgres://ada:(hidden)@db/x"),
            ("postgres://db/x?password=s3cret&a=b", "postgres://db/x?password=(hidden)&a=b"),
            ("redis://:s3cret@cache:6379", "redis://:(hidden)@cache:6379"),
            ("redis://cache:6379", "redis://cache:6379"),
        ];
        for (text, expected) in shown {
            assert_eq!(without_password(text), expected);
        }
    }
}
