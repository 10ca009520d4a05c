//! Who may come in.

use std::net::SocketAddr;

use artel_domain::{Role, UserId};
use artel_engine::access::{LogIn, Ticket, Token};
use artel_engine::limits::Allowance;
use artel_engine::{Caller, Error, Preferences};
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
    let counted = !is_of_a_client(path);
    match admit(&http, request.headers(), counted).await {
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

/// What a client says when it was asked to: agents at work must not use up what their person may ask.
fn is_of_a_client(path: &str) -> bool {
    path.starts_with("/my/projects/")
        && ["/client", "/prepared", "/result"].iter().any(|end| path.ends_with(end))
}

async fn admit(
    http: &Http,
    headers: &HeaderMap,
    counted: bool,
) -> Result<(Caller, Option<Allowance>), Refusal> {
    let token = bearer(headers)?;
    let caller = http.app().accounts().authenticate(token).await?;
    let allowance = if counted { http.app().limits().request(caller.user)? } else { None };
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

/// Log in with a one-time link, as `artel up` prints it.
#[utoipa::path(
    post, path = "/auth/ticket", tag = "access",
    request_body = Ticket,
    responses(
        (status = 200, description = "A token", body = Token),
        Guarded,
        Intake,
    ),
    security(())
)]
pub(super) async fn redeem(State(http): State<Http>, body: Body<Ticket>) -> Answer<Json<Token>> {
    let Ticket { ticket } = body.input.into_inner();
    Ok(Json(http.app().accounts().redeem(&ticket).await?))
}

/// Who you are here.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Me {
    id: UserId,
    #[schema(example = "ada")]
    name: String,
    role: Role,
    limits: MyLimits,
    preferences: Preferences,
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
pub(super) async fn me(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<Me>> {
    let preferences = http.app().preferences(&caller).await?;
    let limits = http.app().limits();
    let limits = MyLimits {
        requests_per_minute: limits.requests_per_minute(),
        streams: limits.streams_per_user(),
    };
    Ok(Json(Me { id: caller.user, name: caller.name, role: caller.role, limits, preferences }))
}

/// Set what holds for you in all projects.
#[utoipa::path(
    put, path = "/my/preferences", tag = "access",
    request_body = Preferences,
    responses((status = 200, body = Preferences), Guarded, Intake)
)]
pub(super) async fn set_preferences(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    body: Body<Preferences>,
) -> Answer<Json<Preferences>> {
    Ok(Json(http.app().set_preferences(&caller, body.input).await?))
}
