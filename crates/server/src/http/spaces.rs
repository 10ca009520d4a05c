//! What projects and their agents are doing.

use artel_domain::{Agent, AgentId, ProjectId, Role};
use artel_engine::{
    AgentMetrics, AgentStatusView, Caller, CleanedUp, Cleared, Error, Health, Kind, Listed, Reset,
    SpaceView,
};
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Ids, Paging, Parameters};
use super::responses::{Guarded, Lookup};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Spaces {
    spaces: Vec<SpaceView>,
    total: u64,
}

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

/// The spaces that are open on this node.
#[utoipa::path(
    get, path = "/admin/spaces", tag = "admin",
    params(Paging),
    responses(
        (status = 200, body = Spaces),
        (status = 403, description = "Not an administrator", body = ErrorBody),
        (status = 422, body = ErrorBody),
        Guarded,
    )
)]
pub(super) async fn all(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Spaces>> {
    only_administrators(&caller)?;
    let Listed { items: spaces, total } = http.app().spaces(paging.page()?).await?;
    Ok(Json(Spaces { spaces, total }))
}

/// Stop everything in anybody's space at once, and open it anew.
#[utoipa::path(
    post, path = "/admin/spaces/{project_id}/reset", tag = "admin",
    params(("project_id" = ProjectId, Path)),
    responses(
        (status = 200, body = Reset),
        (status = 403, description = "Not an administrator", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn reset_any(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Reset>> {
    only_administrators(&caller)?;
    Ok(Json(http.app().reset_any_space(project).await?))
}

fn only_administrators(caller: &Caller) -> Answer<()> {
    if caller.role == Role::Admin {
        return Ok(());
    }
    let code = "not_an_administrator";
    Err(Error::new(Kind::Forbidden, code, "This is for administrators").into())
}
