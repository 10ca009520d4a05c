//! Who is there: workers are listened for, and given up when they are not heard of.

use std::sync::Arc;

use artel_programs::codec::{Event, Fault, Outcome};
use artel_storage::bus::Heard;
use tokio::time::{Instant, sleep};

use super::far::Remote;
use super::{Node, Shared};
use crate::wire::{BEATS, Beat, Peer, Presence};
use crate::{BEAT, PAUSE};

/// More workers than anybody has.
const MOST_NODES: usize = 1000;

/// Beats and judges until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut out_of_touch = false;
    loop {
        match shared.line.beat(&Beat::Server(shared.me.clone())).await {
            Ok(()) if std::mem::take(&mut out_of_touch) => excuse(&shared),
            Ok(()) => give_up(&shared),
            Err(error) => {
                shared.lock().in_touch = None;
                if !std::mem::replace(&mut out_of_touch, true) {
                    tracing::warn!(%error, "workers cannot be heard");
                }
            }
        }
        tokio::select! {
            () = sleep(BEAT) => {}
            () = shared.stop.cancelled() => return,
        }
    }
}

/// Hears workers until the server stops.
pub(super) async fn listen(shared: Arc<Shared>) {
    let mut listener = loop {
        match shared.line.bus().listen(&[BEATS]).await {
            Ok(listener) => break listener,
            Err(error) => tracing::warn!(%error, "workers cannot be heard yet"),
        }
        tokio::select! {
            () = sleep(PAUSE) => {}
            () = shared.stop.cancelled() => return,
        }
    };
    loop {
        let heard = tokio::select! {
            heard = listener.next() => heard,
            () = shared.stop.cancelled() => return,
        };
        match heard {
            Some(Heard::Ring { payload, .. }) => match shared.line.beaten(&payload) {
                Some(Beat::Worker(presence)) => came(&shared, *presence),
                Some(Beat::Gone(peer)) => {
                    let known = shared.lock().nodes.remove(&peer.name);
                    if known.is_some() {
                        tracing::info!(node = peer.name, "a worker has ended");
                    }
                    end(&shared, |on| *on == peer, "The worker that it ran on was stopped");
                }
                Some(Beat::Server(_)) | None => {}
            },
            Some(Heard::Lost) => excuse(&shared),
            None => return,
        }
    }
}

fn came(shared: &Shared, presence: Presence) {
    let peer = presence.peer.clone();
    let mut state = shared.lock();
    let known = state.nodes.get(&peer.name).map(|node| node.presence.peer.run);
    if known.is_none() && state.nodes.len() >= MOST_NODES {
        return;
    }
    state.nodes.insert(peer.name.clone(), Node { presence, heard: Instant::now() });
    drop(state);
    if known == Some(peer.run) {
        return;
    }
    tracing::info!(node = peer.name, "a worker is there");
    shared.came.notify_waiters();
    // Started again, it knows nothing of what its earlier run did.
    let why = "The worker that it ran on was started again";
    end(shared, |on| on.name == peer.name && on.run != peer.run, why);
}

/// Time in which nobody could be heard does not count.
fn excuse(shared: &Shared) {
    let mut state = shared.lock();
    state.in_touch = None;
    for node in state.nodes.values_mut() {
        node.heard = Instant::now();
    }
}

fn give_up(shared: &Shared) {
    let lost_after = shared.settings.lost_after;
    let mut state = shared.lock();
    state.in_touch.get_or_insert_with(Instant::now);
    let gone = |node: &Node| node.heard.elapsed() > lost_after;
    let lost: Vec<_> =
        state.nodes.values().filter(|it| gone(it)).map(|it| it.presence.peer.clone()).collect();
    state.nodes.retain(|_, node| !gone(node));
    drop(state);
    for peer in lost {
        tracing::warn!(node = peer.name, "a worker is not heard of any more and is given up");
        end(shared, |on| *on == peer, "The worker that it ran on is not heard of any more");
    }
}

/// Everything that ran on a worker is over.
fn end(shared: &Shared, of: impl Fn(&Peer) -> bool, why: &str) {
    let mut state = shared.lock();
    for course in state.courses.values_mut().filter(|it| of(it.worker())) {
        let (fault, why) = (Fault::Lost, why.to_owned());
        course.end(Event::Ended(Outcome::Failed { fault, why }));
    }
    // Whoever asked learns it by the end of its channel.
    state.asks.retain(|_, ask| !ask.node.as_ref().is_some_and(&of));
    let remotes: Vec<Arc<Remote>> =
        state.remotes.values().filter_map(std::sync::Weak::upgrade).collect();
    // The last one to let go of an agent takes this lock.
    drop(state);
    for remote in remotes {
        remote.lose(&of, why);
    }
}
