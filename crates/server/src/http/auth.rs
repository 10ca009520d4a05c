//! Who may come in.

use std::net::SocketAddr;

use artel_domain::{Role, UserId};
use artel_engine::access::{LogIn, Token};
use artel_engine::limits::Allowance;
use artel_engine::{Caller, Error};
use axum::Json;
use axum::extract::{ConnectInfo, Extension, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, Refusal};
use super::extract::{Authenticated, Body};
use super::observe::Who;
use super::responses::{Guarded, Intake};

/// Everything below these needs a token, whether it exists or not.
const GUARDED: [&str; 3] = ["/my", "/agents", "/admin"];

/// Lets requests for guarded paths through with a good token, within the user's limits.
pub(super) async fn guard(State(http): State<Http>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let guarded = GUARDED.iter().any(|root| {
        path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if !guarded {
        return next.run(request).await;
    }
    match admit(&http, request.headers()).await {
        Err(refusal) => refusal.into_response(),
        Ok((caller, allowance)) => {
            let user = caller.user;
            request.extensions_mut().insert(caller);
            let mut response = next.run(request).await;
            response.extensions_mut().insert(Who(user));
            if let Some(allowance) = allowance {
                tell(response.headers_mut(), allowance);
            }
            response
        }
    }
}

async fn admit(http: &Http, headers: &HeaderMap) -> Result<(Caller, Option<Allowance>), Refusal> {
    let token = bearer(headers)?;
    let caller = http.app().accounts().authenticate(token).await?;
    let allowance = http.app().limits().request(caller.user)?;
    Ok((caller, allowance))
}

fn bearer(headers: &HeaderMap) -> Result<&str, Error> {
    let missing =
        || Error::unauthenticated("unauthorized", "Send a token as Authorization: Bearer TOKEN");
    let value =
        headers.get(header::AUTHORIZATION).ok_or_else(missing)?.to_str().map_err(|_| missing())?;
    let (scheme, token) = value.split_once(' ').ok_or_else(missing)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(missing()) }
}

fn tell(headers: &mut HeaderMap, allowance: Allowance) {
    let Allowance { limit, remaining, reset } = allowance;
    headers.insert("x-ratelimit-limit", HeaderValue::from(limit));
    headers.insert("x-ratelimit-remaining", HeaderValue::from(remaining));
    headers.insert("x-ratelimit-reset", HeaderValue::from(reset.as_secs()));
}

/// Log in with a name and a password.
#[utoipa::path(
    post, path = "/auth/login", tag = "access",
    request_body = LogIn,
    responses(
        (status = 200, description = "A token", body = Token),
        Guarded,
        Intake,
    ),
    security(())
)]
pub(super) async fn log_in(
    State(http): State<Http>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    body: Body<LogIn>,
) -> Answer<Json<Token>> {
    let attempt = body.input.into_inner();
    let address = peer.map(|Extension(ConnectInfo(address))| address.ip());
    http.app().limits().log_in(&attempt.username, address)?;
    Ok(Json(http.app().accounts().log_in(&attempt).await?))
}

/// Who you are here.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Me {
    id: UserId,
    #[schema(example = "ada")]
    name: String,
    role: Role,
    limits: MyLimits,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MyLimits {
    /// None: no limit.
    requests_per_minute: Option<u32>,
    streams: usize,
}

/// The account behind the token.
#[utoipa::path(
    get, path = "/my/me", tag = "access",
    responses((status = 200, body = Me), Guarded)
)]
pub(super) async fn me(State(http): State<Http>, Authenticated(caller): Authenticated) -> Json<Me> {
    let limits = http.app().limits();
    let limits = MyLimits {
        requests_per_minute: limits.requests_per_minute(),
        streams: limits.streams_per_user(),
    };
    Json(Me { id: caller.user, name: caller.name, role: caller.role, limits })
}
