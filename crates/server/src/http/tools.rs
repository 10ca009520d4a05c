//! `/my/projects/{project_id}/tools` and `/client`: what agents can do, what they did, and the client that does it.

use std::time::Duration;

use artel_domain::approval::Decision;
use artel_domain::tool::{Allowance, Client, Status, ToolCall};
use artel_domain::{AllowanceId, ClientId, ProjectId, TaskId, ToolCallId};
use artel_engine::{
    AllowTool, AnnounceClient, Approve, AvailableTool, Error, ExecuteTool, Kind, Listed, Reject,
    ToolOutcome, ToolPrepared, WhichCalls,
};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Http;
use super::approvals::{self, AlreadyDecided, origin};
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Body, Ids, OptionalBody, Paging, Parameters};
use super::responses::{Intake, Lookup};

/// The longest that a request waits for a call.
const LONGEST_WAIT: u32 = 600;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Available {
    tools: Vec<AvailableTool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Calls {
    calls: Vec<ToolCall>,
    total: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Allowed {
    preferences: Vec<Allowance>,
}

/// Every tool that an agent's configuration can name.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/tools/available", tag = "tools",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Available), Lookup)
)]
pub(super) async fn available(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Available>> {
    http.app().project(&caller, project).await?;
    Ok(Json(Available { tools: http.app().available_tools() }))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Patience {
    /// How many seconds to wait for its end; without it, none.
    #[param(minimum = 0, maximum = 600)]
    wait: Option<u32>,
}

/// Use a tool on the project's workspace. It goes the way that an agent's call goes: what is risky is asked.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/tools/execute", tag = "tools",
    params(
        ("project_id" = ProjectId, Path),
        Patience,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same request under the same key is one call"),
    ),
    request_body = ExecuteTool,
    responses(
        (status = 200, description = "It has ended", body = ToolCall),
        (status = 202, description = "It is under way", body = ToolCall),
        Lookup,
        Intake,
    )
)]
pub(super) async fn execute(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    Parameters(Patience { wait }): Parameters<Patience>,
    body: Body<ExecuteTool>,
) -> Answer<(StatusCode, Json<ToolCall>)> {
    let wait = wait.unwrap_or(0);
    if wait > LONGEST_WAIT {
        return Err(Error::invalid_field("wait", format!("must be 0 to {LONGEST_WAIT}")).into());
    }
    let patience = Duration::from_secs(wait.into());
    let call = http.app().execute_tool(&caller, project, body.input, body.key, patience).await?;
    let status = if call.status.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(call)))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Narrowed {
    #[param(inline)]
    status: Option<Status>,
    /// Only those of this task.
    task_id: Option<TaskId>,
}

/// The calls of a project, newest first.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/tools", tag = "tools",
    params(("project_id" = ProjectId, Path), Narrowed, Paging),
    responses((status = 200, body = Calls), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn list(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    Parameters(Narrowed { status, task_id: task }): Parameters<Narrowed>,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Calls>> {
    let page = paging.page()?;
    let which = WhichCalls { status, task };
    let Listed { items: calls, total } =
        http.app().list_tool_calls(&caller, project, which, page).await?;
    Ok(Json(Calls { calls, total }))
}

/// A call and where it stands.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/tools/{tool_id}", tag = "tools",
    params(("project_id" = ProjectId, Path), ("tool_id" = ToolCallId, Path)),
    responses((status = 200, body = ToolCall), Lookup)
)]
pub(super) async fn get(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, ToolCallId)>,
) -> Answer<Json<ToolCall>> {
    Ok(Json(http.app().tool_call(&caller, project, id).await?))
}

/// Let a call run that waits for its approval.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/tools/{tool_id}/approve", tag = "tools",
    params(("project_id" = ProjectId, Path), ("tool_id" = ToolCallId, Path)),
    request_body = Option<Approve>,
    responses(
        (status = 200, description = "This decided it", body = artel_domain::approval::Approval),
        (status = 409, description = "It was decided before", body = AlreadyDecided),
        Lookup,
        Intake,
    )
)]
pub(super) async fn approve(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, ToolCallId)>,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody<Approve>,
) -> Answer<Response> {
    let call = http.app().tool_call(&caller, project, id).await?;
    let (approval, comment) = (asked(&call)?, body.input.into_inner().comment);
    let verdict =
        artel_engine::Verdict { decision: Decision::Approve, comment, from: origin(&headers) };
    approvals::answer(&http, &caller, approval, verdict, body.key).await
}

