//! What projects and their agents are doing.

use artel_domain::{AgentId, ProjectId, Role};
use artel_engine::{AgentMetrics, AgentStatusView, Error, Kind, SpaceView};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Ids};
use super::responses::{Guarded, Lookup};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Spaces {
    spaces: Vec<SpaceView>,
    total: usize,
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
    get, path = "/my/projects/{project_id}/space", tag = "projects",
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

/// Every space that is open on this node.
#[utoipa::path(
    get, path = "/admin/spaces", tag = "admin",
    responses(
        (status = 200, body = Spaces),
        (status = 403, description = "Not an administrator", body = ErrorBody),
        Guarded,
    )
)]
pub(super) async fn all(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<Spaces>> {
    if caller.role != Role::Admin {
        return Err(Error::new(
            Kind::Forbidden,
            "not_an_administrator",
            "This is for administrators",
        )
        .into());
    }
    let spaces = http.app().spaces();
    Ok(Json(Spaces { total: spaces.len(), spaces }))
}
