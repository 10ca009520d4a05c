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

use std::collections::HashMap;

use async_trait::async_trait;

use super::{Embedder, Error, Kind, normalise};

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
    // How often each feature comes, and what it weighs.
    let mut features: HashMap<u64, (f32, f32)> = HashMap::new();
    words::for_each(text, |feature, weight| {
        features.entry(feature).or_insert((0.0, weight)).0 += 1.0;
    });
    let mut vector = vec![0.0; DIMENSIONS];
    for (feature, (times, weight)) in features {
        // The tenth mention says less than the second.
        let value = weight * (1.0 + times.ln());
        for (place, sign) in places(feature) {
            vector[place] += sign * value;
        }
    }
    normalise(&mut vector);
    vector
}

/// Two places with their signs, from bits that no other of them uses.
fn places(feature: u64) -> [(usize, f32); 2] {
    let [a, b, c, d, e, ..] = feature.to_le_bytes();
    let place = |low: u8, high: u8| usize::from(u16::from_le_bytes([low, high])) % DIMENSIONS;
    let sign = |bit: u8| if e & bit == 0 { 1.0 } else { -1.0 };
    [(place(a, b), sign(1)), (place(c, d), sign(2))]
}
