//! `/my/projects/{project_id}/agents`.

use artel_domain::{Agent, AgentId, ProjectId};
use artel_engine::{Archived, CreateAgent, Listed, MemoryFate, PatchAgent};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Body, Ids, Paging, Parameters};
use super::responses::{Intake, Lookup};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Agents {
    agents: Vec<Agent>,
    /// How many there are in all.
    total: u64,
}

/// Add an agent to the project's team.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/agents", tag = "agents",
    params(
        ("project_id" = ProjectId, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same key again gives the same answer"),
    ),
    request_body = CreateAgent,
    responses(
        (status = 201, body = Agent),
        (status = 409, description = "The name is taken, or there are too many", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn create(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    body: Body<CreateAgent>,
) -> Answer<(StatusCode, Json<Agent>)> {
    let agent = http.app().create_agent(&caller, project, body.input, body.key).await?;
    Ok((StatusCode::CREATED, Json(agent)))
}

/// The project's agents, oldest first.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/agents", tag = "agents",
    params(("project_id" = ProjectId, Path), Paging),
    responses(
        (status = 200, body = Agents),
        (status = 422, body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn list(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Agents>> {
    let Listed { items: agents, total } =
        http.app().list_agents(&caller, project, paging.page()?).await?;
    Ok(Json(Agents { agents, total }))
}

/// One agent.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/agents/{agent_id}", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    responses(
        (status = 200, body = Agent),
        Lookup,
    )
)]
pub(super) async fn get(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
) -> Answer<Json<Agent>> {
    Ok(Json(http.app().agent(&caller, project, agent).await?))
}

/// Replace an agent's name and configuration.
#[utoipa::path(
    put, path = "/my/projects/{project_id}/agents/{agent_id}", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    request_body = CreateAgent,
    responses(
        (status = 200, body = Agent),
        (status = 409, description = "The name is taken", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn replace(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    body: Body<CreateAgent>,
) -> Answer<Json<Agent>> {
    Ok(Json(http.app().replace_agent(&caller, project, agent, body.input).await?))
}

/// Change parts of an agent.
#[utoipa::path(
    patch, path = "/my/projects/{project_id}/agents/{agent_id}", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    request_body = PatchAgent,
    responses(
        (status = 200, body = Agent),
        (status = 409, description = "The name is taken", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn patch(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    body: Body<PatchAgent>,
) -> Answer<Json<Agent>> {
    Ok(Json(http.app().patch_agent(&caller, project, agent, body.input).await?))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Deletion {
    /// What becomes of its memory.
    #[serde(default)]
    #[param(inline)]
    memory: MemoryFate,
}

/// Delete an agent and what hangs on it.
#[utoipa::path(
    delete, path = "/my/projects/{project_id}/agents/{agent_id}", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path), Deletion),
    responses(
        (status = 200, description = "Gone, and its memory kept as an export on the server", body = Archived),
        (status = 204, description = "Gone"),
        (status = 422, body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn delete(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    Parameters(Deletion { memory }): Parameters<Deletion>,
) -> Answer<Response> {
    let archived = http.app().delete_agent(&caller, project, agent, memory).await?;
    Ok(archived.map_or_else(
        || StatusCode::NO_CONTENT.into_response(),
        |archived| Json(archived).into_response(),
    ))
}
