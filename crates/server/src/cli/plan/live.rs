//! A plan on its way, as far as the events have told: a line for each task.
//!
//! The plan itself, read from the server, is the truth; events carry on from there, and one that is older than what is
//! known already changes nothing.

use artel_domain::event::{PlannedTask, TaskPlanCreated};
use artel_domain::plan::{Place, Status, Task, TaskStatus};
use artel_domain::{Envelope, PlanId, TaskId, Timestamp};
use artel_engine::PlanView;
use artel_tools::show::visible;
use console::{Alignment, measure_text_width, pad_str, truncate_str};
use serde_json::Value;

use super::pen::{Pen, dollars, seconds, span};
use crate::cli::chat::asked;
use crate::cli::connection::text;

/// Columns of a name.
const NAME: usize = 32;

#[derive(Debug, Clone)]
pub(crate) struct Live {
    plan: PlanId,
    status: Status,
    started: Option<Timestamp>,
    finished: Option<Timestamp>,
    tasks: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Line {
    /// None where only the name is known.
    id: Option<TaskId>,
    name: String,
    agent: String,
    status: TaskStatus,
    attempt: Option<TaskId>,
    started: Option<Timestamp>,
    finished: Option<Timestamp>,
    cost: Option<f64>,
    /// What it does, or why it came to nothing.
    detail: String,
}

/// What an event told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// A task has moved on.
    pub(crate) change: Option<String>,
    /// A person has to do something.
    pub(crate) asked: Option<String>,
    /// More than events tell: the plan has to be read anew.
    pub(crate) look: bool,
}

impl Told {
    fn change(change: Option<String>) -> Self {
        Self { change, ..Self::default() }
    }

    fn asked(asked: Option<String>) -> Self {
        Self { asked, ..Self::default() }
    }

    fn look() -> Self {
        Self { look: true, ..Self::default() }
    }
}

impl From<&PlanView> for Live {
    fn from(PlanView { plan, tasks, graph: _ }: &PlanView) -> Self {
        Self {
            plan: plan.id,
            status: plan.status,
            started: plan.started_at,
            finished: plan.finished_at,
            tasks: tasks.iter().map(Line::from).collect(),
        }
    }
}

impl From<&Task> for Line {
    fn from(task: &Task) -> Self {
        Self {
            id: Some(task.id),
            name: task.task_id.clone(),
            agent: task.agent_name.clone(),
            status: task.status,
            attempt: task.attempt_id,
            started: task.started_at,
            finished: task.finished_at,
            cost: task.actual_cost,
            detail: task.error.clone().unwrap_or_default(),
        }
    }
}

impl From<TaskPlanCreated> for Live {
    fn from(created: TaskPlanCreated) -> Self {
        let line = |task: PlannedTask| Line {
            id: None,
            name: task.task,
            agent: task.agent,
            status: TaskStatus::Pending,
            attempt: None,
            started: None,
            finished: None,
            cost: None,
            detail: String::new(),
        };
        Self {
            plan: created.plan_id,
            status: Status::Pending,
            started: None,
            finished: None,
            tasks: created.tasks.into_iter().map(line).collect(),
        }
    }
}

impl Live {
    /// How the tasks stand that have begun, or come to their end.
    pub(super) fn so_far(&self) -> Vec<String> {
        let moved = |line: &&Line| line.status != TaskStatus::Pending;
        self.tasks.iter().filter(moved).map(Line::words).collect()
    }

    /// Takes the plan as it is; says which tasks have moved on since.
    pub(super) fn refresh(&mut self, view: &PlanView) -> Vec<String> {
        let before = std::mem::replace(self, Self::from(view));
        let moved = |line: &&Line| {
            let old = before.tasks.iter().find(|old| old.name == line.name);
            old.is_none_or(|old| old.status != line.status)
        };
        self.tasks.iter().filter(moved).map(Line::words).collect()
    }

    /// Takes in an event.
    pub(crate) fn attend(&mut self, event: &Envelope) -> Told {
        let (kind, payload) = (event.event_type.as_str(), &event.payload);
        match kind {
            "task_started" | "task_progress" | "task_completed" | "task_failed"
            | "task_cancelled" => self.task(kind, payload, event.timestamp),
            "plan_status_changed" | "plan_request" if self.is(&payload["plan_id"]) => Told::look(),
            "tool_approval_request" | "agent_question" if self.works(&payload["task_id"]) => {
                Told::asked(asked(kind, payload))
            }
            "approval_required" if self.is(&payload["payload"]["plan_id"]) => self.unknown(payload),
            "resync" => Told::look(),
            _ => Told::default(),
        }
    }

