//! What nodes call out to each other: "project such-and-such has something new", and text in flight.
//! Either may be lost; see [`super`].

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use artel_domain::event::Signal;
use artel_domain::{ProjectId, SessionId};
use artel_storage::Bus;
use artel_storage::bus::Heard;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::{Feeds, lock};

const CHANNEL: &str = "artel:events";
const FLIGHT: &str = "artel:flight";
/// Pieces of text that may wait to be called out; more are dropped, as the whole comes later.
const WAITING: usize = 1024;
/// Pieces that are called out together.
const TOGETHER: usize = 64;
/// Pause after the bus failed.
const PAUSE: Duration = Duration::from_secs(1);

/// What has to be called out, if anybody else could hear it.
pub(super) struct Bell(Option<Rope>);

struct Rope {
    /// Tells our own calls from those of others.
    node: String,
    /// Projects that changed since the last ring. Bounded by the projects that exist.
    changed: Mutex<HashSet<ProjectId>>,
    some: Notify,
    flying: mpsc::Sender<Flown>,
    landed: Mutex<Option<mpsc::Receiver<Flown>>>,
}

/// A piece of text in flight.
#[derive(Debug, Serialize, Deserialize)]
struct Flown {
    project: ProjectId,
    session: SessionId,
    signal: Signal,
}

#[derive(Debug, Serialize, Deserialize)]
struct Flock {
    node: String,
    pieces: Vec<Flown>,
}

impl Bell {
    pub(super) fn new(bus: Option<&dyn Bus>, node: &str) -> Self {
        let heard = bus.is_some_and(|bus| bus.kind() != "in-process");
        let (flying, landed) = mpsc::channel(WAITING);
        Self(heard.then(|| Rope {
            node: node.to_owned(),
            changed: Mutex::default(),
            some: Notify::new(),
            flying,
            landed: Mutex::new(Some(landed)),
        }))
    }

    /// Notes a change; quick, as it is called on the writer.
    pub(super) fn note(&self, project: ProjectId) {
        if let Some(rope) = &self.0 {
            lock(&rope.changed).insert(project);
            rope.some.notify_one();
        }
    }

    /// Passes a piece of text on; quick, as it is called for every piece.
    pub(super) fn fly(&self, project: ProjectId, session: SessionId, signal: &Signal) {
        if let Some(rope) = &self.0 {
            let piece = Flown { project, session, signal: signal.clone() };
            // Full means that the bus is slow or away.
            drop(rope.flying.try_send(piece));
        }
    }
}

/// Calls text in flight out, some pieces at a time.
pub(super) async fn fly(feeds: Feeds, bus: Arc<dyn Bus>, stop: CancellationToken) {
    let Some(rope) = &feeds.0.bell.0 else { return };
    let Some(mut landed) = lock(&rope.landed).take() else { return };
    let mut pieces = Vec::new();
    loop {
        let count = tokio::select! {
            count = landed.recv_many(&mut pieces, TOGETHER) => count,
            () = stop.cancelled() => return,
        };
        if count == 0 {
            return;
        }
        let flock = Flock { node: rope.node.clone(), pieces: std::mem::take(&mut pieces) };
        let Ok(json) = serde_json::to_vec(&flock) else { continue };
        if let Err(error) = bus.ring(FLIGHT, Bytes::from(json)).await {
            tracing::debug!(%error, "text in flight was lost on its way to other nodes");
        }
    }
}

impl Feeds {
    /// Shows text that flies on another node.
    fn see(&self, payload: &[u8]) {
        let own = self.0.bell.0.as_ref().map(|rope| rope.node.as_str());
        let flock = serde_json::from_slice::<Flock>(payload);
        for Flown { project, session, signal } in flock
            .ok()
            .filter(|flock| Some(flock.node.as_str()) != own)
            .into_iter()
            .flat_map(|it| it.pieces)
        {
            self.show(project, session, &signal);
        }
    }
}

/// Rings for what was noted. Several changes of a project in a row are one ring.
pub(super) async fn ring(feeds: Feeds, bus: Arc<dyn Bus>, stop: CancellationToken) {
    let Some(rope) = &feeds.0.bell.0 else { return };
    loop {
        tokio::select! {
            () = rope.some.notified() => {}
            () = stop.cancelled() => return,
        }
        let projects = std::mem::take(&mut *lock(&rope.changed));
        for project in projects {
            if let Err(error) = bus.ring(CHANNEL, Bytes::from(project.to_string())).await {
                // The others look the log up by themselves every second; ringing late would help nobody.
                tracing::debug!(%error, "ringing failed");
                tokio::time::sleep(PAUSE).await;
                break;
            }
        }
    }
}

/// Brings the windows of projects that rang up to date, and shows text that flies elsewhere.
pub(super) async fn hear(feeds: Feeds, bus: Arc<dyn Bus>, stop: CancellationToken) {
    if feeds.0.bell.0.is_none() {
        return;
    }
    while !stop.is_cancelled() {
        let mut listener = match bus.listen(&[CHANNEL, FLIGHT]).await {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(%error, "listening to the bus failed");
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => continue,
                    () = stop.cancelled() => return,
                }
            }
        };
        loop {
            let heard = tokio::select! {
                heard = listener.next() => heard,
                () = stop.cancelled() => return,
            };
            match heard {
                Some(Heard::Ring { channel, payload }) if channel == FLIGHT => feeds.see(&payload),
                Some(Heard::Ring { payload, .. }) => {
                    let project =
                        std::str::from_utf8(&payload).ok().and_then(|text| text.parse().ok());
                    if let Some(feed) = project.and_then(|project| feeds.listened_to(project))
                        && let Err(error) = feeds.refresh(&feed).await
                    {
                        tracing::debug!(%error, "looking up the end of the log failed");
                    }
                }
                // The look-up every second finds what was missed.
                Some(Heard::Lost) => {}
                None => break,
            }
        }
    }
}
