//! The checker: what was promised against what there is.
//!
//! Pure: history facts, final state and readers in, violations out. Nothing acknowledged may be
//! missing, nothing may be there twice, nothing deleted may come back; every change has exactly
//! one event, numbered without gap from 1, and whoever read the stream live saw the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::facts::{self, Facts};
use super::reader::{Followed, MARKER, Seen};
use super::state::{Project, State};

/// One broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub kind: Kind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Acknowledged, and gone.
    Lost,
    /// Asked for once, there twice.
    Duplicated,
    /// Deleted, and there again.
    Resurrected,
    /// A number is missing in a stream.
    Gap,
    /// Events in another order than the changes, or another history for another reader.
    Order,
    /// A read showed an older state than was acknowledged.
    Stale,
    /// Something is there that nobody was told of.
    Phantom,
    /// Half of what is made in one commit.
    Torn,
    /// A proper request was refused.
    Refused,
    /// The server did not come back in time.
    Recovery,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

/// How certain a read makes us that an unanswered update did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The store died with the server: what a read does not show will never come.
    Ends,
    /// The store lives on and may still be committing for a dead client.
    Lasts,
}

/// All violations of a run.
pub fn check(
    facts: &Facts,
    state: &State,
    followed: &[Followed],
    arenas: &[String],
    doubt: Doubt,
) -> Vec<Violation> {
    let mut check = Check { found: facts.violations.clone(), facts, doubt };
    check.projects(state, arenas);
    for project in &state.projects {
        check.agents(project);
        check.numbers(&project.id, &project.log);
        check.changes(project);
    }
    for (id, answer) in &state.undead {
        check.add(Kind::Resurrected, format!("agent {id} was deleted, reads {answer}"));
    }
    for reader in followed {
        let log = state.projects.iter().find(|project| project.id == reader.project);
        check.reader(reader, log.map_or(&[], |project| &project.log));
    }
    check.found
}

struct Check<'a> {
    found: Vec<Violation>,
    facts: &'a Facts,
    doubt: Doubt,
}