    /// Whether there is something to see: it runs, or has ended.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.status, Status::Pending | Status::WaitingApproval)
    }

    /// A line for each task, or for those of them that count most when there is no room for all, and one for the whole.
    pub(super) fn lines(
        &self,
        now: Timestamp,
        rows: usize,
        columns: usize,
        pen: Pen,
    ) -> Vec<String> {
        let room = rows.saturating_sub(3).max(1);
        let mut places: Vec<usize> = (0..self.tasks.len()).collect();
        places.sort_by_key(|&at| self.tasks[at].weight());
        let left_out = places.len().saturating_sub(room);
        places.truncate(room);
        places.sort_unstable();
        let shown: Vec<&Line> = places.iter().map(|&at| &self.tasks[at]).collect();
        let width = |of: fn(&Line) -> &str| {
            let widths = shown.iter().map(|line| measure_text_width(&visible(of(line))));
            widths.max().unwrap_or(0).min(NAME)
        };
        let widths = (width(|line| &line.name), width(|line| &line.agent));
        let mut lines: Vec<_> = shown.iter().map(|line| line.row(now, widths, pen)).collect();
        if left_out > 0 {
            lines.push(format!("  {} {left_out} more", pen.more()));
        }
        lines.push(self.total(now));
        let end = columns.saturating_sub(1);
        lines.iter().map(|line| truncate_str(line, end, pen.more()).into_owned()).collect()
    }

    fn total(&self, now: Timestamp) -> String {
        let done = self.tasks.iter().filter(|line| line.status == TaskStatus::Completed).count();
        let cost = self.tasks.iter().filter_map(|line| line.cost).sum::<f64>();
        let time = self.started.map(|start| self.finished.unwrap_or(now).since(start));
        let time = span(time.unwrap_or_default());
        format!("  {done} of {} tasks, {}, {time}", self.tasks.len(), dollars(cost))
    }

    fn is(&self, plan: &Value) -> bool {
        text(plan).parse::<PlanId>().is_ok_and(|plan| plan == self.plan)
    }

    /// Whether one of its tasks is worked on under this id.
    fn works(&self, attempt: &Value) -> bool {
        let attempt = text(attempt).parse::<TaskId>().ok();
        attempt.is_some() && self.tasks.iter().any(|line| line.attempt == attempt)
    }

    fn task(&mut self, kind: &str, payload: &Value, at: Timestamp) -> Told {
        let place = serde_json::from_value::<Place>(payload["plan"].clone());
        let attempt = text(&payload["task_id"]).parse::<TaskId>();
        let (Ok(Place { plan_id, task }), Ok(attempt)) = (place, attempt) else {
            return Told::default();
        };
        if plan_id != self.plan {
            return Told::default();
        }
        match self.tasks.iter_mut().find(|line| line.name == task) {
            Some(line) => Told::change(line.attend(kind, attempt, payload, at)),
            // It was changed since it was read.
            None => Told::look(),
        }
    }

    /// A task broke off, and a person is asked what becomes of it.
    fn unknown(&mut self, payload: &Value) -> Told {
        let (name, question) = (&payload["payload"]["task"], &payload["payload"]["question"]);
        let Some(question) = question.as_str() else { return Told::default() };
        if let Some(line) = self.tasks.iter_mut().find(|line| *name == line.name) {
            line.status = TaskStatus::OutcomeUnknown;
        }
        let id = visible(text(&payload["approval_id"]));
        Told::asked(Some(format!(
            "{} Decide with `artel approvals approve {id}` or `artel approvals reject {id}`",
            visible(question)
        )))
    }
}

impl Line {
    /// Takes in an event about an attempt at it; says so if it has moved on.
    fn attend(
        &mut self,
        kind: &str,
        attempt: TaskId,
        payload: &Value,
        at: Timestamp,
    ) -> Option<String> {
        if self.is_past(attempt) {
            return None;
        }
        let before = self.status;
        match kind {
            "task_started" => {
                (self.status, self.started, self.finished) =
                    (TaskStatus::Executing, Some(at), None);
                self.detail.clear();
            }
            "task_progress" => text(&payload["detail"]).clone_into(&mut self.detail),
            "task_completed" => {
                self.end(TaskStatus::Completed, at, "");
                if let Some(cost) = payload["usage"]["cost"].as_f64() {
                    self.cost = Some(self.cost.unwrap_or(0.0) + cost);
                }
            }
            "task_failed" => self.end(TaskStatus::Failed, at, text(&payload["error"])),
            // What never began was skipped.
            _ if before == TaskStatus::Pending => self.end(TaskStatus::Skipped, at, ""),
            _ => self.end(TaskStatus::Cancelled, at, ""),
        }
        if Some(attempt) != self.id {
            self.attempt = Some(attempt);
        }
        (self.status != before).then(|| self.words())
    }

