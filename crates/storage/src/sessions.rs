//! Conversations and their messages, each message at its place.

use artel_domain::session::{Message, Role, Session};
use artel_domain::task::Task;
use artel_domain::{MessageId, SessionId, Timestamp};

use crate::db::{Row, values};
use crate::{Conn, Error, Listed, Page, Result, Scope, tasks};

pub async fn add(conn: &mut Conn, scope: Scope, session: &Session) -> Result<()> {
    conn.execute(
        "insert into sessions (id, user_id, project_id, title, pinned, message_count, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        values![
            session.id,
            scope.user,
            scope.project,
            &session.title,
            i64::from(session.pinned),
            session.message_count,
            session.created_at,
            session.updated_at
        ],
    )
    .await?;
    Ok(())
}

pub async fn get(conn: &mut Conn, scope: Scope, id: SessionId) -> Result<Session> {
    conn.first(
        "select id, title, pinned, message_count, created_at, updated_at
         from sessions where id = ?1 and project_id = ?2 and user_id = ?3",
        values![id, scope.project, scope.user],
        read,
    )
    .await?
    .ok_or(Error::Missing("session"))
}

/// The project's sessions, newest first; with `wanted` only those that have these words in their title or in what was said,
/// whichever way they are capitalised.
pub async fn list(
    conn: &mut Conn,
    scope: Scope,
    wanted: Option<&str>,
    page: Page,
) -> Result<Listed<Session>> {
    let pattern = wanted.map_or_else(|| "%".to_owned(), containing);
    let items = conn
        .query(
            "select id, title, pinned, message_count, created_at, updated_at
             from sessions where project_id = ?1 and user_id = ?2
             and (?3 = '%' or lower(title) like ?3 escape '~' or exists (select 1 from messages
                  where session_id = sessions.id and lower(content) like ?3 escape '~'))
             order by created_at desc, id desc limit ?4 offset ?5",
            values![scope.project, scope.user, &pattern, page.limit, page.offset],
            read,
        )
        .await?;
    let total = conn
        .first(
            "select count(*) from sessions where project_id = ?1 and user_id = ?2
             and (?3 = '%' or lower(title) like ?3 escape '~' or exists (select 1 from messages
                  where session_id = sessions.id and lower(content) like ?3 escape '~'))",
            values![scope.project, scope.user, &pattern],
            |row| row.count(0),
        )
        .await?;
    Ok(Listed { items, total: total.unwrap_or(0) })
}

