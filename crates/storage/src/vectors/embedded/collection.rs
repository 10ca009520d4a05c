//! An open collection: its file, its codes in memory, and what is done with both.
//!
//! One connection writes, a few read beside it. A change is committed to the file first and then to the codes, so
//! what searches find is always on disk. A search takes its candidates from the codes and then asks the file, which
//! has the last word: what was deleted in between is left out, and filters are checked on what is read.

use std::sync::{Mutex, PoisonError, RwLock};

use artel_domain::memory::{Filter, Interaction};
use artel_domain::{InteractionId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Transaction};

use super::codes::{Code, Codes, asked, encoded, flags};
use super::file::{self, Place};
use super::held::Held;
use super::rotation::Rotation;
use super::rows::{self, COLUMNS, Conditions};
use super::scan;
use crate::vectors::{Entry, Figures, Hit, LARGEST_PAGE, MOST_HITS, Model, Result, Spot, Tally};

/// Connections kept for reading.
const READERS: usize = 4;
const DAY: i64 = 86_400_000_000;
/// Candidates whose vectors are read before it is looked whether more are needed.
const READ_AT_ONCE: usize = 32;
/// How far an estimate may be off, times the root of the dimensions: four times its usual error, which is about 0.75
/// of that for the sign of a rotated unit vector.
const FARTHEST_OFF: f32 = 3.0;

#[derive(Debug)]
pub(super) struct Open {
    place: Place,
    memory: RwLock<Memory>,
    // Before the writer, so that the writer is the last to close and takes the log with it.
    readers: Mutex<Vec<Connection>>,
    writer: Mutex<Connection>,
}

#[derive(Debug)]
struct Memory {
    codes: Codes,
    /// None when there are too many.
    held: Option<Held>,
    waiting: u64,
}

/// What a change means for what is held in memory, once it is committed.
#[derive(Default)]
struct Changes {
    codes: Vec<Change>,
    waiting: i64,
}

enum Change {
    /// A code, and the vector as it is stored.
    Put(Code, Vec<u8>),
    Remove(i64),
}

impl Open {
    pub(super) fn new(place: Place, model: &Model, rotation: &Rotation) -> Result<Self> {
        let writer = place.writer(model, rotation)?;
        let read = || {
            let codes = file::read_codes(&writer, model.dimensions)?;
            let waiting: i64 =
                writer.query_row("select count(*) from waiting", [], |row| row.get(0))?;
            let held = Held::read(&writer, codes.len(), model.dimensions)?;
            Ok(Memory { codes, held, waiting: waiting.unsigned_abs() })
        };
        let memory = RwLock::new(read().map_err(|error| place.blame(&error))?);
        Ok(Self { place, memory, readers: Mutex::default(), writer: Mutex::new(writer) })
    }

    /// What it takes of the machine's memory.
    pub(super) fn bytes(&self) -> usize {
        let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
        memory.codes.bytes() + memory.held.as_ref().map_or(0, Held::bytes)
    }

    pub(super) fn count(&self) -> u64 {
        self.memory.read().unwrap_or_else(PoisonError::into_inner).count()
    }

    /// How many there are, if that can be said without waiting.
    pub(super) fn count_at_once(&self) -> Option<u64> {
        self.memory.try_read().ok().map(|memory| memory.count())
    }

    pub(super) fn search(
        &self,
        rotation: &Rotation,
        vector: &[f32],
        filter: &Filter,
        top_k: usize,
    ) -> Result<Vec<Hit>> {
        let top_k = top_k.min(MOST_HITS);
        if top_k == 0 {
            return Ok(Vec::new());
        }
        let query = asked(rotation, vector);
        self.reading(|conn| {
            let of_task = match filter.task {
                None => None,
                Some(_) => Some(Conditions::new(filter).rows(conn)?),
            };
            let (candidates, scored) = {
                let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
                let most = candidates(memory.codes.len(), vector.len(), filter, top_k);
                let candidates = memory.codes.nearest(&query, filter, of_task.as_deref(), most);
                // An entry that is put anew in this moment may be shown with the score that it had.
                let scored = memory.held.as_ref().map(|held| {
                    rescored(&candidates, vector, top_k, |row| Ok(held.score(row, vector)))
                });
                (candidates, scored)
            };
            // One transaction, so that an entry and its vector are of the same version.
            let moment = conn.unchecked_transaction()?;
            let scored =
                scored.unwrap_or_else(|| read_and_rescored(&moment, &candidates, vector, top_k))?;
            let mut hits = Vec::with_capacity(top_k.min(scored.len()));
            let sql = format!("select {COLUMNS} from interactions where row = ?1");
            let mut interactions = moment.prepare_cached(&sql)?;
            for (score, row) in scored {
                let found = interactions.query_row([row], rows::interaction).optional()?;
                if let Some(interaction) = found
                    && filter.admits(&interaction.metadata)
                {
                    hits.push(Hit { interaction, score });
                    if hits.len() == top_k {
                        break;
                    }
                }
            }
            Ok(hits)
        })
    }

