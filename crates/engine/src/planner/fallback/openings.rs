//! Where the clauses of a sentence begin.
//!
//! A verb that commands begins one, if it stands at the beginning or behind a comma or a conjunction. Most of this is
//! about what only looks like that: nouns that could be verbs, and verbs of what a clause speaks of.

use std::ops::Range;

use artel_agents::embed::lexical;

use super::clauses::{Link, Request};
use super::sentences::Sentence;
use super::tokens::{Kind, Token};
use super::vocabulary::{Mark, Meaning, Mood, Part, Sense};

/// What may stand before the verb of a clause.
const SKIPPED: [Mark; 9] = [
    Mark::After,
    Mark::First,
    Mark::Beside,
    Mark::Together,
    Mark::Steps,
    Mark::Joins,
    Mark::BeforeVerb,
    Mark::AfterVerb,
    Mark::Polite,
];
/// Of those, what may stand between two clauses.
const JOINTS: [Mark; 6] =
    [Mark::Joins, Mark::After, Mark::Beside, Mark::Together, Mark::BeforeVerb, Mark::AfterVerb];
/// English words that stand between "and" and an article without being verbs; the common ones are known as such.
#[rustfmt::skip]
const NO_VERBS: [&str; 14] = [
    "without", "within", "across", "inside", "against", "via", "per", "like", "even", "maybe",
    "perhaps", "including", "onto", "around",
];

/// How a clause opens.
#[derive(Debug, Default)]
pub(super) struct Opening {
    /// How it is joined to what comes before, as far as that is said.
    pub(super) link: Option<Link>,
    /// Some conjunction, rather than a comma alone.
    joined: bool,
    comma: bool,
    turn: Option<Turn>,
    /// Says how something is to be done, or what is not.
    pub(super) constraint: bool,
    /// Where what is said begins.
    pub(super) start: usize,
    pub(super) verb: Option<Verb>,
}

/// The clause stands in another place than it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// "before deploying": it comes last.
    Before,
    /// "after you fix it": it comes first.
    After,
}

/// A verb that commands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verb {
    pub(super) at: usize,
    len: usize,
    mood: Mood,
    /// Only leads up to what is named next.
    pub(super) prepares: bool,
    /// Says little by itself.
    pub(super) loose: bool,
}

/// A part of a sentence that has its own verb, or none.
#[derive(Debug)]
pub(super) struct Fragment {
    pub(super) opening: Opening,
    pub(super) end: usize,
}

