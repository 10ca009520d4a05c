//! Takes a text apart into weighted features.
//!
//! There are no statistics of a corpus here, so a word's weight is guessed from its looks: what looks like a number, a
//! name or a piece of code is rare, and says most. A word gives its stem; words that are not numbers give the trigrams
//! of it as well, so that mistyped and unforeseen forms are found too. Names of code give themselves and their parts.
//!
//! The weights were chosen by `tests/retrieval.rs`. They are not delicate: each of them may be off by a third.

use super::stems;

const WORD: f32 = 1.0;
/// For each letter over the usual number, up to some.
const LONG: f32 = 0.03;
const USUAL_LETTERS: usize = 4;
const MOST_LETTERS: usize = 12;
const NUMBER: f32 = 1.3;
const DIGIT: f32 = 0.6;
/// `total_minor`, `LimitNOFILE`, `W0090`.
const IDENTIFIER: f32 = 2.2;
/// `15.4`, `2023-11-06`, `ERR-17`.
const COMPOUND: f32 = 1.6;
/// `HTTP`, in a text that is not written like that as a whole.
const CAPITALS: f32 = 1.6;
/// The factor of a word with a capital letter where no sentence begins.
const CAPITALISED: f32 = 1.3;
/// The factor of a word in another script than the text's, which is a name as a rule.
const FOREIGN: f32 = 1.5;
/// The factor of a part of an identifier.
const PART: f32 = 0.6;
/// The factor of what says nothing by itself, where it has to count.
const FAINT: f32 = 0.3;
/// The factor of a trigram of a word.
const TRIGRAM: f32 = 0.4;

/// Calls back with the hash and the weight of each feature, as often as it comes.
pub(super) fn for_each(text: &str, mut feature: impl FnMut(u64, f32)) {
    let mut reader = Reader { manner: Manner::of(text), with_stops: false, feature: &mut feature };
    if reader.read(text) {
        return;
    }
    // A text of nothing but common words is about those.
    reader.with_stops = true;
    if !reader.read(text) && !text.trim().is_empty() {
        feature(hash('?', text.trim().chars()), WORD);
    }
}

/// How the text is written as a whole.
#[derive(Clone, Copy)]
struct Manner {
    cyrillic: bool,
    shouting: bool,
}

impl Manner {
    fn of(text: &str) -> Self {
        let (mut cyrillic, mut latin, mut small) = (0_usize, 0_usize, 0_usize);
        for c in text.chars() {
            cyrillic += usize::from(is_cyrillic(c));
            latin += usize::from(c.is_ascii_alphabetic());
            small += usize::from(c.is_lowercase());
        }
        // Russian texts about software are full of Latin names.
        Self { cyrillic: cyrillic * 2 > latin, shouting: small == 0 }
    }
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

struct Reader<'a, F> {
    manner: Manner,
    with_stops: bool,
    feature: &'a mut F,
}

