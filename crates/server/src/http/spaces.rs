//! What projects and their agents are doing.

use artel_domain::{Agent, AgentId, ProjectId};
use artel_engine::{
    AgentMetrics, AgentStatusView, AlertView, CleanedUp, Cleared, Health, Reset, SpaceView,
    Spending,
};
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Ids, Parameters};
use super::responses::Lookup;

/// What an agent is doing.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/agents/{agent_id}/status", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    responses((status = 200, body = AgentStatusView), Lookup)
)]
pub(super) async fn agent_status(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
) -> Answer<Json<AgentStatusView>> {
    Ok(Json(http.app().agent_status(&caller, project, agent).await?))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Statuses {
    agents: Vec<AgentStatusView>,
}

/// What every agent of the project is doing.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/status", tag = "agents",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Statuses), Lookup)
)]
pub(super) async fn statuses(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Statuses>> {
    Ok(Json(Statuses { agents: http.app().statuses(&caller, project).await? }))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Alerts {
    alerts: Vec<AlertView>,
}

/// The last alerts of the project, newest first, of the events that are kept.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/alerts", tag = "spaces",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Alerts), Lookup)
)]
pub(super) async fn alerts(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Alerts>> {
    Ok(Json(Alerts { alerts: http.app().alerts(&caller, project).await? }))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Lately {
    /// So many days, today included. Events are kept for 30 days, unless the server is set otherwise.
    #[serde(default = "a_month")]
    #[param(minimum = 1, maximum = 366, default = 30)]
    days: u32,
}

fn a_month() -> u32 {
    30
}

/// What the project's tasks took, by day and by agent.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/spending", tag = "projects",
    params(("project_id" = ProjectId, Path), Lately),
    responses((status = 200, body = Spending), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn spending(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    Parameters(Lately { days }): Parameters<Lately>,
) -> Answer<Json<Spending>> {
    Ok(Json(http.app().spending(&caller, project, days).await?))
}

/// What an agent has done so far.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/agents/{agent_id}/metrics", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    responses((status = 200, body = AgentMetrics), Lookup)
)]
pub(super) async fn agent_metrics(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
) -> Answer<Json<AgentMetrics>> {
    Ok(Json(http.app().agent_metrics(&caller, project, agent).await?))
}

/// The project's space, as it is now.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/space", tag = "spaces",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = SpaceView), Lookup)
)]
pub(super) async fn space(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<SpaceView>> {
    Ok(Json(http.app().space(&caller, project).await?))
}

/// Let an agent take tasks again.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/agents/{agent_id}/register", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    responses(
        (status = 200, body = Agent),
        (status = 409, description = "It is registered already", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn register(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
) -> Answer<Json<Agent>> {
    Ok(Json(http.app().register_agent(&caller, project, agent).await?))
}

/// Let an agent take no more tasks. What waits for it is cancelled, what it runs may end: when this is answered no
/// task of it runs, and none can start.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/agents/{agent_id}/deregister", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    responses(
        (status = 200, body = Agent),
        (status = 409, description = "It is not registered", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn deregister(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
) -> Answer<Json<Agent>> {
    Ok(Json(http.app().deregister_agent(&caller, project, agent).await?))
}

/// Forget what is at hand of an agent, on every node; its next task sees it as it is in the database.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/agents/{agent_id}/invalidate", tag = "agents",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    responses((status = 204, description = "Forgotten"), Lookup)
)]
pub(super) async fn invalidate(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
) -> Answer<StatusCode> {
    http.app().invalidate_agent(&caller, project, agent).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Whether the project's space is well, and why not.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/space/health", tag = "spaces",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Health), Lookup)
)]
pub(super) async fn health(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Health>> {
    Ok(Json(http.app().space_health(&caller, project).await?))
}

/// Let what runs end, empty the cache and close the space. The next request opens it again.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/space/cleanup", tag = "spaces",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = CleanedUp), Lookup)
)]
pub(super) async fn clean_up(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<CleanedUp>> {
    Ok(Json(http.app().clean_up_space(&caller, project).await?))
}

/// Stop everything at once, and open the space anew.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/space/reset", tag = "spaces",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Reset), Lookup)
)]
pub(super) async fn reset(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Reset>> {
    Ok(Json(http.app().reset_space(&caller, project).await?))
}

/// Forget every agent that is at hand, on every node. Registrations stay.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/space/cache/clear", tag = "spaces",
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Cleared), Lookup)
)]
pub(super) async fn clear_cache(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Cleared>> {
    Ok(Json(http.app().clear_agent_cache(&caller, project).await?))
}
