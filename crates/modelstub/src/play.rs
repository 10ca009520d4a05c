//! Sends an answer, in its own time, and breaks it off where the scenario says so.
//!
//! A connection is cut by an error in the body: it is then closed without the chunk that would
//! end it, so that the client can tell a cut from an end.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use crate::ledger::{End, Ticket};
use crate::scenario::{Fault, Nonsense};
use crate::wire::error::Refusal;
use crate::wire::{self, Asked, Delivery, Frame, FrameKind, Wire};

/// What is written must have left before a connection is cut, or it would be thrown away with it.
const FLUSH: Duration = Duration::from_millis(20);

/// A whole JSON body.
pub(crate) fn json(status: u16, body: &Value, wire: Wire, mut ticket: Ticket) -> Response {
    ticket.status(status);
    ticket.will_end(End::Complete);
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    head(&mut response, wire, "application/json");
    response
}

/// A whole answer that comes to no good end.
pub(crate) fn broken_json(body: &Value, fault: &Fault, wire: Wire, ticket: Ticket) -> Response {
    let text = body.to_string();
    let half: String = text.chars().take(text.chars().count() / 2).collect();
    let (first, then) = match fault {
        Fault::Cut { after: 0 } => (Bytes::new(), Ending::Cut),
        Fault::Cut { .. } => (half.into(), Ending::Cut),
        Fault::Silent { .. } => (half.into(), Ending::Silence),
        Fault::Garbage { nonsense: Nonsense::Json, .. } => (half.into(), Ending::Broken),
        Fault::Garbage { nonsense, .. } => (gibberish(*nonsense), Ending::Broken),
        Fault::Status(_) | Fault::Hang {} | Fault::Slow { .. } | Fault::LateError { .. } => {
            (text.into(), Ending::Complete)
        }
    };
    let parts = vec![Part { bytes: first, wait: Duration::ZERO }];
    send(parts, then, wire, "application/json", ticket)
}

/// A stream, to its end or to its fault.
pub(crate) fn frames(
    asked: &Asked,
    frames: &[Frame],
    delay: Duration,
    fault: Option<&Fault>,
    ticket: Ticket,
) -> Response {
    let kept = |after: usize| &frames[..end_of_piece(frames, after)];
    let (kept, extra, ending) = match fault {
        Some(Fault::Cut { after }) => (kept(*after), Bytes::new(), Ending::Cut),
        Some(Fault::Silent { after }) => (kept(*after), Bytes::new(), Ending::Silence),
        Some(Fault::Garbage { after, nonsense }) => {
            (kept(*after), gibberish(*nonsense), Ending::Broken)
        }
        Some(Fault::LateError { after, status, error, message }) => {
            let refusal = Refusal {
                status: *status,
                error: error.clone(),
                message: message.clone(),
                retry_after: None,
            };
            let kept = kept(*after);
            let frame = wire::late_error(asked, &refusal.body(asked.wire), kept.len());
            (kept, frame.text.into(), Ending::Broken)
        }
        Some(Fault::Status(_) | Fault::Hang {} | Fault::Slow { .. }) | None => {
            (frames, Bytes::new(), Ending::Complete)
        }
    };
    let mut parts = Vec::with_capacity(kept.len() + 1);
    let mut pieces = 0;
    for frame in kept {
        let wait = match frame.kind {
            FrameKind::Piece => {
                pieces += 1;
                if pieces > 1 { delay } else { Duration::ZERO }
            }
            FrameKind::Frame => Duration::ZERO,
        };
        parts.push(Part { bytes: frame.text.clone().into(), wait });
    }
    if !extra.is_empty() {
        parts.push(Part { bytes: extra, wait: Duration::ZERO });
    }
    let kind = match (asked.delivery, asked.wire) {
        (Delivery::Array, _) => "application/json; charset=UTF-8",
        (_, Wire::Gemini) => "text/event-stream",
        (..) => "text/event-stream; charset=utf-8",
    };
    send(parts, ending, asked.wire, kind, ticket)
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Complete,
    /// The body ends as bodies do; what is in it is broken.
    Broken,
    Cut,
    Silence,
}

struct Part {
    bytes: Bytes,
    /// Before it.
    wait: Duration,
}

fn send(
    parts: Vec<Part>,
    ending: Ending,
    wire: Wire,
    kind: &'static str,
    ticket: Ticket,
) -> Response {
    ticket.status(200);
    let state = (parts.into_iter(), ticket);
    let body = stream::unfold(Some(state), move |state| async move {
        let (mut parts, mut ticket) = state?;
        if let Some(part) = parts.next() {
            // Also without a wait, so that every part goes out on its own, as from a model.
            if part.wait.is_zero() {
                tokio::task::yield_now().await;
            } else {
                tokio::time::sleep(part.wait).await;
            }
            return Some((Ok(part.bytes), Some((parts, ticket))));
        }
        match ending {
            Ending::Complete => ticket.will_end(End::Complete),
            Ending::Broken => ticket.will_end(End::Broken),
            Ending::Cut => {
                tokio::time::sleep(FLUSH).await;
                ticket.will_end(End::Broken);
                return Some((Err(io::Error::other("cut by the scenario")), None));
            }
            Ending::Silence => std::future::pending().await,
        }
        None
    });
    let mut response = Response::new(Body::from_stream(body));
    head(&mut response, wire, kind);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn head(response: &mut Response, wire: Wire, kind: &'static str) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let (name, prefix) = match wire {
        Wire::Messages => ("request-id", "req_01"),
        Wire::Chat | Wire::Responses | Wire::Embeddings => ("x-request-id", "req_"),
        Wire::Gemini => return,
    };
    if let Ok(id) = HeaderValue::try_from(wire::id(prefix, 22)) {
        headers.insert(name, id);
    }
}

/// Up to and with the `after`-th piece; for 0 what comes before the first one.
fn end_of_piece(frames: &[Frame], after: usize) -> usize {
    let mut pieces = frames.iter().enumerate().filter(|(_, frame)| frame.kind == FrameKind::Piece);
    match after.checked_sub(1) {
        Some(before) => pieces.nth(before).map_or(frames.len(), |(at, _)| at + 1),
        None => pieces.next().map_or(frames.len(), |(at, _)| at),
    }
}

fn gibberish(nonsense: Nonsense) -> Bytes {
    match nonsense {
        Nonsense::Json => Bytes::from_static(b"data: {\"choices\": [{\"delta\": nonsense\n\n"),
        Nonsense::Html => Bytes::from_static(
            b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>\n",
        ),
        Nonsense::Bytes => {
            Bytes::from_static(b"\x00\xff\xfe\xc3\x28\xf0\x9f\n\n\x80data: \xff\n\n")
        }
    }
}
