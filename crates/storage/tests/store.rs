//! The store's own promises, on both databases: one commit for a change and its event, decisions made once,
//! leases that fence, and changes that share a commit without sharing a fate.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on must fail"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use artel_domain::approval::{Approval, Decision, Kind, Status};
use artel_domain::event::{AgentChange, AgentStatusChanged};
use artel_domain::plan::{self, Plan, Range, Task, TaskStatus};
use artel_domain::{
    AgentId, AgentStatus, ApprovalId, Clock, MessageId, PlanId, Project, ProjectId, RiskLevel,
    Role, SessionId, SystemClock, TaskId, UserId,
};
use artel_storage::approvals::{Answer, Answered};
use artel_storage::users::{LOCAL, NewUser};
use artel_storage::{
    Database, Db, Error, Lane, Scope, agents, approvals, events, leases, plans, projects, sessions,
    tasks, users,
};
use artel_testkit::postgres;
use serde_json::json;

/// A database of its own, gone when dropped.
struct Store {
    db: Db,
    place: Database,
    _folder: tempfile::TempDir,
    _server: Option<postgres::Database>,
}

#[derive(Clone, Copy)]
enum Side {
    Sqlite,
    Postgres,
}

impl Side {
    async fn open(self) -> Store {
        let folder = tempfile::tempdir().unwrap();
        let (place, server) = match self {
            Self::Sqlite => (Database::Sqlite(folder.path().join("artel.db")), None),
            Self::Postgres => {
                let server = postgres::database().unwrap();
                (Database::Postgres(server.url().to_owned()), Some(server))
            }
        };
        let db = Db::open(&place).await.unwrap();
        Store { db, place, _folder: folder, _server: server }
    }
}

macro_rules! on_both {
    ($($(#[$doc:meta])* async fn $name:ident($side:ident) $body:block)*) => {
        $($(#[$doc])* async fn $name($side: Side) $body)*
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(super::Side::Sqlite).await; })*
        }
        mod postgres_server {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(super::Side::Postgres).await; })*
        }
    };
}

/// A user with a project.
async fn scope(db: &Db) -> Scope {
    let new = NewUser {
        issuer: LOCAL.to_owned(),
        subject: format!("user-{}", TaskId::new(&SystemClock)),
        role: Role::User,
        password_hash: None,
        created_at: SystemClock.now(),
    };
    db.write(Lane::House, move |conn| {
        Box::pin(async move {
            let user = users::add(conn, &new).await?;
            let now = SystemClock.now();
            let project = Project {
                id: ProjectId::new(&SystemClock),
                user_id: user.id,
                name: "P".to_owned(),
                workspace_path: None,
                created_at: now,
                updated_at: now,
            };
            projects::add(conn, &project).await?;
            Ok(Scope { user: user.id, project: project.id })
        })
    })
    .await
    .unwrap()
}

fn an_event() -> artel_domain::Event {
    AgentStatusChanged {
        agent_id: AgentId::new(&SystemClock),
        name: "a".to_owned(),
        status: AgentStatus::Ready,
        change: AgentChange::Created,
    }
    .into()
}

fn question(scope: Scope, ttl: Duration) -> Approval {
    let now = SystemClock.now();
    Approval {
        id: ApprovalId::new(&SystemClock),
        user_id: scope.user,
        project_id: scope.project,
        session_id: None,
        task_id: None,
        kind: Kind::Tool,
        payload: json!({"tool": "tool_write_file"}),
        risk_level: RiskLevel::High,
        status: Status::Pending,
        created_at: now,
        expires_at: now.plus(ttl),
        resolved_at: None,
        comment: None,
        decided_by: None,
        decided_from: None,
    }
}

async fn ask(db: &Db, approval: &Approval) {
    let stored = approval.clone();
    db.write(Lane::Project(approval.project_id), move |conn| {
        Box::pin(async move { approvals::ask(conn, &stored).await })
    })
    .await
    .unwrap();
}

async fn answer(db: &Db, approval: &Approval, decision: Decision, by: UserId) -> Answered {
    let (user, id) = (approval.user_id, approval.id);
    let answer = Answer { decision, comment: Some("because".to_owned()), by, from: "web" };
    db.write(Lane::Project(approval.project_id), move |conn| {
        Box::pin(async move { approvals::decide(conn, user, id, &answer).await })
    })
    .await
    .unwrap()
}

