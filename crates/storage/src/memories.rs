//! The rows beside the store of vectors: what is on its way there, what must be removed from it, and when a
//! collection needs a look.

use artel_domain::memory::{Collection, Interaction, collection_name};
use artel_domain::{Agent, AgentId, InteractionId, ProjectId, Timestamp, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Result, Scope};

/// An interaction on its way to the collection of its agent.
#[derive(Debug, Clone)]
pub struct Underway {
    pub scope: Scope,
    pub agent: AgentId,
    pub interaction: Interaction,
}

/// Keeps an interaction with the change that it tells of. `node` will bring it to the store.
pub async fn keep(conn: &mut Conn, underway: &Underway, node: &str) -> Result<()> {
    let Underway { scope, agent, interaction } = underway;
    let json = serde_json::to_string(interaction).map_err(Error::internal)?;
    conn.execute(
        "insert into memory_outbox (agent_id, id, user_id, project_id, interaction, node, created_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        values![
            *agent,
            interaction.id,
            scope.user,
            scope.project,
            &json,
            node,
            interaction.metadata.timestamp
        ],
    )
    .await?;
    Ok(())
}

/// Whose interactions are asked for.
#[derive(Debug, Clone)]
pub enum From {
    /// What this node wrote.
    Node(String),
    /// What any node wrote before then.
    Before(Timestamp),
}

/// What is on its way to collections, agent by agent, after the last one that was seen.
pub async fn underway(
    conn: &mut Conn,
    from: &From,
    after: Option<(AgentId, InteractionId)>,
    limit: u32,
) -> Result<Vec<Underway>> {
    let (node, before) = match from {
        From::Node(node) => (Some(node.as_str()), i64::MAX),
        From::Before(before) => (None, before.as_micros()),
    };
    let (agent, id) = after.map_or_else(Default::default, |(a, i)| (a.to_string(), i.to_string()));
    conn.query(
        "select agent_id, user_id, project_id, interaction from memory_outbox
         where (agent_id > ?1 or (agent_id = ?1 and id > ?2)) and (node = ?3 or ?3 is null) and created_at < ?4
         order by agent_id, id limit ?5",
        values![&agent, &id, node, before, limit],
        read,
    )
    .await
}

/// What is on its way to an agent's collection.
pub async fn underway_to(conn: &mut Conn, agent: AgentId, limit: u32) -> Result<Vec<Underway>> {
    conn.query(
        "select agent_id, user_id, project_id, interaction from memory_outbox where agent_id = ?1
         order by id limit ?2",
        values![agent, limit],
        read,
    )
    .await
}

/// The ids of what is on its way to an agent's collection.
pub async fn ids_underway_to(conn: &mut Conn, agent: AgentId) -> Result<Vec<InteractionId>> {
    let sql = "select id from memory_outbox where agent_id = ?1";
    conn.query(sql, values![agent], |row| row.parse(0, "memory_outbox")).await
}

/// They are in the store, or were given up.
pub async fn arrived(conn: &mut Conn, agent: AgentId, ids: &[InteractionId]) -> Result<()> {
    for id in ids {
        let sql = "delete from memory_outbox where agent_id = ?1 and id = ?2";
        conn.execute(sql, values![agent, *id]).await?;
    }
    Ok(())
}

/// The agent goes: what was on its way is dropped, and its collection will be removed.
pub(crate) async fn give_up(conn: &mut Conn, scope: Scope, agent: &Agent) -> Result<()> {
    conn.execute("delete from memory_outbox where agent_id = ?1", values![agent.id]).await?;
    conn.execute(
        "insert into memory_removals (agent_id, name) values (?1, ?2) on conflict (agent_id) do nothing",
        values![agent.id, &collection_name(scope.user, scope.project, &agent.name)],
    )
    .await?;
    Ok(())
}

/// Collections whose agents are gone.
pub async fn to_remove(conn: &mut Conn, limit: u32) -> Result<Vec<Collection>> {
    conn.query(
        "select agent_id, name from memory_removals order by agent_id limit ?1",
        values![limit],
        |row| Ok(Collection { agent: row.parse(0, "memory_removals")?, name: row.text(1)? }),
    )
    .await
}

/// The collection is gone.
pub async fn removed(conn: &mut Conn, agent: AgentId) -> Result<()> {
    conn.execute("delete from memory_removals where agent_id = ?1", values![agent]).await?;
    Ok(())
}

/// Entries of the agent's memory wait for their vectors and are tried at `at`; with none, no longer.
pub async fn retry(conn: &mut Conn, agent: AgentId, at: Option<Timestamp>) -> Result<()> {
    let sql = "update agents set memory_retry_at = ?2 where id = ?1";
    conn.execute(sql, values![agent, at.map(Timestamp::as_micros)]).await?;
    Ok(())
}

/// Notes the model that makes vectors. When it is another than last time, the entries of every memory wait for new ones.
pub async fn use_model(conn: &mut Conn, model: &str, now: Timestamp) -> Result<bool> {
    let sql = "insert into house (name, value) values ('embedding_model', ?1)
               on conflict (name) do update set value = ?1 where house.value <> ?1";
    let changed = conn.execute(sql, values![model]).await? > 0;
    if changed {
        conn.execute("update agents set memory_retry_at = ?1", values![now]).await?;
    }
    Ok(changed)
}

/// Agents whose waiting entries should be tried now.
pub async fn due(conn: &mut Conn, now: Timestamp, limit: u32) -> Result<Vec<(Scope, AgentId)>> {
    conn.query(
        "select id, project_id, user_id from agents
         where memory_retry_at is not null and memory_retry_at <= ?1 order by memory_retry_at limit ?2",
        values![now, limit],
        read_agent,
    )
    .await
}

/// Agents whose memory nobody has looked at since `since`.
pub async fn unchecked(
    conn: &mut Conn,
    since: Timestamp,
    limit: u32,
) -> Result<Vec<(Scope, AgentId)>> {
    conn.query(
        "select id, project_id, user_id from agents
         where memory_checked_at < ?1 order by memory_checked_at limit ?2",
        values![since, limit],
        read_agent,
    )
    .await
}

/// The size of the agent's memory was looked at.
pub async fn checked(conn: &mut Conn, agent: AgentId, now: Timestamp) -> Result<()> {
    let sql = "update agents set memory_checked_at = ?2 where id = ?1";
    conn.execute(sql, values![agent, now]).await?;
    Ok(())
}

/// Notes whether the owner was warned of the memory's size, and says whether that is new.
pub async fn warned(conn: &mut Conn, agent: AgentId, warned: bool) -> Result<bool> {
    let sql = "update agents set memory_warned = ?2 where id = ?1 and memory_warned <> ?2";
    Ok(conn.execute(sql, values![agent, warned]).await? == 1)
}

fn read(row: &Row<'_>) -> Result<Underway> {
    let table = "memory_outbox";
    let scope = Scope { user: UserId(row.int(1)?), project: row.parse::<ProjectId>(2, table)? };
    Ok(Underway { scope, agent: row.parse(0, table)?, interaction: row.json(3, table)? })
}

fn read_agent(row: &Row<'_>) -> Result<(Scope, AgentId)> {
    let scope = Scope { project: row.parse(1, "agents")?, user: UserId(row.int(2)?) };
    Ok((scope, row.parse(0, "agents")?))
}
