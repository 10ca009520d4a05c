//! The SQLite file of one collection: its tables, its connections, and what its errors mean.
//!
//! A collection without entries is an empty file, so that thousands of them cost nothing; the tables are made by the
//! first entry. What a search reads is in narrow tables of its own: `codes` is read once, in a row, when the
//! collection is opened, and `vectors` where a search wants to be exact. Every row of `interactions` has the row of
//! the same number either in both of them or in `waiting`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, params};

use super::codes::{Code, Codes, encoded};
use super::rotation::Rotation;
use super::scan::Block;
use crate::vectors::{Error, Model, Result};

/// The version of the tables, kept as `user_version`.
const VERSION: i64 = 1;
/// How codes are made of vectors. Codes of another number are made anew when the file is opened.
const ENCODING: i64 = 1;
/// So few free pages are left in the file for what comes next.
const FREE_PAGES: i64 = 32;
/// Pages given back in one transaction, so that the log beside the file stays small.
const GIVEN_AT_ONCE: i64 = 2_000;
/// Writers wait no longer for space to be given back; the rest follows when the collection is not used.
const GIVING: Duration = Duration::from_secs(2);

const TABLES: &str = "
    create table meta (key text primary key, value not null) without rowid;
    create table interactions (
        row integer primary key,
        id blob not null,
        moment integer not null,
        kind integer not null,
        success integer not null,
        task blob,
        text text not null,
        rest text
    );
    create unique index interactions_by_id on interactions (id);
    create index interactions_by_moment on interactions (moment, kind, success);
    create index interactions_by_task on interactions (task, moment, kind, success)
        where task is not null;
    create table waiting (row integer primary key);
    create table vectors (row integer primary key, vector blob not null);
    create table codes (
        row integer primary key,
        moment integer not null,
        flags integer not null,
        factor real not null,
        code blob not null
    );
    pragma user_version = 1;";

/// Where the file is, and how the collection is called in errors.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) name: String,
}

impl Place {
    /// Whether there is anything to open: a file that is missing or empty is a collection without entries.
    pub(super) fn has_entries(&self) -> Result<bool> {
        match fs::metadata(&self.path) {
            Ok(found) => Ok(found.len() > 0),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Makes the empty file when there is none, and says whether there was none. It need not reach the disk: it is
    /// made again when it is missed.
    pub(super) fn make(&self) -> Result<bool> {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path) {
            Ok(_) => {
                // A log without its file would be taken for the log of the new one.
                self.remove_logs()?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(unavailable(&error)),
        }
    }

    pub(super) fn remove(&self) -> Result<()> {
        // The log first: if we stop in between, no log is left without its file.
        self.remove_logs()?;
        if remove_file(&self.path)?
            && let Some(folder) = self.path.parent()
        {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| unavailable(&e))?;
        }
        Ok(())
    }

    fn remove_logs(&self) -> Result<()> {
        remove_file(&beside(&self.path, "-wal"))?;
        remove_file(&beside(&self.path, "-shm"))?;
        Ok(())
    }

    /// What the collection takes on the disk.
    pub(super) fn bytes(&self) -> u64 {
        let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
        size(&self.path) + size(&beside(&self.path, "-wal"))
    }

    /// Opens the connection that writes, and makes the file ready for this model.
    pub(super) fn writer(&self, model: &Model, rotation: &Rotation) -> Result<Connection> {
        let mut conn = connect_writer(&self.path).map_err(|error| self.blame(&error))?;
        let version = conn.query_row("pragma user_version", [], |row| row.get::<_, i64>(0));
        match version.map_err(|error| self.blame(&error))? {
            0 => self.make_tables(&mut conn, model),
            VERSION => suit(&mut conn, model, rotation),
            version => {
                return Err(Error::Refused(format!(
                    "the tables of {} are of version {version}, this program knows {VERSION}",
                    self.name
                )));
            }
        }
        .map_err(|error| self.blame(&error))?;
        Ok(conn)
    }

    fn make_tables(&self, conn: &mut Connection, model: &Model) -> rusqlite::Result<()> {
        let make = conn.transaction()?;
        make.execute_batch(TABLES)?;
        write_meta(&make, "name", &self.name)?;
        write_model(&make, model)?;
        make.commit()
    }

    /// Opens a connection that reads beside the writer.
    pub(super) fn reader(&self) -> Result<Connection> {
        let open = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let conn = Connection::open_with_flags(&self.path, flags)?;
            conn.execute_batch("pragma busy_timeout = 10000; pragma temp_store = memory;")?;
            conn.set_prepared_statement_cache_capacity(64);
            // Else statements are planned anew whenever other values are bound.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            Ok(conn)
        };
        open().map_err(|error| self.blame(&error))
    }

    /// What an error of SQLite means to those above.
    pub(super) fn blame(&self, error: &rusqlite::Error) -> Error {
        let detail = error.to_string();
        match error.sqlite_error_code() {
            // SQLite calls an error what no other code fits: a table or a column that is not there.
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown)
            | None => Error::Damaged { collection: self.name.clone(), detail },
            Some(_) => Error::Unavailable(detail),
        }
    }
}