impl<F: FnMut(u64, f32)> Reader<'_, F> {
    /// Whether there was anything.
    fn read(&mut self, text: &str) -> bool {
        let mut found = false;
        let mut first = true;
        for chunk in text.split(|c: char| c.is_whitespace()) {
            self.compound(chunk);
            for raw in chunk.split(|c: char| !c.is_alphanumeric() && c != '_') {
                let raw = raw.trim_matches('_');
                if !raw.is_empty() {
                    found |= self.raw(raw, first);
                    first = false;
                }
            }
            first |= chunk.ends_with(['.', '!', '?', ':']);
        }
        found
    }

    /// A word as it stands between marks.
    fn raw(&mut self, raw: &str, first: bool) -> bool {
        let parts: Vec<&str> = parts(raw).collect();
        if parts.len() < 2 {
            return self.word(raw, first, 1.0, false);
        }
        let whole = small(raw);
        (self.feature)(hash('w', whole.chars()), IDENTIFIER);
        for part in parts {
            self.word(part, false, PART, true);
        }
        true
    }

    fn word(&mut self, raw: &str, first: bool, factor: f32, in_identifier: bool) -> bool {
        let word = small(raw);
        let stop = stems::is_stop(&word);
        if stop && !self.with_stops && !in_identifier {
            return false;
        }
        let letters = word.chars().count();
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        let mut weight = match () {
            () if digits && letters == 1 => DIGIT,
            () if digits => NUMBER,
            () => {
                let long = letters.clamp(USUAL_LETTERS - 2, MOST_LETTERS);
                #[expect(clippy::cast_precision_loss, reason = "at most 12")]
                let over = long as f32 - USUAL_LETTERS as f32;
                WORD + LONG * over
            }
        };
        if !digits {
            let is_upper = |c: char| c.is_uppercase();
            if letters > 1 && !self.manner.shouting && raw.chars().all(is_upper) {
                weight = CAPITALS;
            }
            let cyrillic = word.starts_with(is_cyrillic);
            if cyrillic != self.manner.cyrillic && (cyrillic || word.is_ascii()) {
                weight *= FOREIGN;
            }
            if !first && !self.manner.shouting && raw.starts_with(is_upper) {
                weight *= CAPITALISED;
            }
        }
        if stop || (letters == 1 && !digits) {
            weight *= FAINT;
        }
        weight *= factor;
        let stem = stems::stem(&word);
        (self.feature)(hash('w', stem.chars()), weight);
        if !digits {
            self.trigrams(stem, weight * TRIGRAM);
        }
        true
    }

    /// With a mark where the word begins: beginnings say more, and so count once more.
    fn trigrams(&mut self, stem: &str, weight: f32) {
        let (mut a, mut b) = ('\0', '^');
        for (n, c) in stem.chars().enumerate() {
            if n > 0 {
                (self.feature)(hash('g', [a, b, c]), weight);
            }
            (a, b) = (b, c);
        }
    }

    /// Numbers and codes that are written in several parts without spaces.
    fn compound(&mut self, chunk: &str) {
        let chunk = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        let several = chunk.contains(|c: char| !c.is_alphanumeric() && c != '_');
        if several && chunk.contains(|c: char| c.is_ascii_digit()) {
            (self.feature)(hash('c', small(chunk).chars()), COMPOUND);
        }
    }
}

/// The parts of a name of code: `LimitNOFILE` is `Limit` and `NOFILE`, `HTTPServer2` is `HTTP`, `Server` and `2`.
fn parts(raw: &str) -> impl Iterator<Item = &str> {
    raw.split('_').filter(|part| !part.is_empty()).flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            let end = first_part(rest);
            let (part, after) = rest.split_at(end);
            rest = after;
            (!part.is_empty()).then_some(part)
        })
    })
}

/// Where the first part ends.
fn first_part(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, c)) = chars.next() {
        if let Some(before) = before {
            let next_is_small = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            let breaks = before.is_numeric() != c.is_numeric()
                || (before.is_lowercase() && c.is_uppercase())
                || (before.is_uppercase() && c.is_uppercase() && next_is_small);
            if breaks {
                return at;
            }
        }
        before = Some(c);
    }
    text.len()
}

/// In small letters, and ё as е, as most people write it.
fn small(word: &str) -> String {
    let mut small = word.to_lowercase();
    if small.contains('ё') {
        small = small.replace('ё', "е");
    }
    small
}

/// FNV-1a with a last stir, since its low bits alone are poor. The kind keeps a word from meeting a trigram.
fn hash(kind: char, text: impl IntoIterator<Item = char>) -> u64 {
    let add = |hash: u64, c: char| (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3);
    let hash = text.into_iter().fold(add(0xcbf2_9ce4_8422_2325, kind), add);
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_have_parts() {
        for (name, expected) in [
            ("total_minor", &["total", "minor"][..]),
            ("LimitNOFILE", &["Limit", "NOFILE"]),
            ("HTTPServer2", &["HTTP", "Server", "2"]),
            ("W0090", &["W", "0090"]),
            ("plain", &["plain"]),
            ("названиеПоля", &["название", "Поля"]),
            ("__init__", &["init"]),
        ] {
            assert_eq!(parts(name).collect::<Vec<_>>(), expected);
        }
    }
}
