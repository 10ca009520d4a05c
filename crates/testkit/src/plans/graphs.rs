//! Random plans: which tasks there are, what they need, which of them fail, and what their owner does on the way.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use super::AGENTS;

/// How much of a message a scripted model repeats, in characters. A task says as much before its word for the script,
/// so that what it gives tells it from every other, and makes nothing fail that builds on it.
const REPEATED: usize = 500;
/// Tasks that most plans have at most.
const USUAL: usize = 30;
/// Tasks that one task collects the results of.
const COLLECTED: usize = 20;
/// Tasks of a layer.
const WIDTH: usize = 6;
/// Tasks that one needs of those before it.
const NEEDS: usize = 3;
/// Before a running plan is stopped, in milliseconds.
const STOPPED_AFTER: Range<u64> = 0..1_500;

/// A plan before it is made.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) number: usize,
    /// Each stands behind all that it needs.
    pub(super) tasks: Vec<Task>,
    pub(super) stop: Option<Stop>,
    /// How often what came to nothing is tried again.
    pub(super) retries: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) name: String,
    pub(super) agent: &'static str,
    /// Names of others.
    pub(super) needs: Vec<String>,
    pub(super) fails: bool,
    pub(super) slow: bool,
}

/// When its owner stops a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// While it waits for approval.
    Asked,
    /// After it was seen to run for so long.
    Running(Duration),
}

type Needs = BTreeSet<usize>;

impl Draft {
    pub(super) fn random(rng: &mut Rng, number: usize, most: usize) -> Self {
        let most = if rng.u8(0..10) > 0 { most.min(USUAL) } else { most };
        let size = rng.usize(1..=most.max(1));
        let needs = match rng.u8(0..4) {
            0 => chain(size),
            1 => wide(rng, size),
            2 => layers(rng, size),
            _ => tangle(rng, size),
        };
        let mut tasks: Vec<_> = needs.into_iter().enumerate().map(|one| task(rng, one)).collect();
        // Half of all plans have nothing in them that fails.
        if rng.bool() {
            for _ in 0..rng.u8(1..=3) {
                tasks[rng.usize(0..size)].fails = true;
            }
        }
        let stop = match rng.u8(0..24) {
            0 => Some(Stop::Asked),
            1..5 => Some(Stop::Running(Duration::from_millis(rng.u64(STOPPED_AFTER)))),
            _ => None,
        };
        Self { number, tasks, stop, retries: rng.u32(0..=2) }
    }

    /// What the plan is for; no other is for the same.
    pub(super) fn request(&self) -> String {
        format!("plan {}", self.number)
    }

    /// What is sent to make it.
    pub(super) fn body(&self, rng: &mut Rng) -> Value {
        let task = |task: &Task| {
            json!({
                "name": task.name,
                "description": self.description(task),
                "agent": task.agent,
                "depends_on": task.needs,
            })
        };
        let mut tasks: Vec<_> = self.tasks.iter().map(task).collect();
        // Nobody promised an order.
        rng.shuffle(&mut tasks);
        json!({ "request": self.request(), "tasks": tasks })
    }

    /// What a task gives when it is done, by the script.
    pub(super) fn result(&self, task: &Task) -> String {
        format!("done: {}", self.subject(task))
    }

    fn description(&self, task: &Task) -> String {
        let word = match (task.fails, task.slow) {
            (true, _) => " FAIL",
            (false, true) => " SLOW",
            (false, false) => "",
        };
        format!("{}{word}", self.subject(task))
    }

    fn subject(&self, task: &Task) -> String {
        let head = format!("plan {} task {} ", self.number, task.name);
        format!("{head:-<REPEATED$}")
    }
}

fn task(rng: &mut Rng, (at, needs): (usize, Needs)) -> Task {
    let (agent, _) = AGENTS[rng.usize(0..AGENTS.len())];
    let needs = needs.into_iter().map(name).collect();
    Task { name: name(at), agent, needs, fails: false, slow: rng.u8(0..4) == 0 }
}

fn name(at: usize) -> String {
    format!("t{at}")
}

/// One behind the other.
fn chain(size: usize) -> Vec<Needs> {
    (0..size).map(|at| at.checked_sub(1).into_iter().collect()).collect()
}

/// All at once, and one in the end that collects.
fn wide(rng: &mut Rng, size: usize) -> Vec<Needs> {
    let mut all = vec![Needs::new(); size];
    all[size - 1] = some(rng, &(0..size - 1), COLLECTED);
    all
}

/// Layers, each on the one before it.
fn layers(rng: &mut Rng, size: usize) -> Vec<Needs> {
    let (mut all, mut before) = (Vec::new(), 0..0);
    while all.len() < size {
        let layer = all.len()..size.min(all.len() + rng.usize(1..=WIDTH));
        all.extend(layer.clone().map(|_| some(rng, &before, NEEDS)));
        before = layer;
    }
    all
}

/// Anything on anything before it.
fn tangle(rng: &mut Rng, size: usize) -> Vec<Needs> {
    let needs = |at| {
        let most = rng.usize(0..=NEEDS);
        some(rng, &(0..at), most)
    };
    (0..size).map(needs).collect()
}

/// Some of these, at most so many.
fn some(rng: &mut Rng, from: &Range<usize>, most: usize) -> Needs {
    let most = if from.is_empty() { 0 } else { most };
    (0..most).map(|_| rng.usize(from.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_are_sound_and_the_same_for_the_same_seed() {
        let mut largest = 0;
        for seed in 0..500 {
            let draft = |number| Draft::random(&mut Rng::with_seed(seed), number, 60);
            let one = draft(7);
            let names: Vec<_> = one.tasks.iter().map(|task| task.name.as_str()).collect();
            for (at, task) in one.tasks.iter().enumerate() {
                assert!(task.needs.iter().all(|need| names[..at].contains(&need.as_str())));
            }
            assert!((1..=60).contains(&names.len()));
            largest = largest.max(names.len());
            assert_eq!(format!("{one:?}"), format!("{:?}", draft(7)));
        }
        assert!(largest > USUAL);
    }

    /// What a task gives is its own, and no word of it is one that the script listens to.
    #[test]
    fn results_are_unlike_and_harmless() {
        let mut rng = Rng::with_seed(1);
        let mut draft = Draft::random(&mut rng, 7, 60);
        let mut task = draft.tasks.remove(0);
        task.fails = true;
        let (said, gave) = (draft.description(&task), draft.result(&task));
        assert!(said.ends_with(" FAIL"));
        assert_eq!(said.chars().take(REPEATED).collect::<String>(), gave["done: ".len()..]);
        let heard = gave.to_lowercase();
        assert!(!heard.contains("fail") && !heard.contains("slow"), "{gave}");
        let other = Draft { number: 8, ..draft };
        assert_ne!(other.result(&task), gave);
    }
}
