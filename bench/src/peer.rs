//! The peer of the event streams: what one writes with axum by its documentation, and the process that runs it.
//!
//! A broadcast channel, and for every listener an [`Sse`] of [`Event`]s that carry the same number, name and JSON
//! as ours. It keeps nothing and checks nobody. Where there was a choice it got the cheaper one: the event is
//! shared, not cloned, and its time is rendered once.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use artel_domain::event::AgentStatusChanged;
use artel_domain::{Clock, SessionId, SystemClock};
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::Stream;
use serde::Serialize;
use tokio::sync::broadcast;

use crate::wire;

const LISTENING: &str = "listening on ";
/// As many events as a listener may be behind before it loses some; our window is as long.
const BEHIND: usize = 1024;
const KIND: &str = "agent_status_changed";

/// The peer as a child of this process; dies with it.
pub(crate) struct Peer {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Peer {
    pub(crate) fn start() -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("peer-sse")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("it was asked for")?).read_line(&mut line)?;
        let url = line.trim().strip_prefix(LISTENING).context("the peer did not start")?;
        Ok(Self { child, address: wire::address(url)? })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself, and nobody is left to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the peer, in the child.
pub(crate) fn serve() -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let shared = Shared { events: broadcast::Sender::new(BEHIND), last: Arc::default() };
        let router = Router::new()
            .route("/events", get(listen))
            .route("/publish", post(publish))
            .with_state(shared);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{LISTENING}http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        axum::serve(listener, router).await?;
        Ok(())
    })
}

#[derive(Clone)]
struct Shared {
    events: broadcast::Sender<Arc<Body>>,
    /// The number of the newest event; held while it is sent, so that numbers go out in order.
    last: Arc<Mutex<u64>>,
}

#[derive(Serialize)]
struct Body {
    id: u64,
    event_type: &'static str,
    payload: AgentStatusChanged,
    timestamp: String,
    session_id: Option<SessionId>,
}

async fn publish(
    State(shared): State<Shared>,
    Json(payload): Json<AgentStatusChanged>,
) -> Json<u64> {
    let timestamp = SystemClock.now().to_string();
    let mut last = shared.last.lock().unwrap_or_else(PoisonError::into_inner);
    *last += 1;
    let body = Body { id: *last, event_type: KIND, payload, timestamp, session_id: None };
    // Without listeners there is nobody to tell.
    let _ = shared.events.send(Arc::new(body));
    Json(*last)
}

async fn listen(
    State(shared): State<Shared>,
) -> Sse<impl Stream<Item = Result<Event, axum::Error>>> {
    let events = futures_util::stream::unfold(shared.events.subscribe(), |mut events| async {
        // One that fell behind ends, and the measurement with it.
        let body = events.recv().await.ok()?;
        let event = Event::default().id(body.id.to_string()).event(KIND).json_data(&*body);
        Some((event, events))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}
