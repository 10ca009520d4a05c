//! A connection that fails when its other end takes nothing for too long.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

use super::handover::Handover;

/// The limit once the server is stopping: who reads at all has taken the rest by then.
const STOPPING: Duration = Duration::from_secs(1);

/// A stream with a limit on how long a write may wait. The clock runs only while one waits.
pub(super) struct Unstalled {
    stream: TcpStream,
    limit: Duration,
    stop: CancellationToken,
    hurried: bool,
    waiting: Option<Pin<Box<Sleep>>>,
    handover: Arc<Handover>,
}

impl Unstalled {
    pub(super) fn new(
        stream: TcpStream,
        limit: Duration,
        stop: CancellationToken,
        handover: Arc<Handover>,
    ) -> Self {
        Self { stream, limit, stop, hurried: false, waiting: None, handover }
    }

    /// Writes what the kernel takes without waiting.
    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.try_write(bytes)
    }

    /// Passes the outcome of a write on, or fails when it has waited for too long.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        if !self.hurried && self.stop.is_cancelled() {
            self.hurried = true;
            self.limit = self.limit.min(STOPPING);
            self.waiting = None;
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(waiting.as_mut().poll(context));
        metrics::counter!("artel_stalled_connections_total").increment(1);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other end takes nothing")))
    }
}

impl AsyncRead for Unstalled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Unstalled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.handover.wrote();
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.handover.wrote();
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.handover.flushed();
        self.watch(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, outcome)
    }
}
