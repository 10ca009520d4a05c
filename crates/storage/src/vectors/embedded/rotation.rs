//! A fixed random rotation, taken before a vector is reduced to the signs of its components.
//!
//! Embeddings have components of very different size, and a sign tells little of a large one. After the rotation all
//! are alike. It is made of sign flips and Walsh–Hadamard transforms of the leading and the trailing block whose
//! length is a power of two, so that any number of dimensions will do, nothing is padded, and lengths and angles
//! stay as they were. It must never change: the codes in the files were made with it (see `file::ENCODING`).

/// Flips and transforms of both blocks, so often.
const ROUNDS: usize = 3;
const SEED: u64 = 0x6172_7465_6c01;

#[derive(Debug)]
pub(super) struct Rotation {
    /// The length of the transformed blocks.
    block: usize,
    /// For every transform, 1 or -1 for every component.
    flips: Vec<Vec<f32>>,
}

impl Rotation {
    pub(super) fn new(dimensions: usize) -> Self {
        let block = if dimensions == 0 { 0 } else { 1 << dimensions.ilog2() };
        let mut state = SEED;
        let mut flip = || if mixed(&mut state) & 1 == 0 { 1.0 } else { -1.0 };
        let mut flips = Vec::new();
        for _ in 0..2 * ROUNDS {
            flips.push((0..dimensions).map(|_| flip()).collect());
        }
        Self { block, flips }
    }

    pub(super) fn turned(&self, vector: &[f32]) -> Vec<f32> {
        let mut turned = vector.to_vec();
        let tail = turned.len() - self.block;
        for (number, flips) in self.flips.iter().enumerate() {
            for (component, flip) in turned.iter_mut().zip(flips) {
                *component *= flip;
            }
            let start = if number % 2 == 0 { 0 } else { tail };
            transform(&mut turned[start..start + self.block]);
        }
        turned
    }
}

/// The Walsh–Hadamard transform, scaled so that lengths stay.
fn transform(block: &mut [f32]) {
    let mut half = 1;
    while half < block.len() {
        for pair in block.chunks_exact_mut(2 * half) {
            let (front, back) = pair.split_at_mut(half);
            for (a, b) in front.iter_mut().zip(back) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    #[expect(clippy::cast_precision_loss, reason = "a power of two is exact")]
    let scale = 1.0 / (block.len() as f32).sqrt();
    for component in block {
        *component *= scale;
    }
}

/// `SplitMix64`: the same numbers on every machine and for ever.
fn mixed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn lengths_and_angles_stay() {
        for dimensions in [8, 9, 15, 16, 48, 100, 384, 768, 1_000, 1_536] {
            let rotation = Rotation::new(dimensions);
            let vector = |at: usize| {
                let mut vector = vec![0.01; dimensions];
                vector[at] = 1.0;
                vector
            };
            let (a, b) = (vector(0), vector(dimensions - 1));
            let (turned_a, turned_b) = (rotation.turned(&a), rotation.turned(&b));
            assert!((dot(&turned_a, &turned_a) - dot(&a, &a)).abs() < 1e-3);
            assert!((dot(&turned_a, &turned_b) - dot(&a, &b)).abs() < 1e-3);
            if dimensions >= 100 {
                let largest =
                    turned_a.iter().fold(0.0_f32, |most, component| most.max(component.abs()));
                assert!(largest < 0.5, "{largest} of {dimensions} is not spread");
            }
        }
    }

    #[test]
    fn nothing_stays_nothing() {
        assert!(Rotation::new(48).turned(&[0.0; 48]).iter().all(|component| *component == 0.0));
    }
}
