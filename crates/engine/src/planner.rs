//! Turning a request into a plan.
//!
//! Two planners behind one door: a [`model`] that is asked for a graph in a given shape, and one that needs nothing
//! but the [`fallback`]'s words. Whatever comes out passes the same check. The model gets its answer back once to mend;
//! where it fails, or takes too long, or there is none, the other one plans, and the plan says so.

use std::collections::{HashMap, HashSet};

use artel_domain::plan::draft::Flaw;
use artel_domain::plan::{Draft, Planner};
use artel_domain::{Agent, AgentId, AgentStatus};
use artel_storage::{Scope, agents, tasks};

use crate::{App, Error, Kind, Result};

pub(crate) mod fallback;
mod model;

/// What a planner knows of an agent.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) role: Option<String>,
    pub(crate) capabilities: Vec<String>,
    /// Its system prompt.
    pub(crate) about: String,
    /// Tasks under way.
    pub(crate) load: u64,
}

/// A plan that passed the check.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) draft: Draft,
    pub(crate) planner: Planner,
    /// How it came about, where that needs a word.
    pub(crate) note: Option<String>,
    /// What planning cost, in US dollars.
    pub(crate) cost: f64,
}

/// The agents that can be planned with: those of the project that are ready and take tasks.
#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) agents: Vec<Agent>,
    loads: HashMap<AgentId, u64>,
}

impl Team {
    pub(crate) async fn of(app: &App, scope: Scope) -> Result<Self> {
        let read = app.0.storage.db.read(move |conn| {
            Box::pin(async move {
                let mut agents = agents::all(conn, scope).await?;
                agents.retain(|agent| agent.status == AgentStatus::Ready && agent.registered);
                let mut loads = HashMap::new();
                for agent in &agents {
                    let (running, waiting) = tasks::load(conn, scope.project, agent.id).await?;
                    loads.insert(agent.id, running + waiting);
                }
                Ok(Self { agents, loads })
            })
        });
        Ok(read.await?)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// The check that every plan passes.
    pub(crate) fn check(&self, draft: &Draft) -> std::result::Result<(), Vec<Flaw>> {
        let names: HashSet<_> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
        draft.check(&names).map(drop)
    }

    fn load(&self, agent: &Agent) -> u64 {
        self.loads.get(&agent.id).copied().unwrap_or(0)
    }

    fn members(&self) -> Vec<Member> {
        let member = |agent: &Agent| {
            let metadata = &agent.config.metadata;
            Member {
                name: agent.name.clone(),
                role: metadata.role.clone(),
                capabilities: metadata.capabilities.iter().map(|it| it.0.clone()).collect(),
                about: agent.config.system_prompt.clone(),
                load: self.load(agent),
            }
        };
        self.agents.iter().map(member).collect()
    }

    /// What the team can do, for somebody whose request it cannot serve.
    fn abilities(&self) -> String {
        let of = |agent: &Agent| {
            let all = agent.config.metadata.capabilities.iter();
            format!(
                "{} ({})",
                agent.name,
                all.map(|it| it.0.as_str()).collect::<Vec<_>>().join(", ")
            )
        };
        self.agents.iter().take(20).map(of).collect::<Vec<_>>().join("; ")
    }
}

/// Plans a request for the agents at hand.
pub(crate) async fn plan(app: &App, team: &Team, request: &str) -> Result<Planned> {
    if team.agents.is_empty() {
        let message = "No suitable agent available for task: the project has no agent that is ready. Add one, or \
                       register one again";
        return Err(unfit(message));
    }
    let (note, cost) = match model::plan(app, team, request).await {
        model::Answer::Plan { draft, cost } => {
            return Ok(Planned { draft, planner: Planner::Model, note: None, cost });
        }
        model::Answer::Refusal(why) => {
            let message = format!("No suitable agent available for task: {why}");
            return Err(unfit(&message));
        }
        model::Answer::None { why, cost } => (why, cost),
    };
    let members = team.members();
    let draft = fallback::plan(request, &members, app.embedder()).await;
    let draft = draft.map_err(|fallback::Unfit { clause }| {
        let can = team.abilities();
        unfit(&format!("No suitable agent available for task: {clause:?}. The team: {can}"))
    })?;
    team.check(&draft).map_err(|flaws| Error::internal(flaws_in_words(&flaws)))?;
    Ok(Planned { draft, planner: Planner::Fallback, note: Some(note), cost })
}

/// A plan that came with the request.
pub(crate) fn given(team: &Team, draft: Draft) -> Result<Planned> {
    team.check(&draft).map_err(|flaws| {
        let field =
            |flaw: &Flaw| crate::Field { field: "tasks".to_owned(), message: flaw.to_string() };
        Error::invalid(flaws.iter().take(50).map(field).collect())
    })?;
    Ok(Planned { draft, planner: Planner::Given, note: None, cost: 0.0 })
}

fn unfit(message: &str) -> Error {
    Error::new(Kind::Invalid, "no_suitable_agent", message)
}

fn flaws_in_words(flaws: &[Flaw]) -> String {
    flaws.iter().take(20).map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
