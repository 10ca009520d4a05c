//! Which collections are open.
//!
//! A closed collection is a file and nothing else. It is opened by the first who asks for it, while others who ask
//! wait; it is closed when it was not used for a while, or when too many are open or they take too much memory, the
//! least recently used first. Whoever works with a collection holds its slot for reading, and whoever opens, closes
//! or removes it holds it for writing, so nothing is closed under anybody. All of this blocks and is called where
//! blocking is allowed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use artel_domain::AgentId;
use artel_domain::memory::Collection;
use tokio::sync::Semaphore;

use super::collection::Open;
use super::file::Place;
use super::rotation::Rotation;
use crate::vectors::{Error, Model, Result};

/// How much may be open.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub collections: usize,
    /// Of memory that their codes take, and their vectors where they are held.
    pub bytes: usize,
    /// What was not used for so long is closed.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { collections: 128, bytes: 512 << 20, idle: Duration::from_mins(1) }
    }
}

#[derive(Debug)]
pub(super) struct Shelf {
    folder: PathBuf,
    model: Model,
    rotation: Rotation,
    limits: Limits,
    began: Instant,
    slots: Mutex<HashMap<AgentId, Arc<Slot>>>,
}

/// The place of one collection, open or not.
#[derive(Debug)]
pub(super) struct Slot {
    open: RwLock<Option<Open>>,
    /// In milliseconds since the shelf began.
    used: AtomicU64,
    /// Of memory; nothing when it is closed.
    bytes: AtomicUsize,
    /// One change at a time. Those who wait for it wait without a thread.
    pub(super) writing: Arc<Semaphore>,
}

/// What to do with a collection that has no entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Leave,
    Make,
}

impl Shelf {
    pub(super) fn new(folder: PathBuf, model: Model, limits: Limits) -> Self {
        let rotation = Rotation::new(model.dimensions);
        let (began, slots) = (Instant::now(), Mutex::default());
        Self { folder, model, rotation, limits, began, slots }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    pub(super) fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    pub(super) fn place(&self, of: &Collection) -> Place {
        Place { path: self.folder.join(format!("{}.db", of.agent)), name: of.name.clone() }
    }

    pub(super) fn slot(&self, of: &Collection) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(of.agent).or_insert_with(|| {
            let writing = Arc::new(Semaphore::new(1));
            Arc::new(Slot {
                open: RwLock::default(),
                used: AtomicU64::default(),
                bytes: AtomicUsize::default(),
                writing,
            })
        });
        Arc::clone(slot)
    }

    /// Works with the collection, open. Gives nothing when it has no entries and is to be left so.
    pub(super) fn with<T>(
        &self,
        slot: &Slot,
        place: Place,
        missing: Missing,
        work: impl FnOnce(&Open) -> Result<T>,
    ) -> Result<Option<T>> {
        slot.used.store(self.now(), Ordering::Relaxed);
        let (open, fresh) = match slot.read() {
            open if open.is_some() => (open, false),
            closed => {
                drop(closed);
                let mut open = slot.write();
                if open.is_none() {
                    if missing == Missing::Make {
                        place.make()?;
                    } else if !place.has_entries()? {
                        return Ok(None);
                    }
                    *open = Some(Open::new(place, &self.model, &self.rotation)?);
                }
                (RwLockWriteGuard::downgrade(open), true)
            }
        };
        let done = open.as_ref().map(work).transpose();
        let bytes = open.as_ref().map_or(0, |open| open.bytes() + size_of::<Open>());
        let grown = slot.bytes.swap(bytes, Ordering::Relaxed) < bytes;
        drop(open);
        if let Err(Error::Unavailable(_) | Error::Damaged { .. }) = &done {
            // Whether the change took place is unknown, so what we hold may not be what is stored.
            slot.close(&mut slot.write());
        }
        if fresh || grown {
            self.close_surplus(slot);
        }
        done
    }

    /// Makes the collection when it is missing, and says whether it was.
    pub(super) fn ensure(slot: &Slot, place: &Place) -> Result<bool> {
        // Held, so that it is not removed meanwhile.
        let _open = slot.read();
        place.make()
    }

    pub(super) fn remove(slot: &Slot, place: &Place) -> Result<()> {
        let mut open = slot.write();
        slot.close(&mut open);
        place.remove()
    }

    /// Forgets everything: a file that begins anew gives all of its space back at once.
    pub(super) fn clear(&self, slot: &Slot, place: &Place) -> Result<u64> {
        let count = self.with(slot, place.clone(), Missing::Leave, |open| Ok(open.count()))?;
        if count.is_some() {
            let mut open = slot.write();
            slot.close(&mut open);
            // If we stop in between, the collection is missing, which is empty too.
            place.remove()?;
            place.make()?;
        }
        Ok(count.unwrap_or_default())
    }

    /// Closes what was not used for a while.
    pub(super) fn close_idle(&self) {
        let idle = u64::try_from(self.limits.idle.as_millis()).unwrap_or(u64::MAX);
        let now = self.now();
        for slot in self.open() {
            let rests = now.saturating_sub(slot.used.load(Ordering::Relaxed)) >= idle;
            // What large deletions left is given back now. It stays open for the next time while there is more.
            if rests && slot.read().as_ref().is_none_or(Open::give_back) {
                slot.try_close();
            }
        }
        self.forget_closed();
    }

    /// Closes what is more than the limits allow. What was used just now stays, however large it is.
    fn close_surplus(&self, current: &Slot) {
        self.close_idle();
        let mut open = self.open();
        open.sort_by_key(|slot| slot.used.load(Ordering::Relaxed));
        let mut count = open.len();
        let mut bytes: usize = open.iter().map(|slot| slot.bytes.load(Ordering::Relaxed)).sum();
        for slot in open {
            if count <= self.limits.collections && bytes <= self.limits.bytes {
                break;
            }
            let its = slot.bytes.load(Ordering::Relaxed);
            if !std::ptr::eq(&raw const *slot, current) && slot.try_close() {
                count -= 1;
                bytes = bytes.saturating_sub(its);
            }
        }
        self.forget_closed();
    }

    fn open(&self) -> Vec<Arc<Slot>> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let open = slots.values().filter(|slot| slot.bytes.load(Ordering::Relaxed) > 0);
        open.cloned().collect()
    }

    /// Slots that are closed and that nobody holds are not needed.
    fn forget_closed(&self) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, slot| {
            Arc::strong_count(slot) > 1 || slot.bytes.load(Ordering::Relaxed) > 0
        });
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Slot {
    /// How many entries it has, if it is open and that can be said without waiting.
    pub(super) fn count_at_once(&self) -> Option<u64> {
        self.open.try_read().ok()?.as_ref()?.count_at_once()
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<Open>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<Open>> {
        self.open.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, open: &mut Option<Open>) {
        *open = None;
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Closes it unless it is being used.
    fn try_close(&self) -> bool {
        let Ok(mut open) = self.open.try_write() else { return false };
        self.close(&mut open);
        true
    }
}
