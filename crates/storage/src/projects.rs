//! Projects, each seen by its owner alone.

use artel_domain::{Project, ProjectId, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Listed, Page, Result, Scope, agents, memories, tasks};

pub async fn add(conn: &mut Conn, project: &Project) -> Result<()> {
    conn.execute(
        "insert into projects (id, user_id, name, workspace_path, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6)",
        values![
            project.id,
            project.user_id,
            &project.name,
            project.workspace_path.as_deref(),
            project.created_at,
            project.updated_at
        ],
    )
    .await?;
    Ok(())
}

/// The project, if it is the user's.
pub async fn get(conn: &mut Conn, scope: Scope) -> Result<Project> {
    conn.first(
        "select id, user_id, name, workspace_path, created_at, updated_at
         from projects where id = ?1 and user_id = ?2",
        values![scope.project, scope.user],
        read,
    )
    .await?
    .ok_or(Error::Missing("project"))
}

/// Whose project it is.
pub async fn owner(conn: &mut Conn, project: ProjectId) -> Result<UserId> {
    let sql = "select user_id from projects where id = ?1";
    conn.first(sql, values![project], |row| Ok(UserId(row.int(0)?)))
        .await?
        .ok_or(Error::Missing("project"))
}

/// Like [`get`], and holds the project's row until the transaction ends, so that no other change comes between.
pub async fn lock(conn: &mut Conn, scope: Scope) -> Result<()> {
    if !conn.is_shared() {
        // The writer is alone: nothing comes between as it is.
        let sql = "select 1 from projects where id = ?1 and user_id = ?2";
        let found = conn.first(sql, values![scope.project, scope.user], |_| Ok(())).await?;
        return found.ok_or(Error::Missing("project"));
    }
    let touched = conn
        .execute(
            "update projects set last_seq = last_seq where id = ?1 and user_id = ?2",
            values![scope.project, scope.user],
        )
        .await?;
    if touched == 0 { Err(Error::Missing("project")) } else { Ok(()) }
}

pub async fn list(conn: &mut Conn, user: UserId, page: Page) -> Result<Listed<Project>> {
    let items = conn
        .query(
            "select id, user_id, name, workspace_path, created_at, updated_at
             from projects where user_id = ?1 order by created_at, id limit ?2 offset ?3",
            values![user, page.limit, page.offset],
            read,
        )
        .await?;
    let total = count(conn, user).await?;
    Ok(Listed { items, total })
}

pub async fn count(conn: &mut Conn, user: UserId) -> Result<u64> {
    let total = conn
        .first("select count(*) from projects where user_id = ?1", values![user], |row| {
            row.count(0)
        })
        .await?;
    Ok(total.unwrap_or(0))
}

/// Writes the project's name, folder and time of change.
pub async fn update(conn: &mut Conn, project: &Project) -> Result<()> {
    let changed = conn
        .execute(
            "update projects set name = ?3, workspace_path = ?4, updated_at = ?5 where id = ?1 and user_id = ?2",
            values![
                project.id,
                project.user_id,
                &project.name,
                project.workspace_path.as_deref(),
                project.updated_at
            ],
        )
        .await?;
    if changed == 0 { Err(Error::Missing("project")) } else { Ok(()) }
}

/// Deletes the project and everything that hangs on it. The memories of its agents are removed later.
pub async fn delete(conn: &mut Conn, scope: Scope) -> Result<()> {
    for agent in agents::all(conn, scope).await? {
        memories::give_up(conn, scope, &agent).await?;
    }
    let deleted = conn
        .execute(
            "delete from projects where id = ?1 and user_id = ?2",
            values![scope.project, scope.user],
        )
        .await?;
    if deleted == 0 {
        return Err(Error::Missing("project"));
    }
    tasks::delete(conn, scope.project, tasks::Of::Project).await
}

fn read(row: &Row<'_>) -> Result<Project> {
    Ok(Project {
        id: row.parse(0, "projects")?,
        user_id: UserId(row.int(1)?),
        name: row.text(2)?,
        workspace_path: row.optional_text(3)?,
        created_at: row.time(4)?,
        updated_at: row.time(5)?,
    })
}
