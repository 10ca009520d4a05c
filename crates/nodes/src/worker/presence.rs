//! Who is there: a worker says so itself, listens for its servers, and ends the agents of those that are gone. When it
//! cannot be heard itself it ends all of them, before anybody starts them elsewhere.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use artel_domain::RunId;
use artel_storage::bus::Heard;
use bytes::Bytes;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{NAME, Shared, Trouble, name_key};
use crate::wire::{BEATS, Beat, News, Peer};
use crate::{BEAT, PAUSE};

/// More servers than anybody has.
const MOST_SERVERS: usize = 1000;

/// Servers by name: their run, and when they were last heard of.
#[derive(Debug, Default)]
pub(super) struct Servers(HashMap<String, (RunId, Instant)>);

impl Servers {
    fn heard(&mut self, peer: &Peer) {
        if self.0.len() < MOST_SERVERS || self.0.contains_key(&peer.name) {
            self.0.insert(peer.name.clone(), (peer.run, Instant::now()));
        }
    }

    /// Time in which nobody could be heard does not count.
    fn excuse(&mut self) {
        for (_, heard) in self.0.values_mut() {
            *heard = Instant::now();
        }
    }

    fn gone(&mut self, lost_after: Duration) -> Vec<Peer> {
        let gone = |heard: &Instant| heard.elapsed() > lost_after;
        let all = self.0.iter().filter(|(_, (_, heard))| gone(heard));
        let all: Vec<_> =
            all.map(|(name, (run, _))| Peer { name: name.clone(), run: *run }).collect();
        self.0.retain(|_, (_, heard)| !gone(heard));
        all
    }
}

/// Beats until the worker is stopped, or may not go on.
pub(super) async fn beat(shared: &Arc<Shared>, stop: &CancellationToken) -> Result<(), Trouble> {
    let lost_after = shared.settings.lost_after;
    // Servers wait so long; whatever is ended here ends before they start it elsewhere.
    let fence = lost_after.mul_f64(0.75);
    let (mut reached, mut fenced) = (Instant::now(), false);
    let mut out_of_touch = false;
    loop {
        match say(shared).await {
            Ok(()) => {
                reached = Instant::now();
                fenced = false;
                if std::mem::take(&mut out_of_touch) {
                    servers(shared, Servers::excuse);
                }
            }
            Err(Unsaid::Taken) => return Err(Trouble::NameTaken(shared.me.name.clone())),
            Err(Unsaid::Away) => {
                out_of_touch = true;
                if reached.elapsed() > fence && !std::mem::replace(&mut fenced, true) {
                    tracing::warn!("the bus is away for too long; the agents here are ended");
                    shared.close_all("Its worker lost touch with the server").await;
                }
            }
        }
        for gone in servers(shared, |all| all.gone(lost_after)) {
            tracing::warn!(server = gone.name, "a server is not heard of any more");
            end_of(shared, |server| server.name == gone.name, None);
        }
        tokio::select! {
            () = sleep(BEAT) => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
}

enum Unsaid {
    Away,
    /// Somebody else has the name.
    Taken,
}

async fn say(shared: &Shared) -> Result<(), Unsaid> {
    let (bus, key) = (shared.line.bus(), name_key(&shared.me));
    let run = shared.me.run.to_string();
    let owner = bus.get(&key).await.map_err(|_| Unsaid::Away)?;
    if owner.is_some_and(|owner| owner != run.as_bytes()) {
        return Err(Unsaid::Taken);
    }
    bus.put(&key, Bytes::from(run), NAME).await.map_err(|_| Unsaid::Away)?;
    let beat = Beat::Worker(Box::new(shared.presence()));
    shared.line.beat(&beat).await.map_err(|_| Unsaid::Away)
}

/// Hears servers until the worker is stopped.
pub(super) async fn listen(shared: Arc<Shared>, stop: CancellationToken) {
    let mut listener = loop {
        match shared.line.bus().listen(&[BEATS]).await {
            Ok(listener) => break listener,
            Err(error) => tracing::warn!(%error, "servers cannot be heard yet"),
        }
        sleep(PAUSE).await;
    };
    loop {
        let heard = tokio::select! {
            heard = listener.next() => heard,
            () = stop.cancelled() => return,
        };
        match heard {
            Some(Heard::Ring { payload, .. }) => {
                if let Some(Beat::Server(peer)) = shared.line.beaten(&payload) {
                    servers(&shared, |all| all.heard(&peer));
                    let earlier =
                        |server: &Peer| server.name == peer.name && server.run != peer.run;
                    end_of(&shared, earlier, Some(&peer));
                }
            }
            Some(Heard::Lost) => servers(&shared, Servers::excuse),
            None => return,
        }
    }
}

/// Ends the agents of servers that are gone. The server's next run is told, since it does not know them.
fn end_of(shared: &Arc<Shared>, of: impl Fn(&Peer) -> bool, next: Option<&Peer>) {
    for resident in shared.all() {
        if !of(&resident.server) {
            continue;
        }
        let why = "The server was stopped while it ran; a message starts it again";
        tracing::info!(agent = %resident.agent, "the agent's server is gone; it is ended");
        // At once, so that it is not found again at the next beat.
        let ended = Arc::clone(shared);
        let next = next.cloned();
        shared.residents().retain(|_, it| it.life != resident.life);
        shared.tracker.spawn(async move {
            resident.close(why, false).await;
            if let Some(next) = next {
                ended.note(&next, resident.agent, News::Left { why: why.to_owned() });
            }
        });
    }
}

fn servers<T>(shared: &Shared, with: impl FnOnce(&mut Servers) -> T) -> T {
    with(&mut shared.servers.lock().unwrap_or_else(PoisonError::into_inner))
}
