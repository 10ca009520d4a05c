//! Opening an agent that is a program: what it is told, what it may call and what it gets to its model with, given to the
//! node that it runs on.

use std::sync::Arc;

use artel_domain::Agent;
use artel_domain::process::Runtime;
use artel_programs::host::{self, Ears, Opening};
use artel_programs::toolbox::ToolSpec;
use artel_storage::{Scope, processes};

use super::watching::Notes;
use super::{Opened, Program, refused};
use crate::tools::result::ReadResult;
use crate::tools::speaking;
use crate::{App, Result};

pub(super) async fn open(
    app: &App,
    scope: Scope,
    agent: &Agent,
    runtime: &Runtime,
) -> Result<Opened> {
    app.clear_programs().await?;
    let abilities = host::abilities(runtime).map_err(refused)?;
    let (credentials, _) = app.credentials_for(scope, agent.id, runtime).await?;
    let id = agent.id;
    let row = app.0.storage.db.read(move |conn| Box::pin(processes::get(conn, id))).await?;
    let opening = Opening {
        agent: id,
        user: scope.user,
        runtime: runtime.clone(),
        instructions: agent.config.system_prompt.clone(),
        tools: specs(app, agent),
        credentials,
        resume: row.as_ref().and_then(|row| row.conversation.clone()),
    };
    let near = row.as_ref().filter(|row| row.started_at.is_some()).map(|row| row.node.clone());
    let first = app.first_row(agent)?;
    let watcher = Arc::new(Notes::new(Arc::downgrade(&app.0), scope, row.unwrap_or(first)));
    let program = if let Some(workers) = &app.0.programs.workers {
        Program::There(workers.open(opening, abilities, near, watcher))
    } else {
        let ears = Ears { watcher, log: app.log_sink(id), clock: Arc::clone(&app.0.clock) };
        let opened = app.0.programs.host.open(opening, ears).await;
        Program::Here(opened.map_err(refused)?)
    };
    Ok(Opened { program, of: agent.updated_at })
}

/// Everything that the agent may call, as programs are told of it.
fn specs(app: &App, agent: &Agent) -> Vec<ToolSpec> {
    let names = agent.config.tools.iter().map(|tool| tool.0.as_str());
    let more = Some(ReadResult::NAME).filter(|name| !names.clone().any(|it| it == *name));
    let offered = app.0.tools.offered(names.chain(more));
    let all = speaking::specs().into_iter().chain(offered);
    let of = |spec: artel_agents::llm::chat::ToolSpec| ToolSpec {
        name: spec.name,
        description: spec.description,
        parameters: spec.parameters,
    };
    all.map(of).collect()
}
