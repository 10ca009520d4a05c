//! Clients on users' machines: at most one of a project is active, by the database's clock.

use std::time::Duration;

use artel_domain::tool::Client;
use artel_domain::{ClientId, UserId};

use crate::db::{Row, values};
use crate::{Conn, Result, Scope};

/// Makes it the project's client for so long, or prolongs it. `None`: another one is active.
pub async fn announce(
    conn: &mut Conn,
    scope: Scope,
    client: &Client,
    span: Duration,
) -> Result<Option<Client>> {
    let now = conn.now().await?;
    let expires_at = now.plus(span);
    let active = conn
        .execute(
            "insert into clients (project_id, client_id, user_id, workspace, host, version, sandbox, expires_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             on conflict (project_id) do update set
                 client_id = excluded.client_id, user_id = excluded.user_id, workspace = excluded.workspace,
                 host = excluded.host, version = excluded.version, sandbox = excluded.sandbox,
                 expires_at = excluded.expires_at
             where clients.client_id = excluded.client_id or clients.expires_at <= ?9",
            values![
                scope.project,
                client.client_id,
                scope.user,
                &client.workspace,
                &client.host,
                &client.version,
                client.sandbox,
                expires_at,
                now
            ],
        )
        .await?;
    Ok((active == 1).then(|| Client { expires_at, user_id: scope.user, ..client.clone() }))
}

/// The client that was announced last, active or not.
pub async fn last(conn: &mut Conn, scope: Scope) -> Result<Option<Client>> {
    conn.first(
        "select client_id, user_id, workspace, host, version, sandbox, expires_at from clients
         where project_id = ?1 and user_id = ?2",
        values![scope.project, scope.user],
        read,
    )
    .await
}

/// The project's client, if one is active.
pub async fn active(conn: &mut Conn, scope: Scope) -> Result<Option<Client>> {
    let now = conn.now().await?;
    Ok(last(conn, scope).await?.filter(|client| client.expires_at > now))
}

/// It is gone: another one can take its place at once. Says whether it was active.
pub async fn leave(conn: &mut Conn, scope: Scope, client: ClientId) -> Result<bool> {
    let now = conn.now().await?;
    let left = conn
        .execute(
            "update clients set expires_at = 0
             where project_id = ?1 and user_id = ?2 and client_id = ?3 and expires_at > ?4",
            values![scope.project, scope.user, client, now],
        )
        .await?;
    Ok(left == 1)
}

fn read(row: &Row<'_>) -> Result<Client> {
    Ok(Client {
        client_id: row.parse(0, "clients")?,
        user_id: UserId(row.int(1)?),
        workspace: row.text(2)?,
        host: row.text(3)?,
        version: row.text(4)?,
        sandbox: row.truth(5)?,
        expires_at: row.time(6)?,
    })
}
