//! Memories to search, made from their numbers: clustered unit vectors, so that neighbours are close but not the same.

use artel_domain::memory::{Facts, Filter, Interaction, Kind};
use artel_domain::{InteractionId, Timestamp};
use artel_storage::vectors::Entry;

/// Vectors around one centre.
const PER_CLUSTER: usize = 100;
/// How far they are from it.
const SPREAD: f32 = 0.8;
const DAY: i64 = 86_400_000_000;
const NOW: i64 = 20_000 * DAY;
/// Over how many days they are spread.
const DAYS: usize = 100;

/// Which part is searched.
pub(super) struct Part {
    pub(super) name: &'static str,
    kind: Option<Kind>,
    success: Option<bool>,
    days: Option<i64>,
}

pub(super) const FILTERS: [Part; 4] = [
    Part { name: "no filter", kind: None, success: None, days: None },
    Part { name: "type, 30 %", kind: Some(Kind::ToolCall), success: None, days: None },
    Part { name: "time and success, 27 %", kind: None, success: Some(true), days: Some(30) },
    Part { name: "rare, 0.4 %", kind: Some(Kind::UserMessage), success: None, days: None },
];

impl Part {
    pub(super) fn filter(&self) -> Filter {
        Filter {
            kind: self.kind,
            success: self.success,
            from: self.days.map(|days| Timestamp::from_micros(NOW - days * DAY)),
            to: None,
            task: None,
        }
    }
}

pub(super) struct Data {
    pub(super) number: usize,
    pub(super) dimensions: usize,
    clusters: usize,
}

impl Data {
    pub(super) fn new(number: usize, dimensions: usize) -> Self {
        Self { number, dimensions, clusters: number.div_ceil(PER_CLUSTER) }
    }

    pub(super) fn vector(&self, at: usize) -> Vec<f32> {
        self.around(at % self.clusters, at as u64 + 1)
    }

    /// Something near a cluster, and not in it.
    pub(super) fn query(&self, number: usize) -> Vec<f32> {
        self.around(number * 7919 % self.clusters, u64::MAX - number as u64)
    }

    fn around(&self, cluster: usize, seed: u64) -> Vec<f32> {
        let centre = unit(self.dimensions, (cluster as u64) << 40 | 1);
        let own = unit(self.dimensions, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        normalised(centre.iter().zip(own).map(|(centre, own)| centre + SPREAD * own).collect())
    }

    pub(super) fn entry(&self, at: usize) -> Entry {
        let text = format!(
            "Memory number {at}: the tests of the shop need Redis on port {}.",
            at % 65_536
        );
        let interaction = Interaction { id: id(at), text, metadata: facts(at) };
        Entry { interaction, vector: Some(self.vector(at)) }
    }

    /// The true neighbours of the first queries under each filter, by going through everything.
    pub(super) fn nearest(&self, queries: usize, top: usize) -> Vec<Vec<Vec<usize>>> {
        let vectors: Vec<_> = (0..queries).map(|query| self.query(query)).collect();
        let mut best = vec![vec![Vec::<(f32, usize)>::new(); queries]; FILTERS.len()];
        for at in 0..self.number {
            let (vector, facts) = (self.vector(at), facts(at));
            let admitted: Vec<_> =
                FILTERS.iter().map(|part| part.filter().admits(&facts)).collect();
            for (query, asked) in vectors.iter().enumerate() {
                let score = dot(asked, &vector);
                for (best, _) in best.iter_mut().zip(&admitted).filter(|(_, admitted)| **admitted) {
                    let best = &mut best[query];
                    if best.len() == top && best.last().is_some_and(|last| last.0 >= score) {
                        continue;
                    }
                    let place = best.partition_point(|one| one.0 >= score);
                    best.insert(place, (score, at));
                    best.truncate(top);
                }
            }
        }
        let places = |best: Vec<(f32, usize)>| best.into_iter().map(|(_, at)| at).collect();
        best.into_iter().map(|part| part.into_iter().map(places).collect()).collect()
    }
}

/// The id of the memory of that number.
pub(super) fn id(at: usize) -> InteractionId {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&(at as u64).to_be_bytes());
    InteractionId::from_bytes(bytes)
}

/// What is known of it.
pub(super) fn facts(at: usize) -> Facts {
    // Spread evenly, and apart from the clusters.
    let place = at.wrapping_mul(2_654_435_761) >> 7;
    let kind = match place % 1000 {
        0..4 => Kind::UserMessage,
        4..304 => Kind::ToolCall,
        304..650 => Kind::AgentResponse,
        _ => Kind::TaskExecution,
    };
    let day = i64::try_from(place / 1000 % DAYS).unwrap_or(0);
    Facts {
        kind,
        timestamp: Timestamp::from_micros(NOW - day * DAY),
        success: !(place / 100_000).is_multiple_of(10),
        task_id: None,
        error_details: None,
        request: None,
        other: serde_json::Map::new(),
    }
}

/// A direction that follows from the seed.
fn unit(dimensions: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        // SplitMix64: short, and good enough to be spread evenly.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    // The sum of a few even numbers is nearly normal.
    let component =
        |bits: u64| (0..4).map(|at| (bits >> (16 * at) & 0xffff) as f32).sum::<f32>() - 131_070.0;
    normalised((0..dimensions).map(|_| component(next())).collect())
}

fn normalised(mut vector: Vec<f32>) -> Vec<f32> {
    let length = dot(&vector, &vector).sqrt();
    for component in &mut vector {
        *component /= length;
    }
    vector
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = (a.chunks_exact(16), b.chunks_exact(16));
    let mut lanes = [0.0_f32; 16];
    for (a, b) in a.zip(b) {
        for lane in 0..16 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum()
}
