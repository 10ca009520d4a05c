//! `/my/projects/{project_id}/plans`: requests taken apart into tasks, and what became of them.

use std::time::Duration;

use artel_domain::approval::Decision;
use artel_domain::plan::{Plan, Status, Task, TaskStatus};
use artel_domain::{PlanId, ProjectId, SessionId};
use artel_engine::{
    Approve, CreatePlan, EditPlan, Error, Listed, PlanView, Reject, RetryPlan, Verdict, WhichPlans,
};
use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Http;
use super::approvals::origin;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Body, Ids, OptionalBody, Paging, Parameters};
use super::responses::{Intake, Lookup};

/// The longest that a request waits for a plan.
pub(super) const LONGEST_WAIT: u32 = 3600;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Plans {
    plans: Vec<Plan>,
    total: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Tasks {
    tasks: Vec<Task>,
    total: u64,
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Patience {
    /// How many seconds to wait for its end; without it, none.
    #[param(minimum = 0, maximum = 3600)]
    wait: Option<u32>,
}

impl Patience {
    pub(super) fn time(&self) -> Result<Option<Duration>, Error> {
        match self.wait {
            None | Some(0) => Ok(None),
            Some(seconds) if seconds > LONGEST_WAIT => {
                Err(Error::invalid_field("wait", format!("must be 0 to {LONGEST_WAIT}")))
            }
            Some(seconds) => Ok(Some(Duration::from_secs(seconds.into()))),
        }
    }
}

/// Plan a request. Nothing runs yet; `execute` lets it run, or asks whether it may.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/plans", tag = "plans",
    params(
        ("project_id" = ProjectId, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same request under the same key is one plan"),
    ),
    request_body = CreatePlan,
    responses(
        (status = 201, body = PlanView),
        (status = 422, description = "No agent of the project can do it, or the plan is not sound", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn create(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    body: Body<CreatePlan>,
) -> Answer<(StatusCode, Json<PlanView>)> {
    let plan = http.app().create_plan(&caller, project, body.input, body.key).await?;
    Ok((StatusCode::CREATED, Json(plan)))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Narrowed {
    #[param(inline)]
    status: Option<Status>,
    /// Only those of this conversation.
    session_id: Option<SessionId>,
}

/// The project's plans, newest first, without their tasks.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/plans", tag = "plans",
    params(("project_id" = ProjectId, Path), Narrowed, Paging),
    responses((status = 200, body = Plans), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn list(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    Parameters(narrowed): Parameters<Narrowed>,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Plans>> {
    let page = paging.page()?;
    let which = WhichPlans { status: narrowed.status, session: narrowed.session_id };
    let Listed { items: plans, total } =
        http.app().list_plans(&caller, project, which, page).await?;
    Ok(Json(Plans { plans, total }))
}

/// One plan, whole; with `wait` once it has ended, or as it is then.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/plans/{plan_id}", tag = "plans",
    params(("project_id" = ProjectId, Path), ("plan_id" = PlanId, Path), Patience),
    responses((status = 200, body = PlanView), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn get(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, PlanId)>,
    Parameters(patience): Parameters<Patience>,
) -> Answer<Json<PlanView>> {
    let app = http.app();
    Ok(Json(match patience.time()? {
        Some(time) => app.await_plan(&caller, project, id, time).await?,
        None => app.plan(&caller, project, id).await?,
    }))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct NarrowedTasks {
    #[param(inline)]
    status: Option<TaskStatus>,
}

/// The tasks of a plan, in their order.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/plans/{plan_id}/tasks", tag = "plans",
    params(("project_id" = ProjectId, Path), ("plan_id" = PlanId, Path), NarrowedTasks),
    responses((status = 200, body = Tasks), Lookup)
)]
pub(super) async fn tasks(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, PlanId)>,
    Parameters(narrowed): Parameters<NarrowedTasks>,
) -> Answer<Json<Tasks>> {
    let mut tasks = http.app().plan(&caller, project, id).await?.tasks;
    tasks.retain(|task| narrowed.status.is_none_or(|status| task.status == status));
    let total = tasks.len() as u64;
    Ok(Json(Tasks { tasks, total }))
}

/// Leave tasks out of a plan that has not begun, or give them to other agents. Whoever was asked about it is asked again.
#[utoipa::path(
    patch, path = "/my/projects/{project_id}/plans/{plan_id}", tag = "plans",
    params(("project_id" = ProjectId, Path), ("plan_id" = PlanId, Path)),
    request_body = EditPlan,
    responses(
        (status = 200, body = PlanView),
        (status = 409, description = "It has begun", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn edit(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, PlanId)>,
    body: Body<EditPlan>,
) -> Answer<Json<PlanView>> {
    Ok(Json(http.app().edit_plan(&caller, project, id, body.input).await?))
}

/// Let a plan run. One of three tasks or more, or above $0.10, asks first.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/plans/{plan_id}/execute", tag = "plans",
    params(("project_id" = ProjectId, Path), ("plan_id" = PlanId, Path)),
    responses(
        (status = 202, body = PlanView),
        (status = 409, description = "It has begun already", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn execute(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, PlanId)>,
) -> Answer<(StatusCode, Json<PlanView>)> {
    let plan = http.app().execute_plan(&caller, project, id).await?;
    Ok((StatusCode::ACCEPTED, Json(plan)))
}

/// Approve a plan that waits for it: it runs.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/plans/{plan_id}/approve", tag = "plans",
    params(("project_id" = ProjectId, Path), ("plan_id" = PlanId, Path)),
    request_body = Option<Approve>,
    responses(
        (status = 200, body = PlanView),
        (status = 409, description = "It waits for no decision, or was decided otherwise", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn approve(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, PlanId)>,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody<Approve>,
) -> Answer<Json<PlanView>> {
    let comment = body.input.into_inner().comment;
    let verdict = Verdict { decision: Decision::Approve, comment, from: origin(&headers) };
    Ok(Json(http.app().decide_plan(&caller, project, id, verdict).await?))
}

/// Reject a plan that waits for approval: it never runs.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/plans/{plan_id}/reject", tag = "plans",
    params(("project_id" = ProjectId, Path), ("plan_id" = PlanId, Path)),
    request_body = Option<Reject>,
    responses(
        (status = 200, body = PlanView),
        (status = 409, description = "It waits for no decision, or was decided otherwise", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn reject(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, PlanId)>,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody<Reject>,
) -> Answer<Json<PlanView>> {
    let comment = body.input.into_inner().reason;
    let verdict = Verdict { decision: Decision::Reject, comment, from: origin(&headers) };
    Ok(Json(http.app().decide_plan(&caller, project, id, verdict).await?))
}

/// Stop a plan: what runs is stopped, what waits never begins.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/plans/{plan_id}/cancel", tag = "plans",
    params(("project_id" = ProjectId, Path), ("plan_id" = PlanId, Path)),
    responses(
        (status = 200, body = PlanView),
        (status = 409, description = "It has ended already", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn cancel(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, PlanId)>,
) -> Answer<Json<PlanView>> {
    Ok(Json(http.app().cancel_plan(&caller, project, id).await?))
}

/// Do parts of a plan again: what came to nothing, one task, or a task and all that depends on it.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/plans/{plan_id}/retry", tag = "plans",
    params(("project_id" = ProjectId, Path), ("plan_id" = PlanId, Path)),
    request_body = Option<RetryPlan>,
    responses(
        (status = 202, body = PlanView),
        (status = 409, description = "There is nothing to do again, or it cannot be done yet", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn retry(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, PlanId)>,
    OptionalBody(body): OptionalBody<RetryPlan>,
) -> Answer<(StatusCode, Json<PlanView>)> {
    let plan = http.app().retry_plan(&caller, project, id, body.input).await?;
    Ok((StatusCode::ACCEPTED, Json(plan)))
}
