//! The vectors of a small collection, held in memory beside their codes: a search compares some hundreds of them
//! exactly, and the file gives them one by one.

use std::collections::HashMap;

use rusqlite::Connection;

use super::scan;

/// What the vectors of one collection may take of memory; those of a larger one are read from its file.
const MOST: usize = 16 << 20;
/// What a vector takes beside its numbers.
const EACH: usize = 64;
/// Its size is told in steps of so many vectors, so that it seldom changes.
const STEP: usize = 16;

#[derive(Debug)]
pub(super) struct Held {
    /// By the number of the row, as they are stored.
    vectors: HashMap<i64, Box<[u8]>>,
    dimensions: usize,
}

impl Held {
    /// Reads all vectors of a collection; none when they are too many.
    pub(super) fn read(
        conn: &Connection,
        count: usize,
        dimensions: usize,
    ) -> rusqlite::Result<Option<Self>> {
        if count > most(dimensions) {
            return Ok(None);
        }
        let mut vectors = HashMap::with_capacity(count);
        let mut statement = conn.prepare("select row, vector from vectors")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            vectors.insert(row.get(0)?, row.get_ref(1)?.as_blob()?.into());
        }
        Ok(Some(Self { vectors, dimensions }))
    }

    /// With one more, or another for the row; none when they are too many then.
    pub(super) fn with(mut self, row: i64, vector: Vec<u8>) -> Option<Self> {
        self.vectors.insert(row, vector.into());
        (self.vectors.len() <= most(self.dimensions)).then_some(self)
    }

    pub(super) fn remove(&mut self, row: i64) {
        self.vectors.remove(&row);
    }

    /// The inner product of a row's vector and the query.
    pub(super) fn score(&self, row: i64, query: &[f32]) -> Option<f32> {
        self.vectors.get(&row).map(|vector| scan::dot(vector, query))
    }

    /// What it takes of the machine's memory.
    pub(super) fn bytes(&self) -> usize {
        self.vectors.len().next_multiple_of(STEP) * each(self.dimensions)
    }
}

const fn each(dimensions: usize) -> usize {
    dimensions * size_of::<f32>() + EACH
}

const fn most(dimensions: usize) -> usize {
    MOST / each(dimensions)
}
