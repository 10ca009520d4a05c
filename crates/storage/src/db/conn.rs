//! A connection to either database, and the values and rows that go over it.
//!
//! SQL is written once, with `?1` for parameters; PostgreSQL gets it with `$1`. Statements are prepared once per
//! connection. On SQLite nothing here ever waits (the connection belongs to the thread that runs the work), which
//! is what lets one `async` text serve both.

use std::borrow::Cow;

use artel_domain::{
    AgentId, AllowanceId, ApprovalId, ClientId, InteractionId, MessageId, PlanId, ProjectId,
    SessionId, TaskId, Timestamp, ToolCallId, UserId,
};

use super::{postgres, sqlite, steady};
use crate::events::Recorded;
use crate::{Error, Result};

/// A connection that runs statements.
pub struct Conn {
    link: Link,
    /// Events appended in the open transaction, shown to others once it is committed.
    recorded: Vec<Recorded>,
}

pub(super) enum Link {
    Sqlite(rusqlite::Connection),
    Postgres(postgres::Link),
}

impl Conn {
    pub(super) fn new(link: Link) -> Self {
        Self { link, recorded: Vec::new() }
    }

    /// Runs a statement and says how many rows it touched.
    pub(crate) async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
        match &mut self.link {
            Link::Sqlite(link) => {
                Ok(link.prepare_cached(sql)?.execute(sqlite::bound(values))? as u64)
            }
            Link::Postgres(link) => link.execute(sql, values).await,
        }
    }

    /// Runs a statement and reads every row it gives.
    pub(crate) async fn query<T>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        match &mut self.link {
            Link::Sqlite(link) => {
                let mut statement = link.prepare_cached(sql)?;
                let mut rows = statement.query(sqlite::bound(values))?;
                let mut all = Vec::new();
                while let Some(row) = rows.next()? {
                    all.push(read(&Row::Sqlite(row))?);
                }
                Ok(all)
            }
            Link::Postgres(link) => {
                link.query(sql, values).await?.iter().map(|row| read(&Row::Postgres(row))).collect()
            }
        }
    }

    /// Runs a statement and reads its first row, if there is one.
    pub(crate) async fn first<T>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.query(sql, values, read).await?.into_iter().next())
    }

    /// Whether others may change rows while a transaction of ours is open.
    pub(crate) fn is_shared(&self) -> bool {
        match self.link {
            Link::Sqlite(_) => false,
            Link::Postgres(_) => true,
        }
    }

    /// The database's own time, the one that deadlines are compared with on every node.
    pub async fn now(&mut self) -> Result<Timestamp> {
        match self.link {
            // It runs in this process, and its own clock is the one that people set.
            Link::Sqlite(_) => Ok(steady::now()),
            Link::Postgres(_) => {
                let sql = "select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)";
                let now = self.first(sql, &[], |row| row.time(0)).await?;
                now.ok_or_else(|| Error::internal("the database gave no time"))
            }
        }
    }

    /// Keeps an event until the transaction is committed.
    pub(crate) fn record(&mut self, event: Recorded) {
        self.recorded.push(event);
    }

    pub(super) fn recorded_len(&self) -> usize {
        self.recorded.len()
    }

    /// Drops the events of a change that was undone.
    pub(super) fn forget_recorded(&mut self, keep: usize) {
        self.recorded.truncate(keep);
    }

    pub(super) fn take_recorded(&mut self) -> Vec<Recorded> {
        std::mem::take(&mut self.recorded)
    }

    /// A step of the transaction itself. PostgreSQL hears of most of them together with the next statement.
    pub(crate) async fn step(&mut self, step: Step) -> Result<()> {
        match &mut self.link {
            Link::Sqlite(link) => {
                let sql = if step == Step::Begin { "begin immediate" } else { step.sql() };
                link.prepare_cached(sql)?.execute([])?;
                Ok(())
            }
            Link::Postgres(link) => link.step(step).await,
        }
    }

    /// Several statements at once, without parameters.
    pub(crate) async fn script(&mut self, sqlite: &str, postgres: &str) -> Result<()> {
        match &mut self.link {
            Link::Sqlite(link) => Ok(link.execute_batch(sqlite)?),
            Link::Postgres(link) => link.batch(postgres).await,
        }
    }

    /// Leaves the transaction after a failure. The connection may be gone; then there is nothing to leave.
    pub(super) async fn rollback(&mut self) {
        self.recorded.clear();
        let open = match &self.link {
            Link::Sqlite(link) => !link.is_autocommit(),
            Link::Postgres(link) => !link.is_closed(),
        };
        if open && let Err(error) = self.step(Step::Rollback).await {
            tracing::warn!(%error, "rollback failed");
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        match &self.link {
            // A connection that could not leave its transaction would fail every later one.
            Link::Sqlite(link) => !link.is_autocommit(),
            Link::Postgres(link) => link.is_closed(),
        }
    }
}

