//! Keeping spaces: taking over what is unfinished, prolonging leases, resting and closing what nobody uses.
//!
//! The board of a space is rebuilt from its rows whenever a node gets its lease anew, inside the change that got
//! it: what ran when its node died is recorded as interrupted (or goes on, if it waited for others), what waited goes on the board in its old order, and
//! only then does anything new. So a restart neither repeats work nor lets a later message go first.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use artel_domain::task::Status;
use artel_domain::{AgentId, Clock, PlanId, TaskId};
use artel_storage::leases::{self, Lease};
use artel_storage::{Conn, Lane, Scope, plans, tasks};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::board::{Refused, Ticket};
use super::ending::Scribe;
use super::turn::{self, Brief};
use super::{SPACE_CLOSED, Space, ending, lease_name};
use crate::plans::course;
use crate::{App, Error, Kind, Result};

/// How long a space is a node's without being prolonged.
const LEASE: Duration = Duration::from_secs(15);
/// A space without work gives its lease up after this, so that idle ones cost nothing.
const RESTING: Duration = Duration::from_secs(30);
/// How often a task is begun whose node dies each time: one that waits for others, or one of a plan.
pub(crate) const ATTEMPTS: u32 = 5;
/// Unfinished tasks looked at in a round.
const SOME: u32 = 10_000;
/// Projects that are picked up at a time.
const AT_A_TIME: usize = 32;

/// What a change puts on the board of a space: kept once it is on disk, taken back when it is not.
pub(crate) struct Hand {
    space: Arc<Space>,
    scribe: Scribe,
    owner: String,
    plan_parallel: usize,
    dealt: Mutex<Dealt>,
}

#[derive(Debug, Default)]
struct Dealt {
    lease: Option<Lease>,
    tasks: Vec<TaskId>,
    /// Tasks that start with the change itself.
    begun: Vec<(Brief, CancellationToken)>,
    /// Plans that end with it.
    ended: Vec<PlanId>,
    settled: bool,
}

impl Hand {
    pub(crate) fn new(app: &App, space: &Arc<Space>) -> Arc<Self> {
        Arc::new(Self {
            space: Arc::clone(space),
            scribe: app.scribe(),
            owner: app.0.node.clone(),
            plan_parallel: app.0.settings.plan_parallel,
            dealt: Mutex::default(),
        })
    }

    /// Takes the space's lease and, if it was another's since, all that is unfinished. False: another node has it.
    pub(crate) async fn take_over(&self, conn: &mut Conn) -> artel_storage::Result<bool> {
        if let Some(lease) = self.space.lease().filter(|lease| self.space.settled(lease.epoch))
            && leases::held(conn, &lease).await?.is_some_and(|left| left > LEASE / 2)
        {
            return Ok(true);
        }
        let name = lease_name(self.space.scope.project);
        let Some(lease) = leases::acquire(conn, &name, &self.owner, LEASE).await? else {
            return Ok(false);
        };
        let epoch = lease.epoch;
        self.dealt().lease = Some(lease);
        if !self.space.settled(epoch) {
            self.take_unfinished(conn).await?;
            self.space.settle(Some(epoch));
            self.dealt().settled = true;
        }
        Ok(true)
    }

    /// Takes what the rows say is unfinished and nobody attends.
    async fn take_unfinished(&self, conn: &mut Conn) -> artel_storage::Result<()> {
        let (scope, desk) = (self.space.scope, &self.space.desk);
        let on_board = desk.confirmed();
        let left = tasks::unfinished(conn, scope.project).await?;
        // What is on the board and not in the rows has been ended from elsewhere.
        for task in on_board.into_iter().filter(|id| !left.iter().any(|task| task.id == *id)) {
            desk.finish(task);
        }
        let mut interrupted = BTreeSet::new();
        for task in left.iter().filter(|task| !desk.attends(task.id)) {
            // What waited for others goes on waiting; what was in the middle of its own work is not repeated.
            if task.status == Status::Queued || tasks::resume(conn, task.id, ATTEMPTS).await? {
                if let Err(refused) = self.push(task.agent_id, Ticket::of(task)) {
                    tracing::debug!(task = %task.id, ?refused, "it stays on disk, and is looked at again");
                }
            } else {
                ending::interrupt(conn, &self.scribe, scope, task).await?;
                interrupted.extend(task.plan.as_ref().map(|place| place.plan_id));
            }
        }
        for plan in interrupted {
            course::advance(conn, self, scope, plan).await?;
        }
        Ok(())
    }

    /// Puts a task on the board.
    pub(crate) fn push(&self, agent: AgentId, ticket: Ticket) -> std::result::Result<(), Refused> {
        self.space.desk.push(agent, ticket)?;
        self.dealt().tasks.push(ticket.task);
        Ok(())
    }

    /// Whether a task that was just pushed may run at once; then [`Hand::brief`] must follow.
    pub(crate) fn begin(&self, task: TaskId) -> Option<CancellationToken> {
        self.space.desk.begin(task)
    }

    /// What the task that begins with this change is told.
    pub(crate) fn brief(&self, brief: Brief, stop: CancellationToken) {
        self.dealt().begun.push((brief, stop));
    }

    /// A plan ends with this change.
    pub(crate) fn plan_ended(&self, plan: PlanId) {
        self.dealt().ended.push(plan);
    }

    /// How many tasks an agent of the space takes at a time; none when it takes none.
    pub(crate) fn limit(&self, agent: AgentId) -> Option<usize> {
        self.space.desk.limit(agent)
    }

    /// Tasks of one plan that run at a time.
    pub(crate) const fn plan_parallel(&self) -> usize {
        self.plan_parallel
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.scribe.clock.as_ref()
    }

