//! Plans: from a request to an answer of several agents.
//!
//! Making one, asking about it, running it and stopping it are verbs of [`App`]. How a request becomes a graph is the
//! planner's affair ([`crate::planner`]), what runs when is decided by its course ([`course`]).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use artel_domain::approval::Decision;
use artel_domain::plan::{Plan, Status, Task, TaskStatus, estimate};
use artel_domain::session::{ErrorType, Message, Outcome};
use artel_domain::{PlanId, ProjectId, SessionId};
use artel_storage::plans::{self, Which};
use artel_storage::{Conn, Lane, Listed, Page, Scope, approvals, projects, sessions, tasks};

use crate::input::Checked;
use crate::spaces::keeping::{self, Hand};
use crate::spaces::word::Word;
use crate::spaces::{SPACE_CLOSED, ending};
use crate::{App, Caller, Decided, Error, IdempotencyKey, Kind, Result, Verdict, idempotent};

pub(crate) mod asking;
pub(crate) mod cache;
mod changing;
pub(crate) mod course;
mod input;
mod making;
mod view;
pub(crate) mod words;

pub use input::{CreatePlan, EditPlan, RetryPlan};
pub use view::{GraphView, PlanView};

use making::Making;

/// How often the row of a plan is looked at while nobody rings.
const LOOK: Duration = Duration::from_secs(1);
/// How often a request is planned anew because its agents changed meanwhile.
const TRIES: usize = 3;

impl App {
    /// Makes a plan. Nothing runs yet.
    pub async fn create_plan(
        &self,
        caller: &Caller,
        project: ProjectId,
        input: Checked<CreatePlan>,
        key: Option<IdempotencyKey>,
    ) -> Result<PlanView> {
        let scope = Scope { user: caller.user, project };
        self.project(caller, project).await?;
        let CreatePlan { request, session_id, tasks } = input.into_inner();
        if let Some(session) = session_id {
            self.session(caller, project, session).await?;
        }
        self.make(caller, scope, session_id, request, tasks, false, key).await
    }

    /// Makes a plan of a message and lets it run, or asks whether it may.
    pub(crate) async fn orchestrate(
        &self,
        caller: &Caller,
        project: ProjectId,
        session: SessionId,
        content: String,
        key: Option<IdempotencyKey>,
    ) -> Result<PlanView> {
        let scope = Scope { user: caller.user, project };
        self.session(caller, project, session).await?;
        self.make(caller, scope, Some(session), content, None, true, key).await
    }

    #[expect(clippy::too_many_arguments, reason = "what two verbs have in common")]
    async fn make(
        &self,
        caller: &Caller,
        scope: Scope,
        session: Option<SessionId>,
        request: String,
        given: Option<Vec<artel_domain::plan::DraftTask>>,
        run: bool,
        key: Option<IdempotencyKey>,
    ) -> Result<PlanView> {
        // Planned before is answered as before, without planning anew.
        if let Some(before) = idempotent::before(&self.0.storage.db, caller, key.as_ref()).await? {
            return Ok(before);
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let made = Making::draw(self, scope, session, &request, given.clone(), run).await?;
            let stored = self.store_plan(caller, made, key.clone()).await;
            match stored {
                Err(error) if error.code == SPACE_CLOSED => {}
                Err(error) if error.code == making::TEAM_CHANGED && tries < TRIES => {}
                Err(error) if error.code == making::TEAM_CHANGED => {
                    let message = "The project's agents change faster than can be planned";
                    return Err(Error::new(Kind::Conflict, making::TEAM_CHANGED, message));
                }
                stored => return stored,
            }
        }
    }

    /// On a task of its own: who goes away in the middle must not leave tickets that nobody confirms.
    async fn store_plan(
        &self,
        caller: &Caller,
        made: Making,
        key: Option<IdempotencyKey>,
    ) -> Result<PlanView> {
        let (app, caller) = (self.clone(), caller.clone());
        let stored = self.0.tracker.spawn(async move {
            let (scope, id) = (made.scope, made.id());
            let space = app.0.spaces.get(&app, scope).await?;
            let hand = Hand::new(&app, &space);
            let own = Arc::clone(&hand);
            let (db, lane) = (&app.0.storage.db, Lane::Project(scope.project));
            let stored = idempotent::once(db, app.clock(), lane, &caller, key, move |conn| {
                Box::pin(async move { made.store(conn, &own).await })
            })
            .await;
            hand.play(&app, stored.is_ok());
            let view = stored?;
            app.plan_moved(scope, id).await;
            Ok(view)
        });
        stored.await.map_err(Error::internal)?
    }

