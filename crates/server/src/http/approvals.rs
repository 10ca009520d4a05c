//! `/my/approvals`: what waits for a person, of all their projects, and what they decided.

use std::convert::Infallible;

use artel_domain::approval::{Approval, Decision, Kind, Status};
use artel_domain::{ApprovalId, Clock, ProjectId, SystemClock, Timestamp};
use artel_engine::{
    Approve, Caller, Confirm, ConfirmMany, Decided, IdempotencyKey, Listed, Reject, Verdict,
    WhichApprovals,
};
use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Body, Ids, OptionalBody, Paging, Parameters};
use super::responses::{Guarded, Intake, Lookup};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Approvals {
    approvals: Vec<Approval>,
    total: u64,
}

/// Somebody, or the deadline, was quicker.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AlreadyDecided {
    #[schema(example = "It was decided before: approved")]
    detail: String,
    #[schema(example = "already_decided")]
    error_code: &'static str,
    timestamp: Timestamp,
    /// As it was decided.
    approval: Approval,
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Narrowed {
    project_id: Option<ProjectId>,
    #[param(inline)]
    status: Option<Status>,
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<Kind>,
    /// The first moment of asking that counts.
    from: Option<Timestamp>,
    /// The last moment of asking that counts.
    to: Option<Timestamp>,
}

/// From where somebody decides, as their program says. It is kept, and nothing depends on it.
pub(super) fn origin(headers: &HeaderMap) -> &'static str {
    let said = headers.get("x-artel-from").and_then(|value| value.to_str().ok());
    ["web", "client", "terminal"].into_iter().find(|known| said == Some(known)).unwrap_or("api")
}

/// What is told when something comes to wait for you, or goes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ApprovalsChanged {
    /// How much waits now.
    pending: usize,
}

/// Says when something comes to wait for you, in whichever project, or goes: `approvals_changed` at first, and then at
/// every change. What has changed is in the list.
#[utoipa::path(
    get, path = "/my/approvals/events", tag = "approvals",
    responses(
        (status = 200, description = "Server-Sent Events", content((ApprovalsChanged = "text/event-stream"))),
        Guarded,
    )
)]
pub(super) async fn follow(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>> {
    let inbox = http.app().inbox(&caller)?;
    let events = futures_util::stream::unfold(inbox, |mut inbox| async move {
        // When the database is away the stream ends; who comes back is told how it stands.
        let pending = inbox.next().await.ok().flatten()?;
        let changed = ApprovalsChanged { pending };
        let event = Event::default().event("approvals_changed").json_data(&changed);
        Some((Ok(event.unwrap_or_default()), inbox))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(http.0.heartbeat)))
}

/// What waits for you, and what you decided, newest first.
#[utoipa::path(
    get, path = "/my/approvals", tag = "approvals",
    params(Narrowed, Paging),
    responses((status = 200, body = Approvals), (status = 422, body = ErrorBody), Guarded)
)]
pub(super) async fn list(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Parameters(narrowed): Parameters<Narrowed>,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Approvals>> {
    let page = paging.page()?;
    let Narrowed { project_id: project, status, kind, from, to } = narrowed;
    let which = WhichApprovals { project, status, kind, from, to };
    let Listed { items: approvals, total } =
        http.app().list_approvals(&caller, which, page).await?;
    Ok(Json(Approvals { approvals, total }))
}

/// One of them.
#[utoipa::path(
    get, path = "/my/approvals/{approval_id}", tag = "approvals",
    params(("approval_id" = ApprovalId, Path)),
    responses((status = 200, body = Approval), Lookup)
)]
pub(super) async fn get(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(id): Ids<ApprovalId>,
) -> Answer<Json<Approval>> {
    Ok(Json(http.app().approval(&caller, id).await?))
}

