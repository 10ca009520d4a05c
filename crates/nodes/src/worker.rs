//! A worker: takes orders, runs the agents that they are about, and reports.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use artel_domain::clock::Clock;
use artel_domain::{AgentId, LifeId, RunId, Timestamp};
use artel_programs::availability::Availability;
use artel_programs::host::Host;
use artel_programs::kind::Credentials;
use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::wire::{Beat, Line, News, Peer, Presence, Report};
use crate::{BEAT, PAUSE};

mod known;
mod orders;
mod presence;
mod residents;
mod turns;

use known::Known;
use residents::Resident;

/// Reports that wait to be sent.
const WAITING: usize = 256;
/// Agents are opened one after the other, if these are the same.
const STRIPES: usize = 64;
/// How long the last reports may take when the worker ends.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// So long the name of a worker is its own after its last beat.
const NAME: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Settings {
    /// The same over restarts, and no other worker's.
    pub name: String,
    pub version: String,
    /// After so long without a word, a worker or a server is given up.
    pub lost_after: Duration,
}

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("another worker is called {0:?}; give this one a name of its own (worker_name)")]
    NameTaken(String),
}

#[derive(Debug)]
struct Shared {
    line: Line,
    host: Arc<Host>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    me: Peer,
    since: Timestamp,
    /// Known a while after the start: each program is asked for its version.
    kinds: OnceLock<BTreeMap<String, (String, String)>>,
    residents: Mutex<HashMap<AgentId, Arc<Resident>>>,
    known: Mutex<Known>,
    servers: Mutex<presence::Servers>,
    opening: [Semaphore; STRIPES],
    outbox: mpsc::Sender<Report>,
    tracker: TaskTracker,
}

/// Works until it is told to stop, and then ends everything that it runs.
pub async fn run(
    host: Arc<Host>,
    line: Line,
    clock: Arc<dyn Clock>,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), Trouble> {
    let (outbox, reports) = mpsc::channel(WAITING);
    let me = Peer { name: settings.name.clone(), run: RunId::new(clock.as_ref()) };
    if !take_name(&line, &me, &stop).await? {
        return Ok(());
    }
    host.end_containers().await;
    let shared = Arc::new(Shared {
        since: clock.now(),
        kinds: OnceLock::new(),
        line,
        host,
        clock,
        settings,
        me,
        residents: Mutex::default(),
        known: Mutex::default(),
        servers: Mutex::default(),
        opening: std::array::from_fn(|_| Semaphore::new(1)),
        outbox,
        tracker: TaskTracker::new(),
    });
    let tasks = TaskTracker::new();
    // Until everything has ended, servers say what they have heard, and reports go out.
    let (taking, sent) = (CancellationToken::new(), CancellationToken::new());
    let sending = tasks.spawn(send(Arc::clone(&shared), reports, sent.clone()));
    let looking = Arc::clone(&shared);
    tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
        // Set once, here.
        let _ = looking.kinds.set(kinds(&looking.host).await);
    }));
    tasks.spawn(presence::listen(Arc::clone(&shared), stop.clone()));
    tasks.spawn(orders::take_any(Arc::clone(&shared), stop.clone()));
    tasks.spawn(orders::take_own(Arc::clone(&shared), taking.clone()));
    let ended = presence::beat(&shared, &stop).await;
    stop.cancel();
    shared.close_all("The worker was stopped; a message starts the agent again").await;
    shared.tracker.close();
    if timeout(LAST_WORDS, shared.tracker.wait()).await.is_err() {
        tracing::warn!("a server has not heard everything; what it misses it will learn as lost");
    }
    taking.cancel();
    sent.cancel();
    let _ = timeout(LAST_WORDS, sending).await;
    // It fails when the bus is away, and then the servers notice by themselves.
    let _ = shared.line.beat(&Beat::Gone(shared.me.clone())).await;
    let _ = shared.line.bus().forget(&name_key(&shared.me)).await;
    tasks.close();
    let _ = timeout(LAST_WORDS, tasks.wait()).await;
    ended
}

impl Shared {
    /// Tells what belongs to a turn; waits for room.
    async fn tell(&self, resident: &Resident, news: News) {
        let report = self.about(&resident.server, resident.agent, news);
        // It fails only when the worker has ended.
        let _ = self.outbox.send(report).await;
    }

    /// Tells how something stands. Nobody waits for this: when there is no room it is told again later.
    fn note(&self, server: &Peer, agent: AgentId, news: News) {
        if self.outbox.try_send(self.about(server, agent, news)).is_err() {
            tracing::debug!(%agent, "a report is told again later");
        }
    }