    pub async fn plan(&self, caller: &Caller, project: ProjectId, id: PlanId) -> Result<PlanView> {
        let scope = Scope { user: caller.user, project };
        Ok(self.0.storage.db.read(move |conn| Box::pin(view(conn, scope, id))).await?)
    }

    /// A project's plans, newest first.
    pub async fn list_plans(
        &self,
        caller: &Caller,
        project: ProjectId,
        which: Which,
        page: Page,
    ) -> Result<Listed<Plan>> {
        let scope = Scope { user: caller.user, project };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                plans::list(conn, scope, which, page).await
            })
        });
        Ok(read.await?)
    }

    /// Lets a plan run that was made and not begun, or asks whether it may.
    pub async fn execute_plan(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: PlanId,
    ) -> Result<PlanView> {
        let scope = Scope { user: caller.user, project };
        let standard = self.0.settings.approval_timeout;
        let begun = keeping::with_hand(self, scope, move |conn, hand| {
            Box::pin(async move {
                let plan = plans::get(conn, scope, id).await?;
                if plan.status != Status::Pending {
                    return Ok(false);
                }
                making::begin(conn, &hand, &plan, standard).await?;
                Ok(true)
            })
        });
        if !begun.await? {
            return Err(not_now("begun"));
        }
        self.plan_moved(scope, id).await;
        self.plan(caller, project, id).await
    }

    /// Decides about a plan that waits for it.
    pub async fn decide_plan(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: PlanId,
        verdict: Verdict,
    ) -> Result<PlanView> {
        let PlanView { plan, .. } = self.plan(caller, project, id).await?;
        let Some(approval) = plan.approval_id else {
            let message = format!(
                "The plan waits for no decision: it is {}. Execute it, and it asks if it must",
                plan.status.as_str()
            );
            return Err(Error::new(Kind::Conflict, "not_waiting", message));
        };
        let wanted = verdict.decision;
        match self.decide(caller, approval, verdict, None).await? {
            Decided::Now(_) => {}
            Decided::Before(approval) if approval.status == wanted.into() => {}
            Decided::Before(approval) => {
                let word = approval.status.as_str();
                let message = format!("It was decided before: {word}");
                return Err(Error::new(Kind::Conflict, "already_decided", message));
            }
        }
        self.plan(caller, project, id).await
    }

    /// Stops a plan: what runs is stopped, what waits never begins.
    pub async fn cancel_plan(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: PlanId,
    ) -> Result<PlanView> {
        let (scope, scribe) = (Scope { user: caller.user, project }, self.scribe());
        let stopped = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                let plan = plans::get(conn, scope, id).await?;
                if plan.status.is_final() {
                    return Ok(None);
                }
                stop(conn, &scribe, scope, id, "Cancelled by the user").await.map(Some)
            })
        });
        let Some(stopped) = stopped.await? else { return Err(not_now("ended")) };
        for task in &stopped {
            self.task_ended(scope, task).await;
        }
        self.plan_moved(scope, id).await;
        self.plan(caller, project, id).await
    }

    /// The plan once it has ended, or as it is when the time is over.
    pub async fn await_plan(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: PlanId,
        patience: Duration,
    ) -> Result<PlanView> {
        let ended = tokio::time::timeout(patience, self.plan_settled(caller, project, id)).await;
        match ended {
            Ok(ended) => ended,
            Err(_) => self.plan(caller, project, id).await,
        }
    }

    /// What a plan that has ended came to.
    pub async fn plan_answer(&self, caller: &Caller, plan: &Plan) -> Result<Option<Message>> {
        let scope = Scope { user: caller.user, project: plan.project_id };
        let Some((session, answer)) = plan.answer_id.map(|answer| (plan.session_id, answer)) else {
            return Ok(None);
        };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                sessions::get(conn, scope, session).await?;
                sessions::message(conn, session, answer).await
            })
        });
        Ok(Some(read.await?))
    }

    /// Waits until a plan has ended.
    pub async fn plan_settled(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: PlanId,
    ) -> Result<PlanView> {
        let waiter = self.0.plans.join(id);
        loop {
            // Before the row is read, so that nothing that happens after is missed.
            let rung = waiter.bell.rung.notified();
            let plan = self.plan(caller, project, id).await?;
            if plan.plan.status.is_final() {
                return Ok(plan);
            }
            tokio::select! {
                () = rung => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Lets a plan go on, on the node that has its space.
    pub(crate) async fn advance_plan(&self, scope: Scope, id: PlanId) -> Result<()> {
        keeping::go_on(self, scope, id).await?;
        self.plan_moved(scope, id).await;
        Ok(())
    }

    /// Lets the plans go on whose tasks were ended.
    pub(crate) async fn plans_of(&self, scope: Scope, ended: &[artel_domain::task::Task]) {
        let plans = ended.iter().filter_map(|task| task.plan.as_ref()).map(|place| place.plan_id);
        for plan in plans.collect::<BTreeSet<_>>() {
            if let Err(error) = self.advance_plan(scope, plan).await {
                tracing::warn!(%plan, %error, "a plan goes on with the reconciler's next round");
            }
        }
    }

    /// Wakes whoever waits for a plan, on every node, and whoever has to let it go on.
    pub(crate) async fn plan_moved(&self, scope: Scope, id: PlanId) {
        self.0.plans.ring(id);
        self.tell(scope, Word::PlanMoved(id)).await;
    }

    /// A plan has come to its end: what it took is compared with what was expected, and it may serve again.
    pub(crate) async fn plan_ended(self, scope: Scope, id: PlanId) {
        self.plan_moved(scope, id).await;
        let read = self.0.storage.db.read(move |conn| Box::pin(view(conn, scope, id))).await;
        let PlanView { plan, tasks, .. } = match read {
            Ok(view) => view,
            Err(error) => {
                tracing::debug!(plan = %id, %error, "a plan that ended cannot be looked at");
                return;
            }
        };
        metrics::counter!("artel_plans_ended_total", "status" => plan.status.as_str()).increment(1);
        let cost = estimate::error(plan.total_estimated_cost, plan.actual_cost, plan.status);
        let took = plan.actual_duration.unwrap_or_default();
        let duration = estimate::error(plan.total_estimated_duration, took, plan.status);
        for (what, error) in [("cost", cost), ("duration", duration)] {
            if let Some(error) = error {
                metrics::histogram!("artel_plan_estimate_ratio", "of" => what).record(error);
            }
        }
        tracing::info!(plan = %id, status = plan.status.as_str(), ?cost, ?duration, "plan ended");
        if plan.status == Status::Completed {
            cache::keep(&self, scope, &plan, &tasks).await;
        }
    }
}

/// A plan with its tasks.
async fn view(conn: &mut Conn, scope: Scope, id: PlanId) -> artel_storage::Result<PlanView> {
    let plan = plans::get(conn, scope, id).await?;
    let tasks = plans::tasks(conn, id).await?;
    Ok(PlanView::of(plan, tasks))
}

/// Stops a plan inside a change of the caller's. Gives the tasks that were under way, so that whoever runs them stops.
pub(crate) async fn stop(
    conn: &mut Conn,
    scribe: &ending::Scribe,
    scope: Scope,
    id: PlanId,
    why: &str,
) -> artel_storage::Result<Vec<artel_domain::task::Task>> {
    let head = plans::head(conn, scope, id).await?;
    let now = scribe.clock.now();
    let mut attempts = Vec::new();
    for node in plans::nodes(conn, id).await? {
        if let (TaskStatus::Executing, Some(attempt)) = (node.status, node.attempt) {
            attempts.push(tasks::get(conn, scope, attempt).await?);
        }
    }
    ending::cancel_all(conn, scribe, scope, &attempts).await?;
    asking::stop_rest(conn, id).await?;
    for approval in approvals::pending_of_plan(conn, scope, id).await? {
        approvals::withdraw(conn, scope.user, approval, why).await?;
    }
    let tasks = plans::tasks(conn, id).await?;
    let done = tasks.iter().any(|task| task.status == TaskStatus::Completed);
    let text = if done { words::combined(&tasks) } else { String::new() };
    let outcome = Outcome {
        success: false,
        error: Some(why.to_owned()),
        error_type: Some(ErrorType::Cancelled),
        usage: words::usage(&tasks),
        context: Vec::new(),
        plan_id: Some(id),
    };
    let text = format!("The plan was stopped. {why}.\n\n{text}").trim_end().to_owned();
    course::conclude(conn, scope, &head, Status::Cancelled, text, outcome, now).await?;
    Ok(attempts)
}

/// The plan is past that.
fn not_now(what: &str) -> Error {
    Error::new(Kind::Conflict, "plan_status", format!("The plan has {what} already"))
}

/// Whether somebody let the plan run, or nobody had to.
async fn may_run(conn: &mut Conn, plan: &Plan) -> artel_storage::Result<bool> {
    let Some(approval) = plan.approval_id else { return Ok(!plan.requires_approval) };
    let approval = approvals::get(conn, plan.user_id, approval).await?;
    Ok(approval.status == Decision::Approve.into())
}

/// The names of tasks, for a person.
fn names<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> String {
    tasks.into_iter().map(|task| task.task_id.as_str()).collect::<Vec<_>>().join(", ")
}
