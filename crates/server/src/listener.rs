//! Accepts connections and serves them, with every wait bounded.
//!
//! A client that sends its request head too slowly, or takes no answer for too long, is cut off; one that never
//! reads costs no more than its socket's buffer. When told to stop it takes no new connection, lets requests in
//! flight be answered, and ends.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::extract::Request;
use http::{Method, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::http::{EventStream, Service};

mod handover;
mod stall;

use handover::Handover;
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
        let handover = Arc::new(Handover::default());
        let stream =
            Unstalled::new(stream, settings.stall_timeout, stop.clone(), Arc::clone(&handover));
        let (service, streams, stop) = (service.clone(), tracker.clone(), stop.clone());
        tracker.spawn(async move {
            let left = converse(stream, handover, peer, service, stop).await;
            let Some((io, stream)) = left else { return };
            // A task of its own, as this one is as large as all that hyper needs.
            streams.spawn(async move {
                let _place = place;
                if let Err(error) = handover::run(io, stream).await {
                    tracing::debug!(%error, "a stream was cut");
                }
            });
        });
    }
    drop(listener);
    tracker.close();
    if tokio::time::timeout(settings.shutdown_timeout, tracker.wait()).await.is_err() {
        tracing::warn!("some requests were not done in time");
    }
}

/// Answers requests until the connection ends, or becomes a stream.
async fn converse(
    stream: Unstalled,
    handover: Arc<Handover>,
    peer: SocketAddr,
    service: Service,
    stop: CancellationToken,
) -> Option<(Unstalled, EventStream)> {
    let offers = Arc::clone(&handover);
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let chunked = request.version() == Version::HTTP_11 && request.method() == Method::GET;
        let (answer, offers) = (service.clone().oneshot(request), Arc::clone(&offers));
        async move {
            let answer = answer.await?;
            if chunked {
                offers.offer(&answer);
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let (mut stopping, mut stopped) = (pin!(stop.cancelled()), false);
    let stream = std::future::poll_fn(|context| {
        if !stopped && stopping.as_mut().poll(context).is_ready() {
            stopped = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        match Pin::new(&mut connection).poll(context) {
            Poll::Ready(outcome) => {
                if let Err(error) = outcome {
                    tracing::debug!(%error, "a connection ended");
                }
                Poll::Ready(None)
            }
            Poll::Pending => handover.take().map_or(Poll::Pending, |it| Poll::Ready(Some(it))),
        }
    })
    .await?;
    Some((connection.into_parts().io.into_inner(), stream))
}
