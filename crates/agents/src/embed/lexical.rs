//! Vectors from words alone: no model, no network, no files.
//!
//! Every word, its stem and the pieces of its stem are features; each is hashed to two places of a vector of 512 with
//! a sign of its own, so that features which share a place do not add up. Texts that share rare words come out near
//! each other in any language, whatever they mean. It finds what models overlook: numbers, error codes, names of code,
//! and languages they never learnt.
//!
//! Stored vectors must still fit after an update, so hashes and tables are written out here, and any change to what
//! comes out is a change of [`NAME`].

mod stems;
mod words;

use async_trait::async_trait;

use super::{Embedder, Error, Kind, normalise};

pub use stems::{is_stop, stem};

pub const NAME: &str = "lexical-1";
pub const DIMENSIONS: usize = 512;

/// What is looked at of a text. After so much, what it is about is known.
const MAX_BYTES: usize = 64 * 1024;

/// The embedder of last resort, and one half of the local one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lexical;

#[async_trait]
impl Embedder for Lexical {
    fn name(&self) -> &'static str {
        NAME
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn kind(&self) -> Kind {
        Kind::Lexical
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

/// The vector of a text.
pub fn vector(text: &str) -> Vec<f32> {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let mut features: Vec<(u64, f32)> = Vec::with_capacity(text.len());
    words::for_each(text, |feature, weight| features.push((feature, weight)));
    // In a fixed order, since sums of floats depend on it, and equal texts have equal vectors.
    features.sort_unstable_by_key(|(feature, _)| *feature);
    let mut vector = vec![0.0; DIMENSIONS];
    for same in features.chunk_by(|a, b| a.0 == b.0) {
        let weight = same.iter().map(|(_, weight)| *weight).fold(0.0, f32::max);
        #[expect(clippy::cast_precision_loss, reason = "its logarithm is taken")]
        let times = same.len() as f32;
        // The tenth mention says less than the second.
        let value = weight * (1.0 + times.ln());
        for (place, sign) in places(same[0].0) {
            vector[place] += sign * value;
        }
    }
    normalise(&mut vector);
    vector
}

/// Two places with their signs, from bits that no other of them uses.
fn places(feature: u64) -> [(usize, f32); 2] {
    let [low, high, other_low, other_high, signs, ..] = feature.to_le_bytes();
    let place = |low: u8, high: u8| usize::from(u16::from_le_bytes([low, high])) % DIMENSIONS;
    let sign = |bit: u8| if signs & bit == 0 { 1.0 } else { -1.0 };
    [(place(low, high), sign(1)), (place(other_low, other_high), sign(2))]
}
