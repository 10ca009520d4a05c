//! Tasks: each ends exactly once, because every change of state is one conditional update.

use artel_domain::plan::Place;
use artel_domain::session::ErrorType;
use artel_domain::task::{Priority, Status, Task};
use artel_domain::{AgentId, ProjectId, SessionId, TaskId, Timestamp, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Result, Scope};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, user_id, project_id, session_id, agent_id, message_id, status, priority, error, error_type,
                    created_at, started_at, finished_at, plan_id, plan_task
             from tasks ",
            $rest
        )
    };
}

pub async fn add(conn: &mut Conn, task: &Task) -> Result<()> {
    conn.execute(
        "insert into tasks (id, user_id, project_id, session_id, agent_id, message_id, status, priority, created_at,
                            started_at, plan_id, plan_task)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        values![
            task.id,
            task.user_id,
            task.project_id,
            task.session_id,
            task.agent_id,
            task.message_id,
            task.status.as_str(),
            priority_word(task.priority),
            task.created_at,
            task.started_at.map(Timestamp::as_micros),
            task.plan.as_ref().map(|place| place.plan_id),
            task.plan.as_ref().map(|place| place.task.as_str())
        ],
    )
    .await?;
    Ok(())
}

pub async fn get(conn: &mut Conn, scope: Scope, id: TaskId) -> Result<Task> {
    conn.first(
        select!("where id = ?1 and project_id = ?2 and user_id = ?3"),
        values![id, scope.project, scope.user],
        read,
    )
    .await?
    .ok_or(Error::Missing("task"))
}

/// Whether this call started it: a task that was cancelled in between does not start.
pub async fn start(conn: &mut Conn, id: TaskId, at: Timestamp) -> Result<bool> {
    let started = conn
        .execute(
            "update tasks set status = 'running', started_at = ?2 where id = ?1 and status = 'queued'",
            values![id, at],
        )
        .await?;
    Ok(started == 1)
}

/// Keeps how far a task has come, so that another process can go on from there.
pub async fn keep_progress(conn: &mut Conn, id: TaskId, progress: &str) -> Result<()> {
    let sql = "update tasks set progress = ?2 where id = ?1 and finished_at is null";
    conn.execute(sql, values![id, progress]).await?;
    Ok(())
}

/// Whom a task that has begun waits for; [`Status::Running`] when it goes on.
pub async fn waits(conn: &mut Conn, id: TaskId, status: Status) -> Result<()> {
    let sql =
        "update tasks set status = ?2 where id = ?1 and finished_at is null and status <> 'queued'";
    conn.execute(sql, values![id, status.as_str()]).await?;
    Ok(())
}

/// How far a task has come, if that was kept.
pub async fn progress(conn: &mut Conn, id: TaskId) -> Result<Option<String>> {
    let sql = "select progress from tasks where id = ?1";
    Ok(conn.first(sql, values![id], |row| row.optional_text(0)).await?.flatten())
}

/// Lets a task whose node died go on from where it was, up to a number of times; says whether it will.
pub async fn resume(conn: &mut Conn, id: TaskId, most: u32) -> Result<bool> {
    let resumed = conn
        .execute(
            "update tasks set status = 'queued', started_at = null, attempts = attempts + 1
             where id = ?1 and finished_at is null and progress is not null and attempts < ?2",
            values![id, most],
        )
        .await?;
    Ok(resumed == 1)
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Completed,
    Failed { error: String, error_type: ErrorType },
    Cancelled,
}

/// What ending a task found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Somebody had ended it before; nothing changed.
    Before,
    Now,
    /// It had waited for others, and may have left something open.
    NowWithProgress,
}

/// Ends the task, unless somebody has.
pub async fn end(conn: &mut Conn, id: TaskId, end: &End, at: Timestamp) -> Result<Ended> {
    let (status, error, error_type) = match end {
        End::Completed => (Status::Completed, None, None),
        End::Failed { error, error_type } => {
            (Status::Failed, Some(error.as_str()), Some(*error_type))
        }
        End::Cancelled => (Status::Cancelled, None, Some(ErrorType::Cancelled)),
    };
    let error_type =
        error_type.map(|kind| serde_json::to_string(&kind)).transpose().map_err(Error::internal)?;
    let progress = conn
        .first(
            "update tasks set status = ?2, error = ?3, error_type = ?4, finished_at = ?5
             where id = ?1 and finished_at is null
             returning cast(case when progress is null then 0 else 1 end as bigint)",
            values![id, status.as_str(), error, error_type.as_deref(), at],
            |row| row.truth(0),
        )
        .await?;
    if progress == Some(true) {
        conn.execute("update tasks set progress = null where id = ?1", values![id]).await?;
    }
    Ok(match progress {
        None => Ended::Before,
        Some(false) => Ended::Now,
        Some(true) => Ended::NowWithProgress,
    })
}

