//! What the three wires have in common: one request out, a stream of frames back, and the limits on both.
//!
//! Waiting is counted only while we wait: a reader that takes its time is not the service's silence. The first piece
//! is there when the first sign of it is, also of a tool call whose arguments take minutes; pings and comments are no
//! sign.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response};
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use hyper::body::Incoming;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::answer::Answer;
use super::chat::{Error, Piece, Request};
use super::fault::{self, Told};
use super::http::{Endpoint, causes};
use super::sse::{Frame, Parser};
use super::tokens;

/// All bytes of one answer.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// What is read of a refusal.
const MAX_REFUSAL: usize = 64 * 1024;
/// How long the body of a refusal may take. Its status is known, and must not get lost in a timeout.
const REFUSAL: Duration = Duration::from_secs(2);
/// After its end marker a body has only its own end left, which is read so that the connection can be used again.
const LINGER: Duration = Duration::from_millis(20);

pub(super) type Pieces = BoxStream<'static, Result<Piece, Error>>;

/// How a service writes.
pub(super) trait Dialect: Send + 'static {
    /// What a refusal means beyond its status.
    fn told(status: u16, body: &Value) -> Told;

    fn read(&mut self, frame: &Frame, answer: &mut Answer) -> Result<(), Error>;
}

/// What is sent, and where to.
pub(super) struct Call<'a> {
    pub(super) path: &'a str,
    pub(super) header: Option<(&'static str, &'static str)>,
    pub(super) body: Value,
}

/// Asks, and gives the answer as it comes.
pub(super) async fn ask<D: Dialect>(
    endpoint: &Endpoint,
    call: Call<'_>,
    request: &Request,
    dialect: D,
) -> Result<Pieces, Error> {
    let started = Instant::now();
    let opened = timeout(request.first_piece, open_stream::<D>(endpoint, &call)).await;
    let response = opened
        .unwrap_or(Err(Error::Timeout))
        .map_err(|error| fault::presentable(error, endpoint.key()))?;
    let reading = Reading {
        body: Some(response.into_body()),
        read: 0,
        parser: Parser::default(),
        dialect,
        answer: Answer::new(tokens::of_request(request)),
        left: request.first_piece.saturating_sub(started.elapsed()),
        silence: request.silence,
        key: endpoint.key().cloned(),
    };
    let pieces = stream::unfold(reading, async |mut reading| {
        let item = reading.next().await?;
        Some((item, reading))
    });
    Ok(pieces.boxed())
}

/// Asks for an answer that comes whole, within this time.
pub(super) async fn ask_whole<D: Dialect>(
    endpoint: &Endpoint,
    call: Call<'_>,
    within: Duration,
) -> Result<Bytes, Error> {
    let asked = timeout(within, async {
        let response = open::<D>(endpoint, &call, "application/json").await?;
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        body.map(Collected::to_bytes).map_err(|error| {
            if error.is::<LengthLimitError>() {
                Error::Malformed("an answer that is too long".to_owned())
            } else {
                Error::Cut(causes(&*error))
            }
        })
    });
    let answer = asked.await.unwrap_or(Err(Error::Timeout));
    answer.map_err(|error| fault::presentable(error, endpoint.key()))
}

/// Parses the data of a frame.
pub(super) fn parse<T: DeserializeOwned>(data: &str) -> Result<T, Error> {
    serde_json::from_str(data).map_err(|error| Error::Malformed(error.to_string()))
}

/// The error for a fault that is told in the middle of a stream.
pub(super) fn told<D: Dialect>(status: u16, body: &Value) -> Error {
    fault::by_status(status, &HeaderMap::new(), D::told(status, body))
}

async fn open_stream<D: Dialect>(
    endpoint: &Endpoint,
    call: &Call<'_>,
) -> Result<Response<Incoming>, Error> {
    let response = open::<D>(endpoint, call, "text/event-stream").await?;
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    if kind.contains("html") || kind.contains("json") {
        return Err(Error::Malformed(format!("{kind} instead of a stream of events")));
    }
    Ok(response)
}

/// Sends the question. An answer that is a refusal is read as one.
async fn open<D: Dialect>(
    endpoint: &Endpoint,
    call: &Call<'_>,
    accept: &'static str,
) -> Result<Response<Incoming>, Error> {
    let response = endpoint.post(call.path, accept, call.header, &call.body).await?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    let told = match timeout(REFUSAL, Limited::new(body, MAX_REFUSAL).collect()).await {
        Ok(Ok(body)) => refusal::<D>(status.as_u16(), &body.to_bytes()),
        Ok(Err(_)) | Err(_) => Told::default(),
    };
    Err(fault::by_status(status.as_u16(), &head.headers, told))
}

fn refusal<D: Dialect>(status: u16, body: &Bytes) -> Told {
    match serde_json::from_slice::<Value>(body) {
        Ok(json) => D::told(status, &json),
        // A proxy's page. Its first words are better than nothing.
        Err(_) => Told { message: String::from_utf8_lossy(body).into_owned(), ..Told::default() },
    }
}

/// An answer being read.
struct Reading<D> {
    /// Gone when the answer is over; dropping it closes the connection.
    body: Option<Incoming>,
    read: usize,
    parser: Parser,
    dialect: D,
    answer: Answer,
    /// How much longer we may wait for the next sign of an answer.
    left: Duration,
    silence: Duration,
    key: Option<SecretString>,
}

impl<D: Dialect> Reading<D> {
    async fn next(&mut self) -> Option<Result<Piece, Error>> {
        if let Some(piece) = self.answer.take() {
            return Some(Ok(piece));
        }
        self.body.as_ref()?;
        let item = self.step().await;
        if item.is_err() {
            self.body = None;
        }
        Some(item.map_err(|error| fault::presentable(error, self.key.as_ref())))
    }

    async fn step(&mut self) -> Result<Piece, Error> {
        loop {
            while let Some(frame) = self.parser.next()? {
                self.dialect.read(&frame, &mut self.answer)?;
                if self.answer.take_moved() {
                    self.left = self.silence;
                }
                if self.answer.is_marked() {
                    self.linger().await;
                    self.finish()?;
                }
                if let Some(piece) = self.answer.take() {
                    return Ok(piece);
                }
            }
            match self.chunk().await {
                Ok(Some(bytes)) => self.parser.feed(&bytes),
                Ok(None) => {
                    if let Some(frame) = self.parser.rest() {
                        self.dialect.read(&frame, &mut self.answer)?;
                    }
                    self.finish()?;
                }
                // The model had come to its end; only the service's goodbye is missing.
                Err(_) if self.answer.has_stopped() => self.finish()?,
                Err(error) => return Err(error),
            }
            if let Some(piece) = self.answer.take() {
                return Ok(piece);
            }
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.body = None;
        self.answer.close()
    }

    async fn linger(&mut self) {
        let _ = timeout(LINGER, async { while let Ok(Some(_)) = self.chunk().await {} }).await;
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(body) = &mut self.body else { return Ok(None) };
        let started = Instant::now();
        let frame = timeout(self.left, body.frame()).await.map_err(|_| Error::Timeout)?;
        self.left = self.left.saturating_sub(started.elapsed());
        let Some(frame) = frame else { return Ok(None) };
        let frame = frame.map_err(|error| Error::Cut(causes(&error)))?;
        let bytes = frame.into_data().unwrap_or_default();
        self.read += bytes.len();
        if self.read > MAX_ANSWER {
            return Err(Error::Malformed("an answer that is too long".to_owned()));
        }
        Ok(Some(bytes))
    }
}