    pub(super) fn waiting(&self, limit: usize) -> Result<Vec<Interaction>> {
        // A cross join is made from left to right: few wait.
        let sql = format!(
            "select {COLUMNS} from waiting cross join interactions using (row) order by row limit ?1"
        );
        self.reading(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            statement.query_map([page_size(limit)], rows::interaction)?.collect()
        })
    }

    pub(super) fn page(
        &self,
        filter: &Filter,
        after: Option<InteractionId>,
        limit: usize,
        vectors: bool,
    ) -> Result<Vec<Entry>> {
        let mut conditions = Conditions::new(filter);
        if let Some(after) = after {
            conditions.and("id >", Value::Blob(after.as_bytes().to_vec()));
        }
        let (vector, join) =
            if vectors { ("vector", "left join vectors using (row)") } else { ("null", "") };
        let sql = format!(
            "select {COLUMNS}, {vector} from interactions indexed by interactions_by_id {join}
             where {} order by id limit {}",
            conditions.sql,
            page_size(limit)
        );
        let mut page = Vec::new();
        self.reading(|conn| {
            conditions.each(conn, &sql, |row| {
                let vector = row.get_ref(8)?.as_blob_or_null()?.map(file::floats);
                page.push(Entry { interaction: rows::interaction(row)?, vector });
                Ok(())
            })
        })?;
        Ok(page)
    }

    pub(super) fn newest(
        &self,
        filter: &Filter,
        before: Option<Spot>,
        limit: usize,
    ) -> Result<Vec<Interaction>> {
        let mut conditions = Conditions::new(filter);
        if let Some(Spot { moment, id }) = before {
            conditions.and_before(moment, id);
        }
        let sql = format!(
            "select {COLUMNS} from interactions where {} order by moment desc, id desc limit {}",
            conditions.sql,
            page_size(limit)
        );
        let mut newest = Vec::new();
        self.reading(|conn| {
            conditions.each(conn, &sql, |row| {
                newest.push(rows::interaction(row)?);
                Ok(())
            })
        })?;
        Ok(newest)
    }

    pub(super) fn figures(&self, filter: &Filter) -> Result<Figures> {
        let conditions = Conditions::new(filter);
        let mut figures = Figures { bytes: self.place.bytes(), ..Figures::default() };
        self.reading(|conn| {
            let moment = conn.unchecked_transaction()?;
            let sql =
                format!("select moment, kind, success from interactions where {}", conditions.sql);
            let mut by_kind = [Tally::default(); 4];
            conditions.each(&moment, &sql, |row| {
                let (moment, kind, success): (i64, u8, bool) =
                    (row.get(0)?, row.get(1)?, row.get(2)?);
                let add = |tally: &mut Tally| {
                    tally.total += 1;
                    tally.successes += u64::from(success);
                };
                add(&mut figures.tally);
                add(figures.by_day.entry(moment.div_euclid(DAY)).or_default());
                if let Some(tally) = by_kind.get_mut(usize::from(kind)) {
                    add(tally);
                }
                let moment = Some(Timestamp::from_micros(moment));
                figures.newest = figures.newest.max(moment);
                figures.oldest =
                    if figures.oldest.is_none() { moment } else { figures.oldest.min(moment) };
                Ok(())
            })?;
            for kind in artel_domain::memory::Kind::ALL {
                let tally = by_kind[usize::from(super::codes::kind_number(kind))];
                if tally.total > 0 {
                    figures.by_kind.insert(kind, tally);
                }
            }
            let sql = format!(
                "select count(*) from waiting cross join interactions using (row) where {}",
                conditions.sql
            );
            conditions.each(&moment, &sql, |row| {
                figures.waiting = row.get::<_, i64>(0)?.unsigned_abs();
                Ok(())
            })
        })?;
        Ok(figures)
    }

    pub(super) fn rename(&self, name: &str) -> Result<()> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        file::write_meta(&writer, "name", &name).map_err(|error| self.place.blame(&error))
    }

    pub(super) fn put(&self, rotation: &Rotation, entries: &[Entry]) -> Result<()> {
        let encoded: Vec<_> = entries
            .iter()
            .map(|entry| entry.vector.as_ref().map(|vector| encoded(rotation, vector)))
            .collect();
        let last = self.memory.read().unwrap_or_else(PoisonError::into_inner).codes.last_row();
        self.writing(|change| {
            let mut next = next_row(change, last)?;
            let mut changes = Changes::default();
            for (entry, encoded) in entries.iter().zip(encoded) {
                put_one(change, entry, encoded, &mut next, &mut changes)?;
            }
            Ok(((), changes))
        })
    }

    /// Gives entries their vectors; ids that are not there are left out.
    pub(super) fn give_vectors(
        &self,
        rotation: &Rotation,
        vectors: Vec<(InteractionId, Vec<f32>)>,
    ) -> Result<()> {
        let last = self.memory.read().unwrap_or_else(PoisonError::into_inner).codes.last_row();
        let sql = format!("select {COLUMNS} from interactions where row = ?1");
        self.writing(|change| {
            let mut next = next_row(change, last)?;
            let mut changes = Changes::default();
            for (id, vector) in vectors {
                let Some(row) = rows::row_of(change, id)? else { continue };
                let interaction =
                    change.prepare_cached(&sql)?.query_row([row], rows::interaction)?;
                let encoded = Some(encoded(rotation, &vector));
                let entry = Entry { interaction, vector: Some(vector) };
                put_one(change, &entry, encoded, &mut next, &mut changes)?;
            }
            Ok(((), changes))
        })
    }

    pub(super) fn forget(&self, filter: &Filter) -> Result<u64> {
        self.forgetting(|change| Conditions::new(filter).rows(change))
    }

    pub(super) fn forget_ids(&self, ids: &[InteractionId]) -> Result<u64> {
        self.forgetting(|change| {
            let mut rows = Vec::with_capacity(ids.len());
            for id in ids {
                rows.extend(rows::row_of(change, *id)?);
            }
            rows.sort_unstable();
            rows.dedup();
            Ok(rows)
        })
    }

    pub(super) fn trim(&self, keep: u64) -> Result<u64> {
        let Some(surplus) = self.count().checked_sub(keep).filter(|surplus| *surplus > 0) else {
            return Ok(0);
        };
        let surplus = i64::try_from(surplus).unwrap_or(i64::MAX);
        self.forgetting(|change| {
            let mut oldest =
                change.prepare_cached("select row from interactions order by moment limit ?1")?;
            let mut rows: Vec<i64> =
                oldest.query_map([surplus], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            rows.sort_unstable();
            Ok(rows)
        })
    }

    fn forgetting(
        &self,
        find: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Vec<i64>>,
    ) -> Result<u64> {
        let forgotten = self.writing(|change| {
            let rows = find(change)?;
            let mut changes = Changes::default();
            for table in ["interactions", "vectors", "codes", "waiting"] {
                let mut delete =
                    change.prepare_cached(&format!("delete from {table} where row = ?1"))?;
                for row in &rows {
                    let deleted = delete.execute([row])?;
                    changes.waiting -= i64::from(table == "waiting" && deleted > 0);
                }
            }
            changes.codes.extend(rows.iter().copied().map(Change::Remove));
            Ok((rows.len() as u64, changes))
        })?;
        if forgotten > 0 {
            self.give_back();
        }
        Ok(forgotten)
    }

    /// Gives free space of the file back to the file system, for a while, and says whether that was all of it. That
    /// space is still held is no failure of the deletion.
    pub(super) fn give_back(&self) -> bool {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        file::give_back(&writer).unwrap_or_else(|error| {
            tracing::warn!(collection = %self.place.name, %error, "space was not given back");
            true
        })
    }

    /// Commits a change to the file, and then to the codes.
    fn writing<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<(T, Changes)>,
    ) -> Result<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let commit = || {
            let change = writer.transaction()?;
            let (done, changes) = work(&change)?;
            change.commit()?;
            Ok((done, changes))
        };
        let (done, changes) = commit().map_err(|error| self.place.blame(&error))?;
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        memory.waiting = memory.waiting.saturating_add_signed(changes.waiting);
        for change in changes.codes {
            memory.make(change);
        }
        Ok(done)
    }

    fn reading<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let kept = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match kept {
            Some(conn) => conn,
            None => self.place.reader()?,
        };
        let done = work(&conn).map_err(|error| self.place.blame(&error))?;
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS {
            readers.push(conn);
        }
        Ok(done)
    }
}

