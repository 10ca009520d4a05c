//! What programs get to their models with. Sealed before it comes here: this room cannot read it.

use artel_domain::{AgentId, Timestamp};

use crate::db::values;
use crate::{Conn, Result};

pub async fn put(conn: &mut Conn, agent: AgentId, sealed: &str, now: Timestamp) -> Result<()> {
    conn.execute(
        "insert into credentials (agent_id, sealed, updated_at) values (?1, ?2, ?3)
         on conflict (agent_id) do update set sealed = excluded.sealed, updated_at = excluded.updated_at",
        values![agent, sealed, now],
    )
    .await?;
    Ok(())
}

pub async fn get(conn: &mut Conn, agent: AgentId) -> Result<Option<String>> {
    conn.first("select sealed from credentials where agent_id = ?1", values![agent], |row| {
        row.text(0)
    })
    .await
}

pub async fn delete(conn: &mut Conn, agent: AgentId) -> Result<bool> {
    let deleted =
        conn.execute("delete from credentials where agent_id = ?1", values![agent]).await?;
    Ok(deleted > 0)
}
