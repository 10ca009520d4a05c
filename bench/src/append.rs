//! A durable event: how long one caller waits for it, and how many a second 64 callers get, beside a bare commit.
//!
//! The peer is the least that could keep an event: one connection, one prepared insert of the same row into the
//! same table, one commit. Ours also takes the next number of the project and passes through the writer's queue.
//! The sides take turns, a few hundred commits each, so that a slow minute of the disk meets both.

use std::time::{Duration, Instant};

use anyhow::Result;
use artel_domain::event::{AgentChange, AgentStatusChanged};
use artel_domain::{
    AgentId, AgentStatus, Clock, Event, Project, ProjectId, Role, SystemClock, UserId,
};
use artel_storage::users::{self, LOCAL, NewUser};
use artel_storage::{Db, Lane, events, projects};
use tokio::runtime::{self, Runtime};
use tokio::task::JoinSet;

use crate::place::Place;
use crate::report::{Goal, Report, Row};
use crate::usage::{median, median_micros};

pub(crate) mod bare;

const ROUNDS: usize = 7;
/// Commits of one caller in a round.
const ALONE: usize = 200;
const CLIENTS: usize = 64;
/// Commits of each of many callers in a round.
const TOGETHER: usize = 40;
const SLOWEST: f64 = 1.2;
const FASTEST: f64 = 10.0;
/// Microseconds.
const STEP: f64 = 30.0;

/// What a round gives, of both sides.
#[derive(Debug, Default, Clone, Copy)]
struct Round {
    /// Microseconds, in the middle.
    ours: f64,
    bare: f64,
    sync: Option<f64>,
    /// Commits a second.
    bare_rate: f64,
    one_project: f64,
    many_projects: f64,
}

pub(crate) fn sqlite(place: &Place, report: &mut Report) -> Result<()> {
    let runtime = as_the_server()?;
    let folder = place.at("append");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("ours.db");
    let ours = runtime.block_on(Ours::open(&artel_storage::Database::Sqlite(path)))?;
    let mut bare = bare::Sqlite::open(&runtime, &folder.join("bare.db"))?;
    let mut sync = bare::Sync::open(&folder.join("sync"))?;
    let rounds: Result<Vec<_>> = (0..ROUNDS)
        .map(|_| {
            let (spans, took) = bare.commits(ALONE)?;
            let mut round = ours.round(&runtime, &spans, took)?;
            round.sync = Some(median_micros(&sync.writes(ALONE)?));
            Ok(round)
        })
        .collect();
    tell(report, "SQLite", &rounds?);
    Ok(())
}

/// A step of any work, with its event, where a commit costs no disk: what is left is ours.
pub(crate) fn in_memory(report: &mut Report) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("artel-bench-").tempdir_in("/dev/shm")?;
    let runtime = as_the_server()?;
    let path = folder.path().join("ours.db");
    let ours = runtime.block_on(Ours::open(&artel_storage::Database::Sqlite(path)))?;
    let (mut spans, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        spans.push(median_micros(&runtime.block_on(runtime.spawn(ours.alone()))??));
        rates.push(runtime.block_on(ours.together(&ours.projects))?);
    }
    let step = Row::new("step without disk, 1 at a time", median(spans), "µs");
    report.add(step.goal(Goal::AtMost(STEP)));
    let each = 1e6 / median(rates);
    let step = Row::new(format!("step without disk, {CLIENTS} at a time, each"), each, "µs");
    report.add(step.goal(Goal::AtMost(STEP)));
    Ok(())
}

pub(crate) fn postgres(report: &mut Report) -> Result<()> {
    if std::env::var(artel_testkit::postgres::SHARED).is_err() {
        report.skip("append, PostgreSQL", "ARTEL_TEST_POSTGRES_URL is not set");
        return Ok(());
    }
    let runtime = as_the_server()?;
    let (first, second) =
        (artel_testkit::postgres::database()?, artel_testkit::postgres::database()?);
    let ours = artel_storage::Database::Postgres(first.url().to_owned());
    let ours = runtime.block_on(Ours::open(&ours))?;
    let mut bare = runtime.block_on(bare::Postgres::open(second.url()))?;
    let rounds: Result<Vec<_>> = (0..ROUNDS)
        .map(|_| {
            let (spans, took) = runtime.block_on(bare.commits(ALONE))?;
            ours.round(&runtime, &spans, took)
        })
        .collect();
    tell(report, "PostgreSQL", &rounds?);
    Ok(())
}

