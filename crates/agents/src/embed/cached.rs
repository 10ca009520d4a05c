//! Remembers vectors, since the same questions are asked again and again, and a service takes money for each.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use moka::future::Cache;
use sha2::{Digest, Sha256};

use super::{Embedder, Error, Kind};

const ENTRIES: u64 = 10_000;
/// What all vectors together may take; large ones are fewer.
const BYTES: u64 = 32 * 1024 * 1024;

/// A text's hash: it is short, and cannot be made to clash.
type Key = [u8; 32];

/// An embedder with a memory.
#[derive(Debug)]
pub(super) struct Cached<E> {
    inner: E,
    known: Cache<Key, Arc<[f32]>>,
}

impl<E: Embedder> Cached<E> {
    pub(super) fn new(inner: E) -> Self {
        let each = u64::try_from(inner.dimensions() * size_of::<f32>()).unwrap_or(BYTES).max(1);
        let known = Cache::new(ENTRIES.min(BYTES / each));
        Self { inner, known }
    }
}

#[async_trait]
impl<E: Embedder> Embedder for Cached<E> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn kind(&self) -> Kind {
        self.inner.kind()
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let keys: Vec<Key> =
            texts.iter().map(|text| Sha256::digest(text.as_bytes()).into()).collect();
        let mut found: HashMap<Key, Arc<[f32]>> = HashMap::with_capacity(keys.len());
        let mut missing: Vec<(Key, String)> = Vec::new();
        for (key, text) in keys.iter().zip(texts) {
            if found.contains_key(key) {
                continue;
            }
            if let Some(vector) = self.known.get(key).await {
                found.insert(*key, vector);
            } else {
                // Holds the place, so that a text that comes twice is asked for once.
                found.insert(*key, Arc::default());
                missing.push((*key, text.clone()));
            }
        }
        let (asked, unknown): (Vec<Key>, Vec<String>) = missing.into_iter().unzip();
        if !unknown.is_empty() {
            let made = self.inner.embed(&unknown).await?;
            for (key, vector) in asked.into_iter().zip(made) {
                let vector: Arc<[f32]> = vector.into();
                self.known.insert(key, Arc::clone(&vector)).await;
                found.insert(key, vector);
            }
        }
        Ok(keys.iter().map(|key| found[key].to_vec()).collect())
    }
}