    /// Whether more is known than an event about this attempt can tell. What never began is spoken of by its own id.
    fn is_past(&self, attempt: TaskId) -> bool {
        if [self.id, self.attempt].contains(&Some(attempt)) {
            return self.status.is_final();
        }
        self.attempt.is_some_and(|known| attempt < known)
    }

    fn end(&mut self, status: TaskStatus, at: Timestamp, why: &str) {
        (self.status, self.finished) = (status, Some(at));
        why.clone_into(&mut self.detail);
    }

    /// What is shown first when there is no room for all.
    const fn weight(&self) -> u8 {
        match self.status {
            TaskStatus::Executing | TaskStatus::OutcomeUnknown => 0,
            TaskStatus::Failed => 1,
            TaskStatus::Pending => 2,
            TaskStatus::Completed => 3,
            TaskStatus::Cancelled | TaskStatus::Skipped => 4,
        }
    }

    /// How long it takes, or took.
    fn time(&self, now: Timestamp) -> Option<f64> {
        let start = self.started?;
        Some(self.finished.unwrap_or(now).since(start).as_secs_f64())
    }

    /// How it stands, where lines are written one after the other.
    fn words(&self) -> String {
        let who = format!("{} ({})", visible(&self.name), visible(&self.agent));
        let why = if self.detail.is_empty() {
            String::new()
        } else {
            format!(": {}", visible(&self.detail))
        };
        match self.status {
            TaskStatus::Pending => format!("{who} waits"),
            TaskStatus::Executing => format!("{who} started"),
            TaskStatus::Completed => {
                let time = self.finished.and_then(|end| self.time(end)).map(seconds);
                let time = time.map(|time| format!(" in {time}")).unwrap_or_default();
                let cost = self.cost.map(|cost| format!(", {}", dollars(cost)));
                format!("{who} completed{time}{}", cost.unwrap_or_default())
            }
            TaskStatus::Failed => format!("{who} failed{why}"),
            TaskStatus::Cancelled => format!("{who} was cancelled"),
            TaskStatus::Skipped => {
                format!("{who} was skipped: something that it needs is not there")
            }
            TaskStatus::OutcomeUnknown => format!("{who} broke off{why}"),
        }
    }

