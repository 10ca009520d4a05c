//! Server-sent events, read frame by frame.
//!
//! The parser is our own and small, after the WHATWG text: it must see what an ordinary library
//! hides, such as a frame without a number or a comment, and it must take any split of the bytes.
//! It does not reconnect: whoever follows a stream decides when and from where.

use std::collections::VecDeque;

use anyhow::Result;
use reqwest::Response;
use serde_json::Value;

/// One dispatched event.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The number of this very frame; a frame without one leaves the cursor where it is.
    pub id: Option<u64>,
    pub event: String,
    /// Parsed when it is JSON, a string when it is not.
    pub data: Value,
}

impl Frame {
    /// The event's own content, whether it comes bare or in an envelope.
    pub fn payload(&self) -> &Value {
        self.data.get("payload").unwrap_or(&self.data)
    }
}

/// An open stream; dropping it cuts the connection.
#[derive(Debug)]
pub struct Events {
    response: Response,
    parser: Parser,
    ready: VecDeque<Frame>,
}

impl Events {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, parser: Parser::default(), ready: VecDeque::new() }
    }

    /// The next frame; `None` when the server ended the stream, an error when it broke.
    ///
    /// Safe to cancel: a frame is taken out only when it is returned.
    pub async fn next(&mut self) -> Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            let Some(chunk) = self.response.chunk().await? else { return Ok(None) };
            self.parser.push(&chunk, &mut self.ready);
        }
    }

    /// The next frame that carries a number; heartbeats and text in flight are passed over.
    pub async fn numbered(&mut self) -> Result<Option<(u64, Frame)>> {
        while let Some(frame) = self.next().await? {
            if let Some(id) = frame.id {
                return Ok(Some((id, frame)));
            }
        }
        Ok(None)
    }
}

/// Bytes in, frames out.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    after_return: bool,
    id: Option<u64>,
    event: String,
    data: Option<String>,
    /// How many comment lines went by; heartbeats are often comments.
    pub comments: u64,
}

impl Parser {
    pub fn push(&mut self, bytes: &[u8], out: &mut VecDeque<Frame>) {
        for &byte in bytes {
            // A line ends with CR, LF or CRLF; the pair may be split between two chunks.
            let second_half = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            if second_half {
                continue;
            }
            if byte == b'\n' || byte == b'\r' {
                let line = std::mem::take(&mut self.line);
                self.take(&String::from_utf8_lossy(&line), out);
                self.line = line;
                self.line.clear();
            } else {
                self.line.push(byte);
            }
        }
    }

    fn take(&mut self, line: &str, out: &mut VecDeque<Frame>) {
        if line.is_empty() {
            return self.dispatch(out);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => self.comments += 1,
            "id" => self.id = value.parse().ok(),
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // `retry`, and what is not known, is passed over as the standard says.
            _ => {}
        }
    }

    fn dispatch(&mut self, out: &mut VecDeque<Frame>) {
        let (id, event) = (self.id.take(), std::mem::take(&mut self.event));
        // Without data there is no event, says the standard.
        let Some(data) = self.data.take() else { return };
        let event = if event.is_empty() { "message".to_owned() } else { event };
        let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
        out.push_back(Frame { id, event, data });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STREAM: &str = ": hello\nretry: 100\n\nid: 7\nevent: a\ndata: {\"x\":\r\ndata: 1}\r\n\r\n\
                          event: heartbeat\ndata: {}\n\n: beat\n\nid:8\ndata:text\n\nid: 9\ndata: cut";

    fn frame(id: Option<u64>, event: &str, data: Value) -> Frame {
        Frame { id, event: event.to_owned(), data }
    }

    #[test]
    fn any_split_gives_the_same_frames() {
        let expected = [
            frame(Some(7), "a", json!({"x": 1})),
            frame(None, "heartbeat", json!({})),
            frame(Some(8), "message", json!("text")),
        ];
        for at in 0..STREAM.len() {
            let (mut parser, mut out) = (Parser::default(), VecDeque::new());
            parser.push(&STREAM.as_bytes()[..at], &mut out);
            parser.push(&STREAM.as_bytes()[at..], &mut out);
            assert_eq!(out, expected, "split at {at}");
            assert_eq!(parser.comments, 2);
        }
    }

    #[test]
    fn the_payload_is_found_bare_or_wrapped() {
        assert_eq!(frame(None, "a", json!({"n": 1})).payload(), &json!({"n": 1}));
        assert_eq!(frame(None, "a", json!({"payload": {"n": 1}})).payload(), &json!({"n": 1}));
    }
}
