//! `/my/projects/{project_id}/chat`: sessions, and messages to agents.

use std::convert::Infallible;

use artel_domain::memory::Recollection;
use artel_domain::plan;
use artel_domain::session::{ErrorType, Message, Outcome, Role, Session, Usage};
use artel_domain::task::Task;
use artel_domain::{
    AgentId, ApprovalId, MessageId, PlanId, ProjectId, SessionId, TaskId, Timestamp,
};
use artel_engine::feeds::{Batch, Subscription};
use artel_engine::{
    App, Caller, ChangeSession, CreateSession, Error, Listed, PlanView, SendMessage, Sent, Taken,
    Which,
};
use axum::Json;
use axum::body::Body as Outgoing;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Body, Ids, OptionalBody, Paging, Parameters};
use super::plans::Patience;
use super::responses::{Intake, Lookup};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sessions {
    sessions: Vec<Session>,
    total: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names of the contract")]
pub(super) struct Messages {
    messages: Vec<Message>,
    total: u64,
    session_id: SessionId,
}

/// An agent's answer.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AnswerBody {
    id: MessageId,
    role: Role,
    content: String,
    agent_id: Option<AgentId>,
    task_id: Option<TaskId>,
    timestamp: Timestamp,
    /// `direct` from the agent that was named, or `orchestrated` from all that worked on a plan.
    #[schema(example = "direct")]
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_id: Option<PlanId>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<ErrorType>,
    /// What was drawn from the agent's memory.
    context: Vec<Recollection>,
    usage: Option<Usage>,
}

impl From<Message> for AnswerBody {
    fn from(message: Message) -> Self {
        let Message { id, role, content, agent_id, task_id, timestamp, outcome } = message;
        let nothing = Outcome {
            success: true,
            error: None,
            error_type: None,
            usage: None,
            context: vec![],
            plan_id: None,
        };
        let Outcome { success, error, error_type, usage, context, plan_id } =
            outcome.unwrap_or(nothing);
        Self {
            id,
            role,
            content,
            agent_id,
            task_id,
            timestamp,
            mode: if plan_id.is_some() { "orchestrated" } else { "direct" },
            plan_id,
            success,
            error,
            error_type,
            context,
            usage,
        }
    }
}

/// Begin a conversation.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/chat/sessions", tag = "chat",
    params(("project_id" = ProjectId, Path)),
    request_body = Option<CreateSession>,
    responses((status = 201, body = Session), Lookup, Intake)
)]
pub(super) async fn create(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    OptionalBody(body): OptionalBody<CreateSession>,
) -> Answer<(StatusCode, Json<Session>)> {
    let session = http.app().create_session(&caller, project, body.input, body.key).await?;
    Ok((StatusCode::CREATED, Json(session)))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// Only conversations with these words in their title or in what was said.
    #[param(max_length = 200)]
    search: Option<String>,
}

/// The project's conversations, newest first.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/chat/sessions", tag = "chat",
    params(("project_id" = ProjectId, Path), Wanted, Paging),
    responses((status = 200, body = Sessions), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn list(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    Parameters(wanted): Parameters<Wanted>,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Sessions>> {
    let page = paging.page()?;
    let Listed { items: sessions, total } =
        http.app().list_sessions(&caller, project, wanted.search, page).await?;
    Ok(Json(Sessions { sessions, total }))
}

/// One conversation.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/chat/sessions/{session_id}", tag = "chat",
    params(("project_id" = ProjectId, Path), ("session_id" = SessionId, Path)),
    responses((status = 200, body = Session), Lookup)
)]
pub(super) async fn get(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, session)): Ids<(ProjectId, SessionId)>,
) -> Answer<Json<Session>> {
    Ok(Json(http.app().session(&caller, project, session).await?))
}

/// Give a conversation another title, or pin it.
#[utoipa::path(
    patch, path = "/my/projects/{project_id}/chat/sessions/{session_id}", tag = "chat",
    params(("project_id" = ProjectId, Path), ("session_id" = SessionId, Path)),
    request_body = ChangeSession,
    responses((status = 200, body = Session), Lookup, Intake)
)]
pub(super) async fn change(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, session)): Ids<(ProjectId, SessionId)>,
    body: Body<ChangeSession>,
) -> Answer<Json<Session>> {
    Ok(Json(http.app().change_session(&caller, project, session, body.input).await?))
}

