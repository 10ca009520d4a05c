//! Approvals: decided exactly once, by one conditional update.
//!
//! "Read, then write" would let two answers win; here the row itself decides, and whoever comes second learns what
//! was decided. Deadlines are compared with the database's clock.

use std::time::Duration;

use artel_domain::approval::{Approval, Decision, Kind, Status};
use artel_domain::event::{
    ApprovalRequired, ApprovalResolved, ApprovalTimeout, ApprovalTimeoutWarning,
};
use artel_domain::{ApprovalId, PlanId, ProjectId, Timestamp, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Listed, Page, Result, Scope, events};

/// What came of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// This answer decided it.
    Decided(Approval),
    /// It was decided before, or its time is over; nothing changed.
    Already(Approval),
}

/// An answer, by whom and from where.
#[derive(Debug, Clone)]
pub struct Answer {
    pub decision: Decision,
    pub comment: Option<String>,
    pub by: UserId,
    pub from: &'static str,
}

/// Stores a question and tells of it.
pub async fn ask(conn: &mut Conn, approval: &Approval) -> Result<()> {
    conn.execute(
        "insert into approvals (id, user_id, project_id, session_id, task_id, kind, payload, risk_level, status, created_at,
                                expires_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        values![
            approval.id,
            approval.user_id,
            approval.project_id,
            approval.session_id,
            approval.task_id,
            approval.kind.as_str(),
            approval.payload.to_string(),
            serde_json::to_string(&approval.risk_level).map_err(Error::internal)?,
            approval.status.as_str(),
            approval.created_at,
            approval.expires_at
        ],
    )
    .await?;
    let event = ApprovalRequired {
        approval_id: approval.id,
        kind: approval.kind,
        risk_level: approval.risk_level,
        payload: approval.payload.clone(),
        expires_at: approval.expires_at,
    };
    let (project, session) = (approval.project_id, approval.session_id);
    events::append(conn, project, session, approval.created_at, &event.into()).await?;
    Ok(())
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, user_id, project_id, kind, payload, risk_level, status, created_at, expires_at, resolved_at,
                    comment, decided_by, decided_from, session_id, task_id
             from approvals ",
            $rest
        )
    };
}

pub async fn get(conn: &mut Conn, user: UserId, id: ApprovalId) -> Result<Approval> {
    conn.first(select!("where id = ?1 and user_id = ?2"), values![id, user], read)
        .await?
        .ok_or(Error::Missing("approval"))
}

/// Which approvals to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which {
    pub project: Option<ProjectId>,
    pub status: Option<Status>,
    pub kind: Option<Kind>,
    /// The first moment of asking that counts, and the last.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

/// What waits for a user, oldest first.
pub async fn pending(conn: &mut Conn, user: UserId) -> Result<Vec<ApprovalId>> {
    conn.query(
        "select id from approvals where user_id = ?1 and status = 'pending' order by id",
        values![user],
        |row| row.parse(0, "approvals"),
    )
    .await
}

/// A user's approvals, newest first.
pub async fn list(
    conn: &mut Conn,
    user: UserId,
    which: Which,
    page: Page,
) -> Result<Listed<Approval>> {
    let Which { project, status, kind, from, to } = which;
    let (status, kind) = (status.map(Status::as_str), kind.map(Kind::as_str));
    let (from, to) = (from.map(Timestamp::as_micros), to.map(Timestamp::as_micros));
    let total = conn
        .first(
            "select count(*) from approvals where user_id = ?1 and (project_id = ?2 or ?2 is null)
             and (status = ?3 or ?3 is null) and (kind = ?4 or ?4 is null)
             and (created_at >= ?5 or ?5 is null) and (created_at <= ?6 or ?6 is null)",
            values![user, project, status, kind, from, to],
            |row| row.count(0),
        )
        .await?;
    let items = conn
        .query(
            select!(
                "where user_id = ?1 and (project_id = ?2 or ?2 is null) and (status = ?3 or ?3 is null)
                 and (kind = ?4 or ?4 is null) and (created_at >= ?5 or ?5 is null)
                 and (created_at <= ?6 or ?6 is null) order by created_at desc, id desc limit ?7 offset ?8"
            ),
            values![user, project, status, kind, from, to, page.limit, page.offset],
            read,
        )
        .await?;
    Ok(Listed { items, total: total.unwrap_or(0) })
}

/// Questions about a plan, or about a task of it, that nobody has answered.
pub async fn pending_of_plan(
    conn: &mut Conn,
    scope: Scope,
    plan: PlanId,
) -> Result<Vec<ApprovalId>> {
    let sql =
        select!("where user_id = ?1 and status = 'pending' and project_id = ?2 and kind = 'plan'");
    let asked = conn.query(sql, values![scope.user, scope.project], read).await?;
    let about = plan.to_string();
    let is_about = |it: &Approval| it.payload.get("plan_id").is_some_and(|id| *id == about);
    Ok(asked.into_iter().filter(is_about).map(|it| it.id).collect())
}

