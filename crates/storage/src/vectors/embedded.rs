//! Vectors in this process: one SQLite file for each collection, and a scan of one-bit codes in memory.
//!
//! There is no index to build. A search goes through the codes of all entries (about 3 ms for 100,000), takes the
//! few hundred best by estimate, and compares those exactly by their vectors in the file. So an entry is found as soon
//! as it is stored, filters hold at any selectivity, and what is deleted is gone. A collection that nobody uses
//! is a file and nothing else. How it was chosen and measured: the record of decisions, on vector engines.
//!
//! - [`file`]: the tables, and what errors of the file mean; [`rows`]: interactions in them.
//! - [`rotation`], [`codes`], [`scan`]: from a vector to its code, codes in memory, and the inner loops.
//! - [`held`]: the vectors of a small collection, in memory too.
//! - [`collection`]: an open collection; [`shelf`]: which are open.
//!
//! All work blocks, so it runs beside the requests, on so many threads at a time as there are places for it.

mod codes;
mod collection;
mod file;
mod held;
mod rotation;
mod rows;
mod scan;
mod shelf;

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use artel_domain::InteractionId;
use artel_domain::memory::{Collection, Filter, Interaction};
use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::collection::Open;
use self::file::Place;
use self::shelf::{Missing, Shelf, Slot};
use super::{Entry, Error, Figures, Hit, Model, Result, Spot, VectorIndex, check_vector};

pub use self::shelf::Limits;

/// A rotation of fewer dimensions mixes nothing, and no model has more.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 8..=65_536;
/// Changes to different collections at a time; they mostly wait for the disk.
const WRITERS: usize = 16;

/// The vector store in a folder, which no other process uses.
#[derive(Debug)]
pub struct Embedded {
    folder: PathBuf,
    shelf: Arc<Shelf>,
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
}

impl Embedded {
    /// Uses this folder, and makes it when it is missing.
    pub fn open(folder: PathBuf, model: Model) -> Result<Self> {
        Self::open_within(folder, model, Limits::default())
    }

    pub fn open_within(folder: PathBuf, model: Model, limits: Limits) -> Result<Self> {
        if !DIMENSIONS.contains(&model.dimensions) {
            let Model { name, dimensions } = model;
            return Err(Error::Invalid(format!("{name} has {dimensions} dimensions")));
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .and_then(|()| std::fs::set_permissions(&folder, Permissions::from_mode(0o700)))
            .map_err(|error| file::unavailable(&error))?;
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Ok(Self {
            shelf: Arc::new(Shelf::new(folder.clone(), model, limits)),
            folder,
            reads: Arc::new(Semaphore::new(2 * cores)),
            writes: Arc::new(Semaphore::new(WRITERS)),
        })
    }

    /// Reads a collection; nothing when it has no entries.
    async fn read<T: Send + 'static>(
        &self,
        of: &Collection,
        work: impl FnOnce(&Shelf, &Open) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        let turn = turn(&self.reads).await?;
        let (shelf, slot) = (Arc::clone(&self.shelf), self.shelf.slot(of));
        let place = shelf.place(of);
        blocking(move || {
            let _turn = turn;
            shelf.with(&slot, place, Missing::Leave, |open| work(&shelf, open))
        })
        .await
    }

    /// Changes a collection; nothing when it has no entries and is to be left so.
    async fn write<T: Send + 'static>(
        &self,
        of: &Collection,
        missing: Missing,
        work: impl FnOnce(&Shelf, &Open) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        self.alone(of, move |shelf, slot, place| {
            shelf.with(slot, place, missing, |open| work(shelf, open))
        })
        .await
    }

    /// Does something with a collection that nobody else changes meanwhile.
    async fn alone<T: Send + 'static>(
        &self,
        of: &Collection,
        work: impl FnOnce(&Shelf, &Slot, Place) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (shelf, slot) = (Arc::clone(&self.shelf), self.shelf.slot(of));
        // First among those who change this collection, so that they do not hold the places of others.
        let turns = (turn(&slot.writing).await?, turn(&self.writes).await?);
        let place = shelf.place(of);
        blocking(move || {
            let _turns = turns;
            work(&shelf, &slot, place)
        })
        .await
    }
}

async fn turn(of: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
    // It is never closed.
    Arc::clone(of).acquire_owned().await.map_err(|error| Error::Unavailable(error.to_string()))
}

/// Work that was begun is done to its end, also when nobody waits for it any more.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::Unavailable(format!("the work broke off: {error}")))?
}

