//! Accepts connections and serves them, with every wait bounded.
//!
//! A client that sends its request head too slowly, or takes no answer for too long, is cut off; one that never
//! reads costs no more than its socket's buffer. When told to stop it takes no new connection, lets requests in
//! flight be answered, and ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::http::Service;

mod stall;

use stall::Unstalled;

/// How long a request's head may take to arrive, and how long a connection may be idle between requests.
const HEAD: Duration = Duration::from_secs(30);
/// Smallest that hyper takes; a request's head must fit into it.
const BUFFER: usize = 16 * 1024;
/// Pause after accepting failed, such as when files ran out.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Settings {
    pub max_connections: usize,
    pub stall_timeout: Duration,
    pub shutdown_timeout: Duration,
}

/// Serves until `stop`, then until what is in flight is done, or its time is over.
pub(crate) async fn serve(
    listener: TcpListener,
    service: Service,
    settings: &Settings,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(settings.max_connections));
    let graceful = GracefulShutdown::new();
    let tracker = TaskTracker::new();
    loop {
        // Without a free place nobody is accepted: the kernel's queue holds them until one leaves.
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = stop.cancelled() => break,
        };
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Small answers go out at once.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "setting TCP_NODELAY failed");
        }
        let stream = Unstalled::new(stream, settings.stall_timeout, stop.clone());
        let connection = graceful.watch(connection(stream, peer, service.clone()));
        tracker.spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
    drop(listener);
    tracker.close();
    if tokio::time::timeout(settings.shutdown_timeout, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not done in time");
    }
}

fn connection(
    stream: Unstalled,
    peer: SocketAddr,
    service: Service,
) -> http1::Connection<
    TokioIo<Unstalled>,
    impl hyper::service::HttpService<
        Incoming,
        ResBody = axum::body::Body,
        Error = std::convert::Infallible,
        Future: Send,
    >,
> {
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        service.clone().oneshot(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service)
}
