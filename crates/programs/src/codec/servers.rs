//! MCP servers that a program is told of when its conversation begins.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// One server, by one way or both; a program that cannot take HTTP gets the process.
#[derive(Debug, Clone)]
pub struct Server {
    pub name: String,
    pub http: Option<Http>,
    pub stdio: Option<Stdio>,
}

#[derive(Debug, Clone)]
pub struct Http {
    pub url: String,
    pub headers: BTreeMap<String, SecretString>,
}

#[derive(Debug, Clone)]
pub struct Stdio {
    pub command: String,
    pub args: Vec<String>,
    pub environment: BTreeMap<String, SecretString>,
}

impl Server {
    /// The server as ACP writes it; none if there is no way that the program can take.
    pub(super) fn acp(&self, http: bool) -> Option<Value> {
        match (&self.http, &self.stdio) {
            (Some(server), _) if http => Some(self.by_http(server)),
            (_, Some(server)) => {
                let environment = pairs(&server.environment);
                Some(
                    json!({"name": self.name, "command": server.command, "args": server.args, "env": environment}),
                )
            }
            (_, None) => None,
        }
    }

    /// The server as Droid writes it.
    pub(super) fn droid(&self) -> Option<Value> {
        if let Some(server) = &self.http {
            return Some(self.by_http(server));
        }
        let server = self.stdio.as_ref()?;
        let environment =
            server.environment.iter().map(|(name, value)| (name, value.expose_secret()));
        let environment: BTreeMap<&String, &str> = environment.collect();
        Some(json!({
            "type": "stdio", "name": self.name, "command": server.command, "args": server.args, "env": environment
        }))
    }

    fn by_http(&self, server: &Http) -> Value {
        json!({"type": "http", "name": self.name, "url": server.url, "headers": pairs(&server.headers)})
    }
}

fn pairs(values: &BTreeMap<String, SecretString>) -> Vec<Value> {
    let pair = |(name, value): (&String, &SecretString)| json!({"name": name, "value": value.expose_secret()});
    values.iter().map(pair).collect()
}