#[async_trait]
impl VectorIndex for Embedded {
    fn kind(&self) -> &'static str {
        "embedded"
    }

    fn model(&self) -> &Model {
        self.shelf.model()
    }

    async fn ping(&self) -> Result<()> {
        let folder = self.folder.clone();
        blocking(move || {
            let found = std::fs::metadata(&folder).map_err(|error| file::unavailable(&error))?;
            if found.is_dir() {
                Ok(())
            } else {
                Err(Error::Unavailable(format!("{} is not a folder", folder.display())))
            }
        })
        .await
    }

    async fn tidy(&self) -> Result<()> {
        let shelf = Arc::clone(&self.shelf);
        blocking(move || {
            shelf.close_idle();
            Ok(())
        })
        .await
    }

    async fn ensure(&self, of: &Collection) -> Result<bool> {
        // Vectors of another model are dropped when the file is opened, which is before anybody sees them.
        let (slot, place) = (self.shelf.slot(of), self.shelf.place(of));
        let turn = turn(&self.writes).await?;
        blocking(move || {
            let _turn = turn;
            Shelf::ensure(&slot, &place)
        })
        .await
    }

    async fn rename(&self, of: &Collection, name: &str) -> Result<()> {
        let name = name.to_owned();
        // Without entries it has no name of its own yet.
        self.write(of, Missing::Leave, move |_, open| open.rename(&name)).await.map(|_| ())
    }

    async fn remove(&self, of: &Collection) -> Result<()> {
        self.alone(of, |_, slot, place| Shelf::remove(slot, &place)).await
    }

    async fn put(&self, of: &Collection, entries: Vec<Entry>) -> Result<()> {
        for vector in entries.iter().filter_map(|entry| entry.vector.as_ref()) {
            check_vector(self.model(), vector)?;
        }
        self.write(of, Missing::Make, move |shelf, open| open.put(shelf.rotation(), &entries))
            .await
            .map(|_| ())
    }

    async fn search(
        &self,
        of: &Collection,
        vector: &[f32],
        filter: &Filter,
        top_k: usize,
    ) -> Result<Vec<Hit>> {
        check_vector(self.model(), vector)?;
        let (vector, filter) = (vector.to_vec(), *filter);
        let found = self
            .read(of, move |shelf, open| open.search(shelf.rotation(), &vector, &filter, top_k));
        Ok(found.await?.unwrap_or_default())
    }

    async fn waiting(&self, of: &Collection, limit: usize) -> Result<Vec<Interaction>> {
        Ok(self.read(of, move |_, open| open.waiting(limit)).await?.unwrap_or_default())
    }

    async fn give_vectors(
        &self,
        of: &Collection,
        vectors: Vec<(InteractionId, Vec<f32>)>,
    ) -> Result<()> {
        for (_, vector) in &vectors {
            check_vector(self.model(), vector)?;
        }
        let given = self.write(of, Missing::Leave, move |shelf, open| {
            open.give_vectors(shelf.rotation(), vectors)
        });
        given.await?;
        Ok(())
    }

    async fn page(
        &self,
        of: &Collection,
        filter: &Filter,
        after: Option<InteractionId>,
        limit: usize,
        vectors: bool,
    ) -> Result<Vec<Entry>> {
        let filter = *filter;
        let page = self.read(of, move |_, open| open.page(&filter, after, limit, vectors));
        Ok(page.await?.unwrap_or_default())
    }

    async fn newest(
        &self,
        of: &Collection,
        filter: &Filter,
        before: Option<Spot>,
        limit: usize,
    ) -> Result<Vec<Interaction>> {
        let filter = *filter;
        let newest = self.read(of, move |_, open| open.newest(&filter, before, limit));
        Ok(newest.await?.unwrap_or_default())
    }

    async fn figures(&self, of: &Collection, filter: &Filter) -> Result<Figures> {
        let filter = *filter;
        Ok(self.read(of, move |_, open| open.figures(&filter)).await?.unwrap_or_default())
    }

    async fn count(&self, of: &Collection) -> Result<u64> {
        if let Some(count) = self.shelf.slot(of).count_at_once() {
            return Ok(count);
        }
        Ok(self.read(of, |_, open| Ok(open.count())).await?.unwrap_or_default())
    }

    async fn forget(&self, of: &Collection, filter: &Filter) -> Result<u64> {
        let filter = *filter;
        if filter == Filter::default() {
            return self.alone(of, |shelf, slot, place| shelf.clear(slot, &place)).await;
        }
        let forgotten = self.write(of, Missing::Leave, move |_, open| open.forget(&filter));
        Ok(forgotten.await?.unwrap_or_default())
    }

    async fn forget_ids(&self, of: &Collection, ids: &[InteractionId]) -> Result<u64> {
        let ids = ids.to_vec();
        let forgotten = self.write(of, Missing::Leave, move |_, open| open.forget_ids(&ids));
        Ok(forgotten.await?.unwrap_or_default())
    }

    async fn trim(&self, of: &Collection, keep: u64) -> Result<u64> {
        let trimmed = self.write(of, Missing::Leave, move |_, open| open.trim(keep));
        Ok(trimmed.await?.unwrap_or_default())
    }
}
