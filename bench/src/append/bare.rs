//! The peers of an append: a bare commit on either database, and what the disk itself takes.
//!
//! The tables are the server's own, made by opening the database with it once, so that both sides keep the same
//! rows under the same indexes.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use artel_domain::{Clock, ProjectId, SystemClock};
use artel_storage::{Database, Db};
use rusqlite::Connection;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Statement};

use super::{add_projects, sample};

const INSERT: &str = "insert into events (project_id, seq, at, session_id, kind, payload) values ";

/// Commits by the library alone, with the pragmas of our writer.
pub(crate) struct Sqlite {
    link: Connection,
    project: String,
    last: i64,
}

impl Sqlite {
    pub(crate) fn open(runtime: &Runtime, path: &Path) -> Result<Self> {
        let project = runtime.block_on(prepare(&Database::Sqlite(path.to_owned())))?;
        let link = Connection::open(path)?;
        link.execute_batch(
            "pragma busy_timeout = 10000;
             pragma journal_mode = wal;
             pragma synchronous = full;
             pragma foreign_keys = on;
             pragma temp_store = memory;",
        )?;
        Ok(Self { link, project: project.to_string(), last: 0 })
    }

    /// How long each took, and all of them.
    pub(crate) fn commits(&mut self, count: usize) -> Result<(Vec<Duration>, Duration)> {
        let mut spans = Vec::with_capacity(count);
        let begin = Instant::now();
        for _ in 0..count {
            let start = Instant::now();
            self.commit()?;
            spans.push(start.elapsed());
        }
        Ok((spans, begin.elapsed()))
    }

    /// Rows a second, so many in a commit.
    pub(crate) fn groups(&mut self, count: usize, size: usize) -> Result<f64> {
        let begin = Instant::now();
        for _ in 0..count {
            self.link.prepare_cached("begin immediate")?.execute([])?;
            for _ in 0..size {
                self.insert()?;
            }
            self.link.prepare_cached("commit")?.execute([])?;
        }
        Ok((count * size) as f64 / begin.elapsed().as_secs_f64())
    }

    fn commit(&mut self) -> Result<()> {
        self.link.prepare_cached("begin immediate")?.execute([])?;
        self.insert()?;
        self.link.prepare_cached("commit")?.execute([])?;
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        self.last += 1;
        let event = sample();
        self.link.prepare_cached(&format!("{INSERT} (?1, ?2, ?3, ?4, ?5, ?6)"))?.execute((
            &self.project,
            self.last,
            SystemClock.now().as_micros(),
            None::<&str>,
            event.kind(),
            event.payload(),
        ))?;
        Ok(())
    }
}

/// Commits by the driver alone: a prepared statement, committed by itself.
pub(super) struct Postgres {
    client: Client,
    insert: Statement,
    project: String,
    last: i64,
}

impl Postgres {
    pub(super) async fn open(url: &str) -> Result<Self> {
        let project = prepare(&Database::Postgres(url.to_owned())).await?;
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        let insert = client.prepare(&format!("{INSERT} ($1, $2, $3, $4, $5, $6)")).await?;
        Ok(Self { client, insert, project: project.to_string(), last: 0 })
    }

    pub(super) async fn commits(&mut self, count: usize) -> Result<(Vec<Duration>, Duration)> {
        let mut spans = Vec::with_capacity(count);
        let begin = Instant::now();
        for _ in 0..count {
            let start = Instant::now();
            self.last += 1;
            let event = sample();
            let (at, none) = (SystemClock.now().as_micros(), None::<&str>);
            let (kind, payload) = (event.kind(), event.payload());
            self.client
                .execute(&self.insert, &[&self.project, &self.last, &at, &none, &kind, &payload])
                .await?;
            spans.push(start.elapsed());
        }
        Ok((spans, begin.elapsed()))
    }
}

/// A file that grows by a page at a time, each on disk before the next.
pub(crate) struct Sync {
    file: File,
}

impl Sync {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(Self { file: File::create(path)? })
    }

    pub(crate) fn writes(&mut self, count: usize) -> Result<Vec<Duration>> {
        let mut spans = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            self.file.write_all(&[0x5a; 4096])?;
            self.file.sync_data()?;
            spans.push(start.elapsed());
        }
        Ok(spans)
    }
}

/// Makes the tables and a project to append to.
async fn prepare(place: &Database) -> Result<ProjectId> {
    let db = Db::open(place).await?;
    Ok(add_projects(&db).await?[0])
}
