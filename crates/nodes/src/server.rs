//! The server's side: agents that live on workers are spoken to as if they were here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use artel_domain::clock::Clock;
use artel_domain::{AgentId, LifeId, OrderId, RunId, TurnId};
use artel_programs::host::Opening;
use artel_programs::kind::Abilities;
use artel_programs::life::Watcher;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::wire::{Done, Failure, Line, Order, Peer, Presence, Want};
use crate::{BEAT, PAUSE};

mod far;
mod hearing;
mod judging;
mod turns;

pub use far::Far;
pub use turns::Turn;

use far::Remote;
use turns::Course;

/// An order that is not answered is posted again; workers know those that they have.
const AGAIN: Duration = Duration::from_secs(5);
/// How long a worker may take to say that it is there, before there is said to be none.
const NOBODY: Duration = Duration::from_secs(15);
/// Orders that wait for an answer.
const OPEN: usize = 100_000;
/// Orders that nobody waits for and that wait for the bus.
const LATER: usize = 10_000;

#[derive(Debug, Clone)]
pub struct Settings {
    /// The same over restarts, and no other server's.
    pub name: String,
    /// After so long without a word, a worker is given up.
    pub lost_after: Duration,
}

/// An agent of an earlier run of this server, which a worker has ended.
#[derive(Debug)]
pub struct Left {
    pub agent: AgentId,
    pub node: String,
    pub why: String,
}

/// The workers, as a server knows them. Clones are the same.
#[derive(Debug, Clone)]
pub struct Workers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    line: Line,
    clock: Arc<dyn Clock>,
    settings: Settings,
    me: Peer,
    state: Mutex<State>,
    /// Rung when a worker comes.
    came: Notify,
    began: Instant,
    /// Whatever is reported from now on is heard.
    listens: watch::Sender<bool>,
    /// Room for orders that nobody waits for, while they wait for the bus.
    later: Arc<Semaphore>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// Since when workers can be heard without a break.
    in_touch: Option<Instant>,
    nodes: HashMap<String, Node>,
    remotes: HashMap<LifeId, Weak<Remote>>,
    asks: HashMap<OrderId, Ask>,
    courses: HashMap<TurnId, Course>,
}

/// A worker, as it was last heard.
#[derive(Debug, Clone)]
pub struct Node {
    pub presence: Presence,
    heard: Instant,
}

impl Node {
    /// How long ago something was heard.
    pub fn silence(&self) -> Duration {
        self.heard.elapsed()
    }
}

/// An order that waits for its answer.
#[derive(Debug)]
struct Ask {
    /// None: any worker.
    node: Option<Peer>,
    reply: oneshot::Sender<(Peer, Result<Done, Failure>)>,
}

impl Workers {
    /// Hears workers until it is stopped.
    pub fn start(
        line: Line,
        clock: Arc<dyn Clock>,
        settings: Settings,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> (Self, mpsc::Receiver<Left>) {
        let me = Peer { name: settings.name.clone(), run: RunId::new(clock.as_ref()) };
        let shared = Arc::new(Shared {
            line,
            clock,
            settings,
            me,
            state: Mutex::default(),
            came: Notify::new(),
            began: Instant::now(),
            listens: watch::Sender::new(false),
            later: Arc::new(Semaphore::new(LATER)),
            tracker: tracker.clone(),
            stop,
        });
        let (left, ended) = mpsc::channel(1024);
        tracker.spawn(hearing::run(Arc::clone(&shared), left));
        tracker.spawn(judging::listen(Arc::clone(&shared)));
        tracker.spawn(judging::run(Arc::clone(&shared)));
        (Self(shared), ended)
    }

    /// An agent on a worker; `near` is where it was last, and where its files are.
    pub fn open(
        &self,
        opening: Opening,
        abilities: Abilities,
        near: Option<String>,
        watcher: Arc<dyn Watcher>,
    ) -> Far {
        Far::new(&self.0, opening, abilities, near, watcher)
    }

    /// Those that are there, by name.
    pub fn nodes(&self) -> Vec<Node> {
        let mut all: Vec<_> = self.0.lock().nodes.values().cloned().collect();
        all.sort_by(|a, b| a.presence.peer.cmp(&b.presence.peer));
        all
    }

    /// Whether it is sure that no worker of this name is there: it would have been heard by now.
    pub fn is_gone(&self, name: &str) -> bool {
        let state = self.0.lock();
        let heard =
            state.in_touch.is_some_and(|since| since.elapsed() > self.0.settings.lost_after);
        heard && !state.nodes.contains_key(name)
    }

    /// Nothing of an agent stays on the worker where it lived. One that is away does it when it is back.
    pub fn delete(&self, agent: AgentId, node: String) {
        self.0.post_later(Some(node), agent, Want::Delete);
    }
}

impl Shared {
    fn order(&self, agent: AgentId, want: Want) -> Order {
        let id = OrderId::new(self.clock.as_ref());
        Order { id, server: self.me.clone(), agent, want }
    }