/// Delete a conversation with its messages.
#[utoipa::path(
    delete, path = "/my/projects/{project_id}/chat/sessions/{session_id}", tag = "chat",
    params(("project_id" = ProjectId, Path), ("session_id" = SessionId, Path)),
    responses((status = 204, description = "Gone"), Lookup)
)]
pub(super) async fn delete(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, session)): Ids<(ProjectId, SessionId)>,
) -> Answer<StatusCode> {
    http.app().delete_session(&caller, project, session).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Spoken {
    /// Only what was said in this role.
    role: Option<Role>,
    /// Only what was said after this message.
    after: Option<MessageId>,
    /// Only what was said before this message, and of that the newest.
    before: Option<MessageId>,
}

/// What was said, oldest first.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/chat/sessions/{session_id}/messages", tag = "chat",
    params(("project_id" = ProjectId, Path), ("session_id" = SessionId, Path), Spoken, Paging),
    responses((status = 200, body = Messages), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn messages(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, session)): Ids<(ProjectId, SessionId)>,
    Parameters(spoken): Parameters<Spoken>,
    Parameters(paging): Parameters<Paging>,
) -> Answer<Json<Messages>> {
    let page = paging.page()?;
    let Spoken { role, after, before } = spoken;
    let which = Which { role, after, before };
    let Listed { items: messages, total } =
        http.app().list_messages(&caller, project, session, which, page).await?;
    Ok(Json(Messages { messages, total, session_id: session }))
}

/// A request that became a plan, and is being worked on.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Planned {
    plan_id: PlanId,
    /// Always `orchestrated`.
    #[schema(example = "orchestrated")]
    mode: &'static str,
    status: plan::Status,
    /// What to decide, when it waits for approval.
    approval_id: Option<ApprovalId>,
    plan: PlanView,
}

impl From<PlanView> for Planned {
    fn from(view: PlanView) -> Self {
        Self {
            plan_id: view.plan.id,
            mode: "orchestrated",
            status: view.plan.status,
            approval_id: view.plan.approval_id,
            plan: view,
        }
    }
}

/// Send a message. To an agent that it names, the answer is waited for. Without one it is planned: the plan is answered
/// at once (or asks for approval), and with `wait` the answer of all agents together, if it is there in time.
///
/// With `Accept: text/event-stream` the answer comes as it is written: `message_delta` events (and `task_started`,
/// `task_progress`, `plan_request`, `tool_approval_request`, `agent_question` and so on between them), and then the
/// whole as `message`. Going away does not stop the work.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/chat/{session_id}/message", tag = "chat",
    params(
        ("project_id" = ProjectId, Path),
        ("session_id" = SessionId, Path),
        Patience,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same key again is the same message, and has the same answer"),
        ("Accept" = Option<String>, Header, description = "text/event-stream for a streamed answer"),
    ),
    request_body = SendMessage,
    responses(
        (status = 200, description = "The answer, or why there is none", content(
            (AnswerBody = "application/json"),
            (AnswerBody = "text/event-stream"),
        )),
        (status = 202, description = "It is planned, and being worked on or waiting for approval", body = Planned),
        (status = 409, description = "The agent is not registered", body = ErrorBody),
        (status = 503, description = "The agent's queue is full", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn send(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, session)): Ids<(ProjectId, SessionId)>,
    Parameters(patience): Parameters<Patience>,
    headers: HeaderMap,
    body: Body<SendMessage>,
) -> Answer<Response> {
    let (app, time) = (http.app(), patience.time()?);
    let accept =
        headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accept.contains("text/event-stream") {
        // Listening starts before the message is sent, so that no text is missed.
        let subscription = app.subscribe(&caller, project, Some(session), None).await?;
        let taken = app.send(&caller, project, session, body.input, body.key).await?;
        return Ok(streamed(subscription, app.clone(), caller, taken));
    }
    let view = match app.send(&caller, project, session, body.input, body.key).await? {
        Taken::Direct(sent) => {
            let Sent { task, .. } = *sent;
            let answer = app.outcome(&caller, &task).await?;
            return Ok(Json(AnswerBody::from(answer)).into_response());
        }
        Taken::Planned(view) => *view,
    };
    let view = match time {
        Some(time) => app.await_plan(&caller, project, view.plan.id, time).await?,
        None => view,
    };
    if time.is_some()
        && view.plan.status.is_final()
        && let Some(answer) = app.plan_answer(&caller, &view.plan).await?
    {
        return Ok(Json(AnswerBody::from(answer)).into_response());
    }
    Ok((StatusCode::ACCEPTED, Json(Planned::from(view))).into_response())
}

