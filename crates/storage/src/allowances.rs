//! What users let the agents of a project do without being asked.

use artel_domain::AllowanceId;
use artel_domain::tool::Allowance;

use crate::db::{Row, values};
use crate::{Conn, Error, Result, Scope};

pub async fn add(conn: &mut Conn, scope: Scope, allowance: &Allowance) -> Result<()> {
    conn.execute(
        "insert into allowances (id, user_id, project_id, tool, pattern, created_at) values (?1, ?2, ?3, ?4, ?5, ?6)",
        values![
            allowance.id,
            scope.user,
            scope.project,
            &allowance.tool_name,
            allowance.pattern.as_deref(),
            allowance.created_at
        ],
    )
    .await?;
    Ok(())
}

/// All of them; there are never many.
pub async fn all(conn: &mut Conn, scope: Scope) -> Result<Vec<Allowance>> {
    conn.query(
        "select id, tool, pattern, created_at from allowances where project_id = ?1 and user_id = ?2
         order by created_at, id",
        values![scope.project, scope.user],
        read,
    )
    .await
}

pub async fn delete(conn: &mut Conn, scope: Scope, id: AllowanceId) -> Result<()> {
    let deleted = conn
        .execute(
            "delete from allowances where id = ?1 and project_id = ?2 and user_id = ?3",
            values![id, scope.project, scope.user],
        )
        .await?;
    if deleted == 0 { Err(Error::Missing("preference")) } else { Ok(()) }
}

fn read(row: &Row<'_>) -> Result<Allowance> {
    Ok(Allowance {
        id: row.parse(0, "allowances")?,
        tool_name: row.text(1)?,
        pattern: row.optional_text(2)?,
        created_at: row.time(3)?,
    })
}
