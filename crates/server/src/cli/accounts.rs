//! `artel user` and `artel token`: accounts, straight on the store, whether or not the server runs.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use artel_domain::SystemClock;
use artel_engine::access::Accounts;
use artel_engine::{Kind, Page};
use artel_storage::Db;
use serde_json::json;

use super::{UserCommand, print, role};
use crate::config::{Config, Mistake};

pub(super) struct TokenRequest {
    pub(super) name: String,
    pub(super) ttl: Duration,
    pub(super) create: bool,
    pub(super) json: bool,
}

pub(super) async fn manage(config: &Config, command: UserCommand) -> anyhow::Result<()> {
    match command {
        UserCommand::Add { name, admin, password_stdin, json } => {
            let accounts = open(config).await?;
            let password = ask_password(password_stdin)?;
            let without = password.is_none();
            let user = accounts.add_local(&name, role(admin), password).await?;
            if json {
                return print(&serde_json::to_string(&user)?);
            }
            print(&format!("Added {} (number {}).", user.name, user.id))?;
            if without {
                print(&format!(
                    "No password: use a token (artel token {name}), or set one (artel user passwd {name})."
                ))?;
            }
            Ok(())
        }
        UserCommand::List { json } => list(&open(config).await?, json).await,
        UserCommand::Passwd { name, password_stdin } => {
            let accounts = open(config).await?;
            accounts.find_local(&name).await?;
            let password = ask_password(password_stdin)?.ok_or_else(|| {
                Mistake("there is no terminal to ask at: use --password-stdin".to_owned())
            })?;
            accounts.set_password(&name, password).await?;
            print("The password is set.")
        }
        UserCommand::Disable { name } => {
            open(config).await?.set_disabled(&name, true).await?;
            print(&format!("{name} is disabled."))
        }
        UserCommand::Enable { name } => {
            open(config).await?.set_disabled(&name, false).await?;
            print(&format!("{name} is enabled."))
        }
    }
}

pub(super) async fn token(config: &Config, request: TokenRequest) -> anyhow::Result<()> {
    let TokenRequest { name, ttl, create, json } = request;
    let accounts = open(config).await?;
    let user = match accounts.find_local(&name).await {
        Err(error) if error.kind == Kind::NotFound && create => {
            accounts.add_local(&name, role(false), None).await?
        }
        Err(error) if error.kind == Kind::NotFound => {
            return Err(anyhow::Error::new(error)
                .context(format!("no user {name:?}; add one with: artel user add {name}")));
        }
        found => found?,
    };
    let token = accounts.token_for(&user, ttl)?;
    print(&if json { serde_json::to_string(&token)? } else { token.access_token })
}

async fn open(config: &Config) -> anyhow::Result<Accounts> {
    let db = Db::open(&config.places.database).await.context("opening the database")?;
    Ok(Accounts::new(db, Arc::new(SystemClock), &config.engine.access)?)
}

async fn list(accounts: &Accounts, as_json: bool) -> anyhow::Result<()> {
    let mut offset = 0;
    let mut users = Vec::new();
    loop {
        let page = accounts.list(Page { limit: 100, offset }).await?;
        offset += page.items.len() as u64;
        let done = page.items.is_empty() || offset >= page.total;
        users.extend(page.items);
        if done {
            break;
        }
    }
    if as_json {
        return print(&serde_json::to_string(&json!({ "users": users, "total": users.len() }))?);
    }
    if users.is_empty() {
        return print("There is no account yet. Make one with: artel user add NAME");
    }
    let lines: Vec<_> = users
        .iter()
        .map(|user| {
            let state = if user.disabled { "  disabled" } else { "" };
            format!("{:>4}  {:?}  {}{state}", user.id, user.role, user.name).to_lowercase()
        })
        .collect();
    print(&lines.join("\n"))
}

/// The password from standard input, or from the person at the terminal (twice); none when there is neither.
fn ask_password(from_stdin: bool) -> anyhow::Result<Option<String>> {
    if from_stdin {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        return Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()));
    }
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let first = rpassword::prompt_password("Password (empty for none): ")?;
    if first.is_empty() {
        return Ok(None);
    }
    if rpassword::prompt_password("Once more: ")? != first {
        return Err(Mistake("the two passwords differ".to_owned()).into());
    }
    Ok(Some(first))
}
