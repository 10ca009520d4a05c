//! An event as it goes over the wire, rendered once for all its readers.

use std::ops::Range;

use artel_domain::event::Signal;
use artel_domain::{SessionId, Timestamp};
use artel_storage::events::Recorded;
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

/// A rendered event or signal. Cloning shares the bytes.
#[derive(Debug, Clone)]
pub struct Frame {
    pub seq: Option<u64>,
    pub session: Option<SessionId>,
    sse: Bytes,
    /// Where its name stands in `sse`.
    kind: Range<usize>,
    /// Where the JSON starts in `sse`; it ends with the first of the two newlines there, which makes it a line.
    json: usize,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    event_type: &'a str,
    payload: &'a RawValue,
    timestamp: Timestamp,
    session_id: Option<SessionId>,
}

impl Frame {
    pub(super) fn of_event(event: &Recorded) -> Self {
        Self::render(Some(event.seq), &event.kind, &event.payload, event.at, event.session)
    }

    pub(super) fn of_signal(at: Timestamp, session: Option<SessionId>, signal: &Signal) -> Self {
        Self::render(None, signal.kind(), &signal.payload(), at, session)
    }

    fn render(
        seq: Option<u64>,
        kind: &str,
        payload: &str,
        at: Timestamp,
        session: Option<SessionId>,
    ) -> Self {
        // Serde escapes every line break, so the JSON is one line of an SSE frame whatever is in it.
        let payload: &RawValue = serde_json::from_str(payload).unwrap_or(RawValue::NULL);
        let mut text = Vec::with_capacity(payload.get().len() + 256);
        if let Some(seq) = seq {
            text.extend_from_slice(b"id: ");
            text.extend_from_slice(seq.to_string().as_bytes());
            text.push(b'\n');
        }
        text.extend_from_slice(b"event: ");
        let name = text.len()..text.len() + kind.len();
        text.extend_from_slice(kind.as_bytes());
        text.extend_from_slice(b"\ndata: ");
        let json = text.len();
        let body = Body { id: seq, event_type: kind, payload, timestamp: at, session_id: session };
        serde_json::to_writer(&mut text, &body).expect("a vector takes every byte");
        text.extend_from_slice(b"\n\n");
        Self { seq, session, sse: text.into(), kind: name, json }
    }

    /// As Server-Sent Events.
    pub fn sse(&self) -> Bytes {
        self.sse.clone()
    }

    /// As a line of JSON.
    pub fn line(&self) -> Bytes {
        self.sse.slice(self.json..self.sse.len() - 1)
    }

    /// Whether it is of this kind.
    pub fn is(&self, kind: &str) -> bool {
        self.sse[self.kind.clone()] == *kind.as_bytes()
    }

    /// Whether the text stands anywhere in it.
    pub fn mentions(&self, text: &str) -> bool {
        let text = text.as_bytes();
        !text.is_empty() && self.sse.windows(text.len()).any(|window| window == text)
    }

    pub(super) fn len(&self) -> usize {
        self.sse.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artel_domain::event::Heartbeat;

    #[test]
    fn both_forms_share_one_rendering() {
        let at = Timestamp::from_micros(0);
        let frame = Frame::render(Some(7), "kind", r#"{"text":"a\nb"}"#, at, None);
        let json = r#"{"id":7,"event_type":"kind","payload":{"text":"a\nb"},"timestamp":"1970-01-01T00:00:00.000000Z","session_id":null}"#;
        assert_eq!(frame.sse(), format!("id: 7\nevent: kind\ndata: {json}\n\n"));
        assert_eq!(frame.line(), format!("{json}\n"));
        let beat = Frame::of_signal(at, None, &Heartbeat { timestamp: at }.into());
        assert!(beat.sse().starts_with(b"event: heartbeat\ndata: {\"event_type\":\"heartbeat\""));
    }
}
