//! An agent on a worker, as its server holds it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use artel_domain::{LifeId, TurnId};
use artel_programs::codec::Command;
use artel_programs::host::Opening;
use artel_programs::kind::Abilities;
use artel_programs::life::{State, Status, Warning, Watcher};
use artel_programs::member::Met;
use artel_programs::sandbox::Uses;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::turns::Turn;
use crate::wire::{Done, Failure, Peer, Want};

/// Changes and warnings that wait to be told; when there are more, the newest state is told and others are not.
const WAITING: usize = 256;
/// How long a worker may take to say how an agent stands.
const LOOK: Duration = Duration::from_secs(2);
/// Its worker may be gone between a message's arrival and its turn; so often it is tried.
const TRIES: usize = 3;

/// Clones are the same agent; with the last one its stay on the worker ends.
#[derive(Debug, Clone)]
pub struct Far(Arc<Remote>);

#[derive(Debug)]
pub(super) struct Remote {
    shared: Arc<Shared>,
    opening: Opening,
    abilities: Abilities,
    place: Mutex<Place>,
    /// One asks for a place, the others wait for what comes of it.
    placing: Semaphore,
    status: watch::Sender<Status>,
    news: mpsc::Sender<News>,
    met: Met,
}

#[derive(Debug, Default)]
struct Place {
    life: Option<(LifeId, Peer)>,
    /// Where it was last, and where its files are.
    near: Option<String>,
    /// The number of the newest state, of which stay.
    told: Option<(LifeId, u64)>,
    /// A turn that nobody follows any more; the next message waits until its worker knows.
    given_up: Option<(LifeId, Peer, TurnId)>,
}

#[derive(Debug)]
enum News {
    Changed(Box<Status>),
    Warned(Warning),
    /// Everything before this was told.
    Settled(oneshot::Sender<()>),
}

impl Far {
    pub(super) fn new(
        shared: &Arc<Shared>,
        opening: Opening,
        abilities: Abilities,
        near: Option<String>,
        watcher: Arc<dyn Watcher>,
    ) -> Self {
        let status = Status {
            state: State::Init,
            since: shared.clock.now(),
            mark: None,
            session: opening.resume.clone(),
            version: None,
            model: None,
            reason: None,
            single: false,
            node: near.clone(),
        };
        let (news, told) = mpsc::channel(WAITING);
        shared.tracker.spawn(tell(watcher, told, shared.stop.clone()));
        Self(Arc::new(Remote {
            shared: Arc::clone(shared),
            opening,
            abilities,
            place: Mutex::new(Place { near, ..Place::default() }),
            placing: Semaphore::new(1),
            status: watch::Sender::new(status),
            news,
            met: Met::default(),
        }))
    }

    pub fn abilities(&self) -> Abilities {
        self.0.abilities
    }

    pub fn status(&self) -> Status {
        self.0.status.borrow().clone()
    }

    /// Says whether a conversation of people's is new to it; from now on it is not.
    pub fn meets(&self, conversation: &str) -> bool {
        self.0.met.meets(self.status().session, conversation)
    }

    /// What its process uses now, and its number in the queue for a place.
    pub async fn look(&self) -> (Option<Uses>, Option<usize>) {
        let Some((life, worker)) = self.0.place().life.clone() else { return (None, None) };
        match timeout(LOOK, self.ask(&worker, Want::Status { life })).await {
            Ok(Ok(Done::Seen { uses, waiting })) => (uses, waiting),
            Ok(Ok(Done::Yes | Done::Living(_)) | Err(_)) | Err(_) => (None, None),
        }
    }

    /// Starts its process and waits until it takes messages.
    pub async fn start(&self) -> Result<(), Failure> {
        let started = self.with_place(|life| Want::Start { life }).await;
        self.settled().await;
        started.map(drop)
    }

    /// Ends its process in its own way; when this returns, nothing of it is left, or its worker is gone.
    pub async fn stop(&self, why: &str) {
        let Some((life, worker)) = self.0.place().life.clone() else { return };
        let stop = Want::Stop { life, why: why.to_owned() };
        if let Err(failure) = self.ask(&worker, stop).await {
            tracing::debug!(%failure, "there is nothing any more to be stopped");
        }
        self.settled().await;
    }

