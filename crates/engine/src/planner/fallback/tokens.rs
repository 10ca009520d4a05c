//! Takes a request apart into words and marks.
//!
//! What a person quoted and what is code is one token, whatever stands in it, and a dot within a name ends no sentence.

/// How far the end of a quotation is looked for.
const LONGEST_QUOTE: usize = 2_000;
const FENCE: &str = "```";
const ABBREVIATIONS: [&str; 12] =
    ["e.g.", "i.e.", "etc.", "vs.", "т.е.", "т.д.", "т.п.", "т.к.", "др.", "напр.", "см.", "пр."];
const PROSE: [&str; 9] = ["md", "txt", "rst", "doc", "docx", "pdf", "adoc", "odt", "tex"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// In small letters, ё as е.
    pub(super) word: String,
    /// Where it stands in the text, in bytes.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Written with a capital letter, or in Latin letters: perhaps a name.
    pub(super) name: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// A file of code, a path, a name of code or a piece of it.
    Code,
    /// A file of prose.
    Prose,
    Quote,
    /// The end of a sentence.
    Stop,
    /// The end of a question.
    Ask,
    /// A comma, a dash.
    Comma,
    Colon,
    Line,
    /// The mark before an item of a list.
    Item,
}

impl Kind {
    /// Whether it says something, rather than how the rest hangs together.
    pub(super) const fn speaks(self) -> bool {
        matches!(self, Self::Word | Self::Code | Self::Prose | Self::Quote)
    }
}

pub(super) fn read(text: &str) -> Vec<Token> {
    let mut reader = Reader { text, tokens: Vec::new() };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        at = match c {
            '\n' => reader.mark(Kind::Line, at, at + 1),
            c if c.is_whitespace() || c.is_control() => at + c.len_utf8(),
            c => match reader.quoted(at, c) {
                Some(end) => end,
                None => reader.chunk(at),
            },
        };
    }
    reader.tokens
}

/// In small letters, and ё as е, as most people write it.
pub(super) fn small(word: &str) -> String {
    word.to_lowercase().replace('ё', "е").replace('’', "'")
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
}

impl Reader<'_> {
    fn mark(&mut self, kind: Kind, start: usize, end: usize) -> usize {
        self.tokens.push(Token { kind, word: String::new(), start, end, name: false });
        end
    }

    /// The end of what is quoted from here, if it is a quotation and ends.
    fn quoted(&mut self, at: usize, c: char) -> Option<usize> {
        let rest = &self.text[at..];
        if let Some(code) = rest.strip_prefix(FENCE) {
            let end = code.find(FENCE).map_or(rest.len(), |end| end + 2 * FENCE.len());
            return Some(self.mark(Kind::Code, at, at + end));
        }
        let (close, kind) = match c {
            '`' => ('`', Kind::Code),
            '"' => ('"', Kind::Quote),
            '«' => ('»', Kind::Quote),
            '“' => ('”', Kind::Quote),
            '„' => ('“', Kind::Quote),
            _ => return None,
        };
        let inside = &rest[c.len_utf8()..];
        let inside = &inside[..inside.floor_char_boundary(LONGEST_QUOTE)];
        let end = inside.find(close)?;
        Some(self.mark(kind, at, at + c.len_utf8() + end + close.len_utf8()))
    }

    /// Reads up to the next space and returns where that is.
    fn chunk(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let end = at + rest.find(char::is_whitespace).unwrap_or(rest.len());
        let chunk = &self.text[at..end];
        if self.is_item(chunk) {
            return self.mark(Kind::Item, at, end);
        }
        let is_edge = |c: char| !c.is_alphanumeric() && c != '_';
        let trimmed = chunk.trim_start_matches(is_edge);
        let start = end - trimmed.len();
        let word = trimmed.trim_end_matches(is_edge);
        if word.is_empty() {
            return match chunk {
                "&" => self.word("&", at, end),
                _ => self.marks(chunk, at, end),
            };
        }
        // A word right behind a mark, as in `first,second`, is left together: more often it is code.
        let after = start + word.len();
        self.word(word, start, after);
        let tail = &self.text[after..end];
        let whole = small(&self.text[start..end]);
        if !ABBREVIATIONS.contains(&whole.as_str()) {
            self.marks(tail, after, end);
        }
        end
    }

    fn is_item(&self, chunk: &str) -> bool {
        let fresh = self.tokens.last().is_none_or(|last| !last.kind.speaks());
        if matches!(chunk, "-" | "*" | "•" | "–" | "—" | "+") {
            return self.tokens.last().is_none_or(|last| last.kind == Kind::Line);
        }
        let number = chunk.trim_end_matches(['.', ')']);
        let is_number =
            (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
        is_number && number.len() < chunk.len() && (fresh || chunk.ends_with(')'))
    }

    fn word(&mut self, word: &str, start: usize, end: usize) -> usize {
        let kind = kind_of(word);
        let name = word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_alphabetic());
        self.tokens.push(Token { kind, word: small(word), start, end, name });
        end
    }

    /// What the marks behind a word, or between words, mean together.
    fn marks(&mut self, marks: &str, start: usize, end: usize) -> usize {
        let kind = if marks.contains('?') {
            Kind::Ask
        } else if marks.contains(['.', '!', '…', ';']) {
            Kind::Stop
        } else if marks.contains(':') {
            Kind::Colon
        } else if marks.contains([',', '–', '—', '-', '(', ')', '→', '>']) {
            Kind::Comma
        } else {
            return end;
        };
        self.mark(kind, start, end)
    }
}

fn kind_of(word: &str) -> Kind {
    let is_letter = |c: char| c.is_alphabetic();
    if ABBREVIATIONS.iter().any(|known| known.strip_suffix('.') == Some(word)) {
        return Kind::Word;
    }
    if let Some((stem, ending)) = word.rsplit_once('.') {
        let fits =
            (1..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric());
        if fits && stem.contains(is_letter) && ending.contains(is_letter) {
            let ending = ending.to_ascii_lowercase();
            return if PROSE.contains(&ending.as_str()) { Kind::Prose } else { Kind::Code };
        }
    }
    let is_path = word.contains('/') && word.bytes().filter(u8::is_ascii_alphanumeric).count() > 4;
    let is_identifier = word.contains('_') || word.contains("::") || word.contains("()");
    if (is_path && !word.contains("://")) || (is_identifier && word.contains(is_letter)) {
        return Kind::Code;
    }
    Kind::Word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        read(text).into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn names_and_quotations_are_one_token() {
        use Kind::{Code, Comma, Item, Line, Prose, Quote, Stop, Word};
        assert_eq!(kinds("fix src/main.rs. Then"), [Word, Code, Stop, Word]);
        assert_eq!(kinds("Python 3.13, e.g. auth.py"), [Word, Word, Comma, Word, Code]);
        assert_eq!(kinds("«а. б» \"c, d\" `e; f`"), [Quote, Quote, Code]);
        assert_eq!(kinds("- a\n2) README.md"), [Item, Word, Line, Item, Prose]);
        assert_eq!(kinds("\"never closed"), [Word, Word]);
        assert_eq!(kinds("```\nx. y\n"), [Code]);
    }

    #[test]
    fn words_are_small() {
        assert_eq!(read("Отчёт")[0].word, "отчет");
        assert_eq!(read("don’t")[0].word, "don't");
    }
}
