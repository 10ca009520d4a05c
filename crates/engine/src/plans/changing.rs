//! Changing a plan: before it begins, or to do parts of it again.

use std::collections::BTreeSet;

use artel_domain::event::PlanStatusChanged;
use artel_domain::plan::{Draft, DraftTask, Plan, Status, Task, TaskStatus, graph_of};
use artel_domain::{PlanId, ProjectId};
use artel_storage::{Conn, Lane, Scope, agents, approvals, events, plans};

use super::input::{EditPlan, RetryPlan};
use super::{PlanView, asking, making, may_run, names, not_now, view};
use crate::input::Checked;
use crate::planner::{self, Team};
use crate::{App, Caller, Error, Kind, Result};

impl App {
    /// Leaves tasks out of a plan that has not begun, or gives them to other agents. Whoever was asked is asked again.
    pub async fn edit_plan(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: PlanId,
        input: Checked<EditPlan>,
    ) -> Result<PlanView> {
        let scope = Scope { user: caller.user, project };
        let before = self.plan(caller, project, id).await?;
        if !matches!(before.plan.status, Status::Pending | Status::WaitingApproval) {
            return Err(not_now("begun"));
        }
        let team = Team::of(self, scope).await?;
        let tasks = edited(&before.tasks, &input.into_inner())?;
        let draft = Draft { title: String::new(), tasks };
        let draft = planner::given(&team, draft)?.draft;
        let tasks = making::price(self, scope, &team, draft.tasks).await?;
        let parallel = self.0.settings.plan_parallel;
        let plan = making::total(before.plan.clone(), &tasks, &team, parallel);
        let standard = self.0.settings.approval_timeout;
        let written = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                let now = plans::get(conn, scope, id).await?;
                if now != before.plan || plans::tasks(conn, id).await? != before.tasks {
                    return Ok(None);
                }
                plans::revise(conn, &plan, &tasks).await?;
                if let (Status::WaitingApproval, Some(approval)) = (plan.status, plan.approval_id) {
                    let why = "The plan was changed; it is asked about anew";
                    approvals::withdraw(conn, scope.user, approval, why).await?;
                    asking::ask(conn, &plan, &tasks, standard).await?;
                }
                view(conn, scope, id).await.map(Some)
            })
        });
        let edited = written.await?.ok_or_else(|| not_now("moved on"))?;
        self.plan_moved(scope, id).await;
        Ok(edited)
    }

    /// Does parts of a plan again.
    pub async fn retry_plan(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: PlanId,
        input: Checked<RetryPlan>,
    ) -> Result<PlanView> {
        let (scope, input) = (Scope { user: caller.user, project }, input.into_inner());
        if input.agent.is_some() && input.task.is_none() {
            return Err(Error::invalid_field("task", "is required with another agent"));
        }
        let renewed = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move { renew(conn, scope, id, &input).await })
        });
        renewed.await??;
        self.advance_plan(scope, id).await?;
        self.plan(caller, project, id).await
    }
}

/// The tasks as they should be.
fn edited(tasks: &[Task], input: &EditPlan) -> Result<Vec<DraftTask>> {
    let unknown = |name: &&String| !tasks.iter().any(|task| task.task_id == **name);
    let mut fields =
        [("drop", input.drop.iter().find(unknown)), ("assign", input.assign.keys().find(unknown))]
            .into_iter();
    if let Some((field, name)) = fields.find_map(|(field, name)| Some((field, name?))) {
        return Err(Error::invalid_field(field, format!("there is no task {name:?} in the plan")));
    }
    let dropped: BTreeSet<_> = input.drop.iter().map(String::as_str).collect();
    let kept = tasks.iter().filter(|task| !dropped.contains(task.task_id.as_str()));
    Ok(kept
        .map(|task| {
            let other = input.assign.get(&task.task_id);
            let mut depends_on = BTreeSet::new();
            inherited(tasks, task, &dropped, &mut depends_on);
            DraftTask {
                name: task.task_id.clone(),
                description: task.description.clone(),
                agent: other.unwrap_or(&task.agent_name).clone(),
                capability: task.capability.clone().filter(|_| other.is_none()),
                depends_on: depends_on.into_iter().map(str::to_owned).collect(),
            }
        })
        .collect())
}

