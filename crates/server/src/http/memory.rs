//! `/my/projects/{project_id}/agents/{agent_id}/context`: what an agent remembers.

use std::io;
use std::time::Duration;

use artel_domain::memory::Kind;
use artel_domain::{AgentId, InteractionId, ProjectId, Timestamp};
use artel_engine::{
    AddContext, Added, Cursor, Export, Forgotten, Found, Imported, Listing, MemoryStats, Narrow,
    Period, PruneContext, SearchContext, StatsRange,
};
use axum::Json;
use axum::body::Body as Stream;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use futures_util::{StreamExt, TryStreamExt};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use tokio_util::io::{StreamReader, SyncIoBridge};

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{self, Authenticated, Body, Ids, JsonStream, Parameters, usual};
use super::responses::{Intake, Lookup};

/// A document that stops arriving for so long is given up.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Which part of a memory.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportParameters {
    /// The vectors too, so that an import need not make them again.
    #[serde(default)]
    include_embeddings: bool,
    interaction_type: Option<Kind>,
    success: Option<bool>,
    /// The first moment that counts.
    from: Option<Timestamp>,
    /// The last moment that counts.
    to: Option<Timestamp>,
}

/// Which part of a memory, and where the page begins.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListParameters {
    interaction_type: Option<Kind>,
    success: Option<bool>,
    /// The first moment that counts.
    from: Option<Timestamp>,
    /// The last moment that counts.
    to: Option<Timestamp>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many at most.
    #[serde(default = "usual")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: u32,
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StatsParameters {
    /// The first moment that counts.
    from: Option<Timestamp>,
    /// The last moment that counts.
    to: Option<Timestamp>,
    /// Also split over time.
    #[param(inline)]
    period: Option<Period>,
}

