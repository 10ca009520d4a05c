//! How the server is doing.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::{StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use super::Http;

/// How long a part may take to answer before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ServerHealth)]
pub(super) struct Health {
    #[schema(example = "ok")]
    status: &'static str,
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// In seconds.
    uptime: u64,
    /// Programs of this node that run.
    active_processes: usize,
    /// Agents of this node that are programs and take messages, running or not.
    listening_agents: usize,
    parts: BTreeMap<&'static str, Part>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Part {
    #[schema(example = "sqlite")]
    kind: &'static str,
    #[schema(example = "ok")]
    state: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// `ready`, `degraded` (takes requests, but something is missing) or `not_ready`.
    #[schema(example = "ready")]
    status: &'static str,
    reasons: Vec<String>,
}

/// Whether the server is alive, and how its parts are.
#[utoipa::path(get, path = "/health", tag = "system", responses((status = 200, body = Health)), security(()))]
pub(super) async fn health(State(http): State<Http>) -> Json<Health> {
    let parts = parts(&http).await;
    let status = if parts.values().all(|part| part.state == "ok") { "ok" } else { "degraded" };
    let uptime = http.0.started.elapsed().as_secs();
    let (listening_agents, active_processes) = http.app().count_programs();
    let version = env!("CARGO_PKG_VERSION");
    Json(Health { status, version, uptime, active_processes, listening_agents, parts })
}

/// Whether the server takes requests now.
#[utoipa::path(
    get, path = "/ready", tag = "system",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness)),
    security(())
)]
pub(super) async fn ready(State(http): State<Http>) -> (StatusCode, Json<Readiness>) {
    let parts = parts(&http).await;
    let mut reasons: Vec<_> = parts
        .iter()
        .filter(|(_, part)| part.state != "ok")
        .map(|(name, part)| format!("{name} ({}): {}", part.kind, part.state))
        .collect();
    let draining = http.0.draining.load(Ordering::Relaxed);
    if draining {
        reasons.push("the server is stopping".to_owned());
    }
    // Without the bus events arrive a little later and all else works; without the database nothing does.
    let takes = !draining && parts.get("database").is_some_and(|part| part.state == "ok");
    let (code, status) = match (takes, reasons.is_empty()) {
        (true, true) => (StatusCode::OK, "ready"),
        (true, false) => (StatusCode::OK, "degraded"),
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
    };
    (code, Json(Readiness { status, reasons }))
}

/// Figures for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "system",
    responses((status = 200, content_type = "text/plain", body = String)),
    security(())
)]
pub(super) async fn metrics(State(http): State<Http>) -> impl IntoResponse {
    metrics::gauge!("artel_uptime_seconds").set(http.0.started.elapsed().as_secs_f64());
    let feeds = u32::try_from(http.app().open_feeds()).unwrap_or(u32::MAX);
    metrics::gauge!("artel_event_feeds").set(f64::from(feeds));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], http.0.metrics.render())
}

async fn parts(http: &Http) -> BTreeMap<&'static str, Part> {
    let storage = http.app().storage();
    let (database, bus, vectors) = tokio::join!(
        tokio::time::timeout(PATIENCE, storage.db.ping()),
        tokio::time::timeout(PATIENCE, storage.bus.ping()),
        tokio::time::timeout(PATIENCE, storage.vectors.ping()),
    );
    let database = match database {
        Ok(Ok(())) if storage.db.failing() => "cannot_write",
        Ok(Ok(())) => "ok",
        Ok(Err(_)) => "unreachable",
        Err(_) => "slow",
    };
    let bus = match bus {
        Ok(Ok(())) => "ok",
        Ok(Err(_)) => "unreachable",
        Err(_) => "slow",
    };
    let vectors = match vectors {
        Ok(Ok(())) => "ok",
        Ok(Err(_)) => "unreachable",
        Err(_) => "slow",
    };
    let embeddings = http.app().embedder().kind().as_str();
    BTreeMap::from([
        ("database", Part { kind: storage.db.kind(), state: database }),
        ("bus", Part { kind: storage.bus.kind(), state: bus }),
        ("memory", Part { kind: storage.vectors.kind(), state: vectors }),
        // Whether a service answers is seen when it is asked, which may cost money.
        ("embeddings", Part { kind: embeddings, state: "ok" }),
    ])
}
