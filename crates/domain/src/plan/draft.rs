//! A plan as a planner proposes it, and the one check that every proposal passes, whoever made it.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::graph::{Flaw as GraphFlaw, Graph};

/// Tasks that a plan may have.
pub const MOST_TASKS: usize = 500;
/// Characters of a task's description.
pub const LONGEST_DESCRIPTION: usize = 20_000;
/// Characters of a task's name.
pub const LONGEST_NAME: usize = 64;
/// Tasks that one task may wait for.
pub const MOST_DEPENDENCIES: usize = 100;

/// A request taken apart into tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub title: String,
    pub tasks: Vec<DraftTask>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftTask {
    /// Its name within the plan.
    #[schema(min_length = 1, max_length = 64, example = "research")]
    pub name: String,
    /// What the agent is asked to do.
    #[schema(min_length = 1, max_length = 20_000)]
    pub description: String,
    /// The agent's name.
    #[schema(min_length = 1, max_length = 100, example = "agent_researcher")]
    pub agent: String,
    /// Which of the agent's capabilities it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100, example = "research_topic", nullable = false)]
    pub capability: Option<String>,
    /// Names of the tasks whose results it needs.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub depends_on: Vec<String>,
}

/// What is wrong with a proposal, in words that a person or a model can mend it by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("The plan has no tasks")]
    Empty,
    #[error("The plan has {0} tasks; at most {MOST_TASKS} are possible")]
    TooMany(usize),
    #[error("Task {0:?}: the name must have 1 to {LONGEST_NAME} characters")]
    Name(String),
    #[error("Task {0:?} does not say what is to be done")]
    NoDescription(String),
    #[error("Task {0:?} is described in more than {LONGEST_DESCRIPTION} characters")]
    Long(String),
    #[error("Task {task:?}: there is no agent {agent:?} in this project that is ready")]
    UnknownAgent { task: String, agent: String },
    #[error("Task {0:?} waits for more than {MOST_DEPENDENCIES} others")]
    Tangled(String),
    #[error(transparent)]
    Graph(#[from] GraphFlaw),
}

impl Draft {
    /// The graph of a proposal that can be carried out by these agents, or everything that is wrong with it.
    pub fn check(&self, agents: &HashSet<&str>) -> Result<Graph, Vec<Flaw>> {
        if self.tasks.is_empty() {
            return Err(vec![Flaw::Empty]);
        }
        if self.tasks.len() > MOST_TASKS {
            return Err(vec![Flaw::TooMany(self.tasks.len())]);
        }
        let mut flaws: Vec<_> = self.tasks.iter().flat_map(|task| task.flaws(agents)).collect();
        let nodes = self.tasks.iter().map(|task| (task.name.as_str(), task.depends_on.as_slice()));
        match Graph::new(nodes) {
            Ok(graph) if flaws.is_empty() => return Ok(graph),
            Ok(_) => {}
            Err(flaw) => flaws.push(flaw.into()),
        }
        Err(flaws)
    }
}

impl DraftTask {
    fn flaws(&self, agents: &HashSet<&str>) -> Vec<Flaw> {
        let name = || self.name.clone();
        let mut flaws = Vec::new();
        if self.name.trim().is_empty() || self.name.chars().count() > LONGEST_NAME {
            flaws.push(Flaw::Name(self.name.chars().take(LONGEST_NAME).collect()));
        }
        if self.description.trim().is_empty() {
            flaws.push(Flaw::NoDescription(name()));
        }
        if self.description.chars().count() > LONGEST_DESCRIPTION {
            flaws.push(Flaw::Long(name()));
        }
        if self.depends_on.len() > MOST_DEPENDENCIES {
            flaws.push(Flaw::Tangled(name()));
        }
        if !agents.contains(self.agent.as_str()) {
            let agent = self.agent.chars().take(100).collect();
            flaws.push(Flaw::UnknownAgent { task: name(), agent });
        }
        flaws
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, agent: &str, depends_on: &[&str]) -> DraftTask {
        DraftTask {
            name: name.to_owned(),
            description: "do it".to_owned(),
            agent: agent.to_owned(),
            capability: None,
            depends_on: depends_on.iter().map(ToString::to_string).collect(),
        }
    }

    fn check(tasks: Vec<DraftTask>) -> Result<Graph, Vec<String>> {
        let draft = Draft { title: String::new(), tasks };
        let flaws = |flaws: Vec<Flaw>| flaws.iter().map(ToString::to_string).collect();
        draft.check(&HashSet::from(["coder", "writer"])).map_err(flaws)
    }

    /// OR-3.3: a cycle is named.
    #[test]
    fn everything_that_is_wrong_is_said() {
        assert_eq!(check(vec![]).unwrap_err(), ["The plan has no tasks"]);
        let many = (0..=MOST_TASKS).map(|at| task(&at.to_string(), "coder", &[])).collect();
        assert!(check(many).unwrap_err()[0].contains("501 tasks"));
        let empty = DraftTask { description: " ".to_owned(), ..task("x", "coder", &[]) };
        assert_eq!(
            check(vec![empty, task("y", "ghost", &["x"])]).unwrap_err(),
            [
                "Task \"x\" does not say what is to be done",
                "Task \"y\": there is no agent \"ghost\" in this project that is ready"
            ]
        );
        assert_eq!(
            check(vec![task("a", "coder", &["b"]), task("b", "writer", &["a"])]).unwrap_err(),
            ["Circular dependency detected: a → b → a"]
        );
        assert_eq!(
            check(vec![task("a", "coder", &["c"])]).unwrap_err(),
            ["Task \"a\" depends on \"c\", which is not in the plan"]
        );
        assert!(check(vec![task("a", "coder", &[]), task("b", "writer", &["a"])]).is_ok());
    }
}
