//! What a program gets to its model with: given by its owner for one agent, kept sealed, and never shown again.

use artel_domain::process::Runtime;
use artel_domain::{Agent, AgentId, Timestamp};
use artel_programs::kind::Credentials;
use artel_storage::{Lane, Scope, agents, credentials};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Found, Programs, refused, runtime_of};
use crate::input::{Checked, Input};
use crate::{App, Caller, Error, Kind, Result};

/// What an agent that is a program gets to its model with.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetCredentials {
    /// The key of its model service, or of its own.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 10_000, write_only)]
    pub api_key: Option<SecretString>,
    /// Where its model service is; without one the program's own.
    #[schema(min_length = 1, max_length = 2000, example = "https://models.example.org")]
    pub base_url: Option<String>,
    /// A folder of the server's machine with a log-in of the program's own, which its owner may use
    /// (`agent_workspaces`).
    #[schema(min_length = 1, max_length = 4096)]
    pub login_dir: Option<String>,
}

impl Input for SetCredentials {}

/// What is known of an agent's credentials: never the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = CredentialsView)]
pub struct CredentialsShown {
    pub has_key: bool,
    pub base_url: Option<String>,
    pub login_dir: Option<String>,
    /// `agent`: given for it; `server`: what the server has for everybody; `none`.
    #[schema(example = "agent")]
    pub source: &'static str,
}

/// As it is sealed.
#[derive(Serialize, Deserialize)]
struct Kept {
    api_key: Option<String>,
    base_url: Option<String>,
    login_dir: Option<String>,
}

impl App {
    /// Sets them, all at once. Its process is started anew with them before its next turn.
    pub async fn set_credentials(
        &self,
        caller: &Caller,
        id: AgentId,
        input: Checked<SetCredentials>,
    ) -> Result<CredentialsShown> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        runtime_of(&agent)?;
        let SetCredentials { api_key, base_url, login_dir } = input.into_inner();
        if let Some(url) = base_url.as_deref()
            && !(url.starts_with("http://") || url.starts_with("https://"))
        {
            return Err(Error::invalid_field("base_url", "starts with http:// or https://"));
        }
        let Programs { host, workers, .. } = &self.0.programs;
        // What a worker allows, it says itself.
        if let Some(folder) = &login_dir
            && workers.is_none()
        {
            host.allowed_folder("login_dir", folder).map_err(refused)?;
        }
        let api_key = api_key.map(|key| key.expose_secret().trim().to_owned());
        let kept = Kept { api_key, base_url, login_dir };
        let text = serde_json::to_string(&kept).map_err(Error::internal)?;
        let sealed = self.accounts().sealer().seal(&text, &id.to_string());
        let sealed = sealed.map_err(Error::internal)?;
        let now: Timestamp = self.clock().now();
        let put = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                agents::get(conn, scope, id).await?;
                credentials::put(conn, id, &sealed, now).await
            })
        });
        put.await?;
        self.0.programs.outdate(id);
        self.credentials_shown(scope, &agent).await
    }

    pub async fn credentials(&self, caller: &Caller, id: AgentId) -> Result<CredentialsShown> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        self.credentials_shown(scope, &agent).await
    }

    pub async fn clear_credentials(&self, caller: &Caller, id: AgentId) -> Result<()> {
        let (scope, _) = self.find_agent(caller, id).await?;
        let deleted = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move { credentials::delete(conn, id).await })
        });
        if !deleted.await? {
            return Err(Error::not_found("credentials"));
        }
        self.0.programs.outdate(id);
        Ok(())
    }

    async fn credentials_shown(&self, scope: Scope, agent: &Agent) -> Result<CredentialsShown> {
        let runtime = runtime_of(agent)?;
        let (credentials, source) = self.credentials_for(scope, agent.id, runtime).await?;
        let Credentials { key, base_url, login } = credentials;
        Ok(CredentialsShown {
            has_key: key.is_some(),
            base_url,
            login_dir: login.map(|folder| folder.display().to_string()),
            source,
        })
    }

    /// What the agent was given, or what the server has for its kind.
    pub(super) async fn credentials_for(
        &self,
        _: Scope,
        id: AgentId,
        runtime: &Runtime,
    ) -> Result<(Credentials, &'static str)> {
        let read = self.0.storage.db.read(move |conn| Box::pin(credentials::get(conn, id)));
        let Some(sealed) = read.await? else {
            let found = self.0.settings.programs.found.credentials(&runtime.kind);
            let any = found.key.is_some() || found.base_url.is_some();
            let source = if any { "server" } else { "none" };
            return Ok((found, source));
        };
        let unreadable = || {
            let message = "The agent's credentials cannot be read: the server's secret has changed since; set them anew";
            Error::new(Kind::Conflict, "credentials_unreadable", message)
        };
        let text = self.accounts().sealer().open(&sealed, &id.to_string());
        let text = text.ok_or_else(unreadable)?;
        let kept: Kept = serde_json::from_str(text.expose_secret()).map_err(|_| unreadable())?;
        let credentials = Credentials {
            key: kept.api_key.map(SecretString::from),
            base_url: kept.base_url,
            login: kept.login_dir.map(Into::into),
        };
        Ok((credentials, "agent"))
    }
}

impl Found {
    /// What the server itself was given for such programs.
    pub(super) fn credentials(&self, kind: &str) -> Credentials {
        let of = |(key, base_url): &(Option<SecretString>, Option<String>)| Credentials {
            key: key.clone(),
            base_url: base_url.clone(),
            login: None,
        };
        match kind {
            "claude-code" => of(&self.anthropic),
            "codex" => of(&self.openai),
            "gemini-cli" => of(&self.gemini),
            "factory-droid" => Credentials { key: self.factory.clone(), ..Credentials::default() },
            _ => Credentials::default(),
        }
    }
}
