//! A judge that finds nothing proves nothing: each kind of damage is planted and must be named.

use serde_json::json;

use super::super::log::{Attempt, Happened, How, What};
use super::super::replay::{Replay, replay};
use super::*;

const PLAN: &str = "p1";

/// One after another, with a kill in between.
const RIGHT: &str = "waiting_approval, executing, start a 1, start c 2, start d 3, done a 1, start b 4, cut b 4, \
                     start b 5, done c 2, start e 6, done d 3, done e 6, done b 5, completed";
/// One fails, and another cannot begin; then both are done after all.
const RETRIED: &str = "executing, start a 1, start c 2, start d 3, fail a 1, stop b b, start e 4, done c 2, done d 3, \
                       done e 4, partial_success, executing, start a 5, done a 5, start b 6, done b 6, completed";
/// One is done, one is stopped, the others have not begun.
const STOPPED: &str = "executing, start a 1, done a 1, start c 2, stop c 2, cancelled";

/// `b` needs `a`.
fn draft() -> Draft {
    let task = |name: &str, agent, needs: &[&str]| Task {
        name: name.to_owned(),
        agent,
        needs: needs.iter().map(ToString::to_string).collect(),
        fails: false,
        slow: false,
    };
    let tasks = vec![
        task("a", "one", &[]),
        task("b", "two", &["a"]),
        task("c", "two", &[]),
        task("d", "four", &[]),
        task("e", "one", &[]),
    ];
    Draft { number: 7, tasks, stop: None, retries: 0 }
}

fn life() -> Life {
    let nothing = Asked::default();
    let (id, again) = (PLAN.to_owned(), Some(PLAN.to_owned()));
    Life { draft: draft(), id, again, retries: nothing, cancellations: nothing }
}

/// A log in few words: what becomes of the plan, or a verb, a task, and an attempt at it.
fn log(words: &str) -> Vec<Happened> {
    let draft = draft();
    let what = |line: &str| {
        let [verb, task, id] = line.split(' ').collect::<Vec<_>>()[..] else {
            return What::Turned(line.to_owned());
        };
        let agent = draft.tasks.iter().find(|one| one.name == task).map_or("one", |one| one.agent);
        let [task, id, agent] = [task, id, agent].map(str::to_owned);
        let attempt = Attempt { task, id, agent };
        match verb {
            "start" => What::Started(attempt),
            "done" => What::Ended(attempt, How::Completed),
            "fail" => What::Ended(attempt, How::Failed),
            "cut" => What::Ended(attempt, How::Interrupted),
            _ => What::Ended(attempt, How::Stopped),
        }
    };
    let happened = |(number, line)| Happened { number, plan: PLAN.to_owned(), what: what(line) };
    (1..).zip(words.split(", ")).map(happened).collect()
}

fn played(log: &[Happened]) -> Replay {
    let limits = [("one", 1), ("two", 2), ("four", 4)];
    let limits = limits.map(|(agent, limit)| (agent.to_owned(), limit));
    replay(log, &HashMap::from([(PLAN, &draft())]), &limits.into())
}

/// A plan with tasks that stand so after so many attempts, and the answer that it deserves.
fn found(status: &str, tasks: &[(&str, u64)]) -> Found {
    let draft = draft();
    let done = |state: &str| state == "completed";
    let view = |(task, (state, attempts)): (&Task, &(&str, u64))| {
        json!({
            "task_id": task.name,
            "status": state,
            "attempts": attempts,
            "agent_name": task.agent,
            "finished_at": "2026-01-31T09:30:00.000000Z",
            "result": done(state).then(|| draft.result(task)),
        })
    };
    let all: Vec<_> = draft.tasks.iter().zip(tasks).collect();
    let results =
        all.iter().filter(|(_, (state, _))| done(state)).map(|(one, _)| draft.result(one));
    let answer = results.collect::<Vec<_>>().join("\n\n");
    let views: Vec<_> = all.into_iter().map(view).collect();
    Found { plan: json!({ "status": status, "tasks": views }), answer: Some(answer) }
}

fn judged(log_words: &str, life: &Life, found: &Found) -> Vec<String> {
    let replay = played(&log(log_words));
    assert_eq!(replay.violations, [""; 0], "{log_words}");
    judge(life, found, &replay.courses[PLAN])
}

const DONE: [(&str, u64); 5] =
    [("completed", 1), ("completed", 2), ("completed", 1), ("completed", 1), ("completed", 1)];

#[test]
fn what_is_right_is_found_right() {
    assert_eq!(judged(RIGHT, &life(), &found("completed", &DONE)), [""; 0]);
    let retried = Life { retries: Asked { sent: 2, told: 1 }, ..life() };
    let once = DONE.map(|(state, _)| (state, 1));
    assert_eq!(judged(RETRIED, &retried, &found("completed", &once)), [""; 0]);
    let stopped = Life { cancellations: Asked { sent: 1, told: 0 }, ..life() };
    let states =
        [("completed", 1), ("cancelled", 0), ("cancelled", 1), ("cancelled", 0), ("cancelled", 0)];
    assert_eq!(judged(STOPPED, &stopped, &found("cancelled", &states)), [""; 0]);
    let part = RETRIED.split(", executing, start a 5").next().unwrap();
    let mut failing = life();
    failing.draft.tasks[0].fails = true;
    let states =
        [("failed", 1), ("skipped", 0), ("completed", 1), ("completed", 1), ("completed", 1)];
    assert_eq!(judged(part, &failing, &found("partial_success", &states)), [""; 0]);
}

