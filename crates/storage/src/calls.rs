//! Calls of tools on users' machines: each ends exactly once, because every change of state is one conditional update.

use artel_domain::tool::{Status, ToolCall};
use artel_domain::{ApprovalId, ClientId, ProjectId, TaskId, Timestamp, ToolCallId, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Listed, Page, Result, Scope};

/// Where a call stands in its task: the step, and which of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub step: u32,
    pub place: u32,
}

pub async fn add(conn: &mut Conn, call: &ToolCall, at: Option<Place>) -> Result<()> {
    let (arguments, risk, result) = written(call)?;
    conn.execute(
        "insert into tool_calls (id, user_id, project_id, task_id, session_id, agent_id, step, place, tool, arguments, risk_level,
                                 reason, status, approval_id, decided_from, client_id, diff, base, digest, timeout,
                                 deadline, result, error, created_at, updated_at, ended_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
                 ?23, ?24, ?25, ?26)",
        values![
            call.id,
            call.user_id,
            call.project_id,
            call.task_id,
            call.session_id,
            call.agent_id,
            at.map(|at| i64::from(at.step)),
            at.map(|at| i64::from(at.place)),
            &call.tool_name,
            arguments,
            risk,
            &call.reason,
            call.status.as_str(),
            call.approval_id,
            call.decided_from.as_deref(),
            call.client_id,
            call.diff.as_deref(),
            call.base.as_deref(),
            call.digest.as_deref(),
            call.timeout,
            call.deadline.map(Timestamp::as_micros),
            result.as_deref(),
            call.error.as_deref(),
            call.created_at,
            call.updated_at,
            ended_at(call)
        ],
    )
    .await?;
    Ok(())
}

/// Writes what can change of a call, if it still is in the state that the change starts from.
pub async fn change(conn: &mut Conn, call: &ToolCall, from: Status) -> Result<bool> {
    let (_, _, result) = written(call)?;
    let changed = conn
        .execute(
            "update tool_calls
             set status = ?3, approval_id = ?4, decided_from = ?5, client_id = ?6, diff = ?7, base = ?8, digest = ?9,
                 deadline = ?10, result = ?11, error = ?12, updated_at = ?13, ended_at = ?14
             where id = ?1 and status = ?2",
            values![
                call.id,
                from.as_str(),
                call.status.as_str(),
                call.approval_id,
                call.decided_from.as_deref(),
                call.client_id,
                call.diff.as_deref(),
                call.base.as_deref(),
                call.digest.as_deref(),
                call.deadline.map(Timestamp::as_micros),
                result.as_deref(),
                call.error.as_deref(),
                call.updated_at,
                ended_at(call)
            ],
        )
        .await?;
    Ok(changed == 1)
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, user_id, project_id, task_id, agent_id, tool, arguments, risk_level, reason, status, approval_id,
                    decided_from, client_id, diff, base, digest, timeout, deadline, result, error, created_at, updated_at,
                    session_id
             from tool_calls ",
            $rest
        )
    };
}

pub async fn get(conn: &mut Conn, scope: Scope, id: ToolCallId) -> Result<ToolCall> {
    let sql = select!("where id = ?1 and project_id = ?2 and user_id = ?3");
    let found = conn.first(sql, values![id, scope.project, scope.user], read).await?;
    found.ok_or(Error::Missing("tool call"))
}

/// The call that a task made at this place, if it came so far.
pub async fn at(conn: &mut Conn, task: TaskId, at: Place) -> Result<Option<ToolCall>> {
    let sql = select!("where task_id = ?1 and step = ?2 and place = ?3");
    conn.first(sql, values![task, at.step, at.place], read).await
}

/// The call that an approval is about.
pub async fn of_approval(
    conn: &mut Conn,
    project: ProjectId,
    approval: ApprovalId,
) -> Result<Option<ToolCall>> {
    let sql = select!("where project_id = ?1 and approval_id = ?2 and ended_at is null");
    conn.first(sql, values![project, approval], read).await
}

/// Calls of a task that have not ended.
pub async fn open_of_task(conn: &mut Conn, task: TaskId) -> Result<Vec<ToolCall>> {
    let sql = select!("where task_id = ?1 and ended_at is null order by created_at, id");
    conn.query(sql, values![task], read).await
}

/// Calls of a task's step that have not ended.
pub async fn open_of_step(conn: &mut Conn, task: TaskId, step: u32) -> Result<Vec<ToolCall>> {
    let sql = select!("where task_id = ?1 and step = ?2 and ended_at is null order by place");
    conn.query(sql, values![task, step], read).await
}

/// The step after all that a task has made calls in.
pub async fn next_step(conn: &mut Conn, task: TaskId) -> Result<u32> {
    let sql =
        "select cast(coalesce(max(step) + 1, 0) as bigint) from tool_calls where task_id = ?1";
    let next = conn.first(sql, values![task], |row| row.int(0)).await?;
    Ok(next.and_then(|next| u32::try_from(next).ok()).unwrap_or(0))
}

