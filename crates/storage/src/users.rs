//! Accounts: local ones with a password, and those that an outside identity provider vouches for.

use artel_domain::{Role, Timestamp, User, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Listed, Page, Result};

/// The issuer of accounts that this server keeps itself.
pub const LOCAL: &str = "";

/// A user who is not there yet.
#[derive(Debug, Clone)]
pub struct NewUser {
    pub issuer: String,
    pub subject: String,
    pub role: Role,
    pub password_hash: Option<String>,
    pub created_at: Timestamp,
}

/// Adds a user; [`Error::Duplicate`] when there is one.
pub async fn add(conn: &mut Conn, new: &NewUser) -> Result<User> {
    let number = conn
        .first(
            "update counters set value = value + 1 where name = 'user' returning value",
            &[],
            |row| row.int(0),
        )
        .await?
        .ok_or_else(|| Error::Damaged {
            table: "counters",
            detail: "no counter for users".to_owned(),
        })?;
    conn.execute(
        "insert into users (id, issuer, subject, role, password_hash, created_at) values (?1, ?2, ?3, ?4, ?5, ?6)",
        values![
            number,
            &new.issuer,
            &new.subject,
            role_word(new.role),
            new.password_hash.as_deref(),
            new.created_at
        ],
    )
    .await?;
    Ok(User {
        id: UserId(number),
        name: new.subject.clone(),
        role: new.role,
        disabled: false,
        created_at: new.created_at,
    })
}

pub async fn find(conn: &mut Conn, issuer: &str, subject: &str) -> Result<Option<User>> {
    conn.first(
        "select id, subject, role, disabled, created_at from users where issuer = ?1 and subject = ?2",
        values![issuer, subject],
        read,
    )
    .await
}

pub async fn by_id(conn: &mut Conn, id: UserId) -> Result<Option<User>> {
    conn.first(
        "select id, subject, role, disabled, created_at from users where id = ?1",
        values![id],
        read,
    )
    .await
}

/// A local user with the hash of their password, if they have one.
pub async fn with_password(conn: &mut Conn, name: &str) -> Result<Option<(User, Option<String>)>> {
    conn.first(
        "select id, subject, role, disabled, created_at, password_hash from users where issuer = ?1 and subject = ?2",
        values![LOCAL, name],
        |row| Ok((read(row)?, row.optional_text(5)?)),
    )
    .await
}

pub async fn list(conn: &mut Conn, page: Page) -> Result<Listed<User>> {
    let items = conn
        .query(
            "select id, subject, role, disabled, created_at from users order by id limit ?1 offset ?2",
            values![page.limit, page.offset],
            read,
        )
        .await?;
    let total =
        conn.first("select count(*) from users", &[], |row| row.count(0)).await?.unwrap_or(0);
    Ok(Listed { items, total })
}

pub async fn set_password(conn: &mut Conn, name: &str, hash: &str) -> Result<()> {
    let changed = conn
        .execute(
            "update users set password_hash = ?3 where issuer = ?1 and subject = ?2",
            values![LOCAL, name, hash],
        )
        .await?;
    if changed == 0 { Err(Error::Missing("user")) } else { Ok(()) }
}

pub async fn set_disabled(conn: &mut Conn, name: &str, disabled: bool) -> Result<()> {
    let changed = conn
        .execute(
            "update users set disabled = ?3 where issuer = ?1 and subject = ?2",
            values![LOCAL, name, disabled],
        )
        .await?;
    if changed == 0 { Err(Error::Missing("user")) } else { Ok(()) }
}

fn read(row: &Row<'_>) -> Result<User> {
    Ok(User {
        id: UserId(row.int(0)?),
        name: row.text(1)?,
        role: match row.text(2)?.as_str() {
            "admin" => Role::Admin,
            "user" => Role::User,
            other => {
                return Err(Error::Damaged { table: "users", detail: format!("role {other:?}") });
            }
        },
        disabled: row.truth(3)?,
        created_at: row.time(4)?,
    })
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Admin => "admin",
    }
}

/// What a user has set for themselves, as JSON.
pub async fn preferences(conn: &mut Conn, id: UserId) -> Result<String> {
    let sql = "select preferences from users where id = ?1";
    conn.first(sql, values![id], |row| row.text(0)).await?.ok_or(Error::Missing("user"))
}

pub async fn set_preferences(conn: &mut Conn, id: UserId, json: &str) -> Result<()> {
    conn.execute("update users set preferences = ?2 where id = ?1", values![id, json]).await?;
    Ok(())
}