async fn kinds(db: &Db, scope: Scope) -> Vec<String> {
    let recorded =
        db.read(move |conn| Box::pin(events::after(conn, scope.project, 0, 1000))).await.unwrap();
    assert!(recorded.iter().zip(1..).all(|(event, seq)| event.seq == seq), "numbers have no gap");
    recorded.into_iter().map(|event| event.kind).collect()
}

on_both! {
    /// PF-4.1: numbers grow by one in the order of commits, whoever writes; what is shown was committed first.
    async fn numbers_have_no_gap_and_follow_commits(side) {
        let store = side.open().await;
        let scope = scope(&store.db).await;
        let shown: Arc<Mutex<Vec<u64>>> = Arc::default();
        let seen = Arc::clone(&shown);
        store.db.on_commit(move |recorded| seen.lock().unwrap().extend(recorded.iter().map(|event| event.seq)));
        let writers: Vec<_> = (0..32).map(|number| {
            let db = store.db.clone();
            tokio::spawn(async move {
                for round in 0..20 {
                    let fails = (number + round) % 5 == 0;
                    let written = db.write(Lane::Project(scope.project), move |conn| Box::pin(async move {
                        events::append(conn, scope.project, None, SystemClock.now(), &an_event()).await?;
                        if fails { Err(Error::Refused("test")) } else { Ok(()) }
                    })).await;
                    assert_eq!(written.is_err(), fails);
                }
            })
        }).collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let stored = kinds(&store.db, scope).await.len();
        assert_eq!(stored, 32 * 20 * 4 / 5, "what failed left nothing");
        assert_eq!(*shown.lock().unwrap(), (1..=stored as u64).collect::<Vec<_>>(), "shown in order, once each");
    }

    /// A change that panics, or breaks a rule of the database, fails alone.
    async fn changes_share_a_commit_but_not_a_fate(side) {
        let store = side.open().await;
        let scope = scope(&store.db).await;
        let work: Vec<_> = (0..60).map(|number| {
            let db = store.db.clone();
            tokio::spawn(async move {
                db.write(Lane::Project(scope.project), move |conn| Box::pin(async move {
                    events::append(conn, scope.project, None, SystemClock.now(), &an_event()).await?;
                    assert!(number % 3 != 0, "a mistake of ours");
                    if number % 3 == 1 {
                        let there = projects::get(conn, scope).await?;
                        projects::add(conn, &there).await?;
                    }
                    Ok(())
                })).await
            })
        }).collect();
        let mut outcomes = [0, 0, 0];
        for (number, change) in work.into_iter().enumerate() {
            match change.await.unwrap() {
                Err(Error::Internal(_)) if number % 3 == 0 => outcomes[0] += 1,
                Err(Error::Duplicate) if number % 3 == 1 => outcomes[1] += 1,
                Ok(()) if number % 3 == 2 => outcomes[2] += 1,
                other => panic!("{number}: {other:?}"),
            }
        }
        assert_eq!(outcomes, [20, 20, 20]);
        assert_eq!(kinds(&store.db, scope).await.len(), 20);
    }

    /// PF-2.2: of answers at the same moment one wins, and the others learn the decision; PF-2.7: who and from where is kept.
    async fn an_approval_is_decided_once(side) {
        let store = side.open().await;
        let scope = scope(&store.db).await;
        for _ in 0..20 {
            let approval = question(scope, Duration::from_mins(5));
            ask(&store.db, &approval).await;
            let answers: Vec<_> = (0..8).map(|number| {
                let (db, approval) = (store.db.clone(), approval.clone());
                let decision = if number % 2 == 0 { Decision::Approve } else { Decision::Reject };
                tokio::spawn(async move { (decision, answer(&db, &approval, decision, UserId(number)).await) })
            }).collect();
            let (mut winners, mut decided) = (Vec::new(), Vec::new());
            for attempt in answers {
                match attempt.await.unwrap() {
                    (decision, Answered::Decided(approval)) => { winners.push(decision); decided.push(approval); }
                    (_, Answered::Already(approval)) => decided.push(approval),
                }
            }
            assert_eq!(winners.len(), 1);
            assert!(decided.iter().all(|approval| approval.status == Status::from(winners[0]) && approval == &decided[0]));
            assert_eq!((decided[0].decided_from.as_deref(), decided[0].comment.as_deref()), (Some("web"), Some("because")));
        }
        let told = kinds(&store.db, scope).await;
        assert_eq!(told.iter().filter(|kind| *kind == "approval_required").count(), 20);
        assert_eq!(told.iter().filter(|kind| *kind == "approval_resolved").count(), 20);
    }

    /// PF-2.3: a warning once, and a rejection at the deadline by the database's clock; a late answer changes nothing.
    /// PF-2.4: what is pending is so after the database was closed and opened.
    async fn an_approval_has_a_deadline(side) {
        let store = side.open().await;
        let scope = scope(&store.db).await;
        let (late, open) = (question(scope, Duration::ZERO), question(scope, Duration::from_secs(30)));
        ask(&store.db, &late).await;
        ask(&store.db, &open).await;
        assert!(matches!(answer(&store.db, &late, Decision::Approve, scope.user).await, Answered::Already(approval) if approval.status == Status::Pending));
        let db = Db::open(&store.place).await.unwrap();
        let overdue = db.read(|conn| Box::pin(approvals::overdue(conn, 10))).await.unwrap();
        assert_eq!(overdue, [(late.id, scope)]);
        let ending = db.read(|conn| Box::pin(approvals::ending(conn, Duration::from_mins(1), 10))).await.unwrap();
        assert_eq!(ending, [(open.id, scope.project)]);
        for _ in 0..2 {
            let (late, open) = (late.id, open.id);
            db.write(Lane::Project(scope.project), move |conn| Box::pin(async move {
                approvals::expire(conn, late).await?;
                approvals::expire(conn, open).await?;
                approvals::warn(conn, open).await
            })).await.unwrap();
        }
        assert!(matches!(answer(&db, &late, Decision::Approve, scope.user).await, Answered::Already(approval) if approval.status == Status::Timeout));
        assert!(matches!(answer(&db, &open, Decision::Reject, scope.user).await, Answered::Decided(_)));
        assert_eq!(kinds(&db, scope).await, ["approval_required", "approval_required", "approval_timeout", "approval_timeout_warning", "approval_resolved"]);
        let stranger = db.read(move |conn| Box::pin(approvals::get(conn, UserId(999), open.id))).await;
        assert!(matches!(stranger, Err(Error::Missing(_))));
    }

    /// A lease has one owner; the epoch grows with each change of owner, and a stale owner's write is undone.
    async fn leases_fence(side) {
        let store = side.open().await;
        let scope = scope(&store.db).await;
        let db = &store.db;
        let take = |owner: &'static str, span: u64| async move {
            let span = Duration::from_millis(span);
            db.write(Lane::House, move |conn| Box::pin(async move { leases::acquire(conn, "space", owner, span).await })).await.unwrap()
        };
        let first = take("a", 200).await.unwrap();
        assert!(take("b", 200).await.is_none());
        assert_eq!(take("a", 200).await.unwrap().epoch, first.epoch, "prolonged, not changed");
        tokio::time::sleep(Duration::from_millis(250)).await;
        let second = take("b", 60_000).await.unwrap();
        assert_eq!(second.epoch, first.epoch + 1);
        let write = |lease: leases::Lease| async move {
            db.write(Lane::Project(scope.project), move |conn| Box::pin(async move {
                events::append(conn, scope.project, None, SystemClock.now(), &an_event()).await?;
                leases::check(conn, &lease).await
            })).await
        };
        assert!(matches!(write(first.clone()).await, Err(Error::Fenced(_))));
        write(second.clone()).await.unwrap();
        assert_eq!(kinds(db, scope).await.len(), 1);
        let released = second.clone();
        db.write(Lane::House, move |conn| Box::pin(async move { leases::release(conn, &released).await })).await.unwrap();
        assert!(matches!(write(second).await, Err(Error::Fenced(_))));
        let contenders: Vec<_> = (0..8).map(|number| { let db = db.clone(); tokio::spawn(async move {
            let owner = format!("node-{number}");
            db.write(Lane::User(UserId(number)), move |conn| Box::pin(async move { leases::acquire(conn, "space", &owner, Duration::from_mins(1)).await })).await.unwrap()
        }) }).collect();
        let mut owners = 0;
        for contender in contenders {
            owners += usize::from(contender.await.unwrap().is_some());
        }
        assert_eq!(owners, 1);
    }

    /// OR-11.1, OR-11.2: plans and their tasks are stored whole.
    async fn a_plan_is_stored_whole(side) {
        let store = side.open().await;
        let scope = scope(&store.db).await;
        let now = SystemClock.now();
        let task = |name: &str, dependencies: &[&str]| Task {
            id: TaskId::new(&SystemClock),
            task_id: name.to_owned(),
            description: format!("do {name}"),
            agent_id: None,
            agent_name: "coder".to_owned(),
            capability: Some("fix_bug".to_owned()),
            dependencies: dependencies.iter().map(|text| (*text).to_owned()).collect(),
            estimated_cost: Range::new(0.01, 0.015),
            estimated_duration: Range::new(1.5, 2.5),
            estimated_calls: 6,
            unpriced: false,
            risk_level: RiskLevel::Medium,
            status: TaskStatus::Pending,
            attempts: 0,
            attempt_id: None,
            result: None,
            error: None,
            actual_cost: None,
            usage: None,
            created_at: now,
            started_at: None,
            finished_at: None,
        };
        let tasks = vec![task("t1", &[]), task("t2", &["t1"])];
        let plan = Plan {
            id: PlanId::new(&SystemClock),
            user_id: scope.user,
            project_id: scope.project,
            session_id: SessionId::new(&SystemClock),
            message_id: MessageId::new(&SystemClock),
            title: "код".to_owned(),
            original_request: "проверь код".to_owned(),
            status: plan::Status::WaitingApproval,
            note: None,
            planner: plan::Planner::Fallback,
            planner_note: Some("no model".to_owned()),
            total_estimated_cost: Range::new(0.02, 0.03),
            total_estimated_duration: Range::new(3.0, 5.0),
            unpriced: false,
            actual_cost: 0.001,
            actual_duration: None,
            requires_approval: true,
            high_cost: false,
            risk_level: RiskLevel::Medium,
            approval_id: None,
            answer_id: None,
            created_at: now,
            started_at: None,
            finished_at: None,
            task_count: 2,
            completed_count: 0,
        };
        let (id, stored) = (plan.id, (plan.clone(), tasks.clone()));
        let add = |(plan, tasks): (Plan, Vec<Task>)| {
            store.db.write(Lane::Project(scope.project), move |conn| Box::pin(async move { plans::add(conn, &plan, &tasks).await }))
        };
        add(stored.clone()).await.unwrap();
        let read = store.db.read(move |conn| Box::pin(plans::get(conn, scope, id))).await.unwrap();
        assert_eq!(read, plan);
        assert_eq!(store.db.read(move |conn| Box::pin(plans::tasks(conn, id))).await.unwrap(), tasks);
        let foreign = Scope { user: UserId(999), ..scope };
        assert!(matches!(store.db.read(move |conn| Box::pin(plans::get(conn, foreign, id))).await, Err(Error::Missing(_))));
        assert!(matches!(add(stored).await, Err(Error::Duplicate)));
        store.db.write(Lane::Project(scope.project), move |conn| Box::pin(projects::delete(conn, scope))).await.unwrap();
        assert!(matches!(store.db.read(move |conn| Box::pin(plans::get(conn, scope, id))).await, Err(Error::Missing(_))));
    }

    /// Reading connections cannot write.
    async fn readers_only_read(side) {
        let store = side.open().await;
        let scope = scope(&store.db).await;
        let written = store.db.read(move |conn| Box::pin(projects::delete(conn, scope))).await;
        assert!(matches!(written, Err(Error::Unavailable(_) | Error::Internal(_))), "{written:?}");
        store.db.read(move |conn| Box::pin(projects::get(conn, scope))).await.unwrap();
    }
}

