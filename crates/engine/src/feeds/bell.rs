//! The doorbell between nodes: "project such-and-such has something new". Rings may be lost; see [`super`].

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use artel_domain::ProjectId;
use artel_storage::Bus;
use artel_storage::bus::Heard;
use bytes::Bytes;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Feeds, lock};

const CHANNEL: &str = "artel:events";
/// Pause after the bus failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Projects that changed since the last ring. Bounded by the projects that exist.
pub(super) struct Bell {
    changed: Option<Mutex<HashSet<ProjectId>>>,
    some: Notify,
}

impl Bell {
    /// A bell that nobody else could hear is not rung.
    pub(super) fn new(bus: Option<Arc<dyn Bus>>) -> Self {
        let heard = bus.is_some_and(|bus| bus.kind() != "in-process");
        Self { changed: heard.then(Mutex::default), some: Notify::new() }
    }

    /// Notes a change; quick, as it is called on the writer.
    pub(super) fn note(&self, project: ProjectId) {
        if let Some(changed) = &self.changed {
            lock(changed).insert(project);
            self.some.notify_one();
        }
    }
}

/// Rings for what was noted. Several changes of a project in a row are one ring.
pub(super) async fn ring(feeds: Feeds, bus: Arc<dyn Bus>, stop: CancellationToken) {
    let Some(changed) = &feeds.0.bell.changed else { return };
    loop {
        tokio::select! {
            () = feeds.0.bell.some.notified() => {}
            () = stop.cancelled() => return,
        }
        let projects = std::mem::take(&mut *lock(changed));
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

/// Brings the windows of projects that rang up to date.
pub(super) async fn hear(feeds: Feeds, bus: Arc<dyn Bus>, stop: CancellationToken) {
    if feeds.0.bell.changed.is_none() {
        return;
    }
    while !stop.is_cancelled() {
        let mut listener = match bus.listen(&[CHANNEL]).await {
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
