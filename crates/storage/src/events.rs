//! The numbered events of a project, stored with the change they tell of.
//!
//! The number is taken under the project's row: whoever has it commits before anyone gets the next, so a reader
//! that has seen number n will never find a smaller one later.

use artel_domain::{Event, ProjectId, SessionId, Timestamp};

use crate::db::{Row, values};
use crate::{Conn, Error, Result, Scope};

/// An event as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub project: ProjectId,
    pub seq: u64,
    pub at: Timestamp,
    pub session: Option<SessionId>,
    pub kind: String,
    /// JSON.
    pub payload: String,
}

/// Appends an event to the project's log, in the transaction of the change it tells of.
pub async fn append(
    conn: &mut Conn,
    project: ProjectId,
    session: Option<SessionId>,
    at: Timestamp,
    event: &Event,
) -> Result<u64> {
    append_all(conn, project, session, at, std::slice::from_ref(event)).await
}

/// Appends events that happened together, in order, and gives the number of the last.
pub async fn append_all(
    conn: &mut Conn,
    project: ProjectId,
    session: Option<SessionId>,
    at: Timestamp,
    events: &[Event],
) -> Result<u64> {
    let count = events.len() as u64;
    let last = conn
        .first(
            "update projects set last_seq = last_seq + ?2 where id = ?1 returning last_seq",
            values![project, count],
            |row| row.count(0),
        )
        .await?
        .ok_or(Error::Missing("project"))?;
    for (event, seq) in events.iter().zip(last - count + 1..) {
        let (kind, payload) = (event.kind().to_owned(), event.payload());
        let recorded = Recorded { project, seq, at, session, kind, payload };
        conn.execute(
            "insert into events (project_id, seq, at, session_id, kind, payload) values (?1, ?2, ?3, ?4, ?5, ?6)",
            values![project, seq, at, session, &recorded.kind, &recorded.payload],
        )
        .await?;
        conn.record(recorded);
    }
    Ok(last)
}

/// The number of the last event, if the project is the user's.
pub async fn head(conn: &mut Conn, scope: Scope) -> Result<u64> {
    conn.first(
        "select last_seq from projects where id = ?1 and user_id = ?2",
        values![scope.project, scope.user],
        |row| row.count(0),
    )
    .await?
    .ok_or(Error::Missing("project"))
}

/// The number of the last event of a project whose reader was let in already; `None` when it was deleted.
pub async fn latest(conn: &mut Conn, project: ProjectId) -> Result<Option<u64>> {
    conn.first("select last_seq from projects where id = ?1", values![project], |row| row.count(0))
        .await
}

/// Events after `after`, oldest first. They follow each other without a gap, but the first may be later than
/// `after + 1` when older ones are no longer kept.
pub async fn after(
    conn: &mut Conn,
    project: ProjectId,
    after: u64,
    limit: u32,
) -> Result<Vec<Recorded>> {
    conn.query(
        "select seq, at, session_id, kind, payload
         from events where project_id = ?1 and seq > ?2 order by seq limit ?3",
        values![project, after, limit],
        |row| read(row, project),
    )
    .await
}

/// Events of one kind after `after` and not before `since`, oldest first.
pub async fn of_kind(
    conn: &mut Conn,
    project: ProjectId,
    kind: &str,
    since: Timestamp,
    after: u64,
    limit: u32,
) -> Result<Vec<Recorded>> {
    conn.query(
        "select seq, at, session_id, kind, payload from events
         where project_id = ?1 and seq > ?2 and kind = ?3 and at >= ?4 order by seq limit ?5",
        values![project, after, kind, since, limit],
        |row| read(row, project),
    )
    .await
}

/// The last events of one kind, newest first.
pub async fn last_of_kind(
    conn: &mut Conn,
    project: ProjectId,
    kind: &str,
    limit: u32,
) -> Result<Vec<Recorded>> {
    conn.query(
        "select seq, at, session_id, kind, payload from events
         where project_id = ?1 and kind = ?2 order by seq desc limit ?3",
        values![project, kind, limit],
        |row| read(row, project),
    )
    .await
}

/// When the oldest event that is kept happened.
pub async fn oldest(conn: &mut Conn) -> Result<Option<Timestamp>> {
    conn.first("select at from events order by at limit 1", &[], |row| row.time(0)).await
}

/// Forgets events from before `before`, some at a time; says how many. The oldest of a project go first, so what
/// is kept has no holes.
pub async fn prune(conn: &mut Conn, before: Timestamp, limit: u32) -> Result<u64> {
    conn.execute(
        "delete from events where (project_id, seq) in
         (select project_id, seq from events where at < ?1 order by at, seq limit ?2)",
        values![before, limit],
    )
    .await
}

fn read(row: &Row<'_>, project: ProjectId) -> Result<Recorded> {
    Ok(Recorded {
        project,
        seq: row.count(0)?,
        at: row.time(1)?,
        session: row.optional_parse(2, "events")?,
        kind: row.text(3)?,
        payload: row.text(4)?,
    })
}
