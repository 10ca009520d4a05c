//! `artel up`: everything on one machine, in one go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use artel_agents::llm::providers::{Found, State};
use artel_domain::process::Sandbox;
use artel_domain::{ClientId, Role, SystemClock, User};
use artel_engine::access::Accounts;
use artel_engine::programs::HostSettings;
use artel_engine::{App, Kind};
use reqwest::Method;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::connection::{Address, Connection, text};
use super::local::{self, Local};
use super::plan::pen::Pen;
use super::print;
use crate::client::{self, Approve, Terminal};
use crate::config::Config;
use crate::http;
use crate::serve::{self, Server};

/// Programs that can be agents, by the names of their commands.
const PROGRAMS: [(&str, &str); 4] = [
    ("claude", "Claude Code"),
    ("codex", "Codex"),
    ("gemini", "Gemini CLI"),
    ("droid", "Factory Droid"),
];
/// How long the token lasts that the commands of this user take.
const TOKEN: std::time::Duration = std::time::Duration::from_hours(24 * 30);

pub(super) struct Up {
    pub(super) dir: PathBuf,
    pub(super) no_open: bool,
    pub(super) approve: Approve,
}

pub(super) async fn run(
    mut config: Config,
    up: Up,
    environment: BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let folder = up.dir.canonicalize().with_context(|| format!("{}", up.dir.display()))?;
    // One person on their own machine need not be kept from asking too much.
    config.engine.limits.requests = None;
    let server = Server::open(&config).await?;
    let user = account(server.app().accounts(), &environment).await?;
    let ticket = server.app().accounts().ticket_for(&user).await?;
    let token = server.app().accounts().token_for(&user, TOKEN)?.access_token;
    let address = Address { server: server.url().to_owned(), token };
    // Whoever was here before was killed, and its client with it.
    let before = local::read(&config.data_dir).map(|before| before.client_id);
    let local = Local { address, client_id: ClientId::new(&SystemClock) };
    local::write(&config.data_dir, &local).context("leaving word for other commands")?;
    let Local { address, client_id } = local;
    let link = format!("{}/#ticket={ticket}", server.url());
    let (url, app) = (server.url().to_owned(), server.app().clone());
    let (stop, leave) = (CancellationToken::new(), CancellationToken::new());
    let again = serve::signals(leave.clone())?;
    let work = async {
        let worked = async {
            let connection = Connection::to(address)?;
            let project = project(&connection, &folder).await?;
            if let Some(before) = before {
                let path = format!("/my/projects/{project}/client?client_id={before}");
                connection.sent(connection.request(Method::DELETE, &path)).await?;
            }
            let open = !up.no_open && environment.contains_key("DISPLAY");
            greet(&app, &url, &link, &folder, &project, &config)?;
            if open {
                browse(&link);
            }
            let settings = client::Settings {
                id: client_id,
                connection,
                project,
                workspace: folder.clone(),
                approve: up.approve,
                environment: environment.clone(),
            };
            let terminal = Terminal::new(up.approve == Approve::Ask, Pen::of(&environment));
            client::run(settings, terminal, leave).await
        };
        let worked = worked.await;
        stop.cancel();
        worked
    };
    let both = async {
        let (served, worked) = tokio::join!(server.serve(stop.clone()), work);
        worked.and(served)
    };
    let ended = tokio::select! {
        ended = both => ended,
        () = again => Err(anyhow::anyhow!("stopped at once by a second signal")),
    };
    local::forget(&config.data_dir);
    ended
}

/// The account of whoever runs this.
async fn account(
    accounts: &Accounts,
    environment: &BTreeMap<String, String>,
) -> anyhow::Result<User> {
    let name = ["USER", "LOGNAME"].iter().find_map(|name| environment.get(*name));
    let name = name.filter(|name| !name.is_empty()).map_or("me", String::as_str);
    match accounts.find_local(name).await {
        Ok(user) => Ok(user),
        Err(error) if error.kind == Kind::NotFound => {
            Ok(accounts.add_local(name, Role::Admin, None).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// The id of the project of this folder; made, with its team, when there is none.
async fn project(connection: &Connection, folder: &Path) -> anyhow::Result<String> {
    let path = folder.to_string_lossy();
    let mut offset = 0;
    loop {
        let page = connection.get(&format!("/my/projects?limit=100&offset={offset}")).await?;
        let projects = page["projects"].as_array().cloned().unwrap_or_default();
        if let Some(known) = projects.iter().find(|it| it["workspace_path"] == *path) {
            return Ok(text(&known["id"]).to_owned());
        }
        offset += projects.len();
        if projects.is_empty() {
            break;
        }
    }
    let name =
        folder.file_name().map_or_else(|| path.to_string(), |it| it.to_string_lossy().into());
    let made =
        connection.post("/my/projects", &json!({ "name": name, "workspace_path": path })).await?;
    Ok(text(&made["id"]).to_owned())
}

fn greet(
    app: &App,
    url: &str,
    link: &str,
    folder: &Path,
    project: &str,
    config: &Config,
) -> anyhow::Result<()> {
    let ready = |found: &Found| matches!(found.state, State::Ready { .. });
    let found = app.providers().found();
    let models: Vec<_> = found.iter().filter(|it| ready(it)).map(|it| it.provider.name()).collect();
    let programs = programs(&config.engine.programs.host);
    let page = if http::has_page() { "" } else { "; this build is without the page: make page" };
    print(&format!(
        "artel is up\n  log in   {link}\n           (works once, within ten minutes{page})\n  API      {url}/docs\n  \
         folder   {}\n  project  {project}\n  models   {}\n  programs {programs}\n  log      {}\n\n\
         In another terminal: artel chat \"What is in this folder?\"\nCtrl-C stops everything.\n",
        folder.display(),
        models.join(", "),
        config.data_dir.join("artel.log").display(),
    ))
}

/// Which of those that we know are there, without asking any.
fn programs(host: &HostSettings) -> String {
    if host.sandboxes.first() == Some(&Sandbox::Docker) {
        return format!("those of the image {}", host.image);
    }
    let is_there = |command: &str| host.path.iter().any(|folder| folder.join(command).is_file());
    let found: Vec<_> = PROGRAMS.iter().filter(|it| is_there(it.0)).map(|it| it.1).collect();
    if found.is_empty() { "none found".to_owned() } else { found.join(", ") }
}

/// Opens the page, if this machine knows how.
fn browse(link: &str) {
    let opened =
        Command::new("xdg-open").arg(link).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = opened {
        tracing::debug!(%error, "no browser was opened");
    }
}
