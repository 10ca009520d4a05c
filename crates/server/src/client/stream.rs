//! The project's events as a client reads them, and what can go wrong on the way.

use std::fmt;
use std::time::Duration;

use artel_domain::Envelope;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::{RequestBuilder, Response};

use crate::cli::connection::{Connection, refused};

/// The server says something at least every half a minute.
const SILENCE: Duration = Duration::from_secs(65);
/// A request that has no answer by now will have none.
const PATIENCE: Duration = Duration::from_secs(30);
/// More than the largest event.
const LONGEST: usize = 32 * 1024 * 1024;

/// Why a client cannot go on as it was.
#[derive(Debug)]
pub(crate) enum Fault {
    /// No server answers, or the connection was cut.
    Cut(String),
    /// Another client is active.
    Another(String),
    /// There is no use in trying again.
    Refused(anyhow::Error),
}

impl Fault {
    pub(crate) fn is_standby(&self) -> bool {
        matches!(self, Self::Another(_))
    }

    /// For who does not try again.
    pub(crate) fn into_error(self) -> anyhow::Error {
        match self {
            Self::Cut(why) => anyhow::anyhow!("no connection to the server ({why})"),
            Self::Another(who) => anyhow::anyhow!(who),
            Self::Refused(error) => error,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut(why) => write!(f, "No connection to the server ({why}); trying again."),
            Self::Another(who) => f.write_str(who),
            Self::Refused(error) => write!(f, "{error:#}"),
        }
    }
}

/// Sends a request and tells faults apart.
pub(crate) async fn checked(request: RequestBuilder) -> Result<Response, Fault> {
    let sent = tokio::time::timeout(PATIENCE, request.send()).await;
    let response = match sent {
        Err(_) => return Err(Fault::Cut("no answer".to_owned())),
        Ok(Err(error)) => return Err(Fault::Cut(cause(&error))),
        Ok(Ok(response)) => response,
    };
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body: serde_json::Value = response.json().await.unwrap_or_default();
    let detail = body["detail"].as_str().unwrap_or("the server refused").to_owned();
    Err(match (status.as_u16(), body["error_code"].as_str()) {
        (409, Some("another_client")) => Fault::Another(detail),
        (429 | 500.., _) => Fault::Cut(detail),
        (code, _) => Fault::Refused(refused(code, detail)),
    })
}

/// The innermost reason, which is the one that helps.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(below) = innermost.source() {
        innermost = below;
    }
    innermost.to_string()
}

pub(crate) struct Stream {
    pieces: BoxStream<'static, reqwest::Result<Bytes>>,
    pending: Vec<u8>,
}

impl Stream {
    /// Opens it, from now on or after an event that was seen.
    pub(crate) async fn open(
        connection: &Connection,
        path: &str,
        after: Option<u64>,
    ) -> Result<Self, Fault> {
        let from = after.map_or_else(String::new, |after| format!("?after={after}"));
        let request = connection.request(reqwest::Method::GET, &format!("{path}/events{from}"));
        let response = checked(request.header("accept", "application/x-ndjson")).await?;
        Ok(Self { pieces: response.bytes_stream().boxed(), pending: Vec::new() })
    }

    /// The next event. Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Envelope, Fault> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                match serde_json::from_slice(&line) {
                    Ok(event) => return Ok(event),
                    // An empty line, or what a newer server says.
                    Err(_) => continue,
                }
            }
            if self.pending.len() > LONGEST {
                return Err(Fault::Cut("the server sends what is no event".to_owned()));
            }
            match tokio::time::timeout(SILENCE, self.pieces.next()).await {
                Ok(Some(Ok(piece))) => self.pending.extend_from_slice(&piece),
                Ok(Some(Err(error))) => return Err(Fault::Cut(cause(&error))),
                Ok(None) => return Err(Fault::Cut("the server closed the stream".to_owned())),
                Err(_) => return Err(Fault::Cut("the server has fallen silent".to_owned())),
            }
        }
    }
}
