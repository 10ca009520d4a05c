//! Lines out of a pipe, whatever comes: any bytes, no newline at the end, no newline at all.

use std::fmt;
use std::io;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest line that is taken as one. Programs put whole outputs of their tools into a line.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;
/// What is read at once: as much as a pipe holds.
const CHUNK: usize = 64 * 1024;
/// After a line longer than this its memory is given back.
const ROOMY: usize = 1024 * 1024;

/// A line without its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Bytes),
    /// The beginning of one that is too long; its rest is passed over.
    Cut(Bytes),
}

/// Reads lines. It holds one line and one chunk at most.
pub(crate) struct Lines<R> {
    input: R,
    buffer: BytesMut,
    /// So much of the buffer holds no newline.
    searched: usize,
    longest: usize,
    /// The rest of a line that was cut is on its way.
    skipping: bool,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self::with_longest(input, LONGEST)
    }

    fn with_longest(input: R, longest: usize) -> Self {
        let buffer = BytesMut::new();
        Self { input, buffer, searched: 0, longest, skipping: false, ended: false }
    }

    /// The next line, the last one also without a newline; `None` after it. Nothing is lost when this is dropped.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            if self.buffer.is_empty() && self.buffer.capacity() > ROOMY {
                self.buffer = BytesMut::new();
            }
            self.buffer.reserve(CHUNK);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                self.ended = true;
            }
        }
    }

    /// The next line of what was read already.
    pub(crate) fn buffered(&mut self) -> Option<Line> {
        if self.skipping {
            let Some(end) = memchr(b'\n', &self.buffer) else {
                self.buffer.clear();
                return None;
            };
            self.buffer.advance(end + 1);
            self.skipping = false;
        }
        let newline = memchr(b'\n', &self.buffer[self.searched..]).map(|at| self.searched + at);
        let length = newline.unwrap_or(self.buffer.len());
        if length > self.longest {
            self.skipping = true;
            return Some(Line::Cut(self.take(self.longest)));
        }
        if newline.is_none() && !(self.ended && length > 0) {
            self.searched = length;
            return None;
        }
        let line = self.take(length);
        if newline.is_some() {
            self.buffer.advance(1);
        }
        Some(Line::Whole(line))
    }

    fn take(&mut self, length: usize) -> Bytes {
        self.searched = 0;
        let line = self.buffer.split_to(length).freeze();
        if length > ROOMY {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        line
    }
}

impl<R> fmt::Debug for Lines<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("buffered", &self.buffer.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::io::StreamReader;

    use super::*;

    fn whole(text: &'static str) -> Line {
        Line::Whole(Bytes::from_static(text.as_bytes()))
    }

    /// All lines of bytes that arrive in pieces of a size.
    async fn lines(bytes: &[u8], piece: usize, longest: usize) -> Vec<Line> {
        let pieces: Vec<_> = bytes
            .chunks(piece)
            .map(|piece| io::Result::Ok(Bytes::copy_from_slice(piece)))
            .collect();
        let input = StreamReader::new(futures_util::stream::iter(pieces));
        let mut lines = Lines::with_longest(input, longest);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        assert_eq!(lines.next().await.unwrap(), None);
        all
    }

    /// CA-8.3: any bytes, empty lines, and a last line without newline, however they are cut up.
    #[tokio::test]
    async fn lines_come_as_they_were_written() {
        let bytes = b"one\n\n\xff\xfe two\r\nthree";
        for piece in 1..=bytes.len() {
            let all = lines(bytes, piece, 100).await;
            let two = Line::Whole(Bytes::from_static(b"\xff\xfe two\r"));
            assert_eq!(all, [whole("one"), whole(""), two, whole("three")]);
        }
        assert_eq!(lines(b"", 1, 100).await, []);
        assert_eq!(lines(b"\n", 1, 100).await, [whole("")]);
    }

    /// CA-8.3: a line that is too long is cut, and what comes after it is whole.
    #[tokio::test]
    async fn a_line_too_long_is_cut_and_nothing_after_it_is_lost() {
        let bytes = b"12345\n123456789\nnext\n1234567";
        for piece in 1..=bytes.len() {
            let cut = Line::Cut(Bytes::from_static(b"12345"));
            let all = lines(bytes, piece, 5).await;
            assert_eq!(all, [whole("12345"), cut.clone(), whole("next"), cut]);
        }
    }

    /// CA-8.3: a gigabyte without a newline is held in the memory of one line.
    #[tokio::test]
    async fn endless_output_without_a_newline_is_held_within_bounds() {
        let endless = tokio::io::repeat(b'x').take(1 << 30);
        let mut lines = Lines::new(endless.chain(&b"\nafter\n"[..]));
        let Some(Line::Cut(start)) = lines.next().await.unwrap() else { panic!("it is cut") };
        assert_eq!(start.len(), LONGEST);
        drop(start);
        assert_eq!(lines.next().await.unwrap(), Some(whole("after")));
        assert_eq!(lines.next().await.unwrap(), None);
        assert!(lines.buffer.capacity() < ROOMY);
    }
}