    /// The change is on disk, or it is not; says how many tasks it brought.
    pub(crate) fn play(&self, app: &App, on_disk: bool) -> usize {
        let Dealt { lease, tasks, begun, ended, settled } = std::mem::take(&mut *self.dealt());
        if on_disk {
            if let Some(lease) = lease {
                self.space.hold(lease);
            }
            for task in &tasks {
                self.space.desk.confirm(*task);
            }
            for (brief, stop) in begun {
                let turn = turn::run_begun(app.clone(), Arc::clone(&self.space), brief, stop);
                app.0.tracker.spawn(turn);
            }
            for plan in ended {
                app.0.tracker.spawn(app.clone().plan_ended(self.space.scope, plan));
            }
        } else {
            if settled {
                self.space.settle(None);
            }
            for task in &tasks {
                self.space.desk.finish(*task);
            }
        }
        self.space.dispatch(app);
        tasks.len()
    }

    fn dealt(&self) -> MutexGuard<'_, Dealt> {
        self.dealt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps this node's leases, and picks up work that nobody attends: what another node has queued for a space of
/// ours, and what a node that died has left. Runs on every node, every few seconds.
pub(crate) async fn attend(app: &App) -> Result<usize> {
    let db = &app.0.storage.db;
    let owner = app.0.node.clone();
    db.write(Lane::House, move |conn| {
        Box::pin(async move { leases::renew_all(conn, &owner, LEASE).await })
    })
    .await?;
    look_after(app).await;
    let unfinished = db.read(|conn| Box::pin(tasks::all_unfinished(conn, SOME))).await?;
    let attended = |tasks: &[(Scope, TaskId)]| {
        app.0.spaces.find(tasks[0].0.project).is_some_and(|space| {
            space.lease().is_some() && tasks.iter().all(|(_, task)| space.desk.attends(*task))
        })
    };
    let projects = unfinished.chunk_by(|a, b| a.0 == b.0).filter(|tasks| !attended(tasks));
    let left: Vec<_> = projects.map(|tasks| tasks[0].0).collect();
    // Some at a time, so that they share commits.
    let picked = stream::iter(left).map(|scope| pick_up(app, scope)).buffer_unordered(AT_A_TIME);
    let picked = picked.try_fold(0, |all, picked| async move { Ok(all + picked) }).await?;
    Ok(picked + wake_plans(app).await?)
}

/// Ends messages that waited in vain because all of their agent's time went to longer work.
pub(crate) async fn give_up_waiting(app: &App) -> Result<usize> {
    let before = app.clock().now().minus(app.0.settings.direct_timeout);
    let overdue = app
        .0
        .storage
        .db
        .read(move |conn| Box::pin(async move { tasks::overdue(conn, before, SOME).await }));
    let mut given_up = 0;
    for task in overdue.await? {
        let scope = Scope { user: task.user_id, project: task.project_id };
        given_up += usize::from(ending::give_up(app, scope, &task).await?);
    }
    Ok(given_up)
}

/// Takes over a project's unfinished tasks, if its space is ours to have.
pub(crate) async fn pick_up(app: &App, scope: Scope) -> Result<usize> {
    let space = match app.0.spaces.get(app, scope).await {
        Ok(space) => space,
        Err(error) if error.kind == Kind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    // Whatever epoch it is: something is unfinished and not here.
    space.settle(None);
    let hand = Hand::new(app, &space);
    let own = Arc::clone(&hand);
    let taken = app.0.storage.db.write(Lane::Project(scope.project), move |conn| {
        Box::pin(async move { own.take_over(conn).await })
    });
    let taken = taken.await;
    let picked = hand.play(app, taken.is_ok());
    taken?;
    Ok(picked)
}

/// Makes a change that may put work on a space's board, and lets that work begin.
pub(crate) async fn with_hand<T, F>(app: &App, scope: Scope, work: F) -> Result<T>
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut Conn, Arc<Hand>) -> BoxFuture<'c, artel_storage::Result<T>>,
    F: Clone + Send + 'static,
{
    loop {
        let space = app.0.spaces.get(app, scope).await?;
        let (app, work) = (app.clone(), work.clone());
        // On a task of its own: who goes away in the middle must not leave tickets that nobody confirms.
        let done = app.0.tracker.spawn({
            let app = app.clone();
            async move {
                let hand = Hand::new(&app, &space);
                let (own, lane) = (Arc::clone(&hand), Lane::Project(scope.project));
                let done = app.0.storage.db.write(lane, move |conn| work(conn, own)).await;
                hand.play(&app, done.is_ok());
                done
            }
        });
        match done.await.map_err(Error::internal)? {
            // It was closed in between: there is a new one for who asks.
            Err(artel_storage::Error::Refused(SPACE_CLOSED)) => {}
            done => return Ok(done?),
        }
    }
}

/// Lets a plan go on, if its space is ours.
pub(crate) async fn go_on(app: &App, scope: Scope, plan: PlanId) -> Result<()> {
    with_hand(app, scope, move |conn, hand| {
        Box::pin(async move {
            if hand.take_over(conn).await? {
                course::advance(conn, &hand, scope, plan).await?;
            }
            Ok(())
        })
    })
    .await
}

/// Lets plans go on that should, and of which nothing is under way: their node died between two steps, or there was no
/// room on a queue.
pub(crate) async fn wake_plans(app: &App) -> Result<usize> {
    let resting = app.0.storage.db.read(|conn| Box::pin(plans::resting(conn, SOME))).await?;
    let count = resting.len();
    let woken = stream::iter(resting).map(|(scope, plan)| go_on(app, scope, plan));
    woken.buffer_unordered(AT_A_TIME).try_collect::<Vec<()>>().await?;
    Ok(count)
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
