//! Cuts texts into what the model can read at once.
//!
//! The model was trained on short passages and sees 256 tokens. A longer text becomes several windows of even size,
//! whose vectors are averaged later.

use std::path::Path;

use tokenizers::Tokenizer;

use super::super::Error;

/// Tokens of a window, with the two that mark its ends.
const WINDOW: usize = 256;
const MARKS: usize = 2;
const MAX_WINDOWS: usize = 8;
/// What is looked at of a text. Eight windows of any usual text are shorter.
const MAX_BYTES: usize = 32 * 1024;

/// A part of a text, as the model reads it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    /// Which of the texts.
    pub(super) text: usize,
    pub(super) tokens: Vec<u32>,
}

pub(super) struct Splitter {
    tokenizer: Tokenizer,
    start: u32,
    end: u32,
}

impl Splitter {
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        let mut tokenizer = Tokenizer::from_file(file).map_err(|error| error.to_string())?;
        // The file pads every text to 128 tokens and cuts it there.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
        let mark = |name: &str| {
            tokenizer.token_to_id(name).ok_or_else(|| format!("it has no token {name}"))
        };
        let (start, end) = (mark("[CLS]")?, mark("[SEP]")?);
        Ok(Self { tokenizer, start, end })
    }

    /// At least one window for each text.
    pub(super) fn all(&self, texts: &[String]) -> Result<Vec<Window>, Error> {
        let mut windows = Vec::with_capacity(texts.len());
        for (n, text) in texts.iter().enumerate() {
            let end = text.floor_char_boundary(MAX_BYTES);
            let encoded = self.tokenizer.encode_fast(&text[..end], false);
            let encoded = encoded.map_err(|error| {
                Error::lasting(format!("a text cannot be read by the local model: {error}"))
            })?;
            let tokens = encoded.get_ids();
            let tokens = &tokens[..tokens.len().min(MAX_WINDOWS * (WINDOW - MARKS))];
            let count = tokens.len().div_ceil(WINDOW - MARKS);
            if count == 0 {
                windows.push(self.window(n, &[]));
            } else {
                let parts = tokens.chunks(tokens.len().div_ceil(count));
                windows.extend(parts.map(|part| self.window(n, part)));
            }
        }
        Ok(windows)
    }

    fn window(&self, text: usize, inner: &[u32]) -> Window {
        let mut tokens = Vec::with_capacity(inner.len() + MARKS);
        tokens.push(self.start);
        tokens.extend_from_slice(inner);
        tokens.push(self.end);
        Window { text, tokens }
    }
}
