//! SQLite's log is brought into its file beside the writer, so that no commit waits for that.
//!
//! Beside a writer that never rests the log could not begin anew and would grow; when it is long, the writer waits for it
//! once.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use rusqlite::Connection;

use super::Conn;
use super::sqlite::without_waiting;
use crate::{Error, Result};

/// Commits between two of them.
const EVERY: usize = 64;
/// Pages of a log that is long: some 64 MiB.
const LONG: i64 = 16_384;
const CHECKPOINT: &str = "pragma wal_checkpoint(passive)";

/// Counts the writer's commits.
#[derive(Debug)]
pub(super) struct Checkpoints {
    commits: usize,
    wake: SyncSender<()>,
    /// How long the log was when it was last looked at.
    pages: Arc<AtomicI64>,
}

impl Checkpoints {
    /// Starts the thread that makes them. It ends when this is dropped.
    pub(super) fn start(path: PathBuf) -> Result<Self> {
        let (wake, woken) = sync_channel(1);
        let pages = Arc::new(AtomicI64::new(0));
        let seen = Arc::clone(&pages);
        thread::Builder::new()
            .name("artel-log".to_owned())
            .spawn(move || run(&path, &woken, &seen))
            .map_err(Error::internal)?;
        Ok(Self { commits: 0, wake, pages })
    }

    /// After each commit.
    pub(super) fn count(&mut self, writer: &mut Conn) {
        self.commits += 1;
        if self.commits < EVERY {
            return;
        }
        self.commits = 0;
        if self.pages.load(Ordering::Relaxed) < LONG {
            // One is under way, or the thread has ended; then the log grows until it is long.
            let _ = self.wake.try_send(());
            return;
        }
        let read = writer.first(CHECKPOINT, &[], |row| row.int(1));
        match without_waiting(read) {
            Ok(pages) => self.pages.store(pages.unwrap_or(0), Ordering::Relaxed),
            Err(error) => tracing::warn!(%error, "the log could not be brought into the database"),
        }
        // The next commit begins the log anew; how long that is the thread sees.
        let _ = self.wake.try_send(());
    }
}

fn run(path: &PathBuf, woken: &Receiver<()>, pages: &AtomicI64) {
    let mut kept = None;
    while woken.recv().is_ok() {
        match checkpoint(path, &mut kept) {
            Ok(long) => pages.store(long, Ordering::Relaxed),
            Err(error) => {
                kept = None;
                tracing::warn!(%error, "the log could not be brought into the database");
            }
        }
    }
}

/// Says how long the log is.
fn checkpoint(path: &PathBuf, kept: &mut Option<Connection>) -> rusqlite::Result<i64> {
    let conn = match kept {
        Some(conn) => conn,
        None => kept.insert(Connection::open(path)?),
    };
    conn.query_row(CHECKPOINT, [], |row| row.get(1))
}