/// OR-11.4: the indexes that plans are looked up by.
#[tokio::test]
async fn plans_have_their_indexes() {
    let store = Side::Sqlite.open().await;
    let Database::Sqlite(path) = &store.place else { unreachable!("it is SQLite") };
    let text = |sql: &str| {
        let conn = rusqlite::Connection::open(path).unwrap();
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
        rows.filter_map(Result::unwrap).collect::<Vec<_>>().join("\n")
    };
    let indexes = text("select sql from sqlite_master where type = 'index'");
    for index in [
        "task_plans (user_id, session_id)",
        "task_plan_tasks (plan_id, place)",
        "task_plans (status, created_at)",
    ] {
        assert!(indexes.contains(index), "{index}: {indexes}");
    }
    let columns = text("select name from pragma_table_info('task_plan_tasks')");
    for column in [
        "plan_id",
        "task_id",
        "description",
        "agent_id",
        "dependencies",
        "estimated_cost",
        "estimated_duration",
        "risk_level",
        "status",
        "result",
        "created_at",
    ] {
        assert!(columns.contains(column), "{column}");
    }
}

/// A database of a later version of the program is refused, not damaged.
#[tokio::test]
async fn a_newer_database_is_refused() {
    let store = Side::Sqlite.open().await;
    let Database::Sqlite(path) = &store.place else { unreachable!("it is SQLite") };
    rusqlite::Connection::open(path)
        .unwrap()
        .execute("insert into migrations values ('9999_future', 0)", [])
        .unwrap();
    let Err(error) = Db::open(&store.place).await else { panic!("it was opened") };
    assert!(error.to_string().contains("newer version"), "{error}");
}

