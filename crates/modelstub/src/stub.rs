//! The listening stub: what a test holds.
//!
//! Every connection is a task owned by the accepting task, which is owned by the [`Stub`]: when
//! that is dropped, all connections break off, also those that are in the middle of an answer.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::ledger::{Ledger, Recorded};
use crate::scenario::Scenario;
use crate::serve::{self, Shared};

/// How long the accepting task waits after an error, e.g. when there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where to listen and what to keep.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: SocketAddr,
    /// Every request is appended here as a line of JSON, and another line says how it ended.
    pub log: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { listen: (Ipv4Addr::LOCALHOST, 0).into(), log: None }
    }
}

/// A running stub; dropping it stops it.
pub struct Stub {
    address: SocketAddr,
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
}

impl Stub {
    /// Starts on a free local port.
    pub async fn start(scenario: Scenario) -> Result<Self> {
        Self::start_with(scenario, Options::default()).await
    }

    pub async fn start_with(scenario: Scenario, options: Options) -> Result<Self> {
        let listener = TcpListener::bind(options.listen)
            .await
            .with_context(|| format!("cannot listen on {}", options.listen))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(scenario, Ledger::open(options.log.as_deref())?));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, tasks })
    }

    /// The address without a path: `http://127.0.0.1:PORT`. Clients of the `OpenAI`
    /// formats usually want `/v1` after it, those of Gemini's `/v1beta`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far, oldest first; at most the last 10,000 requests.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.ledger.requests()
    }

    /// Plays another scenario from now on, from its start. Answers under way are not touched, and
    /// what was recorded stays.
    pub fn set(&self, scenario: Scenario) {
        self.shared.set(scenario);
    }

    /// Stops, and returns when the port is closed and no answer is under way any more.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

impl fmt::Debug for Stub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stub").field("address", &self.address).finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let shared = Arc::clone(&shared);
                    connections.spawn(async move {
                        // Streams are sent piece by piece; waiting to fill packets would blur that.
                        let _ = stream.set_nodelay(true);
                        let service = service_fn(move |request: hyper::Request<_>| {
                            serve::answer(Arc::clone(&shared), request.map(Body::new))
                        });
                        // A connection that breaks is what half of the scenarios want.
                        let _ = http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), service)
                            .await;
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
