//! Worker spaces: the server-side home of each project that is in use.
//!
//! A space lives on exactly one node at a time, the one that holds its lease. There its queues are plain data in
//! memory ([`board`]) over task rows that are already on disk; whoever holds the lease can rebuild them from the
//! rows. Nothing runs in an idle space: no task, no timer, no lease.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use artel_domain::{Agent, ProjectId};
use artel_storage::leases::Lease;
use artel_storage::{Scope, agents, projects};
use tokio::sync::OnceCell;

use crate::{App, Result};

mod acting;
pub(crate) mod board;
pub(crate) mod cache;
pub(crate) mod care;
pub(crate) mod desk;
pub(crate) mod ending;
pub(crate) mod health;
pub(crate) mod keeping;
mod patience;
mod program;
pub(crate) mod turn;
pub(crate) mod view;
pub(crate) mod word;
pub(crate) mod work;

use desk::{Desk, Started};

/// The space was closed in between: there is, or will be, another, and whoever meets this tries again with that.
pub(crate) const SPACE_CLOSED: &str = "space_closed";

/// The spaces of this node.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    open: Mutex<HashMap<ProjectId, Arc<OnceCell<Arc<Space>>>>>,
}

/// One project's space.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) scope: Scope,
    pub(crate) desk: Desk,
    state: Mutex<State>,
    opened: Instant,
}

#[derive(Debug)]
struct State {
    /// Held while there is work, and a moment longer.
    lease: Option<Lease>,
    /// The lease's epoch in which the board got all that the rows say is unfinished.
    settled: Option<u64>,
    used: Instant,
    /// What people were told is wrong.
    alerts: BTreeSet<&'static str>,
    /// How many agents had been crowded out of the cache when people were last told.
    crowded_out: u64,
}

impl Spaces {
    /// The project's space; made on the first call, once, whatever the race.
    pub(crate) async fn get(&self, app: &App, scope: Scope) -> Result<Arc<Space>> {
        let cell = Arc::clone(lock(&self.open).entry(scope.project).or_default());
        let made = cell.get_or_try_init(|| Space::open(app, scope)).await;
        match made {
            Ok(space) if space.scope == scope => {
                lock(&space.state).used = Instant::now();
                Ok(Arc::clone(space))
            }
            // Somebody else's project: it does not exist.
            Ok(_) => Err(crate::Error::not_found("project")),
            Err(error) => {
                let mut open = lock(&self.open);
                if open.get(&scope.project).is_some_and(|cell| !cell.initialized()) {
                    open.remove(&scope.project);
                }
                Err(error)
            }
        }
    }

    /// The space, if this node has it open.
    pub(crate) fn find(&self, project: ProjectId) -> Option<Arc<Space>> {
        lock(&self.open).get(&project).and_then(|cell| cell.get().cloned())
    }

    pub(crate) fn all(&self) -> Vec<Arc<Space>> {
        lock(&self.open).values().filter_map(|cell| cell.get().cloned()).collect()
    }

    /// Takes out spaces that nobody has used for a while and that have no work.
    pub(crate) fn take_idle(&self, idle: Duration) -> Vec<Arc<Space>> {
        let mut open = lock(&self.open);
        let idle = open.extract_if(|_, cell| {
            cell.get().is_some_and(|space| space.rests(idle) && space.desk.shut_if_empty())
        });
        idle.filter_map(|(_, cell)| cell.get().cloned()).collect()
    }

    /// Closes the space unless it has work; says whether it is closed.
    pub(crate) fn close_if_idle(&self, project: ProjectId) -> bool {
        let mut open = lock(&self.open);
        let busy = |cell: &Arc<OnceCell<Arc<Space>>>| {
            cell.get().is_some_and(|space| !space.desk.shut_if_empty())
        };
        if open.get(&project).is_some_and(busy) {
            return false;
        }
        open.remove(&project);
        true
    }

    /// The space is no more: nothing of it runs on.
    pub(crate) fn close(&self, project: ProjectId) {
        let cell = lock(&self.open).remove(&project);
        if let Some(space) = cell.and_then(|cell| cell.get().cloned()) {
            space.desk.clear();
        }
    }
}

impl Space {
    async fn open(app: &App, scope: Scope) -> Result<Arc<Self>> {
        let team = app.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                agents::all(conn, scope).await
            })
        });
        let team = team.await?;
        let state = State {
            lease: None,
            settled: None,
            used: Instant::now(),
            alerts: BTreeSet::new(),
            crowded_out: app.0.cache.crowded_out(),
        };
        let space =
            Self { scope, desk: Desk::default(), state: Mutex::new(state), opened: Instant::now() };
        for agent in &team {
            space.seat(agent);
        }
        app.ensure_collections(scope, &team).await;
        tracing::info!(project = %scope.project, agents = team.len(), "space opened");
        Ok(Arc::new(space))
    }

    /// An agent joined or changed: the next task sees it.
    pub(crate) fn seat(&self, agent: &Agent) {
        if agent.registered {
            self.desk.seat(agent.id, agent.config.at_a_time());
        } else {
            self.desk.close(agent.id);
        }
    }

    /// Nothing is under way, and nobody has asked for anything for so long.
    fn rests(&self, idle: Duration) -> bool {
        lock(&self.state).used.elapsed() >= idle && self.desk.size().1 == 0
    }

    pub(crate) fn lease(&self) -> Option<Lease> {
        lock(&self.state).lease.clone()
    }

    /// The space is this node's.
    pub(crate) fn hold(&self, lease: Lease) {
        let mut state = lock(&self.state);
        state.lease = Some(lease);
        state.used = Instant::now();
    }

    /// Whether the board has all that is unfinished, as of this epoch of the lease.
    fn settled(&self, epoch: u64) -> bool {
        lock(&self.state).settled == Some(epoch)
    }

    fn settle(&self, epoch: Option<u64>) {
        lock(&self.state).settled = epoch;
    }

    fn take_lease(&self) -> Option<Lease> {
        lock(&self.state).lease.take()
    }

    fn alerts(&self) -> Vec<&'static str> {
        lock(&self.state).alerts.iter().copied().collect()
    }

    fn alerted(&self, code: &str) -> bool {
        lock(&self.state).alerts.contains(code)
    }

    fn set_alert(&self, code: &'static str, on: bool) {
        let mut state = lock(&self.state);
        if on {
            state.alerts.insert(code);
        } else {
            state.alerts.remove(code);
        }
    }

    /// Whether agents were crowded out of the cache since people were last told.
    fn is_crowded(&self, crowded_out: u64) -> bool {
        lock(&self.state).crowded_out < crowded_out
    }

    fn saw_crowd(&self, crowded_out: u64) {
        lock(&self.state).crowded_out = crowded_out;
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Starts whatever may start.
    pub(crate) fn dispatch(self: &Arc<Self>, app: &App) {
        for Started { ticket, stop } in self.desk.start() {
            app.0.tracker.spawn(turn::run(app.clone(), Arc::clone(self), ticket, stop));
        }
    }
}

pub(crate) fn lease_name(project: ProjectId) -> String {
    format!("space:{project}")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
