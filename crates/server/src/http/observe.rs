//! Every request leaves a line in the log and a mark in the figures, under an id that its answer carries.

use std::time::Instant;

use artel_domain::{SystemClock, TaskId, UserId};
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};
use tracing::Instrument;

const ID: HeaderName = HeaderName::from_static("x-request-id");

/// Whose request it was, left on the answer for the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Who(pub(super) UserId);

pub(super) async fn request(mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request.headers().get(&ID).filter(|id| is_sensible(id)).cloned().unwrap_or_else(fresh);
    request.headers_mut().insert(ID, id.clone());
    let method = request.method().clone();
    // The path without its query: what stands after the question mark may be anything, secrets too.
    let path = request.uri().path().to_owned();
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    let took = started.elapsed();
    // Unknown paths share one name, or anyone could grow the figures without bound.
    let route =
        response.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let labels =
        [("method", method.to_string()), ("route", route), ("status", status.as_u16().to_string())];
    metrics::counter!("artel_http_requests_total", &labels).increment(1);
    metrics::histogram!("artel_http_request_seconds", &labels[1..2]).record(took.as_secs_f64());
    let user = response.extensions().get::<Who>().map(|who| who.0.0);
    let ms = took.as_secs_f64() * 1000.0;
    span.in_scope(|| {
        if path == "/health" || path == "/ready" || path == "/metrics" {
            tracing::debug!(%method, path, status = status.as_u16(), ms, "answered");
        } else {
            tracing::info!(%method, path, status = status.as_u16(), ms, user, "answered");
        }
    });
    response.headers_mut().insert(ID, id);
    response
}

/// Leaves the route's name on the answer; runs inside the router, where it is known.
pub(super) async fn note_route(
    route: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(route);
    }
    response
}

fn is_sensible(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=100).contains(&bytes.len())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn fresh() -> HeaderValue {
    HeaderValue::try_from(TaskId::new(&SystemClock).to_string()).expect("a UUID is plain ASCII")
}