impl Memory {
    fn count(&self) -> u64 {
        self.codes.len() as u64 + self.waiting
    }

    fn make(&mut self, change: Change) {
        match change {
            Change::Put(code, vector) => {
                self.held = self.held.take().and_then(|held| held.with(code.row, vector));
                self.codes.put(&code);
            }
            Change::Remove(row) => {
                if let Some(held) = &mut self.held {
                    held.remove(row);
                }
                self.codes.remove(row);
            }
        }
    }
}

/// The exact scores of the candidates, by their vectors in the file.
fn read_and_rescored(
    moment: &Transaction<'_>,
    candidates: &[(f32, i64)],
    vector: &[f32],
    top_k: usize,
) -> rusqlite::Result<Vec<(f32, i64)>> {
    let mut vectors = moment.prepare_cached("select vector from vectors where row = ?1")?;
    rescored(candidates, vector, top_k, |row| {
        let mut found = vectors.query([row])?;
        let Some(found) = found.next()? else { return Ok(None) };
        Ok(Some(scan::dot(found.get_ref(0)?.as_blob()?, vector)))
    })
}

/// The exact scores of the candidates, best first; `score` gives that of a row, if it is still there. Candidates come
/// with the best estimate first; those that are surely farther than what is asked for are not looked at.
fn rescored(
    candidates: &[(f32, i64)],
    vector: &[f32],
    top_k: usize,
    mut score: impl FnMut(i64) -> rusqlite::Result<Option<f32>>,
) -> rusqlite::Result<Vec<(f32, i64)>> {
    #[expect(clippy::cast_precision_loss, reason = "a model has few dimensions")]
    let sure = FARTHEST_OFF / (vector.len() as f32).sqrt();
    let best_first = |a: &(f32, i64), b: &(f32, i64)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    let mut scored: Vec<(f32, i64)> = Vec::with_capacity(candidates.len());
    for some in candidates.chunks(READ_AT_ONCE) {
        if let (Some(last), Some(next)) = (scored.get(top_k - 1), some.first())
            && last.0 > next.0 + sure
        {
            break;
        }
        for (_, row) in some {
            scored.extend(score(*row)?.map(|score| (score, *row)));
        }
        // The stable sort makes use of what is in order already, which is all but these.
        scored.sort_by(best_first);
    }
    Ok(scored)
}