/// What is said about a transaction, and about one change in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Begin,
    BeginChange,
    UndoChange,
    KeepChange,
    Commit,
    Rollback,
}

impl Step {
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::BeginChange => "savepoint change",
            Self::UndoChange => "rollback to change",
            Self::KeepChange => "release change",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
        }
    }

    /// Whether its outcome must be known before anything else happens.
    pub(super) fn ends(self) -> bool {
        matches!(self, Self::Commit | Self::Rollback)
    }
}

/// A parameter. Nulls are typed, as PostgreSQL wants them.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Int(Option<i64>),
    Real(f64),
    Text(Option<Cow<'a, str>>),
}

/// Parameters of a statement, from whatever turns into a [`Value`].
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::db::Value::from($value)),*] };
}
pub(crate) use values;

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(Some(number))
    }
}
impl From<Option<i64>> for Value<'_> {
    fn from(number: Option<i64>) -> Self {
        Self::Int(number)
    }
}
impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        // Our own counters stay far below; a caller's absurd offset just finds nothing.
        Self::Int(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}
impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Int(Some(number.into()))
    }
}
impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Self::Int(Some(truth.into()))
    }
}
impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}
impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Some(Cow::Borrowed(text)))
    }
}
impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Some(Cow::Borrowed(text)))
    }
}
impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Some(Cow::Owned(text)))
    }
}
impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::Text(text.map(Cow::Borrowed))
    }
}
impl From<UserId> for Value<'_> {
    fn from(user: UserId) -> Self {
        Self::Int(Some(user.0))
    }
}
impl From<Timestamp> for Value<'_> {
    fn from(moment: Timestamp) -> Self {
        Self::Int(Some(moment.as_micros()))
    }
}
macro_rules! ids_as_text {
    ($($id:ident),*) => {$(
        impl From<$id> for Value<'_> {
            fn from(id: $id) -> Self {
                Self::Text(Some(Cow::Owned(id.to_string())))
            }
        }
        impl From<Option<$id>> for Value<'_> {
            fn from(id: Option<$id>) -> Self {
                Self::Text(id.map(|id| Cow::Owned(id.to_string())))
            }
        }
    )*};
}
ids_as_text!(
    ProjectId,
    AgentId,
    SessionId,
    MessageId,
    TaskId,
    PlanId,
    ApprovalId,
    InteractionId,
    ToolCallId,
    ClientId,
    AllowanceId
);

/// A row of a result.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

impl Row<'_> {
    pub(crate) fn int(&self, column: usize) -> Result<i64> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn optional_int(&self, column: usize) -> Result<Option<i64>> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    /// A count or number that is never negative.
    pub(crate) fn count(&self, column: usize) -> Result<u64> {
        u64::try_from(self.int(column)?).map_err(Error::internal)
    }

    pub(crate) fn real(&self, column: usize) -> Result<f64> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn optional_real(&self, column: usize) -> Result<Option<f64>> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<String> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<String>> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn truth(&self, column: usize) -> Result<bool> {
        Ok(self.int(column)? != 0)
    }

    pub(crate) fn time(&self, column: usize) -> Result<Timestamp> {
        self.int(column).map(Timestamp::from_micros)
    }

    /// Text that must read as a `T`, such as an id or a status.
    pub(crate) fn parse<T>(&self, column: usize, table: &'static str) -> Result<T>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        let text = self.text(column)?;
        text.parse().map_err(|error: T::Err| Error::Damaged { table, detail: error.to_string() })
    }

    pub(crate) fn optional_parse<T>(&self, column: usize, table: &'static str) -> Result<Option<T>>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.optional_text(column)? else { return Ok(None) };
        text.parse()
            .map(Some)
            .map_err(|error: T::Err| Error::Damaged { table, detail: error.to_string() })
    }

    /// Text that is the JSON of a `T`.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(
        &self,
        column: usize,
        table: &'static str,
    ) -> Result<T> {
        serde_json::from_str(&self.text(column)?)
            .map_err(|error| Error::Damaged { table, detail: error.to_string() })
    }
}