#[test]
fn a_task_may_be_cut_short_only_so_often() {
    let cut = |times: u32| {
        let each = (1..=times).map(|at| format!("start a {at}, cut a {at}")).collect::<Vec<_>>();
        played(&log(&format!("executing, {}", each.join(", "))))
    };
    let five = cut(5);
    assert_eq!(five.violations, [""; 0]);
    assert_eq!(five.courses[PLAN].end_of("a"), Some(End::GivenUp));
    assert_eq!(five.courses[PLAN].interrupted, 5);
    assert!(cut(6).violations.iter().any(|what| what.contains("begun 6 times")));
}

#[test]
fn every_wrong_turn_of_a_log_is_named() {
    for (wrong, words) in [
        ("b began before a was done", "executing, start b 1"),
        ("b began before a was done", "executing, start a 1, fail a 1, start b 2"),
        ("a began again after it was done", "executing, start a 1, done a 1, start a 2"),
        ("a began again after it had ended", "executing, start a 1, fail a 1, start a 2"),
        ("a was begun twice at a time", "executing, start a 1, start a 2"),
        ("a ended twice", "executing, start a 1, done a 1, stop a 1"),
        ("a ended by an attempt that was not at work", "executing, done a 1"),
        ("a ended by an attempt that was not at work", "executing, start a 1, stop a 2"),
        ("4 of its tasks are at work", "executing, start a 1, start c 2, start d 3, start e 4"),
        ("agent one has 2 tasks at work", "executing, start a 1, start e 2"),
        ("there is no task x", "executing, start x 1"),
        ("a began while the plan was \"waiting_approval\"", "waiting_approval, start a 1"),
        ("a ended while the plan was \"cancelled\"", "executing, start a 1, cancelled, done a 1"),
        ("it ended while a was at work", "executing, start a 1, failed"),
        ("it ended before a", "executing, failed"),
        ("it ended twice, as cancelled and as failed", "executing, cancelled, failed"),
        ("it was executing twice", "executing, executing"),
    ] {
        let found = played(&log(words)).violations;
        assert!(found.iter().any(|what| what.ends_with(wrong)), "{words}: {found:?}");
    }
    let foreign = [Happened { plan: "p2".to_owned(), ..log("executing").remove(0) }];
    assert_eq!(played(&foreign).violations, ["event 1: nobody made plan p2"]);
}

#[test]
fn every_damage_to_a_plan_is_named() {
    type Damage = fn(&mut Life, &mut Found);
    let damages: [(&str, Damage); 13] = [
        ("it is failed, and by the log completed", |_, it| it.plan["status"] = json!("failed")),
        ("it is failed, and by its tasks completed", |_, it| it.plan["status"] = json!("failed")),
        ("a is failed, and should be completed", |_, it| set(it, 0, "status", json!("failed"))),
        ("a is failed, and by the log Some(Completed)", |_, it| {
            set(it, 0, "status", json!("failed"));
        }),
        ("b is completed, and should be skipped", |_, it| set(it, 0, "status", json!("failed"))),
        ("a is completed, and should be failed", |life, _| life.draft.tasks[0].fails = true),
        ("b is completed after Some(3) attempts, and by the log Some(2)", |_, it| {
            set(it, 1, "attempts", json!(3));
        }),
        ("a is completed, and nobody knows since when", |_, it| {
            set(it, 0, "finished_at", Value::Null);
        }),
        ("a gave Some(\"something else\")", |_, it| set(it, 0, "result", json!("something else"))),
        ("a is done, and the answer does not have what it gave", |_, it| {
            it.answer = Some("nothing".to_owned());
        }),
        ("nothing is said of its end", |_, it| it.answer = None),
        ("1 retries were sent, 1 acknowledged, and 0 took place", |life, _| {
            life.retries = Asked { sent: 1, told: 1 };
        }),
        ("5 tasks were given, and 4 kept", |_, it| {
            it.plan["tasks"].as_array_mut().unwrap().pop();
        }),
    ];
    for (wrong, damage) in damages {
        let (mut life, mut found) = (life(), found("completed", &DONE));
        damage(&mut life, &mut found);
        let named = judged(RIGHT, &life, &found);
        assert!(named.iter().any(|what| what == wrong), "{wrong}: {named:?}");
    }
    let unasked = judged(RETRIED, &life(), &found("completed", &DONE));
    assert!(unasked.contains(&"0 retries were sent, 0 acknowledged, and 1 took place".to_owned()));
}

fn set(found: &mut Found, at: usize, field: &str, value: Value) {
    found.plan["tasks"][at][field] = value;
}

#[test]
fn a_plan_is_there_once() {
    let plan =
        |id: &str, number: u32| json!({ "id": id, "original_request": format!("plan {number}") });
    assert_eq!(listed(&[life()], &[plan(PLAN, 7)]), [""; 0]);
    for kept in [vec![], vec![plan("p2", 7)], vec![plan(PLAN, 7), plan("p2", 7)]] {
        assert!(!listed(&[life()], &kept).is_empty(), "{kept:?}");
    }
    assert!(!listed(&[life()], &[plan(PLAN, 7), plan("p2", 8)]).is_empty(), "nobody made it");
    let doubled = Life { again: Some("p2".to_owned()), ..life() };
    assert!(!listed(&[doubled], &[plan(PLAN, 7)]).is_empty());
}
