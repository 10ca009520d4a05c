//! The three pipes of a process. What is to be written waits here until it is taken.

use std::fmt;
use std::io;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use crate::lines::{Line, Lines};

/// What may wait to be read by a program: a few of the largest messages, with all that quoting adds.
const MOST_WAITING: usize = 64 * 1024 * 1024;

pub(super) type Output = Box<dyn AsyncRead + Send + Unpin>;

pub(super) struct Pipes {
    pub(super) input: Input,
    pub(super) stdout: Outlet,
    pub(super) stderr: Outlet,
}

/// A pipe that is read, until it ends.
#[derive(Debug)]
pub(super) struct Outlet {
    lines: Lines<Output>,
    ended: bool,
}

/// The pipe that is written.
pub(super) struct Input {
    pipe: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    waiting: BytesMut,
    /// To be closed after what waits.
    closing: bool,
    /// When some of what waits was taken last.
    taken: Instant,
}

impl Pipes {
    pub(super) fn new(
        stdin: Box<dyn AsyncWrite + Send + Unpin>,
        stdout: Output,
        stderr: Output,
    ) -> Self {
        let input = Input {
            pipe: Some(stdin),
            waiting: BytesMut::new(),
            closing: false,
            taken: Instant::now(),
        };
        Self { input, stdout: Outlet::new(stdout), stderr: Outlet::new(stderr) }
    }

    /// Nothing more will be read.
    pub(super) fn have_ended(&self) -> bool {
        self.stdout.ended && self.stderr.ended
    }
}

impl Outlet {
    fn new(pipe: Output) -> Self {
        Self { lines: Lines::new(pipe), ended: false }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next line; `None` once, at its end or when it fails.
    pub(super) async fn next(&mut self) -> Option<Line> {
        let line = self.lines.next().await.ok().flatten();
        self.ended = line.is_none();
        line
    }

    /// The next line of what was read already.
    pub(super) fn buffered(&mut self) -> Option<Line> {
        self.lines.buffered()
    }
}

impl Input {
    /// Adds frames. False when too much waits already.
    pub(super) fn add(&mut self, frames: &[u8]) -> bool {
        if self.waiting.len() + frames.len() > MOST_WAITING {
            return false;
        }
        if self.waiting.is_empty() {
            self.taken = Instant::now();
        }
        if self.pipe.is_some() {
            self.waiting.extend_from_slice(frames);
        }
        true
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
        if self.waiting.is_empty() {
            self.pipe = None;
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// When it is to be given up, if nothing more is taken.
    pub(super) fn due(&self, patience: Duration) -> Option<Instant> {
        self.is_waiting().then(|| self.taken + patience)
    }

    /// Writes as much as is taken at once. Nothing is lost or written twice when this is dropped.
    pub(super) async fn write(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        let written = pipe.write(&self.waiting).await.and_then(|written| match written {
            0 => Err(io::ErrorKind::WriteZero.into()),
            written => Ok(written),
        });
        if let Ok(written) = written {
            self.waiting.advance(written);
            self.taken = Instant::now();
        } else {
            self.pipe = None;
            self.waiting.clear();
        }
        if self.waiting.is_empty() {
            // Not kept at the size of the largest message.
            self.waiting = BytesMut::new();
            if self.closing {
                self.pipe = None;
            }
        }
        written.map(drop)
    }
}

impl fmt::Debug for Pipes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipes").field("waiting", &self.input.waiting.len()).finish_non_exhaustive()
    }
}
