//! A project's event log, played through: who works on what at every number, and what must never be so.
//!
//! What was at work when the server died counts as at work until its end is recorded, which must be before anything new
//! begins.

use std::collections::HashMap;
use std::mem;

use super::graphs::Draft;
use super::log::{Attempt, Happened, How, What};

/// Tasks of one plan that may be at work at a time.
const PARALLEL: usize = 3;
/// How often a task may be begun that is cut short each time.
const ATTEMPTS: u32 = 5;

/// What a log tells.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// By the plans' ids.
    pub(super) courses: HashMap<String, Course>,
    pub(super) violations: Vec<String>,
}

/// How far a plan has come.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Empty when nothing has become of it yet.
    pub(super) status: String,
    /// How often it was taken up again after its end.
    pub(super) retries: u32,
    pub(super) cancellations: u32,
    /// Attempts that were cut short.
    pub(super) interrupted: usize,
    tasks: HashMap<String, Progress>,
}

/// How far one of its tasks has come.
#[derive(Debug, Default)]
struct Progress {
    /// The attempt that is at work.
    running: Option<String>,
    /// After how many retries of the plan it was last begun, and how often then.
    round: u32,
    tries: u32,
    /// After how many retries it last ended, and how.
    end: Option<(u32, End)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Completed,
    Failed,
    /// It was cut short too often.
    GivenUp,
    /// It was cancelled, or skipped.
    Stopped,
}

/// Plays a log through; `drafts` by the plans' ids, `limits` by the agents'.
pub(super) fn replay(
    log: &[Happened],
    drafts: &HashMap<&str, &Draft>,
    limits: &HashMap<String, usize>,
) -> Replay {
    let mut replay = Replay::default();
    let mut busy: HashMap<&str, usize> = HashMap::new();
    for Happened { number, plan, what } in log {
        let Some(draft) = drafts.get(plan.as_str()) else {
            replay.violations.push(format!("event {number}: nobody made plan {plan}"));
            continue;
        };
        let course = replay.courses.entry(plan.clone()).or_default();
        let wrong = match what {
            What::Turned(status) => course.turn(draft, status),
            What::Started(attempt) => {
                let Attempt { agent, .. } = attempt;
                let mut wrong = course.start(draft, attempt);
                let now = busy.entry(agent).or_default();
                *now += 1;
                if *now > limits.get(agent).copied().unwrap_or(0) {
                    wrong.push(format!("agent {agent} has {now} tasks at work"));
                }
                wrong
            }
            What::Ended(attempt, how) => {
                if course.works_on(attempt) {
                    let now = busy.entry(&attempt.agent).or_default();
                    *now = now.saturating_sub(1);
                }
                course.end(attempt, *how)
            }
        };
        let named = |what: String| format!("plan {}, event {number}: {what}", draft.number);
        replay.violations.extend(wrong.into_iter().map(named));
    }
    replay
}

impl Course {
    /// How a task ended last, if it has.
    pub(super) fn end_of(&self, task: &str) -> Option<End> {
        self.tasks.get(task)?.end.map(|(_, end)| end)
    }

    /// How often a task was begun since it was last taken up.
    pub(super) fn tries_of(&self, task: &str) -> u32 {
        self.tasks.get(task).map_or(0, |progress| progress.tries)
    }

    fn works_on(&self, attempt: &Attempt) -> bool {
        let progress = self.tasks.get(&attempt.task);
        progress.is_some_and(|progress| progress.running.as_ref() == Some(&attempt.id))
    }

    /// The plan moves on. What is wrong with that?
    fn turn(&mut self, draft: &Draft, status: &str) -> Vec<String> {
        let before = mem::replace(&mut self.status, status.to_owned());
        let mut wrong = Vec::new();
        match (is_final(&before), is_final(status)) {
            (true, true) => wrong.push(format!("it ended twice, as {before} and as {status}")),
            (true, false) => self.retries += 1,
            (false, true) => wrong.extend(self.left_open(draft, status)),
            (false, false) if before == status => wrong.push(format!("it was {status} twice")),
            (false, false) => {}
        }
        self.cancellations += u32::from(status == "cancelled");
        wrong
    }

    /// The tasks that a plan must not end with.
    fn left_open(&self, draft: &Draft, status: &str) -> Vec<String> {
        let open = |name: &str| match self.tasks.get(name) {
            Some(Progress { running: Some(_), .. }) => {
                Some(format!("it ended while {name} was at work"))
            }
            Some(Progress { end: Some(_), .. }) => None,
            // What was not begun is not spoken of when all is stopped.
            Some(_) | None if status == "cancelled" => None,
            Some(_) | None => Some(format!("it ended before {name}")),
        };
        draft.tasks.iter().filter_map(|task| open(&task.name)).collect()
    }

    /// Somebody begins a task. What is wrong with that?
    fn start(&mut self, draft: &Draft, Attempt { task: name, id, .. }: &Attempt) -> Vec<String> {
        let mut wrong = Vec::new();
        let Some(task) = draft.tasks.iter().find(|task| task.name == *name) else {
            return vec![format!("there is no task {name}")];
        };
        if self.status != "executing" {
            wrong.push(format!("{name} began while the plan was {:?}", self.status));
        }
        let missing = task.needs.iter().filter(|need| self.end_of(need) != Some(End::Completed));
        wrong.extend(missing.map(|need| format!("{name} began before {need} was done")));
        let round = self.retries;
        let progress = self.tasks.entry(name.clone()).or_default();
        match progress.end {
            Some((_, End::Completed)) => {
                wrong.push(format!("{name} began again after it was done"));
            }
            Some((ended, _)) if ended == round => {
                wrong.push(format!("{name} began again after it had ended"));
            }
            Some(_) | None => {}
        }
        if progress.running.replace(id.clone()).is_some() {
            wrong.push(format!("{name} was begun twice at a time"));
        }
        if progress.round != round {
            (progress.round, progress.tries) = (round, 0);
        }
        progress.tries += 1;
        if progress.tries > ATTEMPTS {
            wrong.push(format!("{name} was begun {} times", progress.tries));
        }
        let working = self.tasks.values().filter(|progress| progress.running.is_some()).count();
        if working > PARALLEL {
            wrong.push(format!("{working} of its tasks are at work"));
        }
        wrong
    }

    /// Somebody's work ends. What is wrong with that?
    fn end(&mut self, attempt: &Attempt, how: How) -> Vec<String> {
        let (name, round, mut wrong) = (&attempt.task, self.retries, Vec::new());
        if self.status != "executing" {
            wrong.push(format!("{name} ended while the plan was {:?}", self.status));
        }
        let worked = self.works_on(attempt);
        self.interrupted += usize::from(how == How::Interrupted);
        let progress = self.tasks.entry(name.clone()).or_default();
        if worked {
            progress.running = None;
        } else if how != How::Stopped || progress.running.is_some() {
            wrong.push(format!("{name} ended by an attempt that was not at work"));
        }
        let end = match how {
            How::Completed => End::Completed,
            How::Failed => End::Failed,
            How::Stopped => End::Stopped,
            // It is begun anew.
            How::Interrupted if progress.tries < ATTEMPTS => return wrong,
            How::Interrupted => End::GivenUp,
        };
        if progress.end.is_some_and(|(ended, end)| ended == round || end == End::Completed) {
            wrong.push(format!("{name} ended twice"));
        }
        progress.end = Some((round, end));
        wrong
    }
}

fn is_final(status: &str) -> bool {
    !matches!(status, "" | "pending" | "waiting_approval" | "executing")
}
