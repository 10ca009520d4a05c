//! What must hold, read out of the history alone.
//!
//! Folding the lines in order gives, for each project and agent, what was acknowledged and what
//! may have happened. A read is judged here at once: it must show the last acknowledged number or
//! one in flight after it, never an older one.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{Kind, Violation};
use super::history::{Action, Entry, Phase};

/// Everything the clients were told.
#[derive(Debug, Default)]
pub struct Facts {
    /// Acknowledged projects by id, with their names.
    pub projects: BTreeMap<String, String>,
    /// Acknowledged agents by id.
    pub agents: BTreeMap<String, Agent>,
    pub violations: Vec<Violation>,
    pub counts: Counts,
}

#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub acknowledged: u64,
    pub unknown: u64,
    pub not_sent: u64,
}

/// One agent, as far as its owner knows.
#[derive(Debug, Default)]
pub struct Agent {
    pub project: String,
    pub name: String,
    /// The last number known to be there.
    pub value: u64,
    /// Later numbers that may be there.
    pub in_flight: BTreeSet<u64>,
    /// Updates that were acknowledged, or seen to have happened.
    pub updates: u64,
    /// Updates that may have happened besides.
    pub doubtful_updates: u64,
    pub deleted: bool,
}

impl Agent {
    pub fn allows(&self, value: u64) -> bool {
        value == self.value || self.in_flight.contains(&value)
    }

    fn update(&mut self, value: u64) {
        self.value = value;
        self.in_flight.clear();
        self.updates += 1;
    }

    /// A number that was seen did happen, and hides those before it.
    fn saw(&mut self, value: u64) {
        if self.in_flight.remove(&value) {
            self.updates += 1;
            self.doubtful_updates -= 1;
            self.in_flight = self.in_flight.split_off(&value);
            self.value = value;
        }
    }
}

impl Facts {
    pub fn of(history: &[Entry]) -> Self {
        let mut facts = Self::default();
        for entry in history {
            match &entry.phase {
                Phase::Invoke => {}
                Phase::NotSent => facts.counts.not_sent += 1,
                Phase::Ok { id, value } => {
                    facts.counts.acknowledged += 1;
                    facts.acknowledged(entry, id.as_deref(), *value);
                }
                Phase::Unknown { .. } => {
                    facts.counts.unknown += 1;
                    facts.doubtful(&entry.action);
                }
                Phase::Refused { detail } => {
                    let text = format!("operation {}: {:?}: {detail}", entry.op, entry.action);
                    facts.violate(Kind::Refused, text);
                }
            }
        }
        facts
    }

    fn acknowledged(&mut self, entry: &Entry, id: Option<&str>, value: Option<u64>) {
        let op = entry.op;
        match &entry.action {
            Action::CreateProject { name, .. } => match id {
                Some(id) => drop(self.projects.insert(id.to_owned(), name.clone())),
                None => self.violate(Kind::Refused, format!("operation {op}: no id in the answer")),
            },
            Action::CreateAgent { project, name, .. } => match id {
                Some(id) => {
                    let (project, name) = (project.clone(), name.clone());
                    let agent = Agent { project, name, ..Agent::default() };
                    self.agents.insert(id.to_owned(), agent);
                }
                None => self.violate(Kind::Refused, format!("operation {op}: no id in the answer")),
            },
            Action::Replay { id: expected, key, .. } => {
                if id != Some(expected) {
                    let text = format!("operation {op}: key {key} made {expected}, then {id:?}");
                    self.violate(Kind::Duplicated, text);
                }
            }
            Action::Update { agent, value, .. } => {
                if let Some(agent) = self.agents.get_mut(agent) {
                    agent.update(*value);
                }
            }
            Action::Delete { agent, .. } => {
                if let Some(agent) = self.agents.get_mut(agent) {
                    agent.deleted = true;
                }
            }
            Action::Read { agent: id, .. } => self.read(op, id, value),
        }
    }

    fn read(&mut self, op: u64, id: &str, value: Option<u64>) {
        let Some(agent) = self.agents.get_mut(id) else { return };
        match value {
            Some(value) if agent.allows(value) => agent.saw(value),
            _ => {
                let expected = (agent.value, &agent.in_flight);
                let text = format!("operation {op}: agent {id} reads {value:?}, not {expected:?}");
                self.violate(Kind::Stale, text);
            }
        }
    }

    /// Creations and deletions are sent again until answered; only updates stay in doubt.
    fn doubtful(&mut self, action: &Action) {
        if let Action::Update { agent, value, .. } = action
            && let Some(agent) = self.agents.get_mut(agent)
        {
            agent.in_flight.insert(*value);
            agent.doubtful_updates += 1;
        }
    }

    fn violate(&mut self, kind: Kind, text: String) {
        self.violations.push(Violation { kind, text });
    }
}
