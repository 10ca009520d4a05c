//! Asking a person about a plan, and what follows from the answer.

use std::time::Duration;

use artel_domain::approval::{self, Approval, Kind};
use artel_domain::event::{PlanRequest, PlanStatusChanged};
use artel_domain::plan::{Place, Plan, Status, Task, TaskStatus};
use artel_domain::session::{ErrorType, Outcome};
use artel_domain::task::Task as Attempt;
use artel_domain::{ApprovalId, PlanId, RiskLevel, TaskId};
use artel_storage::{Conn, Result, Scope, approvals, events, plans, users};
use serde_json::{Value, json};

use super::view::GraphView;
use super::{course, words};
use crate::Preferences;

/// How long a person has to say what becomes of a task whose outcome nobody knows.
const OUTCOME_WAITS: Duration = Duration::from_hours(24);
/// Characters of a description that the approval shows, and in a plan of many tasks.
const SHOWN: usize = 1000;
const SHOWN_OF_MANY: usize = 200;
const MANY: usize = 50;

/// Asks whether a plan may run.
pub(super) async fn ask(
    conn: &mut Conn,
    plan: &Plan,
    tasks: &[Task],
    standard: Duration,
) -> Result<ApprovalId> {
    let now = conn.now().await?;
    let preferences = users::preferences(conn, plan.user_id).await?;
    let wait = Preferences::read(&preferences).approval_timeout(standard);
    let (whose, payload) = ((plan.user_id, plan.project_id), payload(plan, tasks));
    let approval = Approval {
        session_id: Some(plan.session_id),
        ..Approval::pending(whose, Kind::Plan, plan.risk_level, payload, now, wait)
    };
    approvals::ask(conn, &approval).await?;
    plans::asked(conn, plan.id, approval.id).await?;
    let told = PlanRequest {
        plan_id: plan.id,
        approval_id: approval.id,
        title: plan.title.clone(),
        risk_level: plan.risk_level,
        estimated_cost: plan.total_estimated_cost,
        estimated_duration: plan.total_estimated_duration,
        expires_at: approval.expires_at,
    };
    let (project, session) = (plan.project_id, Some(plan.session_id));
    events::append(conn, project, session, now, &told.into()).await?;
    Ok(approval.id)
}

/// Everything that a person needs to decide.
fn payload(plan: &Plan, tasks: &[Task]) -> Value {
    let shown = if tasks.len() > MANY { SHOWN_OF_MANY } else { SHOWN };
    let task = |task: &Task| {
        json!({
            "task": task.task_id,
            "description": words::start(&task.description, shown),
            "agent": task.agent_name,
            "agent_id": task.agent_id,
            "capability": task.capability,
            "dependencies": task.dependencies,
            "estimated_cost": task.estimated_cost,
            "estimated_duration": task.estimated_duration,
            "estimated_calls": task.estimated_calls,
            "risk_level": task.risk_level,
        })
    };
    json!({
        "plan_id": plan.id,
        "title": plan.title,
        "request": words::start(&plan.original_request, 10 * SHOWN),
        "planner": plan.planner,
        "planner_note": plan.planner_note,
        "tasks": tasks.iter().map(task).collect::<Vec<_>>(),
        "graph": GraphView::of(tasks),
        "total_estimated_cost": plan.total_estimated_cost,
        "total_estimated_duration": plan.total_estimated_duration,
        "unpriced": plan.unpriced,
        "high_cost": plan.high_cost,
        "risk_level": plan.risk_level,
    })
}

/// Asks what becomes of a task that broke off when it may have changed something already.
pub(super) async fn ask_about_task(
    conn: &mut Conn,
    scope: Scope,
    attempt: &Attempt,
    place: &Place,
    error: &str,
) -> Result<()> {
    let now = conn.now().await?;
    let question = format!(
        "The task {:?} broke off ({error}), and what it did before may have taken effect. Approve to run it again; \
         reject to count it as failed.",
        place.task
    );
    let payload = json!({
        "plan_id": place.plan_id,
        "task": place.task,
        "attempt_id": attempt.id,
        "question": question,
    });
    let whose = (scope.user, scope.project);
    let approval = Approval {
        session_id: Some(attempt.session_id),
        ..Approval::pending(whose, Kind::Plan, RiskLevel::High, payload, now, OUTCOME_WAITS)
    };
    approvals::ask(conn, &approval).await
}

/// A person, or the deadline, has decided about a plan: it goes on, or it ends. Gives the plan, if it moved.
pub(crate) async fn resolved(conn: &mut Conn, approval: &Approval) -> Result<Option<PlanId>> {
    let scope = Scope { user: approval.user_id, project: approval.project_id };
    let word = |key: &str| approval.payload.get(key).and_then(Value::as_str);
    let Some(id) = word("plan_id").and_then(|id| id.parse::<PlanId>().ok()) else {
        return Ok(None);
    };
    let plan = match plans::get(conn, scope, id).await {
        Err(artel_storage::Error::Missing(_)) => return Ok(None),
        plan => plan?,
    };
    let yes = approval.status == approval::Status::Approved;
    let now = conn.now().await?;
    if let Some(name) = word("task") {
        let attempt = word("attempt_id").and_then(|id| id.parse::<TaskId>().ok());
        let task = plans::task(conn, id, name).await?;
        if task.attempt_id != attempt {
            return Ok(None);
        }
        let to = if yes { TaskStatus::Pending } else { TaskStatus::Failed };
        let why = (!yes).then_some("It broke off, and was not to be run again");
        let turned =
            plans::turn_task(conn, task.id, TaskStatus::OutcomeUnknown, to, why, now).await?;
        return Ok(turned.then_some(id));
    }
    if plan.approval_id != Some(approval.id) || plan.status != Status::WaitingApproval {
        return Ok(None);
    }
    if yes {
        let (from, to) = (Status::WaitingApproval, Status::Executing);
        plans::turn(conn, id, from, to, None, now).await?;
        let event = PlanStatusChanged { plan_id: id, status: to, note: None, message_id: None };
        let session = Some(plan.session_id);
        events::append(conn, scope.project, session, now, &event.into()).await?;
        return Ok(Some(id));
    }
    let why = match (&approval.comment, approval.status) {
        (_, approval::Status::Timeout) => "Rejected: nobody decided in time".to_owned(),
        (Some(comment), _) => format!("Rejected by the user: {comment}"),
        (None, _) => "Rejected by the user".to_owned(),
    };
    let head = plans::head(conn, scope, id).await?;
    stop_rest(conn, id).await?;
    let outcome = Outcome {
        success: false,
        error: Some(why.clone()),
        error_type: Some(ErrorType::Rejected),
        usage: None,
        context: Vec::new(),
        plan_id: Some(id),
    };
    let text = format!("The plan was not run. {why}");
    course::conclude(conn, scope, &head, Status::Rejected, text, outcome, now).await?;
    Ok(Some(id))
}

/// What has not begun never will.
pub(super) async fn stop_rest(conn: &mut Conn, plan: PlanId) -> Result<()> {
    let now = conn.now().await?;
    for node in plans::nodes(conn, plan).await? {
        for from in [TaskStatus::Pending, TaskStatus::OutcomeUnknown] {
            if node.status == from {
                let (to, why) = (TaskStatus::Cancelled, Some("The plan was stopped"));
                plans::turn_task(conn, node.id, from, to, why, now).await?;
            }
        }
    }
    Ok(())
}