/// Say yes; to a question, answer it.
#[utoipa::path(
    post, path = "/my/approvals/{approval_id}/approve", tag = "approvals",
    params(
        ("approval_id" = ApprovalId, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same request under the same key has the same answer"),
    ),
    request_body = Option<Approve>,
    responses(
        (status = 200, description = "This decided it", body = Approval),
        (status = 409, description = "It was decided before", body = AlreadyDecided),
        Lookup,
        Intake,
    )
)]
pub(super) async fn approve(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(id): Ids<ApprovalId>,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody<Approve>,
) -> Answer<Response> {
    let comment = body.input.into_inner().comment;
    let verdict = Verdict { decision: Decision::Approve, comment, from: origin(&headers) };
    answer(&http, &caller, id, verdict, body.key).await
}

/// Say no, and why; the agent is told.
#[utoipa::path(
    post, path = "/my/approvals/{approval_id}/reject", tag = "approvals",
    params(
        ("approval_id" = ApprovalId, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same request under the same key has the same answer"),
    ),
    request_body = Option<Reject>,
    responses(
        (status = 200, description = "This decided it", body = Approval),
        (status = 409, description = "It was decided before", body = AlreadyDecided),
        Lookup,
        Intake,
    )
)]
pub(super) async fn reject(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(id): Ids<ApprovalId>,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody<Reject>,
) -> Answer<Response> {
    let comment = body.input.into_inner().reason;
    let verdict = Verdict { decision: Decision::Reject, comment, from: origin(&headers) };
    answer(&http, &caller, id, verdict, body.key).await
}

/// Decide, either way.
#[utoipa::path(
    post, path = "/my/approvals/{approval_id}/confirm", tag = "approvals",
    params(
        ("approval_id" = ApprovalId, Path),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same request under the same key has the same answer"),
    ),
    request_body = Confirm,
    responses(
        (status = 200, description = "This decided it", body = Approval),
        (status = 409, description = "It was decided before", body = AlreadyDecided),
        Lookup,
        Intake,
    )
)]
pub(super) async fn confirm(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(id): Ids<ApprovalId>,
    headers: HeaderMap,
    body: Body<Confirm>,
) -> Answer<Response> {
    let Confirm { decision, comment } = body.input.into_inner();
    let verdict = Verdict { decision, comment, from: origin(&headers) };
    answer(&http, &caller, id, verdict, body.key).await
}

/// Decides, and says how it stands.
pub(super) async fn answer(
    http: &Http,
    caller: &Caller,
    id: ApprovalId,
    verdict: Verdict,
    key: Option<IdempotencyKey>,
) -> Answer<Response> {
    Ok(match http.app().decide(caller, id, verdict, key).await? {
        Decided::Now(approval) => Json(approval).into_response(),
        Decided::Before(approval) => {
            let body = AlreadyDecided {
                detail: format!("It was decided before: {}", approval.status.as_str()),
                error_code: "already_decided",
                timestamp: SystemClock.now(),
                approval,
            };
            (StatusCode::CONFLICT, Json(body)).into_response()
        }
    })
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Confirmed {
    results: Vec<OneConfirmed>,
}

/// What came of one of several decisions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OneConfirmed {
    id: ApprovalId,
    /// Whether this decided it.
    decided: bool,
    /// As it is now; none when there is no such approval.
    approval: Option<Approval>,
    error: Option<String>,
}

/// Decide several in one call, each for itself.
#[utoipa::path(
    post, path = "/my/approvals/batch-confirm", tag = "approvals",
    request_body = ConfirmMany,
    responses((status = 200, body = Confirmed), Guarded, Intake)
)]
pub(super) async fn confirm_many(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    body: Body<ConfirmMany>,
) -> Answer<Json<Confirmed>> {
    let all = http.app().decide_many(&caller, body.input, origin(&headers)).await?;
    let one = |(id, decided): (ApprovalId, artel_engine::Result<Decided>)| match decided {
        Ok(Decided::Now(approval)) => {
            OneConfirmed { id, decided: true, approval: Some(approval), error: None }
        }
        Ok(Decided::Before(approval)) => {
            let error = format!("It was decided before: {}", approval.status.as_str());
            OneConfirmed { id, decided: false, approval: Some(approval), error: Some(error) }
        }
        Err(error) => {
            OneConfirmed { id, decided: false, approval: None, error: Some(error.message) }
        }
    };
    Ok(Json(Confirmed { results: all.into_iter().map(one).collect() }))
}
