//! The processes of agents that are programs: one row per agent, as its node last told of it.

use artel_domain::process::{Process, Sandbox, State};
use artel_domain::{AgentId, SessionId, Timestamp, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Result, Scope};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select agent_id, state, reason, node, sandbox, mark, conversation, version, model, session_id, restarts,
                    started_at, updated_at, user_id, project_id
             from processes ",
            $rest
        )
    };
}

/// Writes what is known now. The session of its messages stays as it was.
pub async fn put(conn: &mut Conn, scope: Scope, process: &Process) -> Result<()> {
    let mark = process.mark.as_ref().map(ToString::to_string);
    conn.execute(
        "insert into processes (agent_id, user_id, project_id, state, reason, node, sandbox, mark, conversation, version,
                                model, session_id, restarts, started_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
         on conflict (agent_id) do update set
             state = excluded.state, reason = excluded.reason, node = excluded.node, sandbox = excluded.sandbox,
             mark = excluded.mark, conversation = excluded.conversation, version = excluded.version,
             model = excluded.model, restarts = excluded.restarts, started_at = excluded.started_at,
             updated_at = excluded.updated_at",
        values![
            process.agent_id,
            scope.user,
            scope.project,
            process.state.as_str(),
            process.reason.as_deref(),
            &process.node,
            word(process.sandbox),
            mark.as_deref(),
            process.conversation.as_deref(),
            process.version.as_deref(),
            process.model.as_deref(),
            process.session_id,
            process.restarts,
            process.started_at.map(Timestamp::as_micros),
            process.updated_at
        ],
    )
    .await?;
    Ok(())
}

/// The session of messages that name none.
pub async fn set_session(conn: &mut Conn, agent: AgentId, session: SessionId) -> Result<()> {
    conn.execute(
        "update processes set session_id = ?2 where agent_id = ?1",
        values![agent, session],
    )
    .await?;
    Ok(())
}

pub async fn get(conn: &mut Conn, agent: AgentId) -> Result<Option<Process>> {
    conn.first(select!("where agent_id = ?1"), values![agent], read).await
}

/// With its owner.
pub async fn owned(conn: &mut Conn, agent: AgentId) -> Result<Option<(Scope, Process)>> {
    let sql = select!("where agent_id = ?1");
    conn.first(sql, values![agent], |row| Ok((scope(row)?, read(row)?))).await
}

/// Those of a node that its row says may still run, with their owners.
pub async fn alive_on(conn: &mut Conn, node: &str, limit: u32) -> Result<Vec<(Scope, Process)>> {
    let sql = select!(
        "where node = ?1 and state in ('STARTING', 'RUNNING', 'STOPPING') order by agent_id limit ?2"
    );
    conn.query(sql, values![node, limit], |row| Ok((scope(row)?, read(row)?))).await
}

/// Those that their rows say may still run, on nodes other than this one, with their owners.
pub async fn alive_elsewhere(
    conn: &mut Conn,
    node: &str,
    limit: u32,
) -> Result<Vec<(Scope, Process)>> {
    let sql = select!(
        "where node <> ?1 and state in ('STARTING', 'RUNNING', 'STOPPING') order by updated_at limit ?2"
    );
    conn.query(sql, values![node, limit], |row| Ok((scope(row)?, read(row)?))).await
}

/// It was ended, unless its row has changed since it was found; says whether.
pub async fn end(conn: &mut Conn, found: &Process, why: &str, now: Timestamp) -> Result<bool> {
    let sql = "update processes set state = ?1, reason = ?2, mark = null, updated_at = ?3
               where agent_id = ?4 and node = ?5 and state = ?6 and updated_at = ?7";
    let ended = values![
        State::Killed.as_str(),
        why,
        now,
        found.agent_id,
        &found.node,
        found.state.as_str(),
        found.updated_at
    ];
    Ok(conn.execute(sql, ended).await? == 1)
}

const TABLE: &str = "processes";

fn scope(row: &Row<'_>) -> Result<Scope> {
    Ok(Scope { user: UserId(row.int(13)?), project: row.parse(14, TABLE)? })
}

fn read(row: &Row<'_>) -> Result<Process> {
    let damaged = |detail: String| Error::Damaged { table: TABLE, detail };
    let mark = row.optional_text(5)?.map(|json| serde_json::from_str(&json)).transpose();
    Ok(Process {
        agent_id: row.parse(0, TABLE)?,
        state: row.parse(1, TABLE)?,
        reason: row.optional_text(2)?,
        node: row.text(3)?,
        sandbox: match row.text(4)?.as_str() {
            "none" => Sandbox::None,
            "bubblewrap" => Sandbox::Bubblewrap,
            "docker" => Sandbox::Docker,
            other => return Err(damaged(format!("sandbox {other:?}"))),
        },
        mark: mark.map_err(|error| damaged(error.to_string()))?,
        conversation: row.optional_text(6)?,
        version: row.optional_text(7)?,
        model: row.optional_text(8)?,
        session_id: row.optional_parse(9, TABLE)?,
        restarts: u32::try_from(row.int(10)?).map_err(Error::internal)?,
        started_at: row.optional_int(11)?.map(Timestamp::from_micros),
        updated_at: row.time(12)?,
    })
}

const fn word(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::None => "none",
        Sandbox::Bubblewrap => "bubblewrap",
        Sandbox::Docker => "docker",
    }
}