impl Check<'_> {
    fn add(&mut self, kind: Kind, text: String) {
        self.found.push(Violation { kind, text });
    }

    fn projects(&mut self, state: &State, arenas: &[String]) {
        let mut ids = BTreeSet::new();
        let mut names = BTreeMap::<&str, &str>::new();
        for project in &state.projects {
            let Project { id, name, .. } = project;
            if !ids.insert(id.as_str()) {
                self.add(Kind::Duplicated, format!("project {id} is listed twice"));
            }
            if let Some(other) = names.insert(name, id) {
                self.add(Kind::Duplicated, format!("project {name} is {other} and {id}"));
            }
            if !self.facts.projects.contains_key(id) && !arenas.contains(id) {
                self.add(Kind::Phantom, format!("project {name} {id} was never acknowledged"));
            }
        }
        let expected = self.facts.projects.keys().chain(arenas);
        let lost: Vec<_> = expected.filter(|id| !ids.contains(id.as_str())).cloned().collect();
        for id in lost {
            self.add(Kind::Lost, format!("project {id}"));
        }
        self.packs(state, arenas);
    }

    /// A project and its first agents are one commit: all of them or no project.
    fn packs(&mut self, state: &State, arenas: &[String]) {
        let made = |project: &&Project| !arenas.contains(&project.id);
        let own = |project: &Project| {
            project.agents.iter().filter(|a| !self.facts.agents.contains_key(&a.id)).count()
        };
        let sizes: Vec<_> =
            state.projects.iter().filter(made).map(|p| (p.id.clone(), own(p))).collect();
        let whole = sizes.iter().map(|(_, size)| *size).max().unwrap_or(0);
        for (id, size) in sizes.into_iter().filter(|(_, size)| *size < whole) {
            self.add(Kind::Torn, format!("project {id} has {size} of {whole} first agents"));
        }
    }

    fn agents(&mut self, project: &Project) {
        let mut ids = BTreeSet::new();
        for agent in &project.agents {
            let id = agent.id.as_str();
            if !ids.insert(id) {
                self.add(Kind::Duplicated, format!("agent {id} is listed twice"));
            }
            let Some(fact) = self.facts.agents.get(id) else {
                // Only the workers' names begin so; the others came with the project.
                if agent.name.starts_with('w') {
                    let text = format!("agent {} {id} was never acknowledged", agent.name);
                    self.add(Kind::Duplicated, text);
                }
                continue;
            };
            if fact.deleted {
                self.add(Kind::Resurrected, format!("agent {id} was deleted and is listed"));
            } else if !agent.value.is_some_and(|value| fact.allows(value)) {
                let text =
                    format!("agent {id} holds {:?}, acknowledged {}", agent.value, fact.value);
                self.add(Kind::Lost, text);
            }
        }
        let expected =
            |(_, fact): &(&String, &facts::Agent)| fact.project == project.id && !fact.deleted;
        let alive = self.facts.agents.iter().filter(expected).map(|(id, _)| id);
        let lost: Vec<_> = alive.filter(|id| !ids.contains(id.as_str())).cloned().collect();
        for id in lost {
            self.add(Kind::Lost, format!("agent {id} of project {}", project.id));
        }
    }

    /// 1, 2, 3, …
    fn numbers(&mut self, project: &str, log: &[Seen]) {
        let mut last = 0;
        for Seen { number, .. } in log {
            if *number <= last {
                let text = format!("project {project}: event {number} comes after {last}");
                self.add(if *number == last { Kind::Duplicated } else { Kind::Order }, text);
            } else if *number > last + 1 {
                self.add(Kind::Gap, format!("project {project}: {number} follows {last}"));
            }
            last = *number;
        }
    }

    /// Created once, updated as often as it was, deleted at most once, in this order.
    fn changes(&mut self, project: &Project) {
        let mut changes = BTreeMap::<&str, Vec<&str>>::new();
        for seen in project.log.iter().filter(|seen| seen.event == "agent_status_changed") {
            if seen.name != MARKER {
                changes.entry(&seen.agent).or_default().push(&seen.change);
            }
        }
        let facts = self.facts;
        for (id, fact) in facts.agents.iter().filter(|(_, fact)| fact.project == project.id) {
            self.story(id, fact, &changes.remove(id.as_str()).unwrap_or_default());
        }
        // What is left must be agents that came with the project and are still there.
        for id in changes.into_keys() {
            if !project.agents.iter().any(|agent| agent.id == id) {
                let text = format!("project {}: events of agent {id}, never seen", project.id);
                self.add(Kind::Phantom, text);
            }
        }
    }

    fn story(&mut self, id: &str, fact: &facts::Agent, changes: &[&str]) {
        let count = |what| changes.iter().filter(|change| **change == what).count() as u64;
        let (created, updated, deleted) = (count("created"), count("updated"), count("deleted"));
        let most = match self.doubt {
            Doubt::Ends => fact.updates,
            Doubt::Lasts => fact.updates + fact.doubtful_updates,
        };
        let expected = [
            ("created", created, 1, 1),
            ("updated", updated, fact.updates, most),
            ("deleted", deleted, u64::from(fact.deleted), u64::from(fact.deleted)),
        ];
        for (what, got, least, most) in expected {
            if got < least {
                self.add(Kind::Lost, format!("agent {id}: {got} of {least} events {what}"));
            } else if got > most {
                self.add(Kind::Duplicated, format!("agent {id}: {got} events {what}, not {most}"));
            }
        }
        let first = changes.first().is_none_or(|change| *change == "created");
        let last = deleted == 0 || changes.last() == Some(&"deleted");
        if !first || !last || created + updated + deleted != changes.len() as u64 {
            self.add(Kind::Order, format!("agent {id}: {changes:?}"));
        }
    }

    /// Live, over all restarts, the same as read afterwards.
    fn reader(&mut self, reader: &Followed, log: &[Seen]) {
        self.numbers(&format!("{} (followed)", reader.project), &reader.seen);
        if reader.seen.len() != log.len() {
            let text = format!(
                "project {}: followed {} events, the log has {}",
                reader.project,
                reader.seen.len(),
                log.len()
            );
            self.add(Kind::Order, text);
        }
        if let Some((live, later)) = reader.seen.iter().zip(log).find(|(live, later)| live != later)
        {
            let text = format!("project {}: followed {live:?}, log {later:?}", reader.project);
            self.add(Kind::Order, text);
        }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
