//! What the clients of a crash run did and heard, one JSON line each.
//!
//! A line is written before a request goes out and after its answer came, straight to the kernel,
//! so that the file tells the truth even if the harness itself dies. The checker reads the file
//! and nothing else; a history can be looked at, or checked again, long after the run.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// Milliseconds since the run began.
    pub at: u64,
    pub worker: usize,
    /// An operation sent again keeps its number.
    pub op: u64,
    pub action: Action,
    pub phase: Phase,
}

/// What a client wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Action {
    CreateProject {
        key: String,
        name: String,
    },
    CreateAgent {
        key: String,
        project: String,
        name: String,
    },
    /// An acknowledged creation once more, with its key; must answer `id`.
    Replay {
        key: String,
        project: String,
        name: String,
        id: String,
    },
    Update {
        project: String,
        agent: String,
        value: u64,
    },
    Delete {
        project: String,
        agent: String,
    },
    Read {
        project: String,
        agent: String,
    },
}

/// How far it got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Phase {
    Invoke,
    /// The server acknowledged it: what was made, or what was read.
    Ok {
        id: Option<String>,
        value: Option<u64>,
    },
    /// It did not happen: the request was never sent.
    NotSent,
    /// The connection broke, or the server said it could not: it may have happened.
    Unknown {
        detail: String,
    },
    /// The server refused what it should have done.
    Refused {
        detail: String,
    },
}

/// The file being written.
#[derive(Debug)]
pub struct History {
    file: Mutex<File>,
    path: PathBuf,
    start: Instant,
    next: AtomicU64,
}

impl History {
    pub fn create(path: &Path) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let next = AtomicU64::new(1);
        Ok(Self { file: Mutex::new(file), path: path.to_owned(), start: Instant::now(), next })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of a new operation.
    pub fn operation(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub fn record(&self, worker: usize, op: u64, action: &Action, phase: Phase) -> Result<()> {
        let at = u64::try_from(self.start.elapsed().as_millis())?;
        let entry = Entry { at, worker, op, action: action.clone(), phase };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.file.lock().expect("no writer panics").write_all(&line)?;
        Ok(())
    }

    /// All lines of a file, in the order of writing.
    pub fn load(path: &Path) -> Result<Vec<Entry>> {
        BufReader::new(File::open(path)?)
            .lines()
            .map(|line| Ok(serde_json::from_str(&line?)?))
            .collect()
    }
}