/// The tools that a task has called, and what came of it.
pub async fn made_by(conn: &mut Conn, task: TaskId) -> Result<Vec<(String, Status)>> {
    conn.query(
        "select tool, status from tool_calls where task_id = ?1 order by step, place",
        values![task],
        |row| Ok((row.text(0)?, row.parse(1, "tool_calls")?)),
    )
    .await
}

/// How long a task has waited for its calls, in microseconds.
pub async fn waited(conn: &mut Conn, task: TaskId) -> Result<u64> {
    let sql = "select cast(coalesce(sum(updated_at - created_at), 0) as bigint) from tool_calls
               where task_id = ?1 and ended_at is not null";
    let waited = conn.first(sql, values![task], |row| row.int(0)).await?;
    Ok(waited.and_then(|waited| u64::try_from(waited).ok()).unwrap_or(0))
}

/// Calls of a project that a client other than this one has.
pub async fn of_other_clients(
    conn: &mut Conn,
    project: ProjectId,
    client: Option<ClientId>,
) -> Result<Vec<ToolCall>> {
    let sql = select!(
        "where project_id = ?1 and ended_at is null and status in ('preparing', 'running')
         and (client_id <> ?2 or ?2 is null) order by created_at, id"
    );
    conn.query(sql, values![project, client], read).await
}

/// Calls that should have moved on by now, and those whose client has fallen silent, with their projects.
pub async fn overdue(conn: &mut Conn, limit: u32) -> Result<Vec<(ToolCallId, Scope)>> {
    let now = conn.now().await?;
    conn.query(
        "select calls.id, calls.project_id, calls.user_id from tool_calls calls
         left join clients on clients.project_id = calls.project_id and clients.client_id = calls.client_id
         where calls.ended_at is null
         and (calls.deadline <= ?1
              or calls.status in ('preparing', 'running') and coalesce(clients.expires_at, 0) <= ?1)
         order by calls.deadline limit ?2",
        values![now, limit],
        |row| {
            let scope = Scope { project: row.parse(1, TABLE)?, user: UserId(row.int(2)?) };
            Ok((row.parse(0, TABLE)?, scope))
        },
    )
    .await
}

/// Which calls to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which {
    pub status: Option<Status>,
    pub task: Option<TaskId>,
}

/// The calls of a project, newest first.
pub async fn list(
    conn: &mut Conn,
    scope: Scope,
    which: Which,
    page: Page,
) -> Result<Listed<ToolCall>> {
    let (status, task) = (which.status.map(Status::as_str), which.task);
    let total = conn
        .first(
            "select count(*) from tool_calls where project_id = ?1 and user_id = ?2
             and (status = ?3 or ?3 is null) and (task_id = ?4 or ?4 is null)",
            values![scope.project, scope.user, status, task],
            |row| row.count(0),
        )
        .await?;
    let items = conn
        .query(
            select!(
                "where project_id = ?1 and user_id = ?2 and (status = ?3 or ?3 is null)
                 and (task_id = ?4 or ?4 is null) order by created_at desc, id desc limit ?5 offset ?6"
            ),
            values![scope.project, scope.user, status, task, page.limit, page.offset],
            read,
        )
        .await?;
    Ok(Listed { items, total: total.unwrap_or(0) })
}

const TABLE: &str = "tool_calls";

fn ended_at(call: &ToolCall) -> Option<i64> {
    call.status.is_final().then(|| call.updated_at.as_micros())
}

/// Arguments, risk and result as they are stored.
fn written(call: &ToolCall) -> Result<(String, String, Option<String>)> {
    let risk = serde_json::to_string(&call.risk_level).map_err(Error::internal)?;
    let arguments = serde_json::to_string(&call.arguments).map_err(Error::internal)?;
    Ok((arguments, risk, call.result.as_ref().map(ToString::to_string)))
}

fn read(row: &Row<'_>) -> Result<ToolCall> {
    let result = row.optional_text(18)?.map(|json| serde_json::from_str(&json)).transpose();
    Ok(ToolCall {
        id: row.parse(0, TABLE)?,
        user_id: UserId(row.int(1)?),
        project_id: row.parse(2, TABLE)?,
        task_id: row.optional_parse(3, TABLE)?,
        agent_id: row.optional_parse(4, TABLE)?,
        tool_name: row.text(5)?,
        arguments: row.json(6, TABLE)?,
        risk_level: row.json(7, TABLE)?,
        reason: row.text(8)?,
        status: row.parse(9, TABLE)?,
        approval_id: row.optional_parse(10, TABLE)?,
        decided_from: row.optional_text(11)?,
        client_id: row.optional_parse(12, TABLE)?,
        diff: row.optional_text(13)?,
        base: row.optional_text(14)?,
        digest: row.optional_text(15)?,
        timeout: u32::try_from(row.int(16)?).map_err(Error::internal)?,
        deadline: row.optional_int(17)?.map(Timestamp::from_micros),
        result: result
            .map_err(|error| Error::Damaged { table: TABLE, detail: error.to_string() })?,
        error: row.optional_text(19)?,
        created_at: row.time(20)?,
        updated_at: row.time(21)?,
        session_id: row.optional_parse(22, TABLE)?,
    })
}
