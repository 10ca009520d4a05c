//! The tools over HTTP: plain requests for the `orchestrator` program, and MCP for the clients that speak it.
//!
//! Whoever asks must call us by a name of this machine, come from no foreign page, and show the token; who does not
//! learns nothing, not even which paths there are. A call lives in its connection: when that ends, it is given up.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::endpoint::Desk;
use super::mcp::{self, Asked};
use super::wire::{Body, Reason, Refusal, Reply};

/// How long a request's body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

pub(super) fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/tools", get(list))
        .route("/tools/{name}", post(call))
        .route("/mcp", post(converse).delete(StatusCode::OK))
        .fallback(StatusCode::NOT_FOUND)
        .layer(middleware::from_fn_with_state(Arc::clone(&desk), admit))
        .with_state(desk)
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Result(_) | Self::Tools(_) => StatusCode::OK,
            Self::Error(refusal) => refusal.reason.status(),
        };
        (status, Json(self)).into_response()
    }
}

async fn admit(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !is_local(headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let shown = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let token = match shown.split_at_checked(b"Bearer ".len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"Bearer ") => token,
        Some(_) | None => b"",
    };
    if !desk.admits(token) {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    }
    next.run(request).await
}

async fn list(State(desk): State<Arc<Desk>>) -> Reply {
    Reply::Tools(desk.toolbox.specs().to_vec())
}

async fn call(State(desk): State<Arc<Desk>>, Path(tool): Path<String>, request: Request) -> Reply {
    match read(&desk, request).await.and_then(|body| parse(&body)) {
        Ok(Body { arguments }) => desk.toolbox.run(&tool, arguments).await.into(),
        Err(refusal) => Reply::Error(refusal),
    }
}

async fn converse(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let body = match read(&desk, request).await {
        Ok(body) => body,
        Err(refusal) => return Reply::Error(refusal).into_response(),
    };
    match mcp::read(&body) {
        // What is withdrawn also loses its connection; ids alone do not tell one client's calls from another's.
        Asked::Nothing | Asked::Withdrawn(_) => StatusCode::ACCEPTED.into_response(),
        Asked::Answer(answer) => Json(answer).into_response(),
        Asked::Tools(id) => Json(id.tools(desk.toolbox.specs())).into_response(),
        Asked::Call { id, tool, arguments } => {
            // Clients give up on what has no head after a minute, so this one is sent before the call is made.
            let pulse = KeepAlive::new().interval(desk.limits.pulse).text("working");
            let called = async move {
                let outcome = desk.toolbox.run(&tool, arguments).await;
                let answer = id.called(outcome.map_err(|refusal| refusal.message));
                Ok::<_, Infallible>(Event::default().data(answer.to_string()))
            };
            Sse::new(stream::once(called)).keep_alive(pulse).into_response()
        }
    }
}

/// A page on another site can make a browser talk to this machine, or point a name of its own at it.
fn is_local(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
    let host = text(header::HOST).is_some_and(is_ours);
    let origin = text(header::ORIGIN).is_none_or(|origin| {
        ["http://", "https://"].iter().any(|it| origin.strip_prefix(it).is_some_and(is_ours))
    });
    host && origin
}

/// Whether this is a name of the machine itself, with or without a port.
fn is_ours(host: &str) -> bool {
    NAMES.iter().any(|name| {
        let Some((start, rest)) = host.split_at_checked(name.len()) else { return false };
        let port = rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        start.eq_ignore_ascii_case(name) && (rest.is_empty() || port)
    })
}

async fn read(desk: &Desk, request: Request) -> Result<Bytes, Refusal> {
    let body = axum::body::to_bytes(request.into_body(), desk.limits.size);
    match tokio::time::timeout(ARRIVAL, body).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => Err(Refusal::too_large(desk.limits.size)),
        Err(_elapsed) => Err(Refusal::new(Reason::Malformed, "The request did not arrive whole")),
    }
}

fn parse(body: &[u8]) -> Result<Body, Refusal> {
    // As an object first: a list would do for what has only one field.
    let object = serde_json::from_slice::<Map<String, Value>>(body);
    object.and_then(|object| Body::deserialize(Value::Object(object))).map_err(|error| {
        tracing::info!(%error, "a tool call could not be read");
        let right = json!({"arguments": {"name": "value"}});
        Refusal::new(Reason::Malformed, format!("This is no call: {error}. Right is {right}"))
    })
}