impl Request<'_> {
    pub(super) fn commands(&self, sentence: &Sentence) -> bool {
        self.opening(sentence.tokens.start, sentence.tokens.end, None).verb.is_some()
    }

    pub(super) fn fragments(&self, sentence: &Sentence) -> Vec<Fragment> {
        let Range { start, end } = sentence.tokens;
        let mut fragments = Vec::new();
        let mut opening = self.opening(start, end, None);
        let mut from = opening.verb.map_or(opening.start.max(start + 1), |verb| verb.at + verb.len);
        while from < end {
            let next = self.joint(from).then(|| self.opening(from, end, Some(&opening)));
            match next {
                Some(next) if next.verb.is_some() || next.constraint => {
                    let after = next.verb.map_or(next.start + 1, |verb| verb.at + verb.len);
                    let opening = std::mem::replace(&mut opening, next);
                    fragments.push(Fragment { opening, end: from });
                    from = after;
                }
                Some(next) => from = next.start.max(from + 1),
                None => from += 1,
            }
        }
        fragments.push(Fragment { opening, end });
        turn(&mut fragments);
        fragments
    }

    /// Whether another clause may begin here.
    fn joint(&self, at: usize) -> bool {
        matches!(self.tokens[at].kind, Kind::Comma | Kind::Colon)
            || JOINTS.iter().any(|mark| self.mark(at, *mark).is_some())
    }

    /// Reads over what joins and what is polite, up to a verb. `current` is the clause that would end here.
    fn opening(&self, from: usize, end: usize, current: Option<&Opening>) -> Opening {
        let mut opening = Opening { start: from, ..Opening::default() };
        let mut at = from;
        while at < end {
            if matches!(self.tokens[at].kind, Kind::Comma | Kind::Colon | Kind::Item | Kind::Line) {
                opening.comma = true;
                at += 1;
                continue;
            }
            let constraint = self.mark(at, Mark::Constraint);
            let longest = SKIPPED.iter().filter_map(|mark| Some((self.mark(at, *mark)?, *mark)));
            let Some((len, mark)) = longest.rev().max_by_key(|(len, _)| *len) else {
                opening.constraint = constraint.is_some();
                break;
            };
            if constraint.is_some_and(|constraint| constraint > len) {
                opening.constraint = true;
                break;
            }
            if mark == Mark::After {
                opening.link = Some(Link::After);
            } else if matches!(mark, Mark::Beside | Mark::Together) {
                opening.link = opening.link.or(Some(Link::Beside));
            }
            opening.joined |= !matches!(mark, Mark::Polite | Mark::First);
            if mark == Mark::BeforeVerb {
                opening.turn = Some(Turn::Before);
            } else if mark == Mark::AfterVerb {
                opening.turn = Some(Turn::After);
            }
            at += len;
        }
        opening.start = at.min(end);
        if !opening.constraint && at < end {
            opening.verb =
                self.verb(at, end).filter(|verb| self.begins(verb, &opening, end, current));
        }
        opening
    }

    /// The verb that stands here, known or not.
    fn verb(&self, at: usize, end: usize) -> Option<Verb> {
        let verbs = || self.senses[at].iter().filter(|sense| sense.mood.is_some());
        let found = verbs().filter_map(|sense| Some((sense.len, sense.mood?)));
        let Some((len, mood)) = found.max_by_key(|(len, _)| *len) else {
            return self.unknown_verb(at, end);
        };
        let has = |meaning: fn(&Meaning) -> bool| verbs().any(|sense| meaning(&sense.meaning));
        Some(Verb {
            at,
            len,
            mood,
            prepares: has(|meaning| *meaning == Meaning::Mark(Mark::Prepare)),
            loose: !has(|meaning| matches!(meaning, Meaning::Skill(Part::Verb, _))),
        })
    }

    /// A word that can hardly be anything but a command: `feed the cat`, `покормите кота`.
    fn unknown_verb(&self, at: usize, end: usize) -> Option<Verb> {
        let token = &self.tokens[at];
        let word = token.word.as_str();
        let has_object = at + 1 < end && self.mark(at + 1, Mark::Determiner).is_some();
        let is_english = word.len() > 2
            && word.bytes().all(|byte| byte.is_ascii_lowercase())
            && !word.ends_with("ly")
            && !word.ends_with('s')
            && !lexical::is_stop(word)
            && !NO_VERBS.contains(&word);
        let is_russian = ["ите", "йте", "ьте"].iter().any(|ending| word.ends_with(ending));
        let is_thing = |sense: &Sense| matches!(sense.meaning, Meaning::Skill(Part::Object, _));
        let unknown = token.kind == Kind::Word && self.senses[at].iter().all(is_thing);
        let verb = Verb { at, len: 1, mood: Mood::Command, prepares: false, loose: true };
        (unknown && ((is_english && has_object) || is_russian)).then_some(verb)
    }

    /// Whether the verb begins a clause of its own.
    fn begins(
        &self,
        verb: &Verb,
        opening: &Opening,
        end: usize,
        current: Option<&Opening>,
    ) -> bool {
        if verb.mood == Mood::Other {
            return opening.turn.is_some();
        }
        let Some(current) = current else { return true };
        if opening.link.is_some() || opening.turn.is_some() {
            return true;
        }
        let next = verb.at + verb.len;
        let next_is = |mark: Mark| next < end && self.mark(next, mark).is_some();
        if self.tokens[verb.at].word.is_ascii() {
            // "review and test results" against "review the code and test it".
            let names = next < end
                && matches!(self.tokens[next].kind, Kind::Code | Kind::Prose | Kind::Quote);
            let is_noun_too = verb.len == 1 && self.mark(verb.at, Mark::NounToo).is_some();
            let is_bare = current.verb.is_some_and(|verb| verb.at + verb.len >= opening.start - 1);
            let is_last = opening.comma && opening.joined;
            if is_noun_too && !names && !next_is(Mark::Determiner) && !is_bare && !is_last {
                return self.stands_alone(next, end);
            }
            // "a script to fetch and parse the page" is one script.
            let aside = opening.joined && !opening.comma && self.speaks_of(current, opening.start);
            return !aside || next_is(Mark::Back);
        }
        let commanded = current.verb.is_some_and(|verb| verb.mood == Mood::Command);
        !(commanded && verb.mood == Mood::Infinitive)
    }

    /// Whether an English word that may be a noun is followed by what only follows a verb: a name with a capital.
    fn stands_alone(&self, next: usize, end: usize) -> bool {
        let capital = |token: &Token| {
            self.text[token.start..].starts_with(|c: char| c.is_uppercase() || c.is_numeric())
        };
        next < end && self.tokens[next].kind == Kind::Word && capital(&self.tokens[next])
    }

    /// Whether the clause went over from asking to speaking of something: "that", "to".
    fn speaks_of(&self, current: &Opening, end: usize) -> bool {
        let start = current.verb.map_or(current.start, |verb| verb.at + verb.len);
        let is_aside = |at: usize| {
            let to_verb = self.tokens[at].word == "to" && {
                let next = self.senses.get(at + 1);
                next.is_some_and(|senses| senses.iter().any(|sense| sense.mood.is_some()))
            };
            to_verb || self.mark(at, Mark::Subordinate).is_some()
        };
        (start..end).any(is_aside)
    }
}

/// Puts what is done before something before it.
fn turn(fragments: &mut [Fragment]) {
    for at in 0..fragments.len() {
        let has_verb = |at: usize| fragments.get(at).is_some_and(|one| one.opening.verb.is_some());
        match fragments[at].opening.turn {
            Some(Turn::Before) if at == 0 && has_verb(0) && has_verb(1) => {
                fragments.swap(0, 1);
                fragments[1].opening.link = Some(Link::After);
            }
            Some(Turn::Before) if at > 0 => fragments[at].opening.link = Some(Link::After),
            Some(Turn::After) if at == 0 && has_verb(0) && has_verb(1) => {
                fragments[1].opening.link = Some(Link::After);
            }
            Some(Turn::After) if at > 0 && has_verb(at) && has_verb(at - 1) => {
                fragments[at].opening.link = fragments[at - 1].opening.link;
                fragments[at - 1].opening.link = Some(Link::After);
                fragments.swap(at - 1, at);
            }
            Some(Turn::Before | Turn::After) | None => {}
        }
    }
}