/// Decides, if nobody has yet and there is time left.
pub async fn decide(
    conn: &mut Conn,
    user: UserId,
    id: ApprovalId,
    answer: &Answer,
) -> Result<Answered> {
    let now = conn.now().await?;
    let status = Status::from(answer.decision);
    let won = conn
        .execute(
            "update approvals
             set status = ?3, resolved_at = ?4, comment = ?5, decided_by = ?6, decided_from = ?7
             where id = ?1 and user_id = ?2 and status = 'pending' and expires_at > ?4",
            values![
                id,
                user,
                status.as_str(),
                now,
                answer.comment.as_deref(),
                answer.by,
                answer.from
            ],
        )
        .await?;
    let approval = get(conn, user, id).await?;
    if won == 0 {
        return Ok(Answered::Already(approval));
    }
    let event = ApprovalResolved {
        approval_id: id,
        status,
        comment: answer.comment.clone(),
        decided_by: Some(answer.by),
        decided_from: Some(answer.from.to_owned()),
    };
    events::append(conn, approval.project_id, approval.session_id, now, &event.into()).await?;
    Ok(Answered::Decided(approval))
}

/// Pending approvals whose time is over, with their projects.
pub async fn overdue(conn: &mut Conn, limit: u32) -> Result<Vec<(ApprovalId, Scope)>> {
    let now = conn.now().await?;
    conn.query(
        "select id, project_id, user_id from approvals where status = 'pending' and expires_at <= ?1
         order by expires_at limit ?2",
        values![now, limit],
        |row| {
            let scope = Scope { project: row.parse(1, "approvals")?, user: UserId(row.int(2)?) };
            Ok((row.parse(0, "approvals")?, scope))
        },
    )
    .await
}

/// Rejects an approval whose time is over, unless somebody has decided it; gives it if this did.
pub async fn expire(conn: &mut Conn, id: ApprovalId) -> Result<Option<Approval>> {
    let now = conn.now().await?;
    let user = conn
        .first(
            "update approvals set status = 'timeout', resolved_at = ?2, decided_from = 'deadline'
             where id = ?1 and status = 'pending' and expires_at <= ?2 returning user_id",
            values![id, now],
            |row| Ok(UserId(row.int(0)?)),
        )
        .await?;
    let Some(user) = user else { return Ok(None) };
    let approval = get(conn, user, id).await?;
    let event = ApprovalTimeout { approval_id: id };
    events::append(conn, approval.project_id, approval.session_id, now, &event.into()).await?;
    Ok(Some(approval))
}

/// Takes a question back that nobody needs to answer any more.
pub async fn withdraw(conn: &mut Conn, user: UserId, id: ApprovalId, why: &str) -> Result<()> {
    let now = conn.now().await?;
    let withdrawn = conn
        .execute(
            "update approvals set status = 'rejected', resolved_at = ?3, comment = ?4, decided_from = 'cancelled'
             where id = ?1 and user_id = ?2 and status = 'pending'",
            values![id, user, now, why],
        )
        .await?;
    if withdrawn == 0 {
        return Ok(());
    }
    let approval = get(conn, user, id).await?;
    let event = ApprovalResolved {
        approval_id: id,
        status: Status::Rejected,
        comment: Some(why.to_owned()),
        decided_by: None,
        decided_from: Some("cancelled".to_owned()),
    };
    events::append(conn, approval.project_id, approval.session_id, now, &event.into()).await?;
    Ok(())
}

/// Pending approvals with less than `left` to go whose people were not warned yet, with their projects.
pub async fn ending(
    conn: &mut Conn,
    left: Duration,
    limit: u32,
) -> Result<Vec<(ApprovalId, ProjectId)>> {
    let now = conn.now().await?;
    conn.query(
        "select id, project_id from approvals
         where status = 'pending' and warned = 0 and expires_at > ?1 and expires_at <= ?2
         order by expires_at limit ?3",
        values![now, now.plus(left), limit],
        |row| Ok((row.parse(0, "approvals")?, row.parse(1, "approvals")?)),
    )
    .await
}

/// Tells, once, that little time is left.
pub async fn warn(conn: &mut Conn, id: ApprovalId) -> Result<()> {
    let now = conn.now().await?;
    let told = conn
        .first(
            "update approvals set warned = 1 where id = ?1 and status = 'pending' and warned = 0
             returning project_id, expires_at, session_id",
            values![id],
            |row| {
                let session = row.optional_parse(2, "approvals")?;
                Ok((row.parse(0, "approvals")?, row.time(1)?, session))
            },
        )
        .await?;
    if let Some((project, expires_at, session)) = told {
        let event = ApprovalTimeoutWarning { approval_id: id, expires_at };
        events::append(conn, project, session, now, &event.into()).await?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Approval> {
    let table = "approvals";
    Ok(Approval {
        id: row.parse(0, table)?,
        user_id: UserId(row.int(1)?),
        project_id: row.parse(2, table)?,
        kind: row.parse(3, table)?,
        payload: row.json(4, table)?,
        risk_level: row.json(5, table)?,
        status: row.parse(6, table)?,
        created_at: row.time(7)?,
        expires_at: row.time(8)?,
        resolved_at: row.optional_int(9)?.map(Timestamp::from_micros),
        comment: row.optional_text(10)?,
        decided_by: row.optional_int(11)?.map(UserId),
        decided_from: row.optional_text(12)?,
        session_id: row.optional_parse(13, table)?,
        task_id: row.optional_parse(14, table)?,
    })
}
