//! The requests with the plans that they should give, and whether a plan is the one.
//!
//! They are those that the engine holds its own planner to. There a plan has its tasks in the order of the request; a
//! model may name them in any, so here it is enough that they can be matched, one to one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context, Result};
use artel_domain::plan::Graph;
use serde::Deserialize;

const FILE: &str = include_str!("../../../crates/engine/src/planner/fallback/requests.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Those that are no starter packs.
    pub(super) teams: BTreeMap<String, Vec<Agent>>,
    #[serde(rename = "request")]
    pub(super) requests: Vec<Expected>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Agent {
    pub(super) name: String,
    pub(super) role: String,
    pub(super) capabilities: Vec<String>,
    pub(super) about: String,
}

/// A request, and what should come of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    pub(super) text: String,
    pub(super) team: String,
    /// For each task, who may get it.
    #[serde(default)]
    tasks: Vec<Vec<String>>,
    #[serde(default)]
    edges: Vec<(usize, usize)>,
    /// Words of the part that nobody can do.
    unfit: Option<String>,
    /// Whether it was written after the fallback.
    #[serde(default)]
    pub(super) held_out: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Outcome {
    Plan(Vec<Task>),
    /// Nobody can do it, and why.
    Refusal(String),
}

/// A task as the server tells it.
#[derive(Debug, Deserialize)]
pub(super) struct Task {
    #[serde(rename = "task_id")]
    name: String,
    #[serde(rename = "agent_name")]
    agent: String,
    dependencies: Vec<String>,
}

impl File {
    pub(super) fn read() -> Result<Self> {
        toml::from_str(FILE).context("the file of requests")
    }
}

impl Expected {
    pub(super) fn is_met(&self, outcome: &Outcome) -> Result<bool> {
        match (outcome, &self.unfit) {
            (Outcome::Refusal(why), Some(words)) => Ok(why.contains(words.as_str())),
            (Outcome::Plan(tasks), None) => {
                let matching = Matching {
                    agents: &self.tasks,
                    order: order(&self.stand_ins())?,
                    tasks,
                    tasks_order: order(tasks)?,
                };
                Ok(tasks.len() == self.tasks.len() && matching.goes_on(&mut Vec::new()))
            }
            (Outcome::Plan(_), Some(_)) | (Outcome::Refusal(_), None) => Ok(false),
        }
    }

    /// The tasks of the plan that is expected, called by their places.
    fn stand_ins(&self) -> Vec<Task> {
        let needs = |at: usize| self.edges.iter().filter(move |(_, after)| *after == at);
        let stand_in = |at: usize| Task {
            name: at.to_string(),
            agent: String::new(),
            dependencies: needs(at).map(|(before, _)| before.to_string()).collect(),
        };
        (0..self.tasks.len()).map(stand_in).collect()
    }
}

/// Each pair of a task and one that waits for it, by however many others: what follows need not be told.
type Order = BTreeSet<(usize, usize)>;

fn order(tasks: &[Task]) -> Result<Order> {
    let named = tasks.iter().map(|task| (task.name.as_str(), task.dependencies.as_slice()));
    let graph = Graph::new(named)?;
    let behind = |task: usize| {
        let all = graph.from(task).into_iter();
        all.filter(move |&other| other != task).map(move |other| (task, other))
    };
    Ok((0..tasks.len()).flat_map(behind).collect())
}

/// A search for the task of a plan that each expected one is; the plans of the file are small enough to try them all.
struct Matching<'a> {
    /// Of the expected tasks, with their order.
    agents: &'a [Vec<String>],
    order: Order,
    tasks: &'a [Task],
    tasks_order: Order,
}

