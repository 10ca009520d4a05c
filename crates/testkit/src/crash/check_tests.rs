//! A checker that finds nothing proves nothing: each kind of damage is planted and must be named.

use super::super::history::{Action, Entry, Phase};
use super::super::state::Agent;
use super::*;

const PROJECT: &str = "p1";

/// One agent created, updated twice, the second time without an answer but seen; one deleted.
fn history() -> Vec<Entry> {
    let project = || PROJECT.to_owned();
    let create = |name: &str| Action::CreateAgent {
        key: name.to_owned(),
        project: project(),
        name: name.to_owned(),
    };
    let update = |value| Action::Update { project: project(), agent: "a1".to_owned(), value };
    let read = || Action::Read { project: project(), agent: "a1".to_owned() };
    let ok = |id: &str, value| Phase::Ok { id: Some(id.to_owned()), value };
    let unknown = || Phase::Unknown { detail: "cut".to_owned() };
    [
        (create("w1"), unknown()),
        (create("w1"), ok("a1", Some(0))),
        (create("w2"), ok("a2", Some(0))),
        (update(1), ok("a1", Some(1))),
        (update(2), unknown()),
        (read(), ok("a1", Some(2))),
        (Action::Delete { project: project(), agent: "a2".to_owned() }, ok("a2", None)),
    ]
    .into_iter()
    .enumerate()
    .map(|(op, (action, phase))| Entry { at: 0, worker: 1, op: op as u64, action, phase })
    .collect()
}

fn seen(number: u64, agent: &str, name: &str, change: &str) -> Seen {
    let [agent, name, change] = [agent, name, change].map(ToOwned::to_owned);
    Seen { number, event: "agent_status_changed".to_owned(), agent, name, change }
}

fn state() -> State {
    let log = vec![
        seen(1, "a1", "w1", "created"),
        seen(2, "a2", "w2", "created"),
        seen(3, "a1", "w1", "updated"),
        seen(4, "a1", "w1", "updated"),
        seen(5, "a2", "w2", "deleted"),
        seen(6, "m", MARKER, "created"),
    ];
    let agents = vec![Agent { id: "a1".to_owned(), name: "w1".to_owned(), value: Some(2) }];
    let project = Project { id: PROJECT.to_owned(), name: "arena".to_owned(), agents, log };
    State { projects: vec![project], undead: BTreeMap::new() }
}

fn run(history: &[Entry], state: &State, followed: &[Followed]) -> Vec<Kind> {
    let facts = Facts::of(history);
    let arenas = [PROJECT.to_owned()];
    let mut kinds: Vec<_> = check(&facts, state, followed, &arenas, Doubt::Ends)
        .into_iter()
        .map(|violation| violation.kind)
        .collect();
    kinds.dedup();
    kinds
}

fn damaged(damage: impl FnOnce(&mut Project)) -> Vec<Kind> {
    let mut state = state();
    damage(&mut state.projects[0]);
    run(&history(), &state, &[])
}

#[test]
fn a_clean_run_has_no_violation() {
    let followed = Followed {
        project: PROJECT.to_owned(),
        seen: state().projects[0].log.clone(),
        connections: 1,
    };
    assert_eq!(run(&history(), &state(), &[followed]), []);
}

#[test]
fn a_lost_agent_is_found() {
    assert_eq!(damaged(|project| project.agents.clear()), [Kind::Lost]);
}

#[test]
fn a_lost_update_is_found() {
    assert_eq!(damaged(|project| project.agents[0].value = Some(1)), [Kind::Lost]);
}

#[test]
fn a_second_agent_of_one_creation_is_found() {
    let twin = || Agent { id: "a9".to_owned(), name: "w1".to_owned(), value: Some(0) };
    assert_eq!(damaged(|project| project.agents.push(twin())), [Kind::Duplicated]);
}

#[test]
fn a_resurrected_agent_is_found() {
    let undead = || Agent { id: "a2".to_owned(), name: "w2".to_owned(), value: Some(0) };
    assert_eq!(damaged(|project| project.agents.push(undead())), [Kind::Resurrected]);
}

#[test]
fn a_lost_event_is_found_as_gap_and_loss() {
    assert_eq!(damaged(|project| drop(project.log.remove(3))), [Kind::Gap, Kind::Lost]);
}

#[test]
fn a_double_event_is_found() {
    let double = seen(6, "a1", "w1", "created");
    let kinds = damaged(|project| {
        project.log.insert(5, double);
        project.log[6].number = 7;
    });
    assert_eq!(kinds, [Kind::Duplicated]);
}

#[test]
fn a_repeated_number_is_found() {
    assert_eq!(damaged(|project| project.log[1].number = 1), [Kind::Duplicated, Kind::Gap]);
}

#[test]
fn an_event_of_something_rolled_back_is_found() {
    let ghost = seen(6, "a7", "w7", "created");
    let kinds = damaged(|project| {
        project.log.insert(5, ghost);
        project.log[6].number = 7;
    });
    assert_eq!(kinds, [Kind::Phantom]);
}

#[test]
fn a_deletion_before_an_update_is_found() {
    let kinds = damaged(|project| {
        project.log[3] = seen(4, "a2", "w2", "deleted");
        project.log[4] = seen(5, "a2", "w2", "updated");
    });
    assert!(kinds.contains(&Kind::Order), "{kinds:?}");
}

#[test]
fn a_reader_who_saw_another_history_is_found() {
    let mut live = state().projects[0].log.clone();
    live[2].change = "deleted".to_owned();
    let followed = Followed { project: PROJECT.to_owned(), seen: live, connections: 1 };
    assert_eq!(run(&history(), &state(), &[followed]), [Kind::Order]);
}

#[test]
fn an_old_value_read_is_found() {
    let mut history = history();
    history[5].phase = Phase::Ok { id: None, value: Some(0) };
    let mut state = state();
    state.projects[0].agents[0].value = Some(1);
    state.projects[0].log.remove(3);
    for (number, seen) in (1..).zip(&mut state.projects[0].log) {
        seen.number = number;
    }
    assert_eq!(run(&history, &state, &[]), [Kind::Stale]);
}

#[test]
fn a_lost_project_is_found() {
    let mut state = state();
    state.projects.clear();
    assert_eq!(run(&history(), &state, &[]), [Kind::Lost]);
}

#[test]
fn half_a_starter_pack_is_found() {
    let mut history = history();
    let mut state = state();
    for (id, pack) in [("p2", 4), ("p3", 2)] {
        let action = Action::CreateProject { key: id.to_owned(), name: id.to_owned() };
        let phase = Phase::Ok { id: Some(id.to_owned()), value: None };
        history.push(Entry { at: 0, worker: 1, op: 99, action, phase });
        let agents = (0..pack)
            .map(|n| Agent { id: format!("{id}-{n}"), name: format!("agent_{n}"), value: None })
            .collect();
        let log = vec![seen(1, "m", MARKER, "created")];
        state.projects.push(Project { id: id.to_owned(), name: id.to_owned(), agents, log });
    }
    assert_eq!(run(&history, &state, &[]), [Kind::Torn]);
}
