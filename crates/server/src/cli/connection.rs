//! A connection to a running server, for the commands that are its clients.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use artel_engine::{Error, Kind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Mistake;

/// Where the server is, and who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Address {
    pub(crate) server: String,
    pub(crate) token: String,
}

pub(crate) struct Connection {
    http: reqwest::Client,
    address: Address,
}

impl Connection {
    /// To the server and with the token that the environment names, or else to the one that runs on this machine.
    pub(crate) fn open(
        environment: &BTreeMap<String, String>,
        local: Option<Address>,
    ) -> anyhow::Result<Self> {
        let server = environment.get("ARTEL_SERVER").cloned();
        let own = local.filter(|local| server.as_ref().is_none_or(|it| *it == local.server));
        let token = environment.get("ARTEL_TOKEN").cloned();
        let token = token.or_else(|| own.as_ref().map(|own| own.token.clone())).ok_or_else(|| {
            let remedy = "set ARTEL_TOKEN; `artel token NAME` on the server prints one, and `artel up` needs none";
            Mistake(remedy.to_owned())
        })?;
        let standard = || "http://127.0.0.1:8787".to_owned();
        let server = server.or_else(|| own.map(|own| own.server)).unwrap_or_else(standard);
        Self::to(Address { server, token })
    }

    pub(crate) fn to(address: Address) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().connect_timeout(Duration::from_secs(5)).build()?;
        let server = address.server.trim_end_matches('/').to_owned();
        Ok(Self { http, address: Address { server, ..address } })
    }

    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.address.server))
            .bearer_auth(&self.address.token)
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.read(self.request(reqwest::Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.read(self.request(reqwest::Method::POST, path).json(body)).await
    }

    pub(crate) async fn read(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Value> {
        let response = self.sent(request).await?;
        Ok(response.json().await?)
    }

    /// Sends a request; an answer that says no is an error with its own exit code.
    pub(crate) async fn sent(
        &self,
        request: reqwest::RequestBuilder,
    ) -> anyhow::Result<reqwest::Response> {
        let response = request.send().await.with_context(|| {
            format!(
                "no server answers at {}; start one with `artel serve`, or set ARTEL_SERVER",
                self.address.server
            )
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body: Value = response.json().await.unwrap_or_default();
        let detail = body["detail"].as_str().unwrap_or("the server refused").to_owned();
        Err(refused(status.as_u16(), detail))
    }

    /// The project that was named, or the only one there is.
    pub(crate) async fn project(&self, named: Option<String>) -> anyhow::Result<String> {
        match named {
            Some(project) => Ok(project),
            None => self.only_project().await,
        }
    }

    async fn only_project(&self) -> anyhow::Result<String> {
        let projects = self.get("/my/projects?limit=100").await?;
        let projects = projects["projects"].as_array().cloned().unwrap_or_default();
        match projects.as_slice() {
            [only] => Ok(only["id"].as_str().unwrap_or_default().to_owned()),
            [] => {
                bail!("you have no project yet; create one (see /docs), or name one with --project")
            }
            several => {
                let list: Vec<_> = several
                    .iter()
                    .map(|project| {
                        format!("  {}  {}", text(&project["id"]), text(&project["name"]))
                    })
                    .collect();
                bail!("you have several projects; name one with --project:\n{}", list.join("\n"))
            }
        }
    }

    /// The id of the agent that was named by name or id, or of the project's first.
    pub(crate) async fn agent_id(
        &self,
        project: &str,
        named: Option<&str>,
    ) -> anyhow::Result<String> {
        let mut offset = 0;
        loop {
            let path = format!("/my/projects/{project}/agents?limit=100&offset={offset}");
            let page = self.get(&path).await?;
            let agents = page["agents"].as_array().cloned().unwrap_or_default();
            let fits = |agent: &&Value| {
                named.is_none_or(|named| agent["name"] == named || agent["id"] == named)
            };
            if let Some(agent) = agents.iter().find(fits) {
                return Ok(text(&agent["id"]).to_owned());
            }
            if agents.is_empty() {
                let what = named.map_or("agent".to_owned(), |named| format!("agent {named:?}"));
                return Err(Error::not_found(&what).into());
            }
            offset += agents.len();
        }
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// An answer that says no, as an error with its own exit code.
pub(crate) fn refused(status: u16, detail: String) -> anyhow::Error {
    let kind = match status {
        401 | 403 => Kind::Unauthenticated,
        404 => Kind::NotFound,
        422 => Kind::Invalid,
        503 => Kind::Unavailable,
        _ => Kind::Conflict,
    };
    Error::new(kind, "refused", detail).into()
}
