//! What a person approves: this very call, in this very folder, with this very change.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The SHA-256 of everything that an approval is for, in hex. Server and client make it alike.
pub fn digest(
    tool: &str,
    arguments: &Map<String, Value>,
    folder: &str,
    base: Option<&str>,
    diff: Option<&str>,
) -> String {
    sum(json!([tool, arguments, folder, base, diff]).to_string().as_bytes())
}

/// The SHA-256 of some bytes, in hex.
pub(crate) fn sum(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}
