//! Takes a text apart into the features that are hashed.

use super::stems;

/// Calls back with the hash and the weight of each feature, as often as it comes.
pub(super) fn for_each(text: &str, mut feature: impl FnMut(u64, f32)) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        feature(hash(stems::stem(&word)), 1.0);
    }
}

/// FNV-1a with a last stir, since its low bits alone are poor.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}
