//! `/agents/{agent_id}`: agents that are programs.

use std::convert::Infallible;
use std::time::Duration;

use artel_domain::session::Message;
use artel_domain::{AgentId, ApprovalId, Timestamp};
use artel_engine::programs::{
    AnswerQuestion, CredentialsShown, Entry, LogStream, ProcessView, RuntimeView, SetCredentials,
    TellAgent, Told,
};
use artel_engine::{Decided, Error};
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
use super::events::last_event_id;
use super::extract::{Authenticated, Body, Ids, Parameters};
use super::responses::{Guarded, Intake, Lookup};

/// Lines that one answer gives at most.
const MOST_LINES: usize = 1000;
/// The longest that an answer is waited for.
const LONGEST_WAIT: u64 = 3600;

/// Kinds of programs that agents can be, and whether each can be had here.
#[utoipa::path(
    get, path = "/my/runtimes", tag = "programs",
    responses((status = 200, body = Vec<RuntimeView>), Guarded)
)]
pub(super) async fn runtimes(
    State(http): State<Http>,
    Authenticated(_caller): Authenticated,
) -> Answer<Json<Vec<RuntimeView>>> {
    Ok(Json(http.app().runtimes().await))
}

/// How an agent's process stands.
#[utoipa::path(
    get, path = "/agents/{agent_id}/process", tag = "programs",
    params(("agent_id" = AgentId, Path)),
    responses((status = 200, body = ProcessView), (status = 409, description = "It is no program", body = ErrorBody), Lookup)
)]
pub(super) async fn process(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
) -> Answer<Json<ProcessView>> {
    Ok(Json(http.app().process(&caller, agent).await?))
}