fn streamed(subscription: Subscription, app: App, caller: Caller, taken: Taken) -> Response {
    let (about, asked, whole): (_, &'static [&'static str], Whole) = match taken {
        Taken::Direct(sent) => {
            let Sent { task, .. } = *sent;
            let about = task.id.to_string();
            (about, &[], async move { app.outcome(&caller, &task).await }.boxed())
        }
        Taken::Planned(view) => {
            let PlanView { plan, .. } = *view;
            let about = plan.id.to_string();
            let whole = async move {
                let ended = app.plan_settled(&caller, plan.project_id, plan.id).await?;
                let answer = app.plan_answer(&caller, &ended.plan).await?;
                answer.ok_or_else(|| Error::not_found("answer"))
            };
            (about, &ASKED, whole.boxed())
        }
    };
    let mut response =
        Response::new(Outgoing::from_stream(written(subscription, about, asked, whole)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// What whoever waits for an answer is told meanwhile.
const TOLD: [&str; 11] = [
    "message_delta",
    "task_started",
    "task_progress",
    "task_completed",
    "task_failed",
    "task_cancelled",
    "task_plan_created",
    "plan_request",
    "plan_status_changed",
    "tool_approval_request",
    "agent_question",
];

/// What agents ask of whoever waits for a plan: they do it for a task, and do not name the plan.
const ASKED: [&str; 2] = ["tool_approval_request", "agent_question"];

type Whole = BoxFuture<'static, artel_engine::Result<Message>>;

/// The answer as it is written, and then the whole. `about` is the id of the task or plan that it comes of; what is
/// `asked` in the conversation is told, too.
fn written(
    subscription: Subscription,
    about: String,
    asked: &'static [&'static str],
    whole: Whole,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    futures_util::stream::unfold(Some((subscription, whole)), move |state| {
        let about = about.clone();
        async move {
            let (mut subscription, mut whole) = state?;
            loop {
                let batch = tokio::select! {
                    biased;
                    batch = subscription.next() => batch,
                    message = &mut whole => return Some((Ok(closing(message)), None)),
                };
                let frames = match batch {
                    Ok(Batch::Frames(frames)) => frames,
                    // The server is stopping; the answer is kept and can be read later.
                    Ok(Batch::End(_)) | Err(_) => return None,
                };
                let told = frames.iter().filter(|frame| {
                    let is = |kinds: &[&str]| kinds.iter().any(|kind| frame.is(kind));
                    is(asked) || (is(&TOLD) && frame.mentions(&about))
                });
                let text: Vec<u8> = told.flat_map(|frame| frame.sse().to_vec()).collect();
                if !text.is_empty() {
                    return Some((Ok(Bytes::from(text)), Some((subscription, whole))));
                }
            }
        }
    })
}

fn closing(message: artel_engine::Result<Message>) -> Bytes {
    let (kind, data) = match message {
        Ok(message) => ("message", serde_json::to_string(&AnswerBody::from(message))),
        Err(Error { code, message, .. }) => (
            "error",
            serde_json::to_string(&serde_json::json!({ "error_code": code, "detail": message })),
        ),
    };
    format!("event: {kind}\ndata: {}\n\n", data.unwrap_or_default()).into()
}

/// A task and where it stands.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/tasks/{task_id}", tag = "chat",
    params(("project_id" = ProjectId, Path), ("task_id" = TaskId, Path)),
    responses((status = 200, body = Task), Lookup)
)]
pub(super) async fn task(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, task)): Ids<(ProjectId, TaskId)>,
) -> Answer<Json<Task>> {
    Ok(Json(http.app().task(&caller, project, task).await?))
}

/// Stop a task, waiting or running.
#[utoipa::path(
    post, path = "/my/projects/{project_id}/tasks/{task_id}/cancel", tag = "chat",
    params(("project_id" = ProjectId, Path), ("task_id" = TaskId, Path)),
    responses(
        (status = 200, body = Task),
        (status = 409, description = "It has ended already", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn cancel(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, task)): Ids<(ProjectId, TaskId)>,
) -> Answer<Json<Task>> {
    Ok(Json(http.app().cancel_task(&caller, project, task).await?))
}
