//! Readers of event streams that check the numbers and look at nothing else.
//!
//! One thread reads all sockets in turn, every few milliseconds, and never waits for one. A reader that waits has
//! to be woken at every event, and on one machine that is paid by the server that wrote it: often more than the
//! write itself, and a price that no reader on another machine would ask.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::wire::Connection;

/// Between two rounds of reading.
const PAUSE: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_mins(1);
/// Long enough for the line with the number; the rest of longer ones is passed over.
const LINE: usize = 32;

/// Reads until every stream has brought `count` numbered events, each with the number after the one before it.
/// Gives the open streams back.
pub(crate) fn follow(connections: Vec<Connection>, count: u64) -> Result<Vec<Reader>> {
    let readers: Result<Vec<_>> = connections.into_iter().map(Reader::new).collect();
    let (mut readers, begin) = (readers?, Instant::now());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        for reader in &mut readers {
            reader.read(&mut buffer)?;
            let seen = reader.numbers.seen;
            ensure!(seen <= count, "{seen} events came, not {count}");
        }
        if readers.iter().all(|reader| reader.numbers.seen == count) {
            return Ok(readers);
        }
        ensure!(begin.elapsed() < LIMIT, "some listeners did not get every event in time");
        thread::sleep(PAUSE);
    }
}

pub(crate) struct Reader {
    stream: TcpStream,
    chunks: Chunks,
    numbers: Numbers,
}

impl Reader {
    fn new(connection: Connection) -> Result<Self> {
        let (mut chunks, mut numbers) = (Chunks::default(), Numbers::default());
        chunks.take(&connection.buffer, |data| numbers.take(data))?;
        // It does not block, as it comes from the runtime.
        Ok(Self { stream: connection.stream.into_std()?, chunks, numbers })
    }

    /// Reads what is there.
    fn read(&mut self, buffer: &mut [u8]) -> Result<()> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => bail!("the stream ended after {} events", self.numbers.seen),
                Ok(read) => self.chunks.take(&buffer[..read], |data| self.numbers.take(data))?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
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

    const BODY: &[u8] = b"1b\r\nevent: a\ndata: {}\nid: 7\n\n: \r\n10\r\n\n\nid: 8\ndata: 1\n\r\n";

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