/// Tasks of a project that have not ended, in the order they came.
pub async fn unfinished(conn: &mut Conn, project: ProjectId) -> Result<Vec<Task>> {
    conn.query(
        select!("where project_id = ?1 and finished_at is null order by created_at, id"),
        values![project],
        read,
    )
    .await
}

/// Tasks that wait for an agent, in the order they came.
pub async fn queued(conn: &mut Conn, project: ProjectId, agent: AgentId) -> Result<Vec<Task>> {
    conn.query(
        select!(
            "where project_id = ?1 and agent_id = ?2 and finished_at is null and status = 'queued'
         order by created_at, id"
        ),
        values![project, agent],
        read,
    )
    .await
}

/// Tasks of everybody that have not ended, project by project.
pub async fn all_unfinished(conn: &mut Conn, limit: u32) -> Result<Vec<(Scope, TaskId)>> {
    conn.query(
        "select project_id, user_id, id from tasks where finished_at is null order by project_id limit ?1",
        values![limit],
        |row| {
            let scope = Scope { project: row.parse(0, "tasks")?, user: UserId(row.int(1)?) };
            Ok((scope, row.parse(2, "tasks")?))
        },
    )
    .await
}

/// Tasks of messages that have waited in vain since before a moment. Those that others kept waiting are not among them,
/// nor those for programs, whose turns are long.
pub async fn overdue(conn: &mut Conn, before: Timestamp, limit: u32) -> Result<Vec<Task>> {
    conn.query(
        select!(
            "where finished_at is null and status = 'queued' and plan_id is null and progress is null
             and created_at < ?1
             and not exists (select 1 from agents where agents.id = tasks.agent_id and runtime is not null)
             order by created_at limit ?2"
        ),
        values![before, limit],
        read,
    )
    .await
}

/// How many tasks wait for an agent.
pub async fn waiting(conn: &mut Conn, project: ProjectId, agent: AgentId) -> Result<u64> {
    let count = conn
        .first(
            "select count(*) from tasks
             where project_id = ?1 and agent_id = ?2 and finished_at is null and status = 'queued'",
            values![project, agent],
            |row| row.count(0),
        )
        .await?;
    Ok(count.unwrap_or(0))
}

/// Why the last of an agent's tasks that came to an end by itself failed, if it did.
pub async fn last_failure(
    conn: &mut Conn,
    project: ProjectId,
    agent: AgentId,
) -> Result<Option<Task>> {
    let last = conn
        .first(
            select!(
                "where project_id = ?1 and agent_id = ?2 and finished_at is not null
             and status in ('completed', 'failed') order by created_at desc limit 1"
            ),
            values![project, agent],
            read,
        )
        .await?;
    Ok(last.filter(|task| task.status == Status::Failed))
}

/// How many tasks an agent has under way: those that run, those that wait for somebody, and those that wait for it.
pub async fn load(conn: &mut Conn, project: ProjectId, agent: AgentId) -> Result<(u64, u64)> {
    let load = conn
        .first(
            "select coalesce(sum(case when status = 'queued' then 0 else 1 end), 0),
                    coalesce(sum(case when status = 'queued' then 1 else 0 end), 0)
             from tasks where project_id = ?1 and agent_id = ?2 and finished_at is null",
            values![project, agent],
            |row| Ok((row.count(0)?, row.count(1)?)),
        )
        .await?;
    Ok(load.unwrap_or((0, 0)))
}

/// How a project's tasks stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub queued: u64,
    pub running: u64,
    pub ended: u64,
}

pub async fn totals(conn: &mut Conn, project: ProjectId) -> Result<Totals> {
    let (queued, running) = conn
        .first(
            "select coalesce(sum(case when status = 'queued' then 1 else 0 end), 0),
                    coalesce(sum(case when status = 'queued' then 0 else 1 end), 0)
             from tasks where project_id = ?1 and finished_at is null",
            values![project],
            |row| Ok((row.count(0)?, row.count(1)?)),
        )
        .await?
        .unwrap_or((0, 0));
    let ended = conn
        .first(
            "select count(*) from tasks where project_id = ?1 and finished_at is not null",
            values![project],
            |row| row.count(0),
        )
        .await?
        .unwrap_or(0);
    Ok(Totals { queued, running, ended })
}

