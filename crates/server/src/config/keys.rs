//! Everything that can be set.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::value::{Kind, Value};

/// One thing that can be set: in the file by its name, in the environment as `ARTEL_` and its name in capitals.
pub(crate) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub about: &'static str,
    pub secret: bool,
    pub default: fn(&BTreeMap<String, String>) -> Value,
}

const fn key(
    name: &'static str,
    kind: Kind,
    default: fn(&BTreeMap<String, String>) -> Value,
    about: &'static str,
) -> Key {
    Key { name, kind, about, secret: false, default }
}

const fn unset(_: &BTreeMap<String, String>) -> Value {
    Value::Unset
}

pub(crate) const KEYS: [Key; 28] = [
    key(
        "listen",
        Kind::Text,
        |_| Value::Text("127.0.0.1:8787".to_owned()),
        "address and port to listen on",
    ),
    key("data_dir", Kind::Text, data_dir, "folder for everything the server keeps"),
    key("database_url", Kind::Text, unset, "postgres://…; unset: SQLite in the data folder"),
    key("redis_url", Kind::Text, unset, "redis://…, shared by several nodes; unset: in process"),
    Key {
        secret: true,
        ..key(
            "jwt_secret",
            Kind::Text,
            unset,
            "secret that tokens are signed with; unset: made at first start",
        )
    },
    key("jwt_secret_file", Kind::Text, unset, "file that holds the secret"),
    key(
        "jwt_public_key_file",
        Kind::Text,
        unset,
        "public key (PEM) or JWKS file of an outside issuer",
    ),
    key("jwt_issuer", Kind::Text, unset, "issuer that outside tokens must name"),
    key("jwt_audience", Kind::Text, unset, "audience that outside tokens must name"),
    key(
        "token_ttl",
        Kind::Span,
        |_| Value::Span(Duration::from_secs(86_400)),
        "how long a log-in lasts",
    ),
    key(
        "auto_provision",
        Kind::Flag,
        |_| Value::Flag(true),
        "make an account for a valid token of a new subject",
    ),
    key(
        "allowed_hosts",
        Kind::List,
        |_| Value::List(Vec::new()),
        "names the server may be called by, besides this machine's own",
    ),
    key(
        "cors_origins",
        Kind::List,
        |_| Value::List(Vec::new()),
        "origins of pages elsewhere that may use the API",
    ),
    key(
        "rate_limit_per_minute",
        Kind::Number,
        |_| Value::Number(100),
        "requests per user; 0: no limit",
    ),
    key("login_attempts_per_minute", Kind::Number, |_| Value::Number(10), "attempts per account"),
    key("streams_per_user", Kind::Number, |_| Value::Number(1024), "open event streams per user"),
    key("max_connections", Kind::Number, |_| Value::Number(16_384), "open connections in all"),
    key("max_projects", Kind::Number, |_| Value::Number(1000), "projects per user"),
    key("max_agents", Kind::Number, |_| Value::Number(200), "agents per project"),
    key(
        "body_limit",
        Kind::Number,
        |_| Value::Number(1024 * 1024),
        "largest request body, in bytes",
    ),
    key(
        "starter_pack",
        Kind::Text,
        |_| Value::Text("workspace".to_owned()),
        "team of a project that names none",
    ),
    key(
        "event_retention",
        Kind::Span,
        |_| Value::Span(Duration::from_secs(30 * 86_400)),
        "how long events can be resumed from",
    ),
    key(
        "reconcile_every",
        Kind::Span,
        |_| Value::Span(Duration::from_secs(5)),
        "how often what was left is picked up",
    ),
    key(
        "heartbeat",
        Kind::Span,
        |_| Value::Span(Duration::from_secs(15)),
        "sign of life on quiet streams; at most 30s",
    ),
    key(
        "stall_timeout",
        Kind::Span,
        |_| Value::Span(Duration::from_secs(20)),
        "a reader that takes nothing for so long is cut off",
    ),
    key(
        "shutdown_timeout",
        Kind::Span,
        |_| Value::Span(Duration::from_secs(10)),
        "how long running work may take to end",
    ),
    key(
        "log_level",
        Kind::Text,
        |_| Value::Text("info".to_owned()),
        "error, warn, info, debug, or a filter",
    ),
    key("log_format", Kind::Text, |_| Value::Text("text".to_owned()), "text or json"),
];

fn data_dir(environment: &BTreeMap<String, String>) -> Value {
    let home = environment.get("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    match environment.get("XDG_DATA_HOME").map(PathBuf::from).or(home) {
        Some(base) => Value::Text(base.join("artel").to_string_lossy().into_owned()),
        None => Value::Text("artel-data".to_owned()),
    }
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
