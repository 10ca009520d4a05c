//! Server-sent events, as they come off a wire.
//!
//! Bytes may be split anywhere, in the middle of a character too. Lines end with `\n`, `\r\n` or `\r`; comments, ids
//! and unknown fields are passed over. What one line and one frame may hold is bounded, so that a service gone wrong
//! costs an error and not the memory of the server.

use super::chat::Error;

/// The longest line, and the most data of one frame. A tool call may carry a file, so this is generous.
pub(super) const LIMIT: usize = 2 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// Empty where the service names none.
    pub(super) event: String,
    pub(super) data: String,
}

/// Turns bytes into frames.
#[derive(Debug, Default)]
pub(super) struct Parser {
    input: Vec<u8>,
    /// How much of `input` was already looked through for the end of a line.
    seen: usize,
    frame: Frame,
    has_data: bool,
    after_return: bool,
    begun: bool,
}

impl Parser {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// The next whole frame, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Error> {
        let mut start = 0;
        let mut found = None;
        while found.is_none() {
            if self.after_return && self.input.get(start) == Some(&b'\n') {
                start += 1;
            }
            if start < self.input.len() {
                self.after_return = false;
            }
            let from = start.max(self.seen);
            let Some(length) =
                self.input[from..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))
            else {
                break;
            };
            let end = from + length;
            if end - start > LIMIT {
                return Err(too_long());
            }
            self.after_return = self.input[end] == b'\r';
            let line = self.input[start..end].to_vec();
            start = end + 1;
            found = self.line(&line)?;
        }
        self.input.drain(..start);
        // When a frame was found, what follows was not looked through yet.
        self.seen = if found.is_some() { 0 } else { self.input.len() };
        if self.input.len() > LIMIT && found.is_none() {
            return Err(too_long());
        }
        Ok(found)
    }

    /// What is left when the bytes have ended: some services leave out the last empty line. A line that itself was not
    /// ended was cut off, and is no frame.
    pub(super) fn rest(&mut self) -> Option<Frame> {
        self.dispatch()
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<Frame>, Error> {
        let line =
            if self.begun { line } else { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) };
        self.begun = true;
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let line = std::str::from_utf8(line)
            .map_err(|_| Error::Malformed("the stream is not UTF-8".to_owned()))?;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.frame.data.push('\n');
                }
                self.has_data = true;
                self.frame.data.push_str(value);
                if self.frame.data.len() > LIMIT {
                    return Err(too_long());
                }
            }
            "event" => value.clone_into(&mut self.frame.event),
            // A proxy has put its page into the middle.
            _ if field.starts_with('<') => {
                return Err(Error::Malformed("a page instead of events".to_owned()));
            }
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<Frame> {
        let frame = std::mem::take(&mut self.frame);
        std::mem::take(&mut self.has_data).then_some(frame)
    }
}

fn too_long() -> Error {
    Error::Malformed("the stream holds a line that is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = "\u{feff}: hello\r\nevent: greeting\r\ndata: Привет\r\n\r\n\
        id: 7\ndata:one\ndata: two\n\n\ndata\n\nevent: lonely\n\ndata: three\r\rdata: [DONE]\n"
        .as_bytes();

    fn frames(chunks: impl IntoIterator<Item = Vec<u8>>) -> Vec<Frame> {
        let mut parser = Parser::default();
        let mut frames = Vec::new();
        for chunk in chunks {
            parser.feed(&chunk);
            while let Some(frame) = parser.next().unwrap() {
                frames.push(frame);
            }
        }
        frames.extend(parser.rest());
        frames
    }

    #[test]
    fn any_split_of_the_bytes_gives_the_same_frames() {
        let whole = frames([STREAM.to_vec()]);
        let data: Vec<_> = whole.iter().map(|frame| frame.data.as_str()).collect();
        assert_eq!(data, ["Привет", "one\ntwo", "", "three", "[DONE]"]);
        assert_eq!(whole[0].event, "greeting");
        assert!(whole[1..].iter().all(|frame| frame.event.is_empty()));

        for size in 1..STREAM.len() {
            assert_eq!(frames(STREAM.chunks(size).map(<[u8]>::to_vec)), whole, "chunks of {size}");
        }
        for at in 0..STREAM.len() {
            let (left, right) = STREAM.split_at(at);
            assert_eq!(frames([left.to_vec(), right.to_vec()]), whole, "split at {at}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_frame() {
        assert_eq!(frames([b"data: {\"half\":".to_vec()]), []);
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut parser = Parser::default();
        let chunk = vec![b'x'; 64 * 1024];
        let error = (0..100).find_map(|_| {
            parser.feed(&chunk);
            parser.next().err()
        });
        assert!(matches!(error, Some(Error::Malformed(_))));
        assert!(parser.input.len() <= LIMIT + chunk.len());
    }

    #[test]
    fn a_frame_of_many_lines_is_bounded_too() {
        let mut parser = Parser::default();
        let mut line = b"data: ".to_vec();
        line.extend(vec![b'x'; 64 * 1024]);
        line.push(b'\n');
        let error = (0..100).find_map(|_| {
            parser.feed(&line);
            parser.next().err()
        });
        assert!(matches!(error, Some(Error::Malformed(_))));
    }

    #[test]
    fn what_is_not_text_is_malformed() {
        let mut parser = Parser::default();
        parser.feed(b"data: \xff\xfe\n\n");
        assert!(matches!(parser.next(), Err(Error::Malformed(_))));
    }
}
