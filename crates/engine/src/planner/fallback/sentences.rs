//! The sentences of a request and the items of its lists.

use std::ops::Range;

use super::clauses::Request;
use super::tokens::Kind;
use super::vocabulary::{Mark, Meaning, Part, Sense};

#[derive(Debug)]
pub(super) struct Sentence {
    pub(super) tokens: Range<usize>,
    pub(super) place: Place,
    pub(super) asks: bool,
    /// Says that its parts run in parallel.
    pub(super) together: bool,
    /// Ends with a colon: what it speaks of follows.
    pub(super) continues: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Text,
    /// It begins an item of a list.
    Item,
    /// Behind the first sentence of an item.
    InItem,
}

pub(super) fn split(request: &Request<'_>) -> Vec<Sentence> {
    let tokens = &request.tokens;
    let mut sentences = Vec::new();
    let (mut start, mut place) = (0, Place::Text);
    for (at, token) in tokens.iter().enumerate() {
        let ends = match token.kind {
            Kind::Stop | Kind::Ask | Kind::Item => true,
            Kind::Line => line_ends(request, at),
            Kind::Word | Kind::Code | Kind::Prose | Kind::Quote | Kind::Comma | Kind::Colon => {
                false
            }
        };
        if ends {
            let asks = token.kind == Kind::Ask;
            sentences.extend(sentence(request, start..at, asks, place));
            if token.kind == Kind::Item {
                place = Place::Item;
            } else if token.kind == Kind::Line {
                place = Place::Text;
            } else if place == Place::Item {
                place = Place::InItem;
            }
            start = at + 1;
        }
    }
    sentences.extend(sentence(request, start..tokens.len(), false, place));
    sentences
}

/// Whether a new line begins something new, rather than going on in the middle of a sentence.
fn line_ends(request: &Request<'_>, at: usize) -> bool {
    let spoke = at.checked_sub(1).is_some_and(|before| request.tokens[before].kind.speaks());
    let Some(next) = request.tokens.get(at + 1) else { return true };
    let begins = next.kind == Kind::Word && {
        let small = request.text[next.start..].starts_with(char::is_lowercase);
        small && !request.senses[at + 1].iter().any(|sense| sense.mood.is_some())
    };
    // Code below a sentence belongs to it.
    !((spoke && begins) || matches!(next.kind, Kind::Code | Kind::Quote))
}

fn sentence(
    request: &Request<'_>,
    tokens: Range<usize>,
    asks: bool,
    place: Place,
) -> Option<Sentence> {
    let speaks = |at: &usize| request.tokens[*at].kind.speaks();
    let first = tokens.clone().find(speaks)?;
    let is_question = |sense: &Sense| matches!(sense.meaning, Meaning::Skill(Part::Question, _));
    let asks = asks || request.senses[first].iter().any(is_question);
    let together = is_together(request, &tokens, first);
    let last = tokens.clone().rev().find(|at| request.tokens[*at].kind != Kind::Line);
    let continues = last.is_some_and(|last| request.tokens[last].kind == Kind::Colon);
    Some(Sentence { tokens, place, asks, together, continues })
}

/// Between two clauses the words are about those two; at the beginning or the end about all of them.
fn is_together(request: &Request<'_>, tokens: &Range<usize>, first: usize) -> bool {
    let ends = |end: usize| (end..tokens.end).all(|at| !request.tokens[at].kind.speaks());
    let is_outside = |(at, len): (usize, usize)| at <= first + 2 || ends(at + len);
    let found = |at: usize| Some((at, request.mark(at, Mark::Together)?));
    tokens.clone().filter_map(found).any(is_outside)
}
