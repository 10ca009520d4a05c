//! For administrators.

use artel_domain::{ProjectId, Role, User};
use artel_engine::programs::NodeView;
use artel_engine::{Caller, Error, Kind, Listed, Reset, SpaceView};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Ids, Paging, Parameters};
use super::responses::{Guarded, Lookup};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Users {
    users: Vec<User>,
    total: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Spaces {
    spaces: Vec<SpaceView>,
    total: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Nodes {
    nodes: Vec<NodeView>,
    total: u64,
}

/// Every account.
#[utoipa::path(
    get, path = "/admin/users", tag = "admin",
    params(Paging),
    responses(
        (status = 200, body = Users),
        (status = 403, description = "Not an administrator", body = ErrorBody),
        (status = 422, body = ErrorBody),
        Guarded,
    )
)]
pub(super) async fn users(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Users>> {
    only_administrators(&caller)?;
    let Listed { items: users, total } = http.app().accounts().list(paging.page()?).await?;
    Ok(Json(Users { users, total }))
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
pub(super) async fn spaces(
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
pub(super) async fn reset_space(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Reset>> {
    only_administrators(&caller)?;
    Ok(Json(http.app().reset_any_space(project).await?))
}

/// The workers that programs run on.
#[utoipa::path(
    get, path = "/admin/nodes", tag = "admin",
    responses(
        (status = 200, body = Nodes),
        (status = 403, description = "Not an administrator", body = ErrorBody),
        Guarded,
    )
)]
pub(super) async fn nodes(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<Nodes>> {
    only_administrators(&caller)?;
    let nodes = http.app().nodes();
    Ok(Json(Nodes { total: nodes.len() as u64, nodes }))
}

fn only_administrators(caller: &Caller) -> Answer<()> {
    if caller.role == Role::Admin {
        return Ok(());
    }
    let code = "not_an_administrator";
    Err(Error::new(Kind::Forbidden, code, "This is for administrators").into())
}