    /// Waits until what was heard of it is written down: whoever looks next must see it.
    async fn settled(&self) {
        let (settled, told) = oneshot::channel();
        if self.0.news.send(News::Settled(settled)).await.is_ok() {
            // It fails when the server stops, and then nobody looks.
            let _ = told.await;
        }
    }

    /// Lets it begin a conversation of its own.
    pub async fn forget(&self, why: &str) -> Result<(), Failure> {
        self.with_place(|life| Want::Forget { life, why: why.to_owned() }).await.map(drop)
    }

    /// Gives it a message. Its process is started if it is down.
    pub async fn turn(&self, text: String) -> Result<Turn, Failure> {
        let mut tried = 0;
        loop {
            tried += 1;
            let (life, worker) = self.find().await?;
            self.0.give_up().await;
            let id = TurnId::new(self.0.shared.clock.as_ref());
            let (course, turn) = Turn::new(self, life, id, worker.clone());
            self.0.shared.lock().courses.insert(id, course);
            let want = Want::SendMessage { life, turn: id, text: text.clone() };
            match self.ask(&worker, want).await {
                // Lost: whether it began is not known, and its turn says so.
                Ok(_) | Err(Failure::Lost) => return Ok(turn),
                Err(Failure::Unknown) if tried < TRIES => {
                    self.0.leave(life);
                    turn.never_began();
                }
                Err(failure) => {
                    turn.never_began();
                    return Err(failure);
                }
            }
        }
    }

    /// What is wanted of it while its turn runs.
    pub async fn command(&self, command: Command) -> Result<(), Failure> {
        let place = self.0.place().life.clone();
        let (life, worker) = place.ok_or(Failure::Unknown)?;
        self.ask(&worker, Want::Command { life, command }).await.map(drop)
    }

    /// Asks the worker where it lives; it was given up: lost.
    pub(super) async fn ask(&self, worker: &Peer, want: Want) -> Result<Done, Failure> {
        let Remote { shared, opening, .. } = &*self.0;
        let asked = shared.ask(Some(worker.clone()), opening.agent, want).await;
        asked.map(|(_, done)| done)
    }

    pub(super) fn heard(&self, worker: &Peer, life: LifeId, turn: TurnId, number: u64) {
        let want = Want::Heard { life, turn, number, again: false };
        self.0.post(worker, want);
    }

    /// Nobody follows the turn any more.
    pub(super) fn leave(&self, turn: TurnId) {
        self.0.shared.lock().courses.remove(&turn);
    }

    pub(super) fn abandon(&self, worker: &Peer, life: LifeId, turn: TurnId) {
        self.0.place().given_up = Some((life, worker.clone(), turn));
        self.0.post(worker, Want::Abandon { life, turn });
    }

    /// Something that needs the agent to live somewhere; tried again where its worker knows it no more.
    async fn with_place(&self, want: impl Fn(LifeId) -> Want) -> Result<Done, Failure> {
        let mut tried = 0;
        loop {
            tried += 1;
            let (life, worker) = self.find().await?;
            match self.ask(&worker, want(life)).await {
                Err(Failure::Unknown | Failure::Lost) if tried < TRIES => self.0.leave(life),
                asked => return asked,
            }
        }
    }

    /// Where it lives; if nowhere, a worker is found: the one where it was, or whichever takes it first.
    async fn find(&self) -> Result<(LifeId, Peer), Failure> {
        let Remote { shared, opening, placing, .. } = &*self.0;
        let _placing = placing.acquire().await.map_err(|_| Failure::NoWorker)?;
        let near = {
            let place = self.0.place();
            if let Some(living) = &place.life {
                return Ok(living.clone());
            }
            place.near.clone()
        };
        let near = match near {
            Some(name) => shared.find(&name).await,
            None => None,
        };
        let life = LifeId::new(shared.clock.as_ref());
        // Its newest conversation, which may be another than when it was opened.
        let opening = Opening { resume: self.status().session, ..opening.clone() };
        let create = || Want::Create { life, opening: Box::new(opening.clone()) };
        // From now on: what is told of it may come before the answer.
        shared.lock().remotes.insert(life, Arc::downgrade(&self.0));
        let mut asked = shared.ask(near.clone(), opening.agent, create()).await;
        if near.is_some() && matches!(asked, Err(Failure::Lost | Failure::Unknown)) {
            asked = shared.ask(None, opening.agent, create()).await;
        }
        match asked {
            Ok((worker, _)) => {
                let mut place = self.0.place();
                place.near = Some(worker.name.clone());
                place.life = Some((life, worker.clone()));
                drop(place);
                self.0.status.send_modify(|status| status.node = Some(worker.name.clone()));
                Ok((life, worker))
            }
            Err(failure) => {
                shared.lock().remotes.remove(&life);
                Err(failure)
            }
        }
    }
}

