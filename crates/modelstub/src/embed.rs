//! Embeddings: `POST /v1/embeddings`.
//!
//! A text becomes the sum of a direction for each of its words, made to length 1. The same words
//! give the same vector, many words in common give near ones; meaning has no part in it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::wire::error::Refusal;
use crate::wire::estimate;

const DEFAULT_SIZE: u64 = 1536;
const MAX_SIZE: u64 = 4096;
const MAX_INPUTS: usize = 2048;

/// The answer to such a request, or why there is none.
pub(crate) fn answer(body: &Value) -> Result<Value, Refusal> {
    let refuse = |message: &str| Refusal::new(400, message);
    let model =
        body["model"].as_str().ok_or_else(|| refuse("you must provide a model parameter"))?;
    let inputs = inputs(&body["input"]).ok_or_else(|| {
        refuse("'$.input' is invalid: a text, or a list of 1 to 2048 texts, none empty")
    })?;
    let size = match body.get("dimensions") {
        None => DEFAULT_SIZE,
        Some(size) => size
            .as_u64()
            .filter(|size| (1..=MAX_SIZE).contains(size))
            .ok_or_else(|| refuse("'$.dimensions' is invalid"))?,
    };
    let encode = match body["encoding_format"].as_str() {
        None | Some("float") => |vector: Vec<f32>| json!(vector),
        Some("base64") => |vector: Vec<f32>| {
            let bytes: Vec<u8> = vector.into_iter().flat_map(f32::to_le_bytes).collect();
            json!(STANDARD.encode(bytes))
        },
        Some(_) => return Err(refuse("'$.encoding_format' is invalid")),
    };
    let entry = |(index, text): (usize, &&str)| {
        let embedding = encode(vector(text, size));
        json!({"object": "embedding", "index": index, "embedding": embedding})
    };
    let tokens: u64 = inputs.iter().map(|text| estimate(text)).sum();
    Ok(json!({
        "object": "list",
        "data": inputs.iter().enumerate().map(entry).collect::<Vec<_>>(),
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }))
}

fn inputs(input: &Value) -> Option<Vec<&str>> {
    let texts: Vec<&str> = match input {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().map(Value::as_str).collect::<Option<_>>()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let sound =
        (1..=MAX_INPUTS).contains(&texts.len()) && texts.iter().all(|text| !text.is_empty());
    sound.then_some(texts)
}

fn vector(text: &str, size: u64) -> Vec<f32> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut sum = vec![0.0_f32; usize::try_from(size).unwrap_or_default()];
    for word in words {
        add_direction(&mut sum, &word.to_lowercase());
    }
    // A text without words, or whose words cancel each other out, has a direction too.
    if sum.iter().all(|x| *x == 0.0) {
        add_direction(&mut sum, text);
    }
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    sum.iter().map(|x| x / length).collect()
}

/// Random numbers with the word as their seed: two words are nearly at right angles. Written out
/// (splitmix64), as vectors that were stored must still fit after an update of some library.
fn add_direction(sum: &mut [f32], word: &str) {
    let mut state = hash(word);
    for x in sum {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let [low, high, ..] = mixed.to_be_bytes();
        *x += f32::from(u16::from_be_bytes([low, high])) / 32768.0 - 1.0;
    }
}

/// FNV-1a, for the same reason.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