/// Start an agent's process, and wait until it is ready. Without this its first message starts it.
#[utoipa::path(
    post, path = "/agents/{agent_id}/start", tag = "programs",
    params(("agent_id" = AgentId, Path)),
    responses(
        (status = 200, body = ProcessView),
        (status = 409, description = "It is no program, or cannot be started; the reason says what to do", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn start(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
) -> Answer<Json<ProcessView>> {
    Ok(Json(http.app().start_process(&caller, agent).await?))
}

/// Stop an agent's process: what it works on is cancelled, and nothing of it is left.
#[utoipa::path(
    post, path = "/agents/{agent_id}/stop", tag = "programs",
    params(("agent_id" = AgentId, Path)),
    responses((status = 200, body = ProcessView), (status = 409, description = "It is no program", body = ErrorBody), Lookup)
)]
pub(super) async fn stop(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
) -> Answer<Json<ProcessView>> {
    Ok(Json(http.app().stop_process(&caller, agent).await?))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Lines {
    /// How many, the newest last.
    #[param(default = 100, maximum = 1000)]
    limit: Option<usize>,
    /// How many of the newest to leave out.
    #[param(default = 0)]
    offset: Option<usize>,
}

/// A line that the program wrote.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LogLine {
    /// Counts over the whole life of the agent.
    number: u64,
    timestamp: Timestamp,
    #[schema(example = "stdout")]
    stream: &'static str,
    line: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LogLines {
    lines: Vec<LogLine>,
    /// How many are kept.
    total: usize,
}

impl From<Entry> for LogLine {
    fn from(Entry { number, timestamp, stream, line }: Entry) -> Self {
        let stream = match stream {
            LogStream::Stdout => "stdout",
            LogStream::Stderr => "stderr",
        };
        Self { number, timestamp, stream, line }
    }
}

/// What an agent's program wrote last; secrets are left out.
#[utoipa::path(
    get, path = "/agents/{agent_id}/logs", tag = "programs",
    params(("agent_id" = AgentId, Path), Lines),
    responses((status = 200, body = LogLines), (status = 422, body = ErrorBody), Lookup)
)]
pub(super) async fn logs(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
    Parameters(lines): Parameters<Lines>,
) -> Answer<Json<LogLines>> {
    let limit = lines.limit.unwrap_or(100);
    if limit > MOST_LINES {
        return Err(Error::invalid_field("limit", format!("is at most {MOST_LINES}")).into());
    }
    let page = http.app().logs(&caller, agent, limit, lines.offset.unwrap_or(0)).await?;
    let lines = page.entries.into_iter().map(LogLine::from).collect();
    Ok(Json(LogLines { lines, total: page.total }))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Since {
    /// First those after this number that are kept; 0: all that are kept. Without it, only new ones.
    after: Option<u64>,
}

/// What an agent's program writes, as it does. Reconnect with the last `id` to get everything since that is kept.
#[utoipa::path(
    get, path = "/agents/{agent_id}/logs/stream", tag = "programs",
    params(
        ("agent_id" = AgentId, Path),
        Since,
        ("Last-Event-ID" = Option<u64>, Header, description = "Go on after this number"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events: `line`, and `missed` with a number when the reader was too slow",
            content((LogLine = "text/event-stream"))),
        (status = 422, body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn follow(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
    Parameters(since): Parameters<Since>,
    headers: HeaderMap,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>> {
    let after = last_event_id(&headers)?.or(since.after);
    let lines = http.app().follow_logs(&caller, agent, after).await?;
    let events = futures_util::stream::unfold(lines, |mut lines| async move {
        let event = match lines.next().await? {
            Ok(entry) => {
                let number = entry.number.to_string();
                let line = LogLine::from(entry);
                Event::default().event("line").id(number).json_data(&line).unwrap_or_default()
            }
            Err(missed) => Event::default().event("missed").data(missed.to_string()),
        };
        Some((Ok(event), lines))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(http.0.heartbeat)))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wait {
    /// Seconds to wait for the answer.
    #[param(minimum = 0, maximum = 3600)]
    wait: Option<u64>,
}

/// A message that was taken, and its answer when that was waited for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ToldBody {
    #[serde(flatten)]
    told: Told,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Message>,
}

/// Give an agent a message: it waits its turn, goes into the turn that runs, or takes its place.
#[utoipa::path(
    post, path = "/agents/{agent_id}/message", tag = "programs",
    params(
        ("agent_id" = AgentId, Path), Wait,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
            description = "The same key again gives the same answer"),
    ),
    request_body = TellAgent,
    responses(
        (status = 200, description = "With the answer", body = ToldBody),
        (status = 202, description = "Taken", body = ToldBody),
        (status = 409, description = "The agent takes no tasks", body = ErrorBody),
        (status = 503, description = "The agent's queue is full", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn message(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
    Parameters(Wait { wait }): Parameters<Wait>,
    body: Body<TellAgent>,
) -> Answer<Response> {
    let wait = wait.unwrap_or(0);
    if wait > LONGEST_WAIT {
        return Err(Error::invalid_field("wait", format!("is at most {LONGEST_WAIT}")).into());
    }
    let app = http.app();
    let told = app.tell_agent(&caller, agent, body.input, body.key).await?;
    let answer = match wait {
        0 => None,
        wait => app.await_told(&caller, &told, Duration::from_secs(wait)).await?,
    };
    let status = if answer.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(ToldBody { told, answer })).into_response())
}

/// Answer a question of the agent's.
#[utoipa::path(
    post, path = "/agents/{agent_id}/questions/{question_id}/answer", tag = "programs",
    params(("agent_id" = AgentId, Path), ("question_id" = ApprovalId, Path)),
    request_body = AnswerQuestion,
    responses(
        (status = 200, body = artel_domain::approval::Approval),
        (status = 409, description = "It was answered already, or is no longer asked", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn answer(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((agent, question)): Ids<(AgentId, ApprovalId)>,
    body: Body<AnswerQuestion>,
) -> Answer<Response> {
    let app = http.app();
    match app.answer_question(&caller, agent, question, body.input, "api").await? {
        Decided::Now(approval) => Ok(Json(approval).into_response()),
        Decided::Before(approval) => {
            let message = format!("It was decided before: {}", approval.status.as_str());
            Err(Error::new(artel_engine::Kind::Conflict, "decided_already", message).into())
        }
    }
}

/// What an agent gets to its model with; never the key itself.
#[utoipa::path(
    get, path = "/agents/{agent_id}/credentials", tag = "programs",
    params(("agent_id" = AgentId, Path)),
    responses((status = 200, body = CredentialsShown), (status = 409, description = "It is no program", body = ErrorBody), Lookup)
)]
pub(super) async fn credentials(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
) -> Answer<Json<CredentialsShown>> {
    Ok(Json(http.app().credentials(&caller, agent).await?))
}

/// Set what an agent gets to its model with. It is kept sealed, and taken up when its process is started next.
#[utoipa::path(
    put, path = "/agents/{agent_id}/credentials", tag = "programs",
    params(("agent_id" = AgentId, Path)),
    request_body = SetCredentials,
    responses(
        (status = 200, body = CredentialsShown),
        (status = 409, description = "It is no program", body = ErrorBody),
        Lookup,
        Intake,
    )
)]
pub(super) async fn set_credentials(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
    body: Body<SetCredentials>,
) -> Answer<Json<CredentialsShown>> {
    Ok(Json(http.app().set_credentials(&caller, agent, body.input).await?))
}

/// Forget an agent's credentials.
#[utoipa::path(
    delete, path = "/agents/{agent_id}/credentials", tag = "programs",
    params(("agent_id" = AgentId, Path)),
    responses((status = 204, description = "Gone"), Lookup)
)]
pub(super) async fn clear_credentials(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(agent): Ids<AgentId>,
) -> Answer<StatusCode> {
    http.app().clear_credentials(&caller, agent).await?;
    Ok(StatusCode::NO_CONTENT)
}