    /// Posts an order until it is answered, or until whoever should is given up.
    async fn ask(
        &self,
        node: Option<Peer>,
        agent: AgentId,
        want: Want,
    ) -> Result<(Peer, Done), Failure> {
        let order = self.order(agent, want);
        let (reply, mut answer) = oneshot::channel();
        {
            let mut state = self.lock();
            // Nothing was posted, so nothing was done.
            if node.as_ref().is_some_and(|node| !state.is_there(node)) {
                return Err(Failure::Unknown);
            }
            if state.asks.len() >= OPEN {
                return Err(Failure::NoWorker);
            }
            state.asks.insert(order.id, Ask { node: node.clone(), reply });
        }
        let _asked = Asked { shared: self, order: order.id };
        let name = node.as_ref().map(|node| node.name.as_str());
        let mut listens = self.listens.subscribe();
        tokio::select! {
            // It fails only with the server.
            _ = listens.wait_for(|listens| *listens) => {}
            () = self.stop.cancelled() => return Err(Failure::Unknown),
        }
        let mut nobody = Instant::now() + NOBODY;
        loop {
            let posted = self.line.post(name, &order, self.clock.now()).await;
            let patience = match posted {
                Ok(()) => AGAIN,
                Err(error) => {
                    tracing::debug!(%error, "an order waits for the bus");
                    nobody = Instant::now() + NOBODY;
                    PAUSE
                }
            };
            let answered = tokio::select! {
                answered = timeout(patience, &mut answer) => answered,
                () = self.stop.cancelled() => return Err(Failure::Lost),
            };
            match answered {
                Ok(Ok((worker, result))) => return result.map(|done| (worker, done)),
                // Given up with its worker.
                Ok(Err(_)) => return Err(Failure::Lost),
                Err(_) if node.is_none() && self.is_deserted() && Instant::now() >= nobody => {
                    return Err(Failure::NoWorker);
                }
                Err(_) => {}
            }
        }
    }

    /// Posts an order that nobody waits for.
    fn post_later(self: &Arc<Self>, node: Option<String>, agent: AgentId, want: Want) {
        let Ok(room) = Arc::clone(&self.later).try_acquire_owned() else {
            tracing::warn!(%agent, order = want.name(), "too many orders wait for the bus; one is dropped");
            return;
        };
        let (shared, order) = (Arc::clone(self), self.order(agent, want));
        self.tracker.spawn(async move {
            let _room = room;
            while let Err(error) =
                shared.line.post(node.as_deref(), &order, shared.clock.now()).await
            {
                tracing::debug!(%error, "an order waits for the bus");
                tokio::select! {
                    () = sleep(PAUSE) => {}
                    () = shared.stop.cancelled() => return,
                }
            }
        });
    }

    /// A worker by its name. In its first moments a server has not heard of all that are there.
    async fn find(&self, name: &str) -> Option<Peer> {
        let settled = self.began + 3 * BEAT;
        loop {
            let mut came = std::pin::pin!(self.came.notified());
            came.as_mut().enable();
            let found = self.lock().nodes.get(name).map(|node| node.presence.peer.clone());
            if found.is_some() || Instant::now() >= settled {
                return found;
            }
            tokio::select! {
                () = came => {}
                () = tokio::time::sleep_until(settled) => {}
            }
        }
    }

    fn is_deserted(&self) -> bool {
        self.lock().nodes.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether this very run of a worker is there, as far as is known.
    fn is_there(&self, node: &Peer) -> bool {
        self.nodes.get(&node.name).is_some_and(|it| it.presence.peer == *node)
    }
}

/// Forgets an order that nobody waits for any more.
struct Asked<'a> {
    shared: &'a Shared,
    order: OrderId,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.shared.lock().asks.remove(&self.order);
    }
}