/// Refuse a call that waits for its approval; the agent is told why.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/tools/{tool_id}/reject", tag = "tools",
    params(("project_id" = ProjectId, Path), ("tool_id" = ToolCallId, Path)),
    request_body = Option<Reject>,
    responses(
        (status = 200, description = "This decided it", body = artel_domain::approval::Approval),
        (status = 409, description = "It was decided before", body = AlreadyDecided),
        Lookup,
        Intake,
    )
)]
pub(super) async fn reject(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, ToolCallId)>,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody<Reject>,
) -> Answer<Response> {
    let call = http.app().tool_call(&caller, project, id).await?;
    let (approval, comment) = (asked(&call)?, body.input.into_inner().reason);
    let verdict =
        artel_engine::Verdict { decision: Decision::Reject, comment, from: origin(&headers) };
    approvals::answer(&http, &caller, approval, verdict, body.key).await
}

fn asked(call: &ToolCall) -> Answer<artel_domain::ApprovalId> {
    call.approval_id.ok_or_else(|| {
        let message = format!("Nobody is asked about this call: it is {}", call.status.as_str());
        Error::new(Kind::Conflict, "no_approval", message).into()
    })
}

/// What a client found out about a call that it was to prepare.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/tools/{tool_id}/prepared", tag = "tools",
    params(("project_id" = ProjectId, Path), ("tool_id" = ToolCallId, Path)),
    request_body = ToolPrepared,
    responses((status = 200, description = "The call as it is now", body = ToolCall), Lookup, Intake)
)]
pub(super) async fn prepared(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, ToolCallId)>,
    body: Body<ToolPrepared>,
) -> Answer<Json<ToolCall>> {
    Ok(Json(http.app().tool_prepared(&caller, project, id, body.input).await?))
}

/// What came of a call. One that comes twice or too late changes nothing.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/tools/{tool_id}/result", tag = "tools",
    params(("project_id" = ProjectId, Path), ("tool_id" = ToolCallId, Path)),
    request_body = ToolOutcome,
    responses((status = 200, description = "The call as it ended", body = ToolCall), Lookup, Intake)
)]
pub(super) async fn result(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, ToolCallId)>,
    body: Body<ToolOutcome>,
) -> Answer<Json<ToolCall>> {
    Ok(Json(http.app().tool_result(&caller, project, id, body.input).await?))
}

/// What need not be asked in this project.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/tools/preferences", tag = "tools",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Allowed), Lookup)
)]
pub(super) async fn preferences(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Allowed>> {
    let preferences = http.app().allowances(&caller, project).await?;
    Ok(Json(Allowed { preferences }))
}

/// Let agents of this project do something without being asked. Never holds for what is of high risk.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/tools/preferences", tag = "tools",
    params(("project_id" = ProjectId, Path)),
    request_body = AllowTool,
    responses(
        (status = 201, body = Allowance),
        (status = 409, description = "There are too many", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn allow(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    body: Body<AllowTool>,
) -> Answer<(StatusCode, Json<Allowance>)> {
    let allowance = http.app().allow_tool(&caller, project, body.input).await?;
    Ok((StatusCode::CREATED, Json(allowance)))
}

/// Have it asked again.
#[utoipa::path(
    delete, path = "/my/projects/{project_id}/tools/preferences/{preference_id}", tag = "tools",
    params(("project_id" = ProjectId, Path), ("preference_id" = AllowanceId, Path)),
    responses((status = 204, description = "Gone"), Lookup)
)]
pub(super) async fn disallow(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, id)): Ids<(ProjectId, AllowanceId)>,
) -> Answer<StatusCode> {
    http.app().disallow_tool(&caller, project, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Announce the client on the user's machine; again every few seconds.
#[utoipa::path(
    put, path = "/my/projects/{project_id}/client", tag = "tools",
    params(("project_id" = ProjectId, Path)),
    request_body = AnnounceClient,
    responses(
        (status = 200, description = "It is the project's client", body = Client),
        (status = 409, description = "Another one is", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn announce(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    body: Body<AnnounceClient>,
) -> Answer<Json<Client>> {
    Ok(Json(http.app().announce_client(&caller, project, body.input).await?))
}

/// The client on the user's machine.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/client", tag = "tools",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Client), Lookup)
)]
pub(super) async fn client(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Client>> {
    Ok(Json(http.app().client(&caller, project).await?))
}

/// Clients on the machines of the project's user.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Clients {
    /// The one that is active; empty when there is none.
    clients: Vec<Client>,
    total: u64,
}

/// The clients of the project that are connected: one, or none.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/clients", tag = "tools",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Clients), Lookup)
)]
pub(super) async fn clients(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Clients>> {
    let clients: Vec<_> = http.app().find_client(&caller, project).await?.into_iter().collect();
    Ok(Json(Clients { total: clients.len() as u64, clients }))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    client_id: ClientId,
}

/// The client goes. What it had under way ends.
#[utoipa::path(
    delete, path = "/my/projects/{project_id}/client", tag = "tools",
    params(("project_id" = ProjectId, Path), Which),
    responses((status = 204, description = "Gone"), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn leave(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    Parameters(Which { client_id }): Parameters<Which>,
) -> Answer<StatusCode> {
    http.app().client_leaves(&caller, project, client_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
