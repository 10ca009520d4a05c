//! Programs that are agents: where they are found, where they may run, and what they get to their models with.

use std::path::Path;

use artel_domain::process::Sandbox;
use artel_engine::programs::{Found, HostSettings, Settings};

use super::{Mistake, Resolved, secret_text, workers};

pub(super) fn settings(said: &Resolved, data_dir: &Path, node: &str) -> Result<Settings, Mistake> {
    let found = if said.flag("share_keys") { found(said) } else { Found::default() };
    // An agent can read what its program is given.
    Ok(Settings { host: host(said, data_dir, node)?, workers: workers::settings(said)?, found })
}

/// What this node has for programs.
pub(super) fn host(said: &Resolved, data_dir: &Path, node: &str) -> Result<HostSettings, Mistake> {
    let mut sandboxes = Vec::new();
    for name in said.list("agent_sandboxes") {
        sandboxes.push(match name.as_str() {
            "none" => Sandbox::None,
            "bubblewrap" => Sandbox::Bubblewrap,
            "docker" => Sandbox::Docker,
            other => {
                return Err(Mistake(format!(
                    "agent_sandboxes: {other:?} is none of bubblewrap, docker and none"
                )));
            }
        });
    }
    if sandboxes.is_empty() {
        sandboxes.push(Sandbox::Bubblewrap);
    }
    // What a program is told of folders must hold wherever it stands, and in whichever container.
    let dir = std::fs::canonicalize(data_dir)
        .map_err(|error| Mistake(format!("data_dir: {}: {error}", data_dir.display())))?;
    let mut path = Vec::new();
    for folder in said.list("agent_path") {
        path.push(
            std::path::absolute(&folder)
                .map_err(|error| Mistake(format!("agent_path: {folder}: {error}")))?,
        );
    }
    if path.is_empty() {
        let own = said.variable("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
        path = std::env::split_paths(own).filter(|folder| folder.is_absolute()).collect();
    }
    let mut workspaces = Vec::new();
    for folder in said.list("agent_workspaces") {
        let real = std::fs::canonicalize(&folder)
            .map_err(|error| Mistake(format!("agent_workspaces: {folder}: {error}")))?;
        workspaces.push(real);
    }
    let binary = std::env::current_exe()
        .map_err(|error| Mistake(format!("this program's own file cannot be found: {error}")))?;
    let number = |name: &str| usize::try_from(said.number(name).max(1)).unwrap_or(usize::MAX);
    Ok(HostSettings {
        node: node.to_owned(),
        dir: dir.join("agents"),
        binary,
        path,
        sandboxes,
        workspaces,
        docker: said.text("docker_socket").unwrap_or_default().into(),
        image: said.text("worker_image").unwrap_or_default(),
        turn_timeout: said.span("program_turn_timeout"),
        most: number("max_programs"),
        most_per_user: number("max_programs_per_user"),
    })
}

/// What is at hand for who gave an agent nothing of its own.
fn found(said: &Resolved) -> Found {
    let service = |key: &str, url: &str| {
        (said.variable(key).map(secret_text), said.variable(url).map(str::to_owned))
    };
    let mut gemini = service("GEMINI_API_KEY", "GEMINI_BASE_URL");
    gemini.1 = gemini.1.or_else(|| said.variable("GOOGLE_GEMINI_BASE_URL").map(str::to_owned));
    Found {
        anthropic: service("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        openai: service("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        gemini,
        factory: said.variable("FACTORY_API_KEY").map(secret_text),
    }
}
