//! SQLite: one file, one writer thread, readers beside it (WAL).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use futures_util::FutureExt;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ParamsFromIter, ToSql};
use tokio::sync::mpsc;

use super::checkpoint::Checkpoints;
use super::commit::{self, Change};
use super::conn::Link;
use super::{Conn, QUEUE, Shared, TOGETHER, Value};
use crate::{Error, Result};

/// Statements kept prepared per connection; more than there are in this crate.
const STATEMENTS: usize = 128;

pub(super) fn open_writer(path: &Path) -> Result<Conn> {
    let conn = Connection::open(path)?;
    // FULL: a commit that was acknowledged has reached the disk. Another process may hold the lock for a moment
    // (`artel user add` beside a running server), so wait for it. No commit brings the log into the file: see
    // `super::checkpoint`.
    conn.execute_batch(
        "pragma busy_timeout = 10000;
         pragma journal_mode = wal;
         pragma synchronous = full;
         pragma wal_autocheckpoint = 0;
         pragma foreign_keys = on;
         pragma temp_store = memory;
         pragma cache_size = -16384;",
    )?;
    prepare_once(&conn)?;
    Ok(Conn::new(Link::Sqlite(conn)))
}

/// Statements are prepared once and stay as they are: else some are planned anew whenever other values are bound.
fn prepare_once(conn: &Connection) -> Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

pub(super) fn open_reader(path: &Path) -> Result<Conn> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.execute_batch(
        "pragma busy_timeout = 10000; pragma query_only = on; pragma temp_store = memory;",
    )?;
    prepare_once(&conn)?;
    lower_all(&conn)?;
    Ok(Conn::new(Link::Sqlite(conn)))
}

/// Its own `lower` knows no letter but the 26.
fn lower_all(conn: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    conn.create_scalar_function("lower", 1, flags, |context| {
        let text = context.get_raw(0).as_str_or_null()?;
        Ok(text.map(str::to_lowercase))
    })?;
    Ok(())
}

/// Starts the thread that makes every change to the file. It ends when the last [`super::Db`] is dropped.
pub(super) fn spawn_writer(
    mut conn: Conn,
    path: PathBuf,
    shared: Arc<Shared>,
) -> Result<mpsc::Sender<Box<dyn Change>>> {
    let (sender, mut queue) = mpsc::channel::<Box<dyn Change>>(QUEUE);
    let mut checkpoints = Checkpoints::start(path.clone())?;
    thread::Builder::new()
        .name("artel-writer".to_owned())
        .spawn(move || {
            while let Some(first) = queue.blocking_recv() {
                let mut batch = Vec::with_capacity(TOGETHER.min(queue.len() + 1));
                batch.push(first);
                commit::gather(&mut batch, &mut queue);
                if conn.is_broken() {
                    match open_writer(&path) {
                        Ok(fresh) => conn = fresh,
                        Err(error) => tracing::error!(%error, "reopening the database failed"),
                    }
                }
                if without_waiting(commit::together(&mut conn, batch, &shared).map(Ok)).is_err() {
                    tracing::error!("a change waited for something other than its database");
                }
                checkpoints.count(&mut conn);
            }
        })
        .map_err(Error::internal)?;
    Ok(sender)
}

/// Runs work on this thread. Work on SQLite has nothing to wait for, so one that waits is a mistake of ours.
pub(super) fn without_waiting<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    work.now_or_never().unwrap_or_else(|| Err(Error::internal("work on SQLite must not wait")))
}

pub(super) fn bound<'v>(
    values: &'v [Value<'v>],
) -> ParamsFromIter<std::slice::Iter<'v, Value<'v>>> {
    rusqlite::params_from_iter(values.iter())
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Int(Some(number)) => ToSqlOutput::Owned((*number).into()),
            Self::Real(number) => ToSqlOutput::Owned((*number).into()),
            Self::Text(Some(text)) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Int(None) | Self::Text(None) => ToSqlOutput::Borrowed(ValueRef::Null),
        })
    }
}
