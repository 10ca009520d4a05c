//! The task behind a listener: subscribes, passes on what it hears, and subscribes again for ever.
//!
//! After every gap it says [`Heard::Lost`], and only once the new subscription is in force, so that nothing falls
//! between. A connection that is silent is asked now and then whether it still lives: a server that vanished without
//! a word would otherwise be listened to for hours. The task ends when the listener or the bus is dropped.

use std::collections::BTreeSet;
use std::time::Duration;

use ::redis::aio::{PubSubSink, PubSubStream};
use ::redis::{Client, RedisResult, Value};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::broadcast::Sender;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::link::PATIENCE;
use crate::bus::Heard;

/// After so long without a ring the server is asked whether it is still there.
const SILENCE: Duration = Duration::from_secs(10);
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// `tried` is told after the first attempt, whether it got through or not.
pub(super) async fn run(
    client: Client,
    channels: BTreeSet<String>,
    listener: Sender<Heard>,
    tried: oneshot::Sender<()>,
    closed: CancellationToken,
) {
    tokio::select! {
        () = closed.cancelled() => {}
        () = listener.closed() => {}
        () = listen(&client, &channels, &listener, tried) => {}
    }
}

async fn listen(
    client: &Client,
    channels: &BTreeSet<String>,
    listener: &Sender<Heard>,
    tried: oneshot::Sender<()>,
) {
    let mut tried = Some(tried);
    let mut tell_tried = || {
        if let Some(tried) = tried.take() {
            // It fails only when nobody wants to listen any more, which ends the task anyway.
            let _ = tried.send(());
        }
    };
    let mut gap = false;
    let mut pause = SHORTEST_PAUSE;
    loop {
        let began = Instant::now();
        match timeout(PATIENCE, subscribe(client, channels)).await {
            Ok(Ok((sink, stream))) => {
                if gap {
                    tracing::info!("redis is back, listening again");
                    let _ = listener.send(Heard::Lost);
                }
                tell_tried();
                pass_on(sink, stream, listener).await;
                tracing::warn!("redis is gone, rings may be missed");
            }
            // Told once; who listens for an hour in vain need not say so every few seconds.
            Ok(Err(error)) if !gap => tracing::warn!(%error, "cannot listen to redis"),
            Ok(Err(error)) => tracing::debug!(%error, "still cannot listen to redis"),
            Err(_) if !gap => tracing::warn!("cannot listen to redis, it does not answer"),
            Err(_) => tracing::debug!("redis still does not answer"),
        }
        gap = true;
        tell_tried();
        if began.elapsed() > LONGEST_PAUSE {
            pause = SHORTEST_PAUSE;
        }
        sleep(jittered(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn subscribe(
    client: &Client,
    channels: &BTreeSet<String>,
) -> RedisResult<(PubSubSink, PubSubStream)> {
    let (mut sink, stream) = client.get_async_pubsub().await?.split();
    sink.subscribe(channels).await?;
    Ok((sink, stream))
}

/// Returns when the connection is gone.
async fn pass_on(mut sink: PubSubSink, mut stream: PubSubStream, listener: &Sender<Heard>) {
    loop {
        match timeout(SILENCE, stream.next()).await {
            Ok(Some(message)) => {
                // It fails only when the listener is gone, which ends the task anyway.
                let _ = listener.send(Heard::Ring {
                    channel: message.get_channel_name().to_owned(),
                    payload: Bytes::copy_from_slice(message.get_payload_bytes()),
                });
            }
            Ok(None) => return,
            Err(_) => match timeout(PATIENCE, sink.ping::<Value>()).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => return,
            },
        }
    }
}

/// Between half of it and all of it, so that nodes do not come back in step.
fn jittered(pause: Duration) -> Duration {
    // Without randomness there is no jitter, which is no reason to stop.
    let chance = getrandom::u32().unwrap_or(u32::MAX);
    pause / 2 + (pause / 2).mul_f64(f64::from(chance) / f64::from(u32::MAX))
}
