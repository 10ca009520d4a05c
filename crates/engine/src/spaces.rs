//! Worker spaces: the server-side home of each project that is in use.
//!
//! A space lives on exactly one node at a time, the one that holds its lease. There its queues are plain data in
//! memory ([`board`]) over task rows that are already on disk; whoever holds the lease can rebuild them from the
//! rows. Nothing runs in an idle space: no task, no timer, no lease.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use artel_domain::task::Status;
use artel_domain::{Agent, ProjectId};
use artel_storage::leases::{self, Lease};
use artel_storage::{Lane, Scope, agents, projects, tasks};
use tokio::sync::OnceCell;

use crate::{App, Result};

pub(crate) mod board;
pub(crate) mod cache;
pub(crate) mod care;
pub(crate) mod desk;
pub(crate) mod ending;
pub(crate) mod health;
pub(crate) mod turn;
pub(crate) mod view;
pub(crate) mod word;

use board::{Refused, Ticket};
use desk::{Desk, Started};

/// How long a space is a node's without being prolonged.
pub(crate) const LEASE: Duration = Duration::from_secs(15);
/// A space without work gives its lease up after this, so that idle ones cost nothing.
const RESTING: Duration = Duration::from_secs(30);

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
    used: Instant,
    /// What people were told is wrong.
    alerts: BTreeSet<&'static str>,
    /// How many agents had been crowded out of the cache when it was last looked.
    crowded_out: Option<u64>,
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
                lock(&self.open)
                    .retain(|project, cell| *project != scope.project || cell.initialized());
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
        let idle = open.extract_if(|_, cell| cell.get().is_some_and(|space| space.rests(idle)));
        idle.filter_map(|(_, cell)| cell.get().cloned()).collect()
    }

    /// Closes the space unless it has work; says whether it is closed.
    pub(crate) fn close_if_idle(&self, project: ProjectId) -> bool {
        let mut open = lock(&self.open);
        let busy = |cell: &Arc<OnceCell<Arc<Space>>>| {
            cell.get().is_some_and(|space| space.desk.size().1 > 0)
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
        let state =
            State { lease: None, used: Instant::now(), alerts: BTreeSet::new(), crowded_out: None };
        let space =
            Self { scope, desk: Desk::default(), state: Mutex::new(state), opened: Instant::now() };
        for agent in &team {
            space.seat(agent);
        }
        tracing::info!(project = %scope.project, agents = team.len(), "space opened");
        Ok(Arc::new(space))
    }

    /// An agent joined or changed: the next task sees it.
    pub(crate) fn seat(&self, agent: &Agent) {
        if agent.registered {
            self.desk.seat(agent.id, agent.config.concurrency_limit.into());
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

    /// Whether agents were crowded out of the cache since it was last looked.
    fn crowded_out_since(&self, now: u64) -> bool {
        lock(&self.state).crowded_out.replace(now).is_some_and(|before| before < now)
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Starts whatever may start.
    pub(crate) fn dispatch(self: &Arc<Self>, app: &App) {
        for Started { agent, ticket, stop } in self.desk.start() {
            app.0.tracker.spawn(turn::run(app.clone(), Arc::clone(self), agent, ticket, stop));
        }
    }
}

/// Keeps this node's leases, and picks up work that nobody attends: what another node has queued for a space of
/// ours, and what a node that died has left. Runs on every node, every few seconds.
pub(crate) async fn attend(app: &App) -> Result<u64> {
    let db = &app.0.storage.db;
    let owner = app.0.node.clone();
    db.write(Lane::House, move |conn| {
        Box::pin(async move { leases::renew_all(conn, &owner, LEASE).await })
    })
    .await?;
    look_after(app).await;
    let mut picked = 0;
    for (project, user) in db.read(|conn| Box::pin(tasks::projects_with_work(conn, 1000))).await? {
        picked += pick_up(app, Scope { user, project }).await?;
    }
    Ok(picked)
}

/// Rests spaces that have nothing to do, closes those that nobody uses, and tells of what is wrong with the others.
async fn look_after(app: &App) {
    for space in app.0.spaces.take_idle(app.0.settings.space_idle) {
        app.0.cache.clear_here(space.scope.project).await;
        tracing::info!(project = %space.scope.project, "idle space cleaned up");
        if let Err(error) = app.give_up_lease(&space).await {
            tracing::warn!(%error, "a lease could not be given up");
        }
    }
    for space in app.0.spaces.all() {
        // Those that rest have no lease, and nothing is asked about them.
        if space.lease().is_none() {
            continue;
        }
        if let Err(error) = app.alert(&space).await {
            tracing::warn!(%error, project = %space.scope.project, "a space could not be examined");
        }
        if space.rests(RESTING)
            && let Err(error) = app.give_up_lease(&space).await
        {
            tracing::warn!(%error, "a lease could not be given up");
        }
    }
}

/// Takes over a project's unfinished tasks, if its space is ours to have.
async fn pick_up(app: &App, scope: Scope) -> Result<u64> {
    let space = match app.0.spaces.get(app, scope).await {
        Ok(space) => space,
        Err(error) if error.kind == crate::Kind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let owner = app.0.node.clone();
    let name = lease_name(scope.project);
    let found = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move {
            let lease = leases::acquire(conn, &name, &owner, LEASE).await?;
            let left = if lease.is_some() {
                tasks::unfinished(conn, scope.project).await?
            } else {
                Vec::new()
            };
            Ok((lease, left))
        })
    });
    let on_board = space.desk.confirmed();
    let (lease, left) = found.await?;
    let Some(lease) = lease else { return Ok(0) };
    // Read before the rows were: what is on the board and not in the rows has been ended from elsewhere.
    for task in on_board.into_iter().filter(|id| !left.iter().any(|task| task.id == *id)) {
        space.desk.finish(task);
    }
    space.hold(lease);
    let mut picked = 0;
    for task in left.into_iter().filter(|task| !space.desk.attends(task.id)) {
        picked += 1;
        if task.status == Status::Queued {
            let ticket =
                Ticket { task: task.id, session: task.session_id, priority: task.priority };
            match space.desk.push(task.agent_id, ticket) {
                Ok(()) => space.desk.confirm(task.id),
                // It stays on disk, and is looked at again.
                Err(Refused::Full | Refused::Unregistered) => picked -= 1,
            }
        } else {
            // An attempt that was running when its node died. It is recorded, never silently repeated.
            ending::interrupted(app, scope, &task).await?;
        }
    }
    space.dispatch(app);
    Ok(picked)
}

pub(crate) fn lease_name(project: ProjectId) -> String {
    format!("space:{project}")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
