//! A reader of an event stream that checks the numbers and looks at nothing else.

use anyhow::{Result, ensure};
use tokio::io::AsyncReadExt;

use crate::wire::Connection;

/// Long enough for the line with the number; the rest of longer ones is passed over.
const LINE: usize = 32;

/// Reads until `count` numbered events have come, each with the number after the one before it.
pub(crate) async fn follow(mut connection: Connection, count: u64) -> Result<Connection> {
    let (mut chunks, mut numbers) = (Chunks::default(), Numbers::default());
    loop {
        chunks.take(&connection.buffer, |data| numbers.take(data))?;
        connection.buffer.clear();
        if numbers.seen >= count {
            ensure!(numbers.seen == count, "{} events came, not {count}", numbers.seen);
            return Ok(connection);
        }
        let read = connection.stream.read_buf(&mut connection.buffer).await?;
        ensure!(read > 0, "the stream ended after {} events", numbers.seen);
    }
}

/// Undoes `Transfer-Encoding: chunked`, for whatever pieces the bytes come in.
#[derive(Debug, Default)]
struct Chunks {
    at: Part,
    /// Bytes left in the chunk; while its size is being read, what was read of it.
    left: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum Part {
    #[default]
    Size,
    Data,
    /// The two bytes after a chunk.
    End,
}

impl Chunks {
    fn take(&mut self, mut bytes: &[u8], mut data: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while let [first, rest @ ..] = bytes {
            match self.at {
                Part::Size => {
                    bytes = rest;
                    match char::from(*first).to_digit(16) {
                        Some(digit) => self.left = self.left * 16 + digit as usize,
                        None if *first == b'\n' => self.at = Part::Data,
                        None => ensure!(*first == b'\r', "not a chunk's size"),
                    }
                }
                Part::Data => {
                    let (now, later) = bytes.split_at(self.left.min(bytes.len()));
                    bytes = later;
                    self.left -= now.len();
                    data(now)?;
                    if self.left == 0 {
                        self.at = Part::End;
                    }
                }
                Part::End => {
                    bytes = rest;
                    if *first == b'\n' {
                        self.at = Part::Size;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Finds the lines `id: NUMBER` and checks that they go up by one.
#[derive(Debug, Default)]
struct Numbers {
    /// The start of a line that has not ended yet.
    line: Vec<u8>,
    last: Option<u64>,
    seen: u64,
}

impl Numbers {
    fn take(&mut self, data: &[u8]) -> Result<()> {
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<()> {
        if let Some(number) = self.line.strip_prefix(b"id:") {
            let number = std::str::from_utf8(number)?.trim().parse()?;
            let follows = self.last.is_none_or(|last| number == last + 1);
            ensure!(follows, "event {number} came after {:?}", self.last);
            self.last = Some(number);
            self.seen += 1;
        }
        self.line.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"1d\r\nevent: a\ndata: {}\nid: 7\n\n: \r\n10\r\n\n\nid: 8\ndata: 1\n\r\n";

    #[test]
    fn any_split_gives_the_same_numbers() {
        for at in 0..BODY.len() {
            let (mut chunks, mut numbers) = (Chunks::default(), Numbers::default());
            for piece in [&BODY[..at], &BODY[at..]] {
                chunks.take(piece, |data| numbers.take(data)).unwrap();
            }
            assert_eq!((numbers.seen, numbers.last), (2, Some(8)), "split at {at}");
        }
    }

    #[test]
    fn a_missing_number_is_noticed() {
        let mut numbers = Numbers::default();
        assert!(numbers.take(b"id: 1\nid: 3\n").is_err());
    }
}