/// Add something to an agent's memory.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/agents/{agent_id}/context", tag = "memory",
    params(
        ("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same request under the same key is kept once"),
    ),
    request_body = AddContext,
    responses(
        (status = 201, description = "It can be searched", body = Added),
        (status = 202, description = "It is kept; it can be searched once its vector could be made", body = Added),
        (status = 503, description = "The store of memories cannot be reached", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn add(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    body: Body<AddContext>,
) -> Answer<(StatusCode, Json<Added>)> {
    let added = http.app().add_context(&caller, project, agent, body.input, body.key).await?;
    let status = if added.searchable { StatusCode::CREATED } else { StatusCode::ACCEPTED };
    Ok((status, Json(added)))
}

/// List what an agent remembers, the newest first.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/agents/{agent_id}/context", tag = "memory",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path), ListParameters),
    responses(
        (status = 200, body = Listing),
        (status = 422, body = ErrorBody),
        (status = 503, description = "The store of memories cannot be reached", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn list(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    Parameters(asked): Parameters<ListParameters>,
) -> Answer<Json<Listing>> {
    let ListParameters { interaction_type: kind, success, from, to, cursor, limit } = asked;
    let after = cursor.map(|cursor| cursor.parse::<Cursor>()).transpose()?;
    let page = (after, extract::limit(limit)? as usize);
    let narrow = Narrow { kind, success, from, to };
    Ok(Json(http.app().list_context(&caller, project, agent, narrow, page).await?))
}

/// Find what is nearest in meaning.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/agents/{agent_id}/context/search", tag = "memory",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    request_body = SearchContext,
    responses(
        (status = 200, body = Found),
        (status = 503, description = "The store or the embedding service cannot be reached", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn search(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    body: Body<SearchContext>,
) -> Answer<Json<Found>> {
    Ok(Json(http.app().search_context(&caller, project, agent, body.input).await?))
}

/// Forget a part of an agent's memory.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/agents/{agent_id}/context/prune", tag = "memory",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    request_body = PruneContext,
    responses((status = 200, body = Forgotten), Lookup, Intake)
)]
pub(super) async fn prune(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    body: Body<PruneContext>,
) -> Answer<Json<Forgotten>> {
    Ok(Json(http.app().prune_context(&caller, project, agent, body.input).await?))
}

/// Forget everything that an agent remembers.
#[utoipa::path(
    delete, path = "/my/projects/{project_id}/agents/{agent_id}/context", tag = "memory",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    responses((status = 200, body = Forgotten), Lookup)
)]
pub(super) async fn clear(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
) -> Answer<Json<Forgotten>> {
    Ok(Json(http.app().clear_context(&caller, project, agent).await?))
}

/// Forget one interaction.
#[utoipa::path(
    delete, path = "/my/projects/{project_id}/agents/{agent_id}/context/{interaction_id}", tag = "memory",
    params(
        ("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path),
        ("interaction_id" = InteractionId, Path),
    ),
    responses((status = 204, description = "It is gone"), Lookup)
)]
pub(super) async fn forget(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent, interaction)): Ids<(ProjectId, AgentId, InteractionId)>,
) -> Answer<StatusCode> {
    http.app().forget_context(&caller, project, agent, interaction).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Figures of an agent's memory.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/agents/{agent_id}/context/stats", tag = "memory",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path), StatsParameters),
    responses((status = 200, body = MemoryStats), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn stats(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    Parameters(StatsParameters { from, to, period }): Parameters<StatsParameters>,
) -> Answer<Json<MemoryStats>> {
    let range = StatsRange { from, to, period };
    Ok(Json(http.app().context_stats(&caller, project, agent, range).await?))
}

/// Everything that an agent remembers, as one JSON document that can be imported again. An export that breaks off
/// has no `total_interactions`, and is not valid JSON.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/agents/{agent_id}/context/export", tag = "memory",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path), ExportParameters),
    responses(
        (status = 200, description = "agent_id, export_date, embedding_model, interactions, total_interactions",
            content_type = "application/json", body = Object),
        (status = 422, body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn export(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    Parameters(asked): Parameters<ExportParameters>,
) -> Answer<Response> {
    let ExportParameters { include_embeddings, interaction_type: kind, success, from, to } = asked;
    let narrow = Narrow { kind, success, from, to };
    let app = http.app();
    let export = app.export_context(&caller, project, agent, narrow, include_embeddings).await?;
    let pieces = unfold(export, |mut export: Export| async move {
        match export.next().await {
            Ok(piece) => piece.map(|piece| (Ok(piece), export)),
            Err(error) => {
                tracing::warn!(%error, "an export broke off");
                Some((Err(io::Error::other(error)), export))
            }
        }
    });
    let mut response = Response::new(Stream::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let name = format!("attachment; filename=\"memory-{agent}.json\"");
    if let Ok(name) = HeaderValue::try_from(name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// Add what was exported. What is there already under the same id is replaced.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/agents/{agent_id}/context/import", tag = "memory",
    params(("project_id" = ProjectId, Path), ("agent_id" = AgentId, Path)),
    request_body(content = Object, description = "A document as the export gives it, of any size"),
    responses(
        (status = 200, body = Imported),
        (status = 415, description = "Not JSON", body = ErrorBody),
        (status = 422, description = "Not an export; what came before the fault is kept", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn import(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, agent)): Ids<(ProjectId, AgentId)>,
    JsonStream(body): JsonStream,
) -> Answer<Json<Imported>> {
    let pieces = body.into_data_stream().map_err(io::Error::other);
    let in_time = unfold(Box::pin(pieces), |mut pieces| async move {
        let piece: io::Result<Bytes> = match tokio::time::timeout(ARRIVAL, pieces.next()).await {
            Ok(None) => return None,
            Ok(Some(piece)) => piece,
            Err(_) => Err(io::Error::other("the document stopped arriving")),
        };
        Some((piece, pieces))
    });
    let source = SyncIoBridge::new(StreamReader::new(Box::pin(in_time)));
    Ok(Json(http.app().import_context(&caller, project, agent, source).await?))
}