    /// How it stands, where lines are redrawn.
    fn row(&self, now: Timestamp, (name, agent): (usize, usize), pen: Pen) -> String {
        let cell = |text: &str, width| {
            pad_str(&visible(text), width, Alignment::Left, Some(pen.more())).into_owned()
        };
        let time = self.time(now).map(seconds).unwrap_or_default();
        let cost = self.cost.map(dollars).unwrap_or_default();
        let row = format!(
            "  {} {}  {}  {time:>7}  {cost:>8}  {}",
            pen.state(self.status),
            cell(&self.name, name),
            cell(&self.agent, agent),
            visible(&self.detail)
        );
        row.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAN: &str = "0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3";
    const FIRST: &str = "0198c5a2-0000-7000-8000-000000000001";
    const SECOND: &str = "0198c5a2-0000-7000-8000-000000000002";

    fn live(names: &[&str]) -> Live {
        let range = json!({ "min": 0.0, "max": 1.0 });
        let task = |name: &&str| json!({ "task": name, "agent": "coder", "dependencies": [] });
        let created = json!({
            "plan_id": PLAN, "title": "x", "planner": "given", "estimated_cost": range, "estimated_duration": range,
            "risk_level": "LOW", "requires_approval": false,
            "tasks": names.iter().map(task).collect::<Vec<_>>(),
        });
        let mut live = Live::from(serde_json::from_value::<TaskPlanCreated>(created).unwrap());
        (live.status, live.started) = (Status::Executing, Some(Timestamp::from_micros(0)));
        live
    }

    /// An event so many seconds after the start.
    fn event(kind: &str, second: i64, payload: Value) -> Envelope {
        let timestamp = Timestamp::from_micros(second * 1_000_000);
        Envelope { id: Some(1), event_type: kind.to_owned(), payload, timestamp, session_id: None }
    }

    fn of(task: &str, attempt: &str, more: Value) -> Value {
        let mut payload = json!({ "task_id": attempt, "plan": { "plan_id": PLAN, "task": task } });
        let Value::Object(more) = more else { return payload };
        payload.as_object_mut().unwrap().extend(more);
        payload
    }

    fn change(live: &mut Live, kind: &str, second: i64, payload: Value) -> Option<String> {
        live.attend(&event(kind, second, payload)).change
    }

    /// OR-7.4: progress is seen, a line for each task.
    #[test]
    fn tasks_move_on() {
        let mut live = live(&["build", "test"]);
        let told = change(&mut live, "task_started", 1, of("build", FIRST, json!({})));
        assert_eq!(told.unwrap(), "build (coder) started");
        let progress = of("build", FIRST, json!({ "detail": "Tool used: x\u{1b}[2J" }));
        assert_eq!(change(&mut live, "task_progress", 2, progress), None);
        let lines = live.lines(Timestamp::from_micros(4_000_000), 24, 80, Pen::Unicode);
        assert_eq!(
            lines,
            [
                "  ● build  coder    3.0 s            Tool used: x\\x1b[2J",
                "  ○ test   coder",
                "  0 of 2 tasks, $0, 4.0 s"
            ]
        );
        let done = of("build", FIRST, json!({ "usage": { "cost": 0.002 } }));
        let told = change(&mut live, "task_completed", 5, done);
        assert_eq!(told.unwrap(), "build (coder) completed in 4.0 s, $0.0020");
        let told = change(&mut live, "task_cancelled", 5, of("test", SECOND, json!({})));
        assert!(told.unwrap().starts_with("test (coder) was skipped"));
        let lines = live.lines(Timestamp::from_micros(6_000_000), 24, 20, Pen::Ascii);
        assert!(lines.iter().all(|line| line.len() < 20 && line.is_ascii()), "{lines:?}");
    }

    /// What is behind what is known changes nothing; a new attempt does.
    #[test]
    fn old_news_is_none() {
        let mut live = live(&["build"]);
        change(&mut live, "task_started", 1, of("build", SECOND, json!({})));
        let failed = of("build", SECOND, json!({ "error": "no\u{1b}]0;x\u{7}" }));
        let told = change(&mut live, "task_failed", 2, failed).unwrap();
        assert_eq!(told, "build (coder) failed: no\\x1b]0;x\\x07");
        assert_eq!(change(&mut live, "task_started", 1, of("build", SECOND, json!({}))), None);
        assert_eq!(change(&mut live, "task_started", 1, of("build", FIRST, json!({}))), None);
        let third = "0198c5a2-0000-7000-8000-000000000003";
        assert!(change(&mut live, "task_started", 3, of("build", third, json!({}))).is_some());
    }

    /// Other plans, other people's questions and what a newer server says are passed over.
    #[test]
    fn only_its_own_events_count() {
        let mut live = live(&["build"]);
        let mut other = of("build", FIRST, json!({}));
        other["plan"]["plan_id"] = json!(FIRST);
        for (kind, payload) in [
            ("task_started", other),
            ("task_started", json!({ "task_id": FIRST, "agent_id": FIRST })),
            ("plan_status_changed", json!({ "plan_id": FIRST, "status": "failed" })),
            ("tool_approval_request", json!({ "task_id": FIRST, "tool_name": "x" })),
            ("agent_question", json!({ "task_id": null, "question": "x" })),
            ("approval_required", json!({ "payload": { "plan_id": PLAN, "title": "x" } })),
            ("a_new_one", json!(7)),
        ] {
            assert_eq!(live.attend(&event(kind, 1, payload)), Told::default(), "{kind}");
        }
        assert!(live.attend(&event("task_started", 1, of("ghost", FIRST, json!({})))).look);
        assert!(live.attend(&event("plan_status_changed", 1, json!({ "plan_id": PLAN }))).look);
        change(&mut live, "task_started", 1, of("build", FIRST, json!({})));
        let asks = json!({ "task_id": FIRST, "tool_name": "tool_write_file" });
        let asked = live.attend(&event("tool_approval_request", 2, asks)).asked.unwrap();
        assert!(asked.contains("tool_write_file") && asked.contains("artel approvals"), "{asked}");
        let asks = json!({ "approval_id": SECOND, "payload": { "plan_id": PLAN, "task": "build", "question": "Again?" } });
        let asked = live.attend(&event("approval_required", 2, asks)).asked.unwrap();
        assert!(asked.starts_with("Again? ") && asked.contains(SECOND), "{asked}");
        assert_eq!(live.tasks[0].status, TaskStatus::OutcomeUnknown);
    }

    /// Where there is no room for all, what is under way is seen first.
    #[test]
    fn many_tasks_fit_a_small_screen() {
        let names: Vec<_> = (0..500).map(|at| format!("t{at}")).collect();
        let mut live = live(&names.iter().map(String::as_str).collect::<Vec<_>>());
        change(&mut live, "task_started", 1, of("t400", FIRST, json!({})));
        let lines = live.lines(Timestamp::from_micros(0), 10, 80, Pen::Unicode);
        assert_eq!(lines.len(), 9);
        assert!(lines.iter().any(|line| line.contains("● t400")), "{lines:?}");
        assert_eq!(lines[7], "  … 493 more");
    }
}