/// What a task depends on when some are left out: in their place, what they depended on.
fn inherited<'a>(
    tasks: &'a [Task],
    task: &'a Task,
    dropped: &BTreeSet<&str>,
    found: &mut BTreeSet<&'a str>,
) {
    for name in &task.dependencies {
        if !dropped.contains(name.as_str()) {
            found.insert(name);
        } else if let Some(left_out) = tasks.iter().find(|task| task.task_id == *name) {
            inherited(tasks, left_out, dropped, found);
        }
    }
}

/// Makes pending again what is to be done again, and lets the plan run.
async fn renew(
    conn: &mut Conn,
    scope: Scope,
    id: PlanId,
    input: &RetryPlan,
) -> artel_storage::Result<Result<()>> {
    let plan = plans::get(conn, scope, id).await?;
    if !plan.status.is_final() && plan.status != Status::Executing {
        let message = "The plan has not begun; execute it";
        return Ok(Err(Error::new(Kind::Conflict, "plan_status", message)));
    }
    if !may_run(conn, &plan).await? {
        let message = "The plan was never approved; make it anew";
        return Ok(Err(Error::new(Kind::Conflict, "not_approved", message)));
    }
    let tasks = plans::tasks(conn, id).await?;
    let chosen = match chosen(&tasks, input) {
        Ok(chosen) => chosen,
        Err(error) => return Ok(Err(error)),
    };
    for task in chosen {
        let (mut agent, mut name) = (task.agent_id, task.agent_name.clone());
        if let Some(other) =
            input.agent.as_ref().filter(|_| input.task.as_ref() == Some(&task.task_id))
        {
            let other = agents::by_name(conn, scope, other).await?;
            (agent, name) = (Some(other.id), other.name);
        }
        plans::renew_task(conn, task.id, agent, &name).await?;
    }
    go_on(conn, scope, &plan).await?;
    Ok(Ok(()))
}

/// Which tasks are done again.
fn chosen<'t>(tasks: &'t [Task], input: &RetryPlan) -> Result<Vec<&'t Task>> {
    let Some(name) = &input.task else {
        let lost: Vec<_> = tasks.iter().filter(|task| task.status.came_to_nothing()).collect();
        if lost.is_empty() {
            let message = "Nothing of the plan came to nothing; name a task to do it again";
            return Err(Error::new(Kind::Conflict, "nothing_to_retry", message));
        }
        return Ok(lost);
    };
    let place = tasks.iter().position(|task| task.task_id == *name);
    let place = place.ok_or_else(|| Error::not_found("task"))?;
    let graph = graph_of(tasks).map_err(Error::internal)?;
    let missing: Vec<_> = graph
        .before(place)
        .iter()
        .map(|&one| &tasks[one])
        .filter(|task| task.status != TaskStatus::Completed)
        .collect();
    if !missing.is_empty() {
        let message = format!("It needs {}; retry that first", names(missing));
        return Err(Error::new(Kind::Conflict, "dependencies", message));
    }
    let again = |&one: &usize| {
        let task = &tasks[one];
        one == place || (input.from && task.status.is_final()) || task.status.came_to_nothing()
    };
    let chosen: Vec<_> =
        graph.from(place).into_iter().filter(again).map(|one| &tasks[one]).collect();
    if chosen.iter().any(|task| !task.status.is_final()) {
        let message = "It has not ended yet; cancel it first";
        return Err(Error::new(Kind::Conflict, "task_status", message));
    }
    Ok(chosen)
}

/// Lets a plan run again.
async fn go_on(conn: &mut Conn, scope: Scope, plan: &Plan) -> artel_storage::Result<()> {
    if plan.status == Status::Executing {
        return Ok(());
    }
    let (now, status) = (conn.now().await?, Status::Executing);
    plans::turn(conn, plan.id, plan.status, status, None, now).await?;
    let event = PlanStatusChanged { plan_id: plan.id, status, note: None, message_id: None };
    events::append(conn, scope.project, Some(plan.session_id), now, &event.into()).await?;
    Ok(())
}
