//! A log on disk: two files that take turns. When the newer is full it becomes the older, and the older goes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::{Entry, KEPT, LogSink};

/// A file is full with [`KEPT`] lines, or with so many bytes.
const FULL: u64 = 4 * 1024 * 1024;
/// Logs that are written or read at a time. There is one disk; more would only take a thread each, and its memory.
static PLACES: Semaphore = Semaphore::const_new(8);

/// The files of one log: `log` and `log.old`, a JSON object per line.
#[derive(Debug, Clone)]
pub struct Files(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    /// The newer file, once it was written to.
    newer: Mutex<Option<Newer>>,
}

#[derive(Debug)]
struct Newer {
    file: File,
    lines: usize,
    bytes: u64,
}

impl Files {
    /// Nothing is opened or made before the first line is written.
    pub fn new(folder: PathBuf) -> Self {
        Self(Arc::new(Inner { folder, newer: Mutex::new(None) }))
    }
}

#[async_trait]
impl LogSink for Files {
    async fn write(&self, entries: &[Arc<Entry>]) -> io::Result<()> {
        let _place = PLACES.acquire().await.map_err(io::Error::other)?;
        let (files, entries) = (self.clone(), entries.to_vec());
        spawn_blocking(move || files.0.write(&entries)).await?
    }

    async fn read(&self) -> io::Result<Vec<Entry>> {
        let _place = PLACES.acquire().await.map_err(io::Error::other)?;
        let files = self.clone();
        spawn_blocking(move || files.0.read()).await?
    }
}

impl Inner {
    fn write(&self, entries: &[Arc<Entry>]) -> io::Result<()> {
        let mut slot = self.newer.lock().unwrap_or_else(PoisonError::into_inner);
        // Left out when something fails: the next batch begins with a look at what is there.
        let mut newer = match slot.take() {
            Some(newer) => newer,
            None => self.open()?,
        };
        let mut text = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut text, entry.as_ref())?;
            text.push(b'\n');
        }
        if newer.lines > 0 && (newer.lines + entries.len() > KEPT || newer.bytes >= FULL) {
            fs::rename(self.newer(), self.older())?;
            newer = self.open()?;
        }
        newer.file.write_all(&text)?;
        newer.lines += entries.len();
        newer.bytes += text.len() as u64;
        *slot = Some(newer);
        Ok(())
    }

    fn open(&self) -> io::Result<Newer> {
        fs::create_dir_all(&self.folder)?;
        let there = read(&self.newer())?;
        let mut file =
            OpenOptions::new().create(true).append(true).mode(0o600).open(self.newer())?;
        // The server was killed in the middle of a line: that one is lost, the next begins anew.
        if there.last().is_some_and(|byte| *byte != b'\n') {
            file.write_all(b"\n")?;
        }
        let lines = there.split(|byte| *byte == b'\n').count() - 1;
        Ok(Newer { file, lines, bytes: there.len() as u64 })
    }

    fn read(&self) -> io::Result<Vec<Entry>> {
        // Held so that the files do not change places in between.
        let _newer = self.newer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = parsed(&read(&self.older())?);
        entries.append(&mut parsed(&read(&self.newer())?));
        Ok(entries.split_off(entries.len().saturating_sub(KEPT)))
    }

    fn newer(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn older(&self) -> PathBuf {
        self.folder.join("log.old")
    }
}

fn read(path: &PathBuf) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// A line that was torn is passed over.
fn parsed(text: &[u8]) -> Vec<Entry> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use artel_domain::clock::Timestamp;

    use super::*;
    use crate::log::Stream;

    fn entries(numbers: std::ops::RangeInclusive<u64>, line: &str) -> Vec<Arc<Entry>> {
        let timestamp = Timestamp::from_micros(1_700_000_000_000_000);
        let (stream, line) = (Stream::Stdout, line.to_owned());
        let entry = |number| Entry { number, timestamp, stream, line: line.clone() };
        numbers.map(|number| Arc::new(entry(number))).collect()
    }

    fn numbers(files: &Files) -> Vec<u64> {
        files.0.read().unwrap().into_iter().map(|entry| entry.number).collect()
    }

    /// CA-5.1: about the last 1,000 lines, in files that do not grow.
    #[test]
    fn the_last_lines_stay_and_the_files_do_not_grow() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().join("agent"));
        assert!(numbers(&files).is_empty());
        for first in (1..=7000).step_by(7) {
            files.0.write(&entries(first..=first + 6, "a line")).unwrap();
        }
        assert_eq!(numbers(&files), (6001..=7000).collect::<Vec<_>>());
        for first in (7001..=7200).step_by(50) {
            files.0.write(&entries(first..=first + 49, &"x".repeat(16 * 1024))).unwrap();
        }
        let size: u64 = [files.0.newer(), files.0.older()]
            .iter()
            .map(|path| fs::metadata(path).unwrap().len())
            .sum();
        assert!(size < 3 * FULL, "{size}");
    }

    /// CA-5.1: a kill in the middle of a line costs that line and no other.
    #[test]
    fn a_torn_line_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        Files::new(folder.path().into()).0.write(&entries(1..=3, "a line")).unwrap();
        let path = folder.path().join("log");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let files = Files::new(folder.path().into());
        assert_eq!(numbers(&files), [1, 2]);
        files.0.write(&entries(4..=4, "after")).unwrap();
        assert_eq!(numbers(&files), [1, 2, 4]);
    }
}