fn connect_writer(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    // FULL: what was acknowledged has reached the disk. The size of pages and the vacuum are fixed with the first
    // table; later they change nothing.
    conn.execute_batch(
        "pragma busy_timeout = 10000;
         pragma page_size = 8192;
         pragma auto_vacuum = incremental;
         pragma journal_mode = wal;
         pragma synchronous = full;
         pragma journal_size_limit = 16777216;
         pragma temp_store = memory;
         pragma cache_size = -8192;",
    )?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// Makes vectors and codes fit what this program works with now.
fn suit(conn: &mut Connection, model: &Model, rotation: &Rotation) -> rusqlite::Result<()> {
    let stored: String = read_meta(conn, "model")?;
    let dimensions: i64 = read_meta(conn, "dimensions")?;
    let encoding: i64 = read_meta(conn, "encoding")?;
    if stored != model.name || dimensions != count(model.dimensions) {
        forget_vectors(conn, model)
    } else if encoding != ENCODING {
        make_codes(conn, rotation)
    } else {
        Ok(())
    }
}

fn remove_file(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unavailable(&error)),
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

pub(super) fn unavailable(error: &io::Error) -> Error {
    Error::Unavailable(error.to_string())
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn write_meta(
    conn: &Connection,
    key: &str,
    value: &dyn rusqlite::ToSql,
) -> rusqlite::Result<()> {
    conn.execute("insert or replace into meta (key, value) values (?1, ?2)", params![key, value])?;
    Ok(())
}

fn write_model(conn: &Connection, model: &Model) -> rusqlite::Result<()> {
    write_meta(conn, "model", &model.name)?;
    write_meta(conn, "dimensions", &count(model.dimensions))?;
    write_meta(conn, "encoding", &ENCODING)
}

fn read_meta<T: rusqlite::types::FromSql>(conn: &Connection, key: &str) -> rusqlite::Result<T> {
    conn.query_row("select value from meta where key = ?1", [key], |row| row.get(0))
}

/// Vectors of another model cannot be compared: all entries wait for new ones.
fn forget_vectors(conn: &mut Connection, model: &Model) -> rusqlite::Result<()> {
    let change = conn.transaction()?;
    change.execute_batch("delete from vectors; delete from codes;")?;
    change.execute("insert or ignore into waiting (row) select row from interactions", [])?;
    write_model(&change, model)?;
    change.commit()?;
    give_back(conn).map(drop)
}

/// Makes the codes of all vectors anew, after this program learned to make better ones.
fn make_codes(conn: &mut Connection, rotation: &Rotation) -> rusqlite::Result<()> {
    let change = conn.transaction()?;
    change.execute("delete from codes", [])?;
    {
        let mut vectors = change.prepare(
            "select row, moment, kind | success << 2, vector from vectors join interactions using (row)
             order by row",
        )?;
        let mut rows = vectors.query([])?;
        while let Some(row) = rows.next()? {
            let vector = floats(row.get_ref(3)?.as_blob()?);
            let (factor, blocks) = encoded(rotation, &vector);
            let (number, moment, flags) = (row.get(0)?, row.get(1)?, row.get(2)?);
            write_code(
                &change,
                &Code { row: number, moment, flags, factor, blocks },
                vector.len(),
            )?;
        }
    }
    write_meta(&change, "encoding", &ENCODING)?;
    change.commit()
}

pub(super) fn write_code(
    change: &Transaction<'_>,
    code: &Code,
    dimensions: usize,
) -> rusqlite::Result<()> {
    let mut bytes: Vec<u8> =
        code.blocks.iter().flat_map(|block| block.0).flat_map(u64::to_le_bytes).collect();
    bytes.truncate(dimensions.div_ceil(8));
    change
        .prepare_cached(
            "insert or replace into codes (row, moment, flags, factor, code)
             values (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![code.row, code.moment, code.flags, f64::from(code.factor), bytes])?;
    Ok(())
}

/// Reads all codes, in one go.
pub(super) fn read_codes(conn: &Connection, dimensions: usize) -> rusqlite::Result<Codes> {
    let mut codes = Codes::new(dimensions);
    let mut statement =
        conn.prepare("select row, moment, flags, factor, code from codes order by row")?;
    let mut rows = statement.query([])?;
    let empty = Codes::no_code(dimensions);
    let mut code = Code { row: 0, moment: 0, flags: 0, factor: 0.0, blocks: empty };
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(4)?.as_blob()?;
        if bytes.len() != dimensions.div_ceil(8) {
            return Err(rusqlite::Error::InvalidColumnName("a code has another length".to_owned()));
        }
        read_blocks(bytes, &mut code.blocks);
        (code.row, code.moment, code.flags) = (row.get(0)?, row.get(1)?, row.get(2)?);
        #[expect(clippy::cast_possible_truncation, reason = "it was written from an f32")]
        let factor = row.get::<_, f64>(3)? as f32;
        code.factor = factor;
        codes.put(&code);
    }
    Ok(codes)
}

fn read_blocks(bytes: &[u8], blocks: &mut [Block]) {
    let words = blocks.iter_mut().flat_map(|block| &mut block.0);
    for (word, bytes) in words.zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
}

pub(super) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Gives free pages back to the file system, for a while, and says whether that was all of them.
pub(super) fn give_back(conn: &Connection) -> rusqlite::Result<bool> {
    let free = || conn.query_row("pragma freelist_count", [], |row| row.get::<_, i64>(0));
    let mut left = free()?;
    if left < FREE_PAGES {
        return Ok(true);
    }
    let began = Instant::now();
    while left > 0 && began.elapsed() < GIVING {
        let mut vacuum = conn.prepare(&format!("pragma incremental_vacuum({GIVEN_AT_ONCE})"))?;
        let mut steps = vacuum.query([])?;
        while steps.next()?.is_some() {}
        let still = free()?;
        if still == left {
            break;
        }
        left = still;
    }
    // The file itself shrinks with the checkpoint.
    conn.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))?;
    Ok(left < FREE_PAGES)
}
