//! A project's events as a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use artel_domain::{Envelope, ProjectId, SessionId};
use artel_engine::Error;
use artel_engine::feeds::{Batch, Frame, Subscription};
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use tokio::time::{Instant, Sleep};

use super::Http;
use super::error::{Answer, ErrorBody};
use super::extract::{Authenticated, Ids, Parameters};
use super::responses::Lookup;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Narrowed {
    /// Only events of this session.
    session_id: Option<SessionId>,
    /// Go on after this number; 0 starts at the first event that is kept. Without it, and without
    /// `Last-Event-ID`, the stream starts now.
    after: Option<u64>,
}

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Sse,
    Lines,
}

/// Every event of the project, as it happens. Reconnect with the last `id` to get everything since, once each.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/events", tag = "events",
    params(
        ("project_id" = ProjectId, Path),
        Narrowed,
        ("Last-Event-ID" = Option<u64>, Header, description = "Go on after this number"),
        ("Accept" = Option<String>, Header, description = "application/x-ndjson for JSON lines"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events, or one JSON object a line", content(
            (Envelope = "text/event-stream"),
            (Envelope = "application/x-ndjson"),
        )),
        (status = 422, body = ErrorBody),
        (status = 503, description = "The server is stopping", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn stream(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids(project): Ids<ProjectId>,
    Parameters(narrowed): Parameters<Narrowed>,
    headers: HeaderMap,
) -> Answer<Response> {
    let after = last_event_id(&headers)?.or(narrowed.after);
    let subscription = http.app().subscribe(&caller, project, narrowed.session_id, after).await?;
    let form = if accepts(&headers, "application/x-ndjson") { Form::Lines } else { Form::Sse };
    Ok(respond(subscription, form, http.0.heartbeat))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Since {
    /// Go on after this number, as in the project's stream.
    after: Option<u64>,
}

/// Every event of one conversation, as it happens. Reconnect with the last `id` to get everything since, once each.
#[utoipa::path(
    get, path = "/my/projects/{project_id}/chat/{session_id}/events", tag = "events",
    params(
        ("project_id" = ProjectId, Path),
        ("session_id" = SessionId, Path),
        Since,
        ("Last-Event-ID" = Option<u64>, Header, description = "Go on after this number"),
        ("Accept" = Option<String>, Header, description = "text/event-stream for Server-Sent Events"),
    ),
    responses(
        (status = 200, description = "One JSON object a line, or Server-Sent Events", content(
            (Envelope = "application/x-ndjson"),
            (Envelope = "text/event-stream"),
        )),
        (status = 422, body = ErrorBody),
        (status = 503, description = "The server is stopping", body = ErrorBody),
        Lookup,
    )
)]
pub(super) async fn of_session(
    State(http): State<Http>,
    Authenticated(caller): Authenticated,
    Ids((project, session)): Ids<(ProjectId, SessionId)>,
    Parameters(since): Parameters<Since>,
    headers: HeaderMap,
) -> Answer<Response> {
    let after = last_event_id(&headers)?.or(since.after);
    let app = http.app();
    app.session(&caller, project, session).await?;
    let subscription = app.subscribe(&caller, project, Some(session), after).await?;
    let form = if accepts(&headers, "text/event-stream") { Form::Sse } else { Form::Lines };
    Ok(respond(subscription, form, http.0.heartbeat))
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains(kind))
}

pub(super) fn last_event_id(headers: &HeaderMap) -> Answer<Option<u64>> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    // A browser sends an empty one when the stream never had an id.
    if text.is_empty() {
        return Ok(None);
    }
    text.parse()
        .map(Some)
        .map_err(|_| Error::invalid_field("Last-Event-ID", "must be the number of an event").into())
}

fn respond(subscription: Subscription, form: Form, heartbeat: Duration) -> Response {
    let tap = Tap::new(EventStream::new(subscription, form, heartbeat));
    let mut response = Response::new(Body::from_stream(tap.pieces()));
    response.extensions_mut().insert(tap);
    let headers = response.headers_mut();
    let kind = match form {
        Form::Sse => "text/event-stream",
        Form::Lines => "application/x-ndjson",
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// What goes out to one listener: whatever is there at once in one piece, and a sign of life now and then.
#[derive(Debug)]
pub(crate) struct EventStream {
    subscription: Subscription,
    form: Form,
    heartbeat: Duration,
    /// One timer for the life of the stream: setting one anew for every event would cost more than the event.
    beat: Pin<Box<Sleep>>,
    ended: bool,
}

impl EventStream {
    fn new(subscription: Subscription, form: Form, heartbeat: Duration) -> Self {
        metrics::gauge!("artel_event_streams").increment(1);
        let beat = Box::pin(tokio::time::sleep(heartbeat));
        Self { subscription, form, heartbeat, beat, ended: false }
    }

    /// The next piece. May be dropped while it waits; nothing is lost.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let batch = tokio::select! {
            biased;
            batch = self.subscription.next() => batch,
            () = &mut self.beat => {
                self.beat.as_mut().reset(Instant::now() + self.heartbeat);
                Ok(Batch::Frames(vec![self.subscription.heartbeat()]))
            }
        };
        match batch {
            Ok(Batch::Frames(frames)) => Some(joined(&frames, self.form)),
            Ok(Batch::End(last)) => {
                self.ended = true;
                last.map(|last| joined(&[last], self.form))
            }
            Err(error) => {
                // The reader comes back and goes on where it was; there is nothing better to tell it here.
                tracing::warn!(%error, "an event stream ended early");
                None
            }
        }
    }
}

/// Counts itself out when the reader goes, however it goes.
impl Drop for EventStream {
    fn drop(&mut self) {
        metrics::gauge!("artel_event_streams").decrement(1);
    }
}

/// Where an answer's stream can be taken off, to be written past the HTTP server.
#[derive(Debug, Clone)]
pub(crate) struct Tap(Arc<Mutex<Option<EventStream>>>);

impl Tap {
    fn new(stream: EventStream) -> Self {
        Self(Arc::new(Mutex::new(Some(stream))))
    }

    pub(crate) fn take(&self) -> Option<EventStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The stream as a body, for as long as nobody takes it off; after that, silence.
    fn pieces(&self) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
        futures_util::stream::unfold(Self(Arc::clone(&self.0)), |tap| async move {
            let Some(mut stream) = tap.take() else { std::future::pending().await };
            let piece = stream.next().await?;
            *tap.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
            Some((Ok(piece), tap))
        })
    }
}

fn joined(frames: &[Frame], form: Form) -> Bytes {
    let bytes = |frame: &Frame| match form {
        Form::Sse => frame.sse(),
        Form::Lines => frame.line(),
    };
    if let [only] = frames {
        return bytes(only);
    }
    let mut all = BytesMut::new();
    for frame in frames {
        all.extend_from_slice(&bytes(frame));
    }
    all.freeze()
}
