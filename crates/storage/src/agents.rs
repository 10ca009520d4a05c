//! A project's agents.

use artel_domain::{Agent, AgentId, AgentStatus, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Listed, Page, Result, Scope, memories, tasks};

/// Adds an agent; [`Error::Duplicate`] when the project has one of that name.
pub async fn add(conn: &mut Conn, scope: Scope, agent: &Agent) -> Result<()> {
    conn.execute(
        "insert into agents (id, user_id, project_id, name, status, config, created_at, updated_at, registered,
                             memory_checked_at, runtime)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?7, ?10)",
        values![
            agent.id,
            scope.user,
            scope.project,
            &agent.name,
            word(agent.status),
            json(agent)?,
            agent.created_at,
            agent.updated_at,
            agent.registered,
            runtime(agent)
        ],
    )
    .await?;
    Ok(())
}

pub async fn get(conn: &mut Conn, scope: Scope, id: AgentId) -> Result<Agent> {
    conn.first(
        "select id, name, status, config, created_at, updated_at, registered
         from agents where id = ?1 and project_id = ?2 and user_id = ?3",
        values![id, scope.project, scope.user],
        read,
    )
    .await?
    .ok_or(Error::Missing("agent"))
}

/// An agent of the user's, whichever project it is of.
pub async fn find(conn: &mut Conn, user: UserId, id: AgentId) -> Result<(Scope, Agent)> {
    conn.first(
        "select id, name, status, config, created_at, updated_at, registered, project_id
         from agents where id = ?1 and user_id = ?2",
        values![id, user],
        |row| Ok((Scope { user, project: row.parse(7, "agents")? }, read(row)?)),
    )
    .await?
    .ok_or(Error::Missing("agent"))
}

/// The agent of that name.
pub async fn by_name(conn: &mut Conn, scope: Scope, name: &str) -> Result<Agent> {
    conn.first(
        "select id, name, status, config, created_at, updated_at, registered
         from agents where project_id = ?1 and user_id = ?2 and name = ?3",
        values![scope.project, scope.user, name],
        read,
    )
    .await?
    .ok_or(Error::Missing("agent"))
}

/// Every agent of the project.
pub async fn all(conn: &mut Conn, scope: Scope) -> Result<Vec<Agent>> {
    conn.query(
        "select id, name, status, config, created_at, updated_at, registered
         from agents where project_id = ?1 and user_id = ?2 order by created_at, id",
        values![scope.project, scope.user],
        read,
    )
    .await
}

pub async fn list(conn: &mut Conn, scope: Scope, page: Page) -> Result<Listed<Agent>> {
    let items = conn
        .query(
            "select id, name, status, config, created_at, updated_at, registered
             from agents where project_id = ?1 and user_id = ?2 order by created_at, id limit ?3 offset ?4",
            values![scope.project, scope.user, page.limit, page.offset],
            read,
        )
        .await?;
    let total = count(conn, scope).await?;
    Ok(Listed { items, total })
}

pub async fn count(conn: &mut Conn, scope: Scope) -> Result<u64> {
    let total = conn
        .first(
            "select count(*) from agents where project_id = ?1 and user_id = ?2",
            values![scope.project, scope.user],
            |row| row.count(0),
        )
        .await?;
    Ok(total.unwrap_or(0))
}

/// How many agents of the project take tasks.
pub async fn registered(conn: &mut Conn, scope: Scope) -> Result<u64> {
    let total = conn
        .first(
            "select count(*) from agents where project_id = ?1 and user_id = ?2 and registered = 1",
            values![scope.project, scope.user],
            |row| row.count(0),
        )
        .await?;
    Ok(total.unwrap_or(0))
}

/// Writes everything about the agent that can change.
pub async fn update(conn: &mut Conn, scope: Scope, agent: &Agent) -> Result<()> {
    let changed = conn
        .execute(
            "update agents set name = ?4, status = ?5, config = ?6, updated_at = ?7, registered = ?8, runtime = ?9
             where id = ?1 and project_id = ?2 and user_id = ?3",
            values![
                agent.id,
                scope.project,
                scope.user,
                &agent.name,
                word(agent.status),
                json(agent)?,
                agent.updated_at,
                agent.registered,
                runtime(agent)
            ],
        )
        .await?;
    if changed == 0 { Err(Error::Missing("agent")) } else { Ok(()) }
}

/// Deletes the agent with its tasks, and what else hangs on it. Its memory is removed later.
pub async fn delete(conn: &mut Conn, scope: Scope, agent: &Agent) -> Result<()> {
    tasks::delete(conn, scope.project, tasks::Of::Agent(agent.id)).await?;
    memories::give_up(conn, scope, agent).await?;
    let deleted = conn
        .execute(
            "delete from agents where id = ?1 and project_id = ?2 and user_id = ?3",
            values![agent.id, scope.project, scope.user],
        )
        .await?;
    if deleted == 0 { Err(Error::Missing("agent")) } else { Ok(()) }
}

fn read(row: &Row<'_>) -> Result<Agent> {
    Ok(Agent {
        id: row.parse(0, "agents")?,
        name: row.text(1)?,
        status: match row.text(2)?.as_str() {
            "ready" => AgentStatus::Ready,
            "busy" => AgentStatus::Busy,
            "error" => AgentStatus::Error,
            other => {
                return Err(Error::Damaged {
                    table: "agents",
                    detail: format!("status {other:?}"),
                });
            }
        },
        config: row.json(3, "agents")?,
        created_at: row.time(4)?,
        updated_at: row.time(5)?,
        registered: row.truth(6)?,
    })
}

fn word(status: AgentStatus) -> &'static str {
    match status {
        AgentStatus::Ready => "ready",
        AgentStatus::Busy => "busy",
        AgentStatus::Error => "error",
    }
}

fn runtime(agent: &Agent) -> Option<&str> {
    agent.config.runtime.as_ref().map(|runtime| runtime.kind.as_str())
}

fn json(agent: &Agent) -> Result<String> {
    serde_json::to_string(&agent.config).map_err(Error::internal)
}
