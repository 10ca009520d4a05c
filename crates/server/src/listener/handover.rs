//! Event streams leave hyper once their head is out, and go straight to the socket.
//!
//! hyper keeps 16 KiB of buffers per connection and passes every piece through several layers. A stream that says
//! little and lasts for hours needs neither: what is left of it here is its socket and its place in the log. Only
//! `GET` of HTTP/1.1 is handed over, as the rest of the answer is written in chunks.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use axum::response::Response;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};

use super::stall::Unstalled;
use crate::http::{EventStream, Tap};

/// A chunk up to this size is put together on the stack.
const SMALL: usize = 2048;
/// What stands around the data of a chunk: its size in hexadecimal digits, and two line breaks.
const AROUND: usize = 20;

/// What hyper's side of a connection leaves for ours.
#[derive(Debug, Default)]
pub(super) struct Handover {
    stream: Mutex<Option<EventStream>>,
    /// Whether everything that hyper has written so far is with the kernel.
    flushed: AtomicBool,
}

impl Handover {
    /// Takes the stream off an answer that has one. hyper is left with a body that has nothing to say.
    pub(super) fn offer(&self, answer: &Response) {
        if let Some(stream) = answer.extensions().get::<Tap>().and_then(Tap::take) {
            *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
            self.wrote();
        }
    }

    /// The stream, once the head of its answer is out.
    pub(super) fn take(&self) -> Option<EventStream> {
        if !self.flushed.load(Ordering::Relaxed) {
            return None;
        }
        self.stream.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn wrote(&self) {
        self.flushed.store(false, Ordering::Relaxed);
    }

    /// hyper flushes its connection when its own buffer is empty, never before.
    pub(super) fn flushed(&self) {
        self.flushed.store(true, Ordering::Relaxed);
    }
}

/// Writes the stream until it ends or its reader goes.
pub(super) async fn run(mut io: Unstalled, mut stream: EventStream) -> io::Result<()> {
    loop {
        let piece = tokio::select! {
            biased;
            piece = stream.next() => piece,
            gone = reader_gone(&mut io) => return gone,
        };
        match piece {
            Some(data) => write_chunk(&mut io, &data).await?,
            None => break,
        }
    }
    io.write_all(b"0\r\n\r\n").await?;
    io.shutdown().await
}

/// Answers when the reader has gone. It has nothing more to say; whatever comes is passed over.
async fn reader_gone(io: &mut Unstalled) -> io::Result<()> {
    std::future::poll_fn(|context| {
        let mut bytes = [0; 64];
        loop {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut *io).poll_read(context, &mut buffer) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(())) => {}
            }
        }
    })
    .await
}

/// One write in nearly every case: the kernel takes more time than all of the rest.
async fn write_chunk(io: &mut Unstalled, data: &Bytes) -> io::Result<()> {
    if data.is_empty() {
        // An empty chunk would end the answer.
        return Ok(());
    }
    if let Some(rest) = write_small(io, data)? {
        io.write_all(&rest).await?;
    }
    Ok(())
}

/// Writes what the kernel takes at once, and gives back the rest.
fn write_small(io: &Unstalled, data: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut stack = [0; SMALL + AROUND];
    let mut heap = Vec::new();
    let chunk: &[u8] = if data.len() <= SMALL {
        let mut cursor = io::Cursor::new(&mut stack[..]);
        put(&mut cursor, data)?;
        let length = usize::try_from(cursor.position()).map_err(io::Error::other)?;
        &stack[..length]
    } else {
        heap.reserve_exact(data.len() + AROUND);
        put(&mut heap, data)?;
        &heap
    };
    let written = match io.try_write(chunk) {
        Ok(written) => written,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => return Err(error),
    };
    Ok((written < chunk.len()).then(|| chunk[written..].to_vec()))
}

fn put(out: &mut impl Write, data: &[u8]) -> io::Result<()> {
    write!(out, "{:x}\r\n", data.len())?;
    out.write_all(data)?;
    out.write_all(b"\r\n")
}
