//! What must hold of a plan that has ended, whenever the server died.
//!
//! What a plan comes to follows from its graph: a task fails by its own words or is done, and whatever needs one that
//! was not done is skipped. So a run with kills has the result of one without, except where a task was cut short too
//! often, which the log tells.

use std::collections::HashMap;

use serde_json::Value;

use super::STEADY;
use super::graphs::{Draft, Task};
use super::owner::{Asked, Life};
use super::replay::{Course, End};

/// A plan as it is kept.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) plan: Value,
    /// What was said in the conversation when it ended.
    pub(super) answer: Option<String>,
}

type Kept<'a> = HashMap<&'a str, &'a Value>;

/// Every plan of a project that was acknowledged is there, once, and no other is.
pub(super) fn listed(lives: &[Life], listed: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    for Life { draft, id, again, .. } in lives {
        let same = listed.iter().filter(|plan| plan["original_request"] == draft.request());
        let ids: Vec<_> = same.map(|plan| plan["id"].as_str().unwrap_or_default()).collect();
        if ids != [id] {
            wrong.push(format!("plan {} was made as {id}, and kept are {ids:?}", draft.number));
        }
        if let Some(again) = again.as_ref().filter(|again| *again != id) {
            wrong.push(format!("plan {} was made as {id}, and then as {again}", draft.number));
        }
    }
    if listed.len() != lives.len() {
        wrong.push(format!("{} plans were made, and {} are kept", lives.len(), listed.len()));
    }
    wrong
}

/// Compares a plan with its log, and both with what its graph foretells.
pub(super) fn judge(life: &Life, found: &Found, course: &Course) -> Vec<String> {
    let Life { draft, .. } = life;
    let mut wrong = Vec::new();
    wrong.extend(heard("retries", life.retries, course.retries));
    wrong.extend(heard("cancellations", life.cancellations, course.cancellations));
    let kept = found.plan["tasks"].as_array().into_iter().flatten();
    let kept: Kept<'_> = kept.filter_map(|task| Some((task["task_id"].as_str()?, task))).collect();
    if kept.len() != draft.tasks.len() {
        wrong.push(format!("{} tasks were given, and {} kept", draft.tasks.len(), kept.len()));
    }
    let status = found.plan["status"].as_str().unwrap_or_default();
    if status != course.status {
        wrong.push(format!("it is {status}, and by the log {}", course.status));
    }
    let implied = implied(draft, &kept);
    if status != implied {
        wrong.push(format!("it is {status}, and by its tasks {implied}"));
    }
    if found.answer.is_none() {
        wrong.push("nothing is said of its end".to_owned());
    }
    for task in &draft.tasks {
        let named = |what: String| format!("{} {what}", task.name);
        wrong.extend(stands(task, &kept, course).into_iter().map(named));
        wrong.extend(gave(draft, task, &kept, found).into_iter().map(named));
    }
    wrong
}

/// What was acknowledged took place, and nothing took place that was not asked for.
fn heard(what: &str, asked: Asked, seen: u32) -> Option<String> {
    let Asked { sent, told } = asked;
    let wrong = || format!("{sent} {what} were sent, {told} acknowledged, and {seen} took place");
    (!(told..=sent).contains(&seen)).then(wrong)
}

/// How a plan ended whose tasks ended so.
fn implied(draft: &Draft, kept: &Kept<'_>) -> &'static str {
    let count = |status: &str| {
        let all = draft.tasks.iter();
        all.filter(|task| state(kept, &task.name) == status).count()
    };
    match (count("cancelled"), count("completed")) {
        (0, done) if done == draft.tasks.len() => "completed",
        (0, 0) => "failed",
        (0, _) => "partial_success",
        _ => "cancelled",
    }
}

/// A task stands where those that it needs let it, as the log tells.
fn stands(task: &Task, kept: &Kept<'_>, course: &Course) -> Vec<String> {
    let mut wrong = Vec::new();
    let (state, foretold) = (state(kept, &task.name), foretold(task, kept, course));
    if state != foretold && state != "cancelled" {
        wrong.push(format!("is {state}, and should be {foretold}"));
    }
    let end = course.end_of(&task.name);
    let told = match state {
        "completed" => end == Some(End::Completed),
        "failed" => matches!(end, Some(End::Failed | End::GivenUp)),
        "skipped" => end == Some(End::Stopped),
        "cancelled" => end != Some(End::Completed) && course.cancellations > 0,
        _ => false,
    };
    if !told {
        wrong.push(format!("is {state}, and by the log {end:?}"));
    }
    let attempts = field(kept, &task.name, "attempts").and_then(Value::as_u64);
    let tries = match state {
        "completed" | "failed" => Some(u64::from(course.tries_of(&task.name))),
        "skipped" => Some(0),
        // It may have been stopped on its agent's queue.
        _ => attempts,
    };
    if attempts != tries {
        wrong.push(format!("is {state} after {attempts:?} attempts, and by the log {tries:?}"));
    }
    if field(kept, &task.name, "finished_at").is_none_or(Value::is_null) {
        wrong.push(format!("is {state}, and nobody knows since when"));
    }
    wrong
}

/// What becomes of a task, unless it is stopped.
fn foretold(task: &Task, kept: &Kept<'_>, course: &Course) -> &'static str {
    let by = field(kept, &task.name, "agent_name").and_then(Value::as_str);
    if task.needs.iter().any(|need| state(kept, need) != "completed") {
        "skipped"
    } else if (task.fails && by != Some(STEADY.0))
        || course.end_of(&task.name) == Some(End::GivenUp)
    {
        "failed"
    } else {
        "completed"
    }
}

/// A task that is done gave what it gives without kills, and the answer has it; any other gave nothing.
fn gave(draft: &Draft, task: &Task, kept: &Kept<'_>, found: &Found) -> Vec<String> {
    let mut wrong = Vec::new();
    let result = field(kept, &task.name, "result").and_then(Value::as_str);
    if state(kept, &task.name) != "completed" {
        wrong.extend(result.map(|result| format!("is not done, and gave {result:?}")));
        return wrong;
    }
    let expected = draft.result(task);
    if result != Some(expected.as_str()) {
        wrong.push(format!("gave {result:?}"));
    }
    if found.answer.as_ref().is_none_or(|answer| !answer.contains(&expected)) {
        wrong.push("is done, and the answer does not have what it gave".to_owned());
    }
    wrong
}

fn field<'a>(kept: &Kept<'a>, task: &str, name: &str) -> Option<&'a Value> {
    kept.get(task).and_then(|task| task.get(name))
}

fn state<'a>(kept: &Kept<'a>, task: &str) -> &'a str {
    field(kept, task, "status").and_then(Value::as_str).unwrap_or("lost")
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