/// How many are taken by estimate for a search to choose from exactly. Where there are no more, it is exact. A code
/// of fewer bits errs more and its vector is cheaper to read, so then more are taken. More also with a filter: what
/// it admits may all be far from the query, where estimates hardly tell one from another.
fn candidates(rows: usize, dimensions: usize, filter: &Filter, top_k: usize) -> usize {
    let least = if rows > 300_000 { 400 } else { 200 };
    let shortness = (1_536 / dimensions).clamp(1, 4);
    let few = if *filter == Filter::default() { 1 } else { 3 };
    (least * shortness * few).max(3 * top_k)
}

/// A number above all that are in the file or in memory.
fn next_row(change: &Transaction<'_>, last: i64) -> rusqlite::Result<i64> {
    let stored: i64 = change
        .prepare_cached("select coalesce(max(row), 0) from interactions")?
        .query_row([], |row| row.get(0))?;
    Ok(last.max(stored) + 1)
}

fn page_size(limit: usize) -> i64 {
    i64::try_from(limit.min(LARGEST_PAGE)).unwrap_or(0)
}

fn put_one(
    change: &Transaction<'_>,
    entry: &Entry,
    encoded: Option<(f32, Vec<scan::Block>)>,
    next: &mut i64,
    changes: &mut Changes,
) -> rusqlite::Result<()> {
    let facts = &entry.interaction.metadata;
    let old = rows::row_of(change, entry.interaction.id)?;
    let waited = match old {
        None => false,
        Some(old) => {
            change.prepare_cached("delete from waiting where row = ?1")?.execute([old])? > 0
        }
    };
    changes.waiting += i64::from(entry.vector.is_none()) - i64::from(waited);
    // Codes are in the order of their numbers, so one that joins them late gets a new number. One that is there
    // keeps its number, so that a search which is under way does not miss it.
    let row = match old {
        Some(old) if !(waited && encoded.is_some()) => old,
        Some(_) | None => {
            *next += 1;
            *next - 1
        }
    };
    rows::write(change, row, old, &entry.interaction)?;
    if let (Some(vector), Some((factor, blocks))) = (&entry.vector, encoded) {
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        change
            .prepare_cached("insert or replace into vectors (row, vector) values (?1, ?2)")?
            .execute((row, &bytes))?;
        let moment = facts.timestamp.as_micros();
        let code = Code { row, moment, flags: flags(facts), factor, blocks };
        file::write_code(change, &code, vector.len())?;
        changes.codes.push(Change::Put(code, bytes));
    } else {
        change
            .prepare_cached("insert or replace into waiting (row) values (?1)")?
            .execute([row])?;
        if old.is_some() && !waited {
            for table in ["vectors", "codes"] {
                let sql = format!("delete from {table} where row = ?1");
                change.prepare_cached(&sql)?.execute([row])?;
            }
            changes.codes.push(Change::Remove(row));
        }
    }
    Ok(())
}
