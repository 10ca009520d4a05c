//! For administrators.

use artel_domain::{Role, User};
use artel_engine::{Error, Kind, Listed};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Paging, Parameters};
use super::responses::Guarded;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Users {
    users: Vec<User>,
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
    if caller.role != Role::Admin {
        return Err(Error::new(
            Kind::Forbidden,
            "not_an_administrator",
            "This is for administrators",
        )
        .into());
    }
    let Listed { items: users, total } = http.app().accounts().list(paging.page()?).await?;
    Ok(Json(Users { users, total }))
}