impl Remote {
    /// A state of it, told by its worker.
    pub(super) fn learn(&self, life: LifeId, number: u64, status: Status, node: &str) {
        let mut place = self.place();
        if place.told.is_some_and(|(of, told)| of == life && number <= told) {
            return;
        }
        place.told = Some((life, number));
        drop(place);
        self.change(Status { node: Some(node.to_owned()), ..status });
    }

    pub(super) fn warn(&self, warning: Warning) {
        if self.news.try_send(News::Warned(warning)).is_err() {
            tracing::warn!(agent = %self.opening.agent, "a warning could not be told");
        }
    }

    /// It is over, if it was there.
    pub(super) fn lose(&self, of: impl Fn(&Peer) -> bool, why: &str) {
        let mut place = self.place();
        let Some((life, _)) = place.life.take_if(|(_, worker)| of(worker)) else { return };
        place.given_up = None;
        drop(place);
        self.shared.lock().remotes.remove(&life);
        let before = self.status.borrow().clone();
        if before.state.is_up() {
            let (state, since) = (State::Killed, self.shared.clock.now());
            let reason = Some(format!("{why}; a message starts it again"));
            self.change(Status { state, since, mark: None, reason, ..before });
        }
    }

    /// Its worker knows nothing of this stay.
    fn leave(&self, life: LifeId) {
        self.place().life.take_if(|(known, _)| *known == life);
        self.shared.lock().remotes.remove(&life);
    }

    /// A turn that was given up is over before the next one begins.
    async fn give_up(&self) {
        let given_up = self.place().given_up.take();
        if let Some((life, worker, turn)) = given_up {
            let abandon = Want::Abandon { life, turn };
            // Known or not, it no longer stands in the way.
            let _ = self.shared.ask(Some(worker), self.opening.agent, abandon).await;
        }
    }

    fn change(&self, status: Status) {
        self.status.send_replace(status.clone());
        if self.news.try_send(News::Changed(Box::new(status))).is_err() {
            tracing::warn!(agent = %self.opening.agent, "a state could not be told");
        }
    }

    fn post(&self, worker: &Peer, want: Want) {
        self.shared.post_later(Some(worker.name.clone()), self.opening.agent, want);
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let place = self.place.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((life, worker)) = place.life.take() {
            self.shared.lock().remotes.remove(&life);
            let close = Want::Close { life, why: "It is not needed any more".to_owned() };
            self.post(&worker, close);
        }
    }
}

impl Shared {
    pub(super) fn remote(&self, life: LifeId) -> Option<Arc<Remote>> {
        self.lock().remotes.get(&life).and_then(std::sync::Weak::upgrade)
    }

    /// Whether an agent's stay is there, and not elsewhere.
    pub(super) fn lives_on(&self, life: LifeId, worker: &Peer) -> bool {
        self.remote(life).is_some_and(|remote| {
            remote.place().life.as_ref().is_some_and(|(known, on)| *known == life && on == worker)
        })
    }
}

/// Tells one thing after the other, as long as the agent is held and the server runs.
async fn tell(watcher: Arc<dyn Watcher>, mut news: mpsc::Receiver<News>, stop: CancellationToken) {
    loop {
        let next = tokio::select! {
            biased;
            next = news.recv() => next,
            () = stop.cancelled() => return,
        };
        let Some(next) = next else { return };
        match next {
            News::Changed(status) => watcher.changed(&status).await,
            News::Warned(warning) => watcher.warned(warning).await,
            // Whoever waited for it may have gone.
            News::Settled(settled) => drop(settled.send(())),
        }
    }
}
