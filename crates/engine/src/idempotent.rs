//! Doing a thing once, however often it is asked for under one key.

use artel_domain::{Clock, Timestamp};
use artel_storage::idempotency::{self, Key, Seen};
use artel_storage::{Conn, Db, Lane};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{Caller, Error, Result};

/// The key a client gave, with the request it gave it for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    key: String,
    fingerprint: String,
}

impl IdempotencyKey {
    /// `route` and `body` tell requests apart; `key` is 1 to 255 visible ASCII characters.
    pub fn new(key: &str, route: &str, body: &Value) -> Result<Self> {
        if key.is_empty()
            || key.len() > 255
            || !key.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        {
            return Err(Error::invalid_field(
                "Idempotency-Key",
                "must have 1 to 255 visible ASCII characters",
            ));
        }
        let digest = Sha256::digest(format!("{route}\n{body}").as_bytes());
        let fingerprint = URL_SAFE_NO_PAD.encode(digest);
        Ok(Self { key: key.to_owned(), fingerprint })
    }

    /// The same for the same request of the same caller under the same key, and for no other.
    pub(crate) fn digest(&self, caller: &Caller) -> [u8; 16] {
        let Self { key, fingerprint } = self;
        let digest = Sha256::digest(format!("{}\n{key}\n{fingerprint}", caller.user).as_bytes());
        std::array::from_fn(|at| digest[at])
    }
}

enum Outcome<T> {
    Done(T),
    Otherwise,
}

/// Makes the change, or answers as it was answered before. The answer is kept in the change's own transaction.
pub(crate) async fn once<T, F>(
    db: &Db,
    clock: &dyn Clock,
    lane: Lane,
    caller: &Caller,
    key: Option<IdempotencyKey>,
    work: F,
) -> Result<T>
where
    T: Serialize + DeserializeOwned + Send + 'static,
    F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, artel_storage::Result<T>> + Send + 'static,
{
    let Some(IdempotencyKey { key, fingerprint }) = key else {
        return Ok(db.write(lane, work).await?);
    };
    let key = Key { user: caller.user, word: key, fingerprint };
    let now = clock.now();
    let kept = key.clone();
    let outcome = db.write(lane, move |conn| Box::pin(first_time(conn, kept, now, work))).await;
    let outcome = match outcome {
        // Another node answered this key in the same moment, or the change itself met a duplicate.
        Err(artel_storage::Error::Duplicate) => db
            .read(move |conn| Box::pin(async move { answered_before(conn, &key).await }))
            .await?
            .ok_or(artel_storage::Error::Duplicate)?,
        other => other?,
    };
    match outcome {
        Outcome::Done(value) => Ok(value),
        Outcome::Otherwise => {
            Err(Error::invalid_field("Idempotency-Key", "was used for another request"))
        }
    }
}

/// What was answered under this key, if it was.
pub(crate) async fn before<T: DeserializeOwned + Send + 'static>(
    db: &Db,
    caller: &Caller,
    key: Option<&IdempotencyKey>,
) -> Result<Option<T>> {
    let Some(IdempotencyKey { key, fingerprint }) = key.cloned() else { return Ok(None) };
    let key = Key { user: caller.user, word: key, fingerprint };
    let found = db.read(move |conn| Box::pin(async move { answered_before(conn, &key).await }));
    match found.await? {
        None => Ok(None),
        Some(Outcome::Done(value)) => Ok(Some(value)),
        Some(Outcome::Otherwise) => {
            Err(Error::invalid_field("Idempotency-Key", "was used for another request"))
        }
    }
}

async fn first_time<T, F>(
    conn: &mut Conn,
    key: Key,
    now: Timestamp,
    work: F,
) -> artel_storage::Result<Outcome<T>>
where
    T: Serialize + DeserializeOwned,
    F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, artel_storage::Result<T>>,
{
    if let Some(before) = answered_before(conn, &key).await? {
        return Ok(before);
    }
    let value = work(conn).await?;
    let response = serde_json::to_string(&value).map_err(|error| damaged(&error))?;
    idempotency::keep(conn, &key, &response, now).await?;
    Ok(Outcome::Done(value))
}

async fn answered_before<T: DeserializeOwned>(
    conn: &mut Conn,
    key: &Key,
) -> artel_storage::Result<Option<Outcome<T>>> {
    Ok(match idempotency::look_up(conn, key).await? {
        Seen::Never => None,
        Seen::Answered(response) => {
            Some(Outcome::Done(serde_json::from_str(&response).map_err(|error| damaged(&error))?))
        }
        Seen::Otherwise => Some(Outcome::Otherwise),
    })
}

fn damaged(error: &serde_json::Error) -> artel_storage::Error {
    artel_storage::Error::Damaged { table: "idempotency_keys", detail: error.to_string() }
}