/// How many of a project's tasks that came after a moment were completed, and how many failed. A quota that is used
/// up is nobody's failure.
pub async fn results(conn: &mut Conn, project: ProjectId, after: Timestamp) -> Result<(u64, u64)> {
    let count = "select coalesce(sum(case when status = 'completed' then 1 else 0 end), 0),
                        coalesce(sum(case when status = 'failed' and error_type <> '\"quota\"' then 1 else 0 end), 0)
                 from tasks where project_id = ?1 and created_at > ?2 and finished_at is not null";
    let results = conn
        .first(count, values![project, after], |row| Ok((row.count(0)?, row.count(1)?)))
        .await?;
    Ok(results.unwrap_or((0, 0)))
}

/// Whose tasks to delete with it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    Project,
    Session(SessionId),
    Agent(AgentId),
}

/// Deletes the tasks of a project, or of a part of it.
pub(crate) async fn delete(conn: &mut Conn, project: ProjectId, of: Of) -> Result<()> {
    let (session, agent) = match of {
        Of::Project => (None, None),
        Of::Session(session) => (Some(session), None),
        Of::Agent(agent) => (None, Some(agent)),
    };
    // Two, as each finds its rows by an index of its own.
    for sql in [
        "delete from tasks where project_id = ?1 and finished_at is null
         and (session_id = ?2 or ?2 is null) and (agent_id = ?3 or ?3 is null)",
        "delete from tasks where project_id = ?1 and finished_at is not null
         and (session_id = ?2 or ?2 is null) and (agent_id = ?3 or ?3 is null)",
    ] {
        conn.execute(sql, values![project, session, agent]).await?;
    }
    Ok(())
}

/// What an agent has done so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    pub completed: u64,
    pub failed: u64,
    /// Of tasks that ran, in seconds.
    pub average_seconds: f64,
    pub last_activity: Option<Timestamp>,
}

pub async fn record(conn: &mut Conn, project: ProjectId, agent: AgentId) -> Result<Record> {
    let record = conn
        .first(
            "select coalesce(sum(case when status = 'completed' then 1 else 0 end), 0),
                    coalesce(sum(case when status = 'failed' and error_type <> '\"quota\"' then 1 else 0 end), 0),
                    coalesce(cast(avg(finished_at - started_at) as double precision), 0.0) / 1000000.0,
                    max(coalesce(finished_at, started_at))
             from tasks where project_id = ?1 and agent_id = ?2 and finished_at is not null",
            values![project, agent],
            |row| {
                Ok(Record {
                    completed: row.count(0)?,
                    failed: row.count(1)?,
                    average_seconds: row.real(2)?,
                    last_activity: row.optional_int(3)?.map(Timestamp::from_micros),
                })
            },
        )
        .await?;
    record.ok_or_else(|| Error::internal("an aggregate gave no row"))
}

fn read(row: &Row<'_>) -> Result<Task> {
    let table = "tasks";
    let error_type = row.optional_text(9)?;
    Ok(Task {
        id: row.parse(0, table)?,
        user_id: UserId(row.int(1)?),
        project_id: row.parse(2, table)?,
        session_id: row.parse(3, table)?,
        agent_id: row.parse(4, table)?,
        message_id: row.parse(5, table)?,
        status: row.parse(6, table)?,
        priority: if row.text(7)? == "high" { Priority::High } else { Priority::Normal },
        error: row.optional_text(8)?,
        error_type: error_type
            .map(|json| serde_json::from_str(&json))
            .transpose()
            .map_err(|error| Error::Damaged { table, detail: error.to_string() })?,
        created_at: row.time(10)?,
        started_at: row.optional_int(11)?.map(Timestamp::from_micros),
        finished_at: row.optional_int(12)?.map(Timestamp::from_micros),
        plan: row
            .optional_parse(13, table)?
            .zip(row.optional_text(14)?)
            .map(|(plan_id, task)| Place { plan_id, task }),
    })
}

fn priority_word(priority: Priority) -> &'static str {
    match priority {
        Priority::Normal => "normal",
        Priority::High => "high",
    }
}
