//! Worker spaces: the server-side home of each project that is in use.
//!
//! A space lives on exactly one node at a time, the one that holds its lease. There its queues are plain data in
//! memory ([`board`]) over task rows that are already on disk; whoever holds the lease can rebuild them from the
//! rows. Nothing runs in an idle space: no task, no timer, no lease.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use artel_domain::task::Status;
use artel_domain::{Agent, AgentId, ProjectId, TaskId};
use artel_storage::leases::{self, Lease};
use artel_storage::{Lane, Scope, agents, projects, tasks};
use tokio::sync::{OnceCell, watch};
use tokio_util::sync::CancellationToken;

use crate::{App, Result};

pub(crate) mod board;
pub(crate) mod turn;
pub(crate) mod view;

use board::{Board, Load, Refused, Ticket};

/// How long a space is a node's without being prolonged.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// The spaces of this node.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    open: Mutex<HashMap<ProjectId, Arc<OnceCell<Arc<Space>>>>>,
}

/// One project's space.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) scope: Scope,
    state: Mutex<State>,
    opened: Instant,
}

#[derive(Debug)]
struct State {
    board: Board,
    agents: HashMap<AgentId, Agent>,
    /// Held while there is work.
    lease: Option<Lease>,
    /// Tasks that have not ended here: how to stop each, and who waits for its end.
    attended: HashMap<TaskId, Attended>,
    used: Instant,
}

#[derive(Debug)]
struct Attended {
    stop: CancellationToken,
    ended: watch::Sender<bool>,
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

    /// Lets go of spaces that nobody has used for a while and that have no work.
    pub(crate) fn tidy(&self, idle: Duration) -> usize {
        let mut open = lock(&self.open);
        let before = open.len();
        open.retain(|_, cell| match cell.get() {
            None => true,
            Some(space) => {
                let state = lock(&space.state);
                state.used.elapsed() < idle || state.board.size().1 > 0
            }
        });
        before - open.len()
    }

    /// The project is no more: nothing of it runs on.
    pub(crate) fn close(&self, project: ProjectId) {
        let cell = lock(&self.open).remove(&project);
        if let Some(space) = cell.and_then(|cell| cell.get().cloned()) {
            let mut state = lock(&space.state);
            for attended in state.attended.values() {
                attended.stop.cancel();
            }
            state.attended.clear();
            state.board = Board::default();
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
        let mut state = State {
            board: Board::default(),
            agents: HashMap::new(),
            lease: None,
            attended: HashMap::new(),
            used: Instant::now(),
        };
        for agent in team.await? {
            state.seat(agent);
        }
        tracing::info!(project = %scope.project, agents = state.agents.len(), "space opened");
        Ok(Arc::new(Self { scope, state: Mutex::new(state), opened: Instant::now() }))
    }

    /// An agent joined or changed: the next task sees it.
    pub(crate) fn seat(&self, agent: Agent) {
        lock(&self.state).seat(agent);
    }

    /// An agent leaves: what waits for it never starts, and what runs is stopped.
    pub(crate) fn unseat(&self, agent: AgentId) {
        let mut state = lock(&self.state);
        state.agents.remove(&agent);
        let tasks = state.board.unseat(agent);
        for task in &tasks {
            if let Some(attended) = state.attended.remove(task) {
                attended.stop.cancel();
                attended.ended.send_replace(true);
            }
        }
    }

    pub(crate) fn agent(&self, id: AgentId) -> Option<Agent> {
        lock(&self.state).agents.get(&id).cloned()
    }

    /// Puts a task on the board; it starts once it is confirmed. Called inside the change that stores it, so the
    /// board's order is that of the commits.
    pub(crate) fn push(&self, agent: AgentId, ticket: Ticket) -> std::result::Result<(), Refused> {
        let mut state = lock(&self.state);
        state.board.push(agent, ticket)?;
        let attended =
            Attended { stop: CancellationToken::new(), ended: watch::Sender::new(false) };
        state.attended.insert(ticket.task, attended);
        Ok(())
    }

    /// The task is on disk.
    pub(crate) fn confirm(&self, task: TaskId, lease: Option<Lease>) {
        let mut state = lock(&self.state);
        state.board.confirm(task);
        if let Some(lease) = lease {
            state.lease = Some(lease);
        }
    }

    /// The task has ended, or never came to be.
    pub(crate) fn finish(&self, task: TaskId) {
        let mut state = lock(&self.state);
        state.board.finish(task);
        if let Some(attended) = state.attended.remove(&task) {
            attended.stop.cancel();
            attended.ended.send_replace(true);
        }
        state.used = Instant::now();
    }

    /// Resolves when the task has ended here; at once if it is not attended here.
    pub(crate) async fn ended(&self, task: TaskId) {
        let ended =
            lock(&self.state).attended.get(&task).map(|attended| attended.ended.subscribe());
        if let Some(mut ended) = ended {
            // The sender going away means the same.
            drop(ended.wait_for(|ended| *ended).await);
        }
    }

    pub(crate) fn attends(&self, task: TaskId) -> bool {
        lock(&self.state).attended.contains_key(&task)
    }

    fn stop_of(&self, task: TaskId) -> Option<CancellationToken> {
        lock(&self.state).attended.get(&task).map(|attended| attended.stop.clone())
    }

    pub(crate) fn lease(&self) -> Option<Lease> {
        lock(&self.state).lease.clone()
    }

    pub(crate) fn load(&self, agent: AgentId) -> Option<Load> {
        lock(&self.state).board.load(agent)
    }

    /// Agents on the board, tasks that have not ended, and the age of the space.
    pub(crate) fn size(&self) -> (usize, usize, Duration) {
        let (agents, tasks) = lock(&self.state).board.size();
        (agents, tasks, self.opened.elapsed())
    }

    /// Starts whatever may start.
    pub(crate) fn dispatch(self: &Arc<Self>, app: &App) {
        let started = lock(&self.state).board.start();
        for (agent, ticket) in started {
            let stop = self.stop_of(ticket.task).unwrap_or_default();
            app.0.tracker.spawn(turn::run(app.clone(), Arc::clone(self), agent, ticket, stop));
        }
    }
}

impl State {
    fn seat(&mut self, agent: Agent) {
        self.board.seat(agent.id, agent.config.concurrency_limit.into());
        self.agents.insert(agent.id, agent);
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
    let mut picked = 0;
    for (project, user) in db.read(|conn| Box::pin(tasks::projects_with_work(conn, 1000))).await? {
        picked += pick_up(app, Scope { user, project }).await?;
    }
    Ok(picked)
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
    let (lease, left) = found.await?;
    let mut picked = 0;
    for task in left.into_iter().filter(|task| !space.attends(task.id)) {
        picked += 1;
        if task.status == Status::Queued {
            let ticket =
                Ticket { task: task.id, session: task.session_id, priority: task.priority };
            match space.push(task.agent_id, ticket) {
                Ok(()) => space.confirm(task.id, lease.clone()),
                // It stays on disk, and is looked at again.
                Err(Refused::Full | Refused::Unregistered) => picked -= 1,
            }
        } else {
            // An attempt that was running when its node died. It is recorded, never silently repeated.
            turn::interrupted(app, scope, &task).await?;
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
