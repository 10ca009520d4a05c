//! The schema, brought up to date at start.
//!
//! All missing migrations run in one transaction under a lock: a kill at any point leaves the old schema or the
//! new one, and of two nodes that start at once one migrates while the other waits.

use crate::db::{Conn, Step, values};
use crate::{Error, Result};

/// Names and texts, in order. A text that was released is never changed; the next one is added.
const MIGRATIONS: [(&str, &str); 7] = [
    ("0001_ground", include_str!("../migrations/0001_ground.sql")),
    ("0002_spaces", include_str!("../migrations/0002_spaces.sql")),
    ("0003_memory", include_str!("../migrations/0003_memory.sql")),
    ("0004_tools", include_str!("../migrations/0004_tools.sql")),
    ("0005_plans", include_str!("../migrations/0005_plans.sql")),
    ("0006_programs", include_str!("../migrations/0006_programs.sql")),
    ("0007_page", include_str!("../migrations/0007_page.sql")),
];

/// Any number will do, as long as every version of the program uses the same.
const LOCK: &str = "select pg_advisory_xact_lock(4851203349)";

pub(crate) async fn run(conn: &mut Conn) -> Result<()> {
    conn.step(Step::Begin).await?;
    let outcome = migrate(conn).await;
    match outcome {
        Ok(()) => conn.step(Step::Commit).await,
        Err(error) => {
            conn.step(Step::Rollback).await?;
            Err(error)
        }
    }
}

async fn migrate(conn: &mut Conn) -> Result<()> {
    conn.script("", LOCK).await?;
    let table =
        "create table if not exists migrations (name text primary key, applied_at bigint not null)";
    conn.script(table, table).await?;
    let applied =
        conn.query("select name from migrations order by name", &[], |row| row.text(0)).await?;
    if let Some(unknown) =
        applied.iter().find(|name| !MIGRATIONS.iter().any(|(known, _)| known == name))
    {
        return Err(Error::Version(format!(
            "the database was written by a newer version of artel (it has migration {unknown}): \
             install that version, or start with another database"
        )));
    }
    for (name, text) in MIGRATIONS.iter().skip(applied.len()) {
        conn.script(
            &text.replace("{clustered}", "without rowid"),
            &text.replace("{clustered}", ""),
        )
        .await?;
        let now = conn.now().await?;
        conn.execute(
            "insert into migrations (name, applied_at) values (?1, ?2)",
            values![*name, now],
        )
        .await?;
        tracing::info!(migration = name, "schema brought up to date");
    }
    Ok(())
}