/// PostgreSQL gone is a clear error within seconds; back, it is used again.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_gone_and_back() {
    let mut server = postgres::Server::start().unwrap();
    let url = server.database().unwrap();
    let db = Db::open(&Database::Postgres(url)).await.unwrap();
    let scope = scope(&db).await;
    let append = || {
        db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                events::append(conn, scope.project, None, SystemClock.now(), &an_event()).await
            })
        })
    };
    append().await.unwrap();
    server.crash().unwrap();
    assert!(matches!(append().await, Err(Error::Unavailable(_))));
    assert!(db.failing());
    assert!(matches!(db.ping().await, Err(Error::Unavailable(_))));
    server.restart().unwrap();
    let mut tries = 0;
    while append().await.is_err() {
        tries += 1;
        assert!(tries < 100, "it comes back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!db.failing());
    db.ping().await.unwrap();
}

/// R29: a database of the version before keeps its conversations and its tasks, on both databases.
#[tokio::test]
async fn a_database_of_before_is_brought_up_to_date() {
    let ground = include_str!("../migrations/0001_ground.sql");
    let ids: [String; 6] = std::array::from_fn(|_| TaskId::new(&SystemClock).to_string());
    let [project, agent, session, asked, answer, task] = &ids;
    let old = format!(
        "create table migrations (name text primary key, applied_at bigint not null);
         {ground}
         insert into migrations values ('0001_ground', 1);
         insert into users (id, issuer, subject, role, created_at) values (7, 'artel', 'ada', 'user', 1);
         insert into projects (id, user_id, name, created_at, updated_at) values ('{project}', 7, 'old', 1, 1);
         insert into agents (id, user_id, project_id, name, status, config, created_at, updated_at)
             values ('{agent}', 7, '{project}', 'a', 'ready', '{{}}', 1, 1);
         insert into sessions (id, user_id, project_id, title, message_count, created_at, updated_at)
             values ('{session}', 7, '{project}', 't', 2, 1, 1);
         insert into messages (id, session_id, place, role, content, task_id, created_at)
             values ('{asked}', '{session}', 1, 'user', 'hello', '{task}', 1),
                    ('{answer}', '{session}', 2, 'assistant', 'hi', '{task}', 2);
         insert into tasks (id, user_id, project_id, session_id, agent_id, message_id, status, priority, created_at)
             values ('{task}', 7, '{project}', '{session}', '{agent}', '{asked}', 'queued', 'normal', 1);"
    );
    let (folder, server) = (tempfile::tempdir().unwrap(), postgres::database().unwrap());
    let path = folder.path().join("artel.db");
    let link = rusqlite::Connection::open(&path).unwrap();
    link.execute_batch(&old.replace("{clustered}", "without rowid")).unwrap();
    drop(link);
    postgres::execute(server.url(), &old.replace("{clustered}", "")).unwrap();
    let scope = Scope { user: UserId(7), project: project.parse().unwrap() };
    for place in [Database::Sqlite(path), Database::Postgres(server.url().to_owned())] {
        let db = Db::open(&place).await.unwrap();
        let (found, said, team) = db
            .read(move |conn| {
                Box::pin(async move {
                    let left = tasks::unfinished(conn, scope.project).await?;
                    let said = sessions::answer(conn, &left[0]).await?;
                    Ok((left, said, agents::all(conn, scope).await?))
                })
            })
            .await
            .unwrap();
        assert_eq!(found[0].id.to_string(), *task);
        assert_eq!(said.unwrap().content, "hi");
        assert!(team[0].registered);
    }
}