impl Matching<'_> {
    /// Whether the expected tasks behind those that are found can be found too.
    fn goes_on(&self, found: &mut Vec<usize>) -> bool {
        let next = found.len();
        let Some(agents) = self.agents.get(next) else { return true };
        (0..self.tasks.len()).any(|at| {
            let same_order = |(earlier, &there): (usize, &usize)| {
                self.order.contains(&(earlier, next)) == self.tasks_order.contains(&(there, at))
                    && self.order.contains(&(next, earlier))
                        == self.tasks_order.contains(&(at, there))
            };
            let is_it = !found.contains(&at)
                && agents.contains(&self.tasks[at].agent)
                && found.iter().enumerate().all(same_order);
            if !is_it {
                return false;
            }
            found.push(at);
            let whole = self.goes_on(found);
            found.pop();
            whole
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refusal(why) => write!(f, "refused: {why}"),
            Self::Plan(tasks) => {
                for (at, Task { name, agent, dependencies }) in tasks.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "; " };
                    write!(f, "{comma}{name} by {agent}")?;
                    if !dependencies.is_empty() {
                        write!(f, " after {}", dependencies.join(", "))?;
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two that a third puts together.
    fn expected() -> Expected {
        let one_of = |agents: &[&str]| agents.iter().map(ToString::to_string).collect();
        Expected {
            text: String::new(),
            team: String::new(),
            tasks: vec![one_of(&["a"]), one_of(&["b", "c"]), one_of(&["a"])],
            edges: vec![(0, 2), (1, 2)],
            unfit: None,
            held_out: false,
        }
    }

    fn is_met(tasks: &[(&str, &str, &[&str])]) -> bool {
        let task = |(name, agent, on): &(&str, &str, &[&str])| Task {
            name: (*name).to_owned(),
            agent: (*agent).to_owned(),
            dependencies: on.iter().map(ToString::to_string).collect(),
        };
        expected().is_met(&Outcome::Plan(tasks.iter().map(task).collect())).unwrap()
    }

    #[test]
    fn the_file_has_requests_of_both_kinds() {
        let file = File::read().unwrap();
        for held_out in [false, true] {
            assert!(file.requests.iter().any(|request| request.held_out == held_out));
        }
        for Expected { text, tasks, unfit, .. } in &file.requests {
            assert_eq!(tasks.is_empty(), unfit.is_some(), "{text}");
        }
    }

    #[test]
    fn tasks_are_matched_in_any_order() {
        assert!(is_met(&[("x", "a", &[]), ("y", "b", &[]), ("z", "a", &["x", "y"])]));
        assert!(is_met(&[("z", "a", &["y", "x"]), ("y", "a", &[]), ("x", "c", &[])]));
    }

    #[test]
    fn another_plan_is_not_taken_for_it() {
        assert!(!is_met(&[("x", "a", &[]), ("y", "b", &[])]), "a task is missing");
        assert!(!is_met(&[("x", "a", &[]), ("y", "a", &[]), ("z", "a", &["x", "y"])]), "an agent");
        assert!(!is_met(&[("x", "a", &[]), ("y", "b", &[]), ("z", "a", &["y"])]), "an edge");
        let chain: [(&str, &str, &[&str]); 3] =
            [("x", "a", &[]), ("y", "b", &["x"]), ("z", "a", &["x", "y"])];
        assert!(!is_met(&chain), "an edge too many");
    }

    #[test]
    fn what_follows_need_not_be_told() {
        let chain = Expected { edges: vec![(0, 1), (1, 2)], ..expected() };
        let told = Expected { edges: vec![(0, 1), (1, 2), (0, 2)], ..expected() };
        assert_eq!(order(&chain.stand_ins()).unwrap(), order(&told.stand_ins()).unwrap());
    }

    #[test]
    fn a_refusal_names_what_nobody_can_do() {
        let pizza = Expected { tasks: Vec::new(), unfit: Some("pizza".to_owned()), ..expected() };
        let refused = |why: &str| Outcome::Refusal(why.to_owned());
        assert!(pizza.is_met(&refused("nobody can: \"order a pizza\"")).unwrap());
        assert!(!pizza.is_met(&refused("nobody can: \"fix the bug\"")).unwrap());
        assert!(!expected().is_met(&refused("nobody can")).unwrap());
    }
}
