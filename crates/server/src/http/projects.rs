//! `/my/projects`.

use artel_domain::project::NewProject;
use artel_domain::{Project, ProjectId};
use artel_engine::{CreateProject, Listed, UpdateProject};
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Body, Ids, Paging, Parameters};
use super::responses::{Guarded, Intake, Lookup};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Projects {
    projects: Vec<Project>,
    /// How many there are in all.
    total: u64,
}

/// Create a project with its team.
#[utoipa::path(
    post, path = "/my/projects", tag = "projects",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same key again gives the same answer")),
    request_body = CreateProject,
    responses(
        (status = 201, description = "Created, and its agents are ready", body = NewProject),
        (status = 409, description = "Too many projects", body = ErrorBody),
        Guarded,
        Intake,
    )
)]
pub(super) async fn create(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    body: Body<CreateProject>,
) -> Answer<(StatusCode, Json<NewProject>)> {
    let project = http.app().create_project(&caller, body.input, body.key).await?;
    Ok((StatusCode::CREATED, Json(project)))
}

/// Your projects, oldest first.
#[utoipa::path(
    get, path = "/my/projects", tag = "projects",
    params(Paging),
    responses(
        (status = 200, body = Projects),
        (status = 422, body = ErrorBody),
        Guarded,
    )
)]
pub(super) async fn list(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Projects>> {
    let Listed { items: projects, total } =
        http.app().list_projects(&caller, paging.page()?).await?;
    Ok(Json(Projects { projects, total }))
}

/// One project.
#[utoipa::path(
    get, path = "/my/projects/{project_id}", tag = "projects",
    params(("project_id" = ProjectId, Path)),
    responses(
        (status = 200, body = Project),
        Lookup,
    )
)]
pub(super) async fn get(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<Json<Project>> {
    Ok(Json(http.app().project(&caller, project).await?))
}

/// Change a project's name or folder; what is absent or null stays.
#[utoipa::path(
    put, path = "/my/projects/{project_id}", tag = "projects",
    params(("project_id" = ProjectId, Path)),
    request_body = UpdateProject,
    responses(
        (status = 200, body = Project),
        Lookup,
        Intake,
    )
)]
pub(super) async fn update(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    body: Body<UpdateProject>,
) -> Answer<Json<Project>> {
    Ok(Json(http.app().update_project(&caller, project, body.input).await?))
}

/// Delete a project with everything in it.
#[utoipa::path(
    delete, path = "/my/projects/{project_id}", tag = "projects",
    params(("project_id" = ProjectId, Path)),
    responses(
        (status = 204, description = "Gone"),
        Lookup,
    )
)]
pub(super) async fn delete(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
) -> Answer<StatusCode> {
    http.app().delete_project(&caller, project).await?;
    Ok(StatusCode::NO_CONTENT)
}
