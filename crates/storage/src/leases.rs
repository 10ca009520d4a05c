//! Leases: who may do a thing, until when, and which time it is that they do.
//!
//! The epoch grows with every change of owner. A write that carries its epoch through [`check`] cannot be made by
//! an owner that was asleep while another took over: it finds no row and is undone. Time is the database's.

use std::time::Duration;

use artel_domain::Timestamp;

use crate::db::values;
use crate::{Conn, Error, Result};

/// A lease that was held when it was given; [`check`] says whether it still is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    pub owner: String,
    pub epoch: u64,
    pub expires_at: Timestamp,
}

/// Takes the lease if it is free or overdue, or prolongs it if it is ours. `None`: another owner has it.
pub async fn acquire(
    conn: &mut Conn,
    name: &str,
    owner: &str,
    span: Duration,
) -> Result<Option<Lease>> {
    let now = conn.now().await?;
    let expires_at = now.plus(span);
    let epoch = conn
        .first(
            "insert into leases (name, owner, epoch, expires_at) values (?1, ?2, 1, ?3)
             on conflict (name) do update set
                 epoch = case when leases.owner = excluded.owner and leases.expires_at > ?4
                              then leases.epoch else leases.epoch + 1 end,
                 owner = excluded.owner,
                 expires_at = excluded.expires_at
             where leases.owner = excluded.owner or leases.expires_at <= ?4
             returning epoch",
            values![name, owner, expires_at, now],
            |row| row.count(0),
        )
        .await?;
    Ok(epoch.map(|epoch| Lease {
        name: name.to_owned(),
        owner: owner.to_owned(),
        epoch,
        expires_at,
    }))
}

/// Fails with [`Error::Fenced`] unless the lease is still held, and keeps it so until the transaction ends.
pub async fn check(conn: &mut Conn, lease: &Lease) -> Result<()> {
    match held(conn, lease).await? {
        Some(_) => Ok(()),
        None => Err(Error::Fenced(lease.name.clone())),
    }
}

/// How long the lease is still held, if it is; keeps it so until the transaction ends.
pub async fn held(conn: &mut Conn, lease: &Lease) -> Result<Option<Duration>> {
    let now = conn.now().await?;
    // On SQLite the writer is alone as it is.
    let sql = if conn.is_shared() {
        "select expires_at from leases
         where name = ?1 and owner = ?2 and epoch = ?3 and expires_at > ?4 for update"
    } else {
        "select expires_at from leases
         where name = ?1 and owner = ?2 and epoch = ?3 and expires_at > ?4"
    };
    let parameters = values![&lease.name, &lease.owner, lease.epoch, now];
    let expires = conn.first(sql, parameters, |row| row.time(0)).await?;
    Ok(expires.map(|expires| expires.since(now)))
}

/// Gives the lease up, so that another can take it at once.
pub async fn release(conn: &mut Conn, lease: &Lease) -> Result<()> {
    conn.execute(
        "update leases set expires_at = 0 where name = ?1 and owner = ?2 and epoch = ?3",
        values![&lease.name, &lease.owner, lease.epoch],
    )
    .await?;
    Ok(())
}

/// Prolongs every lease of this owner that has not run out.
pub async fn renew_all(conn: &mut Conn, owner: &str, span: Duration) -> Result<u64> {
    let now = conn.now().await?;
    conn.execute(
        "update leases set expires_at = ?2 where owner = ?1 and expires_at > ?3",
        values![owner, now.plus(span), now],
    )
    .await
}

/// Ends a lease, whoever has it: its owner's later writes find another epoch.
pub async fn revoke(conn: &mut Conn, name: &str) -> Result<()> {
    conn.execute(
        "update leases set expires_at = 0, epoch = epoch + 1 where name = ?1",
        values![name],
    )
    .await?;
    Ok(())
}

/// Ends every lease of a node's processes; its owner's name begins with the node's.
pub async fn expire_of(conn: &mut Conn, node: &str) -> Result<()> {
    conn.execute(
        "update leases set expires_at = 0 where substr(owner, 1, length(?1)) = ?1",
        values![node],
    )
    .await?;
    Ok(())
}