    fn about(&self, server: &Peer, agent: AgentId, news: News) -> Report {
        Report { server: server.clone(), worker: self.me.clone(), agent, news }
    }

    fn resident(&self, agent: AgentId) -> Option<Arc<Resident>> {
        self.residents().get(&agent).cloned()
    }

    /// The agent, if this stay of it is the one that goes on.
    fn living(&self, agent: AgentId, life: LifeId) -> Option<Arc<Resident>> {
        self.resident(agent).filter(|resident| resident.life == life)
    }

    fn all(&self) -> Vec<Arc<Resident>> {
        self.residents().values().cloned().collect()
    }

    /// Ends an agent's stay, if it is this one.
    async fn close(&self, resident: &Resident, why: &str, lost: bool) {
        self.residents().retain(|_, it| it.life != resident.life);
        resident.close(why, lost).await;
    }

    async fn close_all(&self, why: &str) {
        let all = self.all();
        futures_util::future::join_all(all.iter().map(|it| self.close(it, why, true))).await;
    }

    fn presence(&self) -> Presence {
        let all = self.all();
        let running = all.iter().filter(|it| it.member.status().state.is_up()).count();
        Presence {
            peer: self.me.clone(),
            version: self.settings.version.clone(),
            agents: all.len(),
            running,
            most: self.host.settings().most,
            since: self.since,
            kinds: self.kinds.get().cloned().unwrap_or_default(),
        }
    }

    fn residents(&self) -> MutexGuard<'_, HashMap<AgentId, Arc<Resident>>> {
        self.residents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends reports in their order, each until it is there. After the bus was away everybody is told anew how things stand.
async fn send(shared: Arc<Shared>, mut reports: mpsc::Receiver<Report>, stop: CancellationToken) {
    let mut failing = false;
    loop {
        let report = tokio::select! {
            biased;
            Some(report) = reports.recv() => report,
            () = stop.cancelled() => return,
        };
        while let Err(error) = shared.line.report(&report, shared.clock.now()).await {
            if matches!(error, artel_storage::bus::Error::Invalid(_)) {
                tracing::error!(%error, "a report could not be written");
                break;
            }
            if !failing {
                failing = true;
                tracing::warn!(%error, "reports wait for the bus");
            }
            if stop.is_cancelled() {
                return;
            }
            sleep(PAUSE).await;
        }
        if std::mem::take(&mut failing) {
            tracing::info!("the bus is back; reports go out again");
            for resident in shared.all() {
                shared.note(&resident.server, resident.agent, resident.status());
            }
        }
    }
}

/// A name belongs to one worker at a time. That of one that was killed is free a moment later. False: it was stopped.
async fn take_name(line: &Line, me: &Peer, stop: &CancellationToken) -> Result<bool, Trouble> {
    let (key, run) = (name_key(me), me.run.to_string());
    let mut until = Instant::now() + NAME + BEAT;
    let mut told = false;
    while !stop.is_cancelled() {
        match line.bus().get(&key).await {
            Ok(None) => match line.bus().put(&key, Bytes::from(run.clone()), NAME).await {
                Ok(()) => return Ok(true),
                Err(error) => tracing::warn!(%error, "a worker's name cannot be taken yet"),
            },
            Ok(Some(_)) if Instant::now() >= until => {
                return Err(Trouble::NameTaken(me.name.clone()));
            }
            Ok(Some(_)) => {}
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(%error, "waiting for the bus");
                }
                until = Instant::now() + NAME + BEAT;
            }
        }
        tokio::select! {
            () = sleep(PAUSE) => {}
            () = stop.cancelled() => {}
        }
    }
    Ok(false)
}

fn name_key(me: &Peer) -> String {
    format!("cli-agent:worker:{}", me.name)
}

/// What can be had here, as servers show it.
async fn kinds(host: &Host) -> BTreeMap<String, (String, String)> {
    let shown = |looked| match looked {
        Ok(Availability::NotInstalled { program, install }) => {
            ("not_installed", format!("{program} is not there; {install}"))
        }
        // Credentials come with each agent.
        Ok(Availability::NotLoggedIn { found, .. } | Availability::Ready { found }) => {
            let version = found.version.unwrap_or_else(|| "of unknown version".to_owned());
            ("installed", format!("{} {version}", found.path.display()))
        }
        Err(unusable) => ("configurable", unusable),
    };
    let all = host.kinds(|_| Credentials::default()).await;
    let of = |(name, looked): (&str, _)| {
        let (word, detail) = shown(looked);
        (name.to_owned(), (word.to_owned(), detail))
    };
    all.into_iter().map(of).collect()
}
