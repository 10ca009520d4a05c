//! What the laws are told with: collections of their own, entries that differ in one thing, and directions whose
//! inner products are known.

use std::collections::BTreeSet;

use artel_domain::memory::{Collection, Facts, Filter, Interaction, Kind};
use artel_domain::{AgentId, InteractionId, SystemClock, Timestamp};
use artel_storage::vectors::{Entry, Hit, VectorIndex};
use serde_json::Map;

/// The first moment of a day, so that days are easy to count from it.
pub(crate) const DAWN: i64 = 20_000 * DAY;
pub(crate) const DAY: i64 = 86_400_000_000;

/// A collection that no other test uses.
pub(crate) fn fresh(name: &str) -> Collection {
    let agent = AgentId::new(&SystemClock);
    Collection { agent, name: format!("user1_project{agent}_{name}_context") }
}

pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(DAWN + micros)
}

/// A good tool call at dawn, without a vector.
pub(crate) fn entry(text: &str) -> Entry {
    let metadata = Facts {
        kind: Kind::ToolCall,
        timestamp: at(0),
        success: true,
        task_id: None,
        error_details: None,
        request: None,
        other: Map::new(),
    };
    let id = InteractionId::new(&SystemClock);
    Entry { interaction: Interaction { id, text: text.to_owned(), metadata }, vector: None }
}

pub(crate) trait Changed: Sized {
    fn facts(self, change: impl FnOnce(&mut Facts)) -> Self;
    fn with(self, vector: Vec<f32>) -> Self;
}

impl Changed for Entry {
    fn facts(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        change(&mut self.interaction.metadata);
        self
    }

    fn with(self, vector: Vec<f32>) -> Self {
        Self { vector: Some(vector), ..self }
    }
}

/// Numbers that look random and are the same in every run (`SplitMix64`).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// About normally distributed: the sum of four even ones.
    pub(crate) fn normal(&mut self) -> f32 {
        let bits = self.number();
        let sum: u64 = (0..4).map(|part| (bits >> (16 * part)) & 0xffff).sum();
        #[expect(clippy::cast_precision_loss, reason = "18 bits")]
        let centred = sum as f32 / 65_536.0 - 2.0;
        centred * 1.732
    }

    pub(crate) fn direction(&mut self, dimensions: usize) -> Vec<f32> {
        unit((0..dimensions).map(|_| self.normal()).collect())
    }
}

pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = dot(&vector, &vector).sqrt();
    for component in &mut vector {
        *component /= norm;
    }
    vector
}

/// A direction whose inner product with `leaning(index, 1.0)` is `cosine`.
pub(crate) fn leaning(index: &dyn VectorIndex, cosine: f32) -> Vec<f32> {
    let mut dice = Dice(1);
    let ahead = dice.direction(index.model().dimensions);
    let aside = dice.direction(index.model().dimensions);
    let shared = dot(&ahead, &aside);
    let aside = unit(aside.iter().zip(&ahead).map(|(b, a)| b - shared * a).collect());
    let sine = (1.0 - cosine * cosine).sqrt();
    unit(ahead.iter().zip(&aside).map(|(a, b)| cosine * a + sine * b).collect())
}

/// What a search for `leaning(index, 1.0)` finds.
pub(crate) async fn found(
    index: &dyn VectorIndex,
    of: &Collection,
    filter: &Filter,
    top_k: usize,
) -> Vec<Hit> {
    index.search(of, &leaning(index, 1.0), filter, top_k).await.unwrap()
}

/// The texts of what a search finds, best first.
pub(crate) async fn texts(
    index: &dyn VectorIndex,
    of: &Collection,
    filter: &Filter,
) -> Vec<String> {
    found(index, of, filter, 100).await.into_iter().map(|hit| hit.interaction.text).collect()
}

/// The texts of all entries, whether they wait or not.
pub(crate) async fn kept(
    index: &dyn VectorIndex,
    of: &Collection,
    filter: &Filter,
) -> BTreeSet<String> {
    let page = index.page(of, filter, None, 1_000, false).await.unwrap();
    page.into_iter().map(|entry| entry.interaction.text).collect()
}

pub(crate) fn set<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.into_iter().map(str::to_owned).collect()
}

pub(crate) fn interactions(entries: &[Entry]) -> Vec<Interaction> {
    entries.iter().map(|entry| entry.interaction.clone()).collect()
}
