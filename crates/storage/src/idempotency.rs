//! Requests that were answered before: the same key gets the same answer, across restarts.
//!
//! The answer is stored in the transaction of the change itself, so there is no moment in which one exists
//! without the other.

use artel_domain::{Timestamp, UserId};

use crate::db::values;
use crate::{Conn, Result};

/// A key that a client chose, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub user: UserId,
    pub word: String,
    /// A digest of the request; another request under the same key is a mistake of the client.
    pub fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Never,
    /// Answered before, with this.
    Answered(String),
    /// The key was used for another request.
    Otherwise,
}

pub async fn look_up(conn: &mut Conn, key: &Key) -> Result<Seen> {
    let row = conn
        .first(
            "select fingerprint, response from idempotency_keys where user_id = ?1 and key = ?2",
            values![key.user, &key.word],
            |row| Ok((row.text(0)?, row.text(1)?)),
        )
        .await?;
    Ok(match row {
        None => Seen::Never,
        Some((fingerprint, response)) if fingerprint == key.fingerprint => Seen::Answered(response),
        Some(_) => Seen::Otherwise,
    })
}

/// Keeps the answer; [`crate::Error::Duplicate`] when another node was faster, and then the change is undone.
pub async fn keep(conn: &mut Conn, key: &Key, response: &str, at: Timestamp) -> Result<()> {
    conn.execute(
        "insert into idempotency_keys (user_id, key, fingerprint, response, created_at) values (?1, ?2, ?3, ?4, ?5)",
        values![key.user, &key.word, &key.fingerprint, response, at],
    )
    .await?;
    Ok(())
}

/// When the oldest answer that is kept was given.
pub async fn oldest(conn: &mut Conn) -> Result<Option<Timestamp>> {
    conn.first("select created_at from idempotency_keys order by created_at limit 1", &[], |row| {
        row.time(0)
    })
    .await
}

/// Forgets answers from before `before`, some at a time; says how many.
pub async fn prune(conn: &mut Conn, before: Timestamp, limit: u32) -> Result<u64> {
    conn.execute(
        "delete from idempotency_keys where (user_id, key) in
         (select user_id, key from idempotency_keys where created_at < ?1 order by created_at limit ?2)",
        values![before, limit],
    )
    .await
}