fn tell(report: &mut Report, database: &str, rounds: &[Round]) {
    let middle = |of: fn(&Round) -> f64| median(rounds.iter().map(of));
    let bare = middle(|round| round.bare);
    report.add(
        Row::new(format!("append, 1 client, {database}"), middle(|round| round.ours), "µs")
            .beside("bare commit", bare, middle(|round| round.ours / round.bare))
            .goal(Goal::RatioAtMost(SLOWEST)),
    );
    if rounds.iter().all(|round| round.sync.is_some()) {
        let sync = |round: &Round| round.sync.unwrap_or(f64::NAN);
        report.add(Row::new(format!("bare commit, {database}"), bare, "µs").beside(
            "fdatasync of 4 KiB",
            median(rounds.iter().map(sync)),
            median(rounds.iter().map(|round| round.bare / sync(round))),
        ));
    }
    let rate = middle(|round| round.bare_rate);
    let many = [
        ("1 project", middle(|r| r.one_project), middle(|r| r.one_project / r.bare_rate)),
        ("64 projects", middle(|r| r.many_projects), middle(|r| r.many_projects / r.bare_rate)),
    ];
    for (where_to, figure, ratio) in many {
        report.add(
            Row::new(format!("append, {CLIENTS} clients, {where_to}, {database}"), figure, "/s")
                .beside("bare commit", rate, ratio)
                .goal(Goal::RatioAtLeast(FASTEST)),
        );
    }
}

/// Our side: a database as the server opens it.
struct Ours {
    db: Db,
    projects: Vec<ProjectId>,
}

impl Ours {
    async fn open(place: &artel_storage::Database) -> Result<Self> {
        let db = Db::open(place).await?;
        let projects = add_projects(&db).await?;
        Ok(Self { db, projects })
    }

    /// One turn, after the bare commits of this round.
    fn round(&self, runtime: &Runtime, bare: &[Duration], took: Duration) -> Result<Round> {
        let alone = self.alone();
        let ours = runtime.block_on(runtime.spawn(alone))??;
        let one_project = runtime.block_on(self.together(&self.projects[..1]))?;
        let many_projects = runtime.block_on(self.together(&self.projects))?;
        Ok(Round {
            ours: median_micros(&ours),
            bare: median_micros(bare),
            sync: None,
            bare_rate: bare.len() as f64 / took.as_secs_f64(),
            one_project,
            many_projects,
        })
    }

    /// One caller, which waits for each commit.
    fn alone(&self) -> impl Future<Output = Result<Vec<Duration>>> + Send + 'static {
        let (db, project) = (self.db.clone(), self.projects[0]);
        async move {
            let mut spans = Vec::with_capacity(ALONE);
            for _ in 0..ALONE {
                let start = Instant::now();
                append(&db, project).await?;
                spans.push(start.elapsed());
            }
            Ok(spans)
        }
    }

    /// Many callers, each of which waits for its own; commits a second in all.
    async fn together(&self, projects: &[ProjectId]) -> Result<f64> {
        let start = Instant::now();
        let mut callers = JoinSet::new();
        for caller in 0..CLIENTS {
            let (db, project) = (self.db.clone(), projects[caller % projects.len()]);
            callers.spawn(async move {
                for _ in 0..TOGETHER {
                    append(&db, project).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = callers.join_next().await {
            done??;
        }
        Ok((CLIENTS * TOGETHER) as f64 / start.elapsed().as_secs_f64())
    }
}

async fn append(db: &Db, project: ProjectId) -> Result<u64> {
    let change = db.write(Lane::Project(project), move |conn| {
        Box::pin(
            async move { events::append(conn, project, None, SystemClock.now(), &sample()).await },
        )
    });
    Ok(change.await?)
}

/// The event that both sides keep.
fn sample() -> Event {
    AgentStatusChanged {
        agent_id: AgentId::new(&SystemClock),
        name: "agent_coder".to_owned(),
        status: AgentStatus::Ready,
        change: AgentChange::Updated,
    }
    .into()
}

/// A user with a project for each client.
async fn add_projects(db: &Db) -> Result<Vec<ProjectId>> {
    let now = SystemClock.now();
    let new = NewUser {
        issuer: LOCAL.to_owned(),
        subject: "bench".to_owned(),
        role: Role::User,
        password_hash: None,
        created_at: now,
    };
    let user =
        db.write(Lane::House, move |conn| Box::pin(async move { users::add(conn, &new).await }));
    let user = user.await?.id;
    let mut ids = Vec::new();
    for _ in 0..CLIENTS {
        let project = new_project(user);
        ids.push(project.id);
        let add = db.write(Lane::House, move |conn| {
            Box::pin(async move { projects::add(conn, &project).await })
        });
        add.await?;
    }
    Ok(ids)
}

fn new_project(user: UserId) -> Project {
    let now = SystemClock.now();
    Project {
        id: ProjectId::new(&SystemClock),
        user_id: user,
        name: "bench".to_owned(),
        workspace_path: None,
        created_at: now,
        updated_at: now,
    }
}

/// The runtime that the server has.
pub(crate) fn as_the_server() -> Result<Runtime> {
    Ok(runtime::Builder::new_multi_thread().enable_all().build()?)
}