/// A pattern for everything that has these words in it.
fn containing(words: &str) -> String {
    let mut pattern = String::from("%");
    for letter in words.to_lowercase().chars() {
        if matches!(letter, '%' | '_' | '~') {
            pattern.push('~');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// Whether the project has any session.
pub async fn any(conn: &mut Conn, scope: Scope) -> Result<bool> {
    let found = conn
        .first(
            "select 1 from sessions where project_id = ?1 and user_id = ?2 limit 1",
            values![scope.project, scope.user],
            |_| Ok(()),
        )
        .await?;
    Ok(found.is_some())
}

pub async fn pin(conn: &mut Conn, scope: Scope, id: SessionId, pinned: bool) -> Result<()> {
    let changed = conn
        .execute(
            "update sessions set pinned = ?4 where id = ?1 and project_id = ?2 and user_id = ?3",
            values![id, scope.project, scope.user, i64::from(pinned)],
        )
        .await?;
    if changed == 0 { Err(Error::Missing("session")) } else { Ok(()) }
}

pub async fn rename(conn: &mut Conn, scope: Scope, id: SessionId, title: &str) -> Result<()> {
    let changed = conn
        .execute(
            "update sessions set title = ?4 where id = ?1 and project_id = ?2 and user_id = ?3",
            values![id, scope.project, scope.user, title],
        )
        .await?;
    if changed == 0 { Err(Error::Missing("session")) } else { Ok(()) }
}

/// Deletes the session with its messages and tasks.
pub async fn delete(conn: &mut Conn, scope: Scope, id: SessionId) -> Result<()> {
    tasks::delete(conn, scope.project, tasks::Of::Session(id)).await?;
    let plans = "delete from task_plans where user_id = ?1 and session_id = ?2";
    conn.execute(plans, values![scope.user, id]).await?;
    let deleted = conn
        .execute(
            "delete from sessions where id = ?1 and project_id = ?2 and user_id = ?3",
            values![id, scope.project, scope.user],
        )
        .await?;
    if deleted == 0 { Err(Error::Missing("session")) } else { Ok(()) }
}

/// Puts a message at the session's end.
pub async fn say(
    conn: &mut Conn,
    scope: Scope,
    session: SessionId,
    message: &Message,
) -> Result<()> {
    let place = conn
        .first(
            "update sessions set message_count = message_count + 1, updated_at = ?4
             where id = ?1 and project_id = ?2 and user_id = ?3 returning message_count",
            values![session, scope.project, scope.user, message.timestamp],
            |row| row.int(0),
        )
        .await?
        .ok_or(Error::Missing("session"))?;
    let outcome =
        message.outcome.as_ref().map(serde_json::to_string).transpose().map_err(Error::internal)?;
    conn.execute(
        "insert into messages (id, session_id, place, role, content, agent_id, task_id, outcome, created_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        values![
            message.id,
            session,
            place,
            message.role.as_str(),
            &message.content,
            message.agent_id,
            message.task_id,
            outcome.as_deref(),
            message.timestamp
        ],
    )
    .await?;
    Ok(())
}

/// Which messages of a session: of one role, and after or before another message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which {
    pub role: Option<Role>,
    pub after: Option<MessageId>,
    pub before: Option<MessageId>,
}

/// Messages of a session that the caller was let into, oldest first. Before another message, those nearest to it.
pub async fn messages(
    conn: &mut Conn,
    session: SessionId,
    which: Which,
    page: Page,
) -> Result<Listed<Message>> {
    let role = which.role.map(Role::as_str);
    let after = place(conn, session, which.after, 0).await?;
    let before = place(conn, session, which.before, i64::MAX).await?;
    let backwards = which.before.is_some();
    let sql = if backwards {
        "select id, role, content, agent_id, task_id, created_at, outcome from messages
         where session_id = ?1 and (role = ?2 or ?2 is null) and place > ?3 and place < ?4
         order by place desc limit ?5 offset ?6"
    } else {
        "select id, role, content, agent_id, task_id, created_at, outcome from messages
         where session_id = ?1 and (role = ?2 or ?2 is null) and place > ?3 and place < ?4
         order by place limit ?5 offset ?6"
    };
    let parameters = values![session, role, after, before, page.limit, page.offset];
    let mut items = conn.query(sql, parameters, read_message).await?;
    if backwards {
        items.reverse();
    }
    let total = conn
        .first(
            "select count(*) from messages where session_id = ?1 and (role = ?2 or ?2 is null)",
            values![session, role],
            |row| row.count(0),
        )
        .await?;
    Ok(Listed { items, total: total.unwrap_or(0) })
}

/// Where a message stands in its session.
async fn place(
    conn: &mut Conn,
    session: SessionId,
    message: Option<MessageId>,
    otherwise: i64,
) -> Result<i64> {
    let Some(message) = message else { return Ok(otherwise) };
    conn.first(
        "select place from messages where id = ?1 and session_id = ?2",
        values![message, session],
        |row| row.int(0),
    )
    .await?
    .ok_or(Error::Missing("message"))
}

/// The last messages before one, oldest first: what an agent is told of the conversation.
pub async fn before(
    conn: &mut Conn,
    session: SessionId,
    message: MessageId,
    limit: u32,
) -> Result<Vec<Message>> {
    let mut found = conn
        .query(
            "select id, role, content, agent_id, task_id, created_at, outcome from messages
             where session_id = ?1 and place < (select place from messages where id = ?2)
             order by place desc limit ?3",
            values![session, message, limit],
            read_message,
        )
        .await?;
    found.reverse();
    Ok(found)
}

/// One message of a session.
pub async fn message(conn: &mut Conn, session: SessionId, id: MessageId) -> Result<Message> {
    conn.first(
        "select id, role, content, agent_id, task_id, created_at, outcome from messages
         where id = ?1 and session_id = ?2",
        values![id, session],
        read_message,
    )
    .await?
    .ok_or(Error::Missing("message"))
}

/// The answer that a task gave, if it has ended with one. It stands somewhere after what was asked.
pub async fn answer(conn: &mut Conn, task: &Task) -> Result<Option<Message>> {
    conn.first(
        "select id, role, content, agent_id, task_id, created_at, outcome from messages
         where session_id = ?1 and place > (select place from messages where id = ?2)
         and task_id = ?3 and role = 'assistant' order by place limit 1",
        values![task.session_id, task.message_id, task.id],
        read_message,
    )
    .await
}

fn read(row: &Row<'_>) -> Result<Session> {
    Ok(Session {
        id: row.parse(0, "sessions")?,
        title: row.text(1)?,
        pinned: row.int(2)? != 0,
        message_count: row.count(3)?,
        created_at: row.time(4)?,
        updated_at: row.time(5)?,
    })
}

fn read_message(row: &Row<'_>) -> Result<Message> {
    let table = "messages";
    let outcome = row.optional_text(6)?;
    Ok(Message {
        id: row.parse(0, table)?,
        role: row.parse(1, table)?,
        content: row.text(2)?,
        agent_id: row.optional_parse(3, table)?,
        task_id: row.optional_parse(4, table)?,
        timestamp: Timestamp::from_micros(row.int(5)?),
        outcome: outcome
            .map(|json| serde_json::from_str(&json))
            .transpose()
            .map_err(|error| Error::Damaged { table, detail: error.to_string() })?,
    })
}
