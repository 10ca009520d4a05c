//! Finds what a request asks for: its clauses, in the order in which they are to be done, and how each is joined to
//! those before it.
//!
//! A clause begins with a verb that commands, at the beginning of a sentence or of an item of a list, or behind a
//! comma or a conjunction. Whatever else is said belongs to the clause before it, or to the first: constraints, the
//! state of things, quoted text.

use std::iter;
use std::ops::Range;

use super::openings::{Fragment, Opening, Verb};
use super::sentences::{self, Place, Sentence};
use super::tokens::{self, Kind, Token};
use super::vocabulary::{Mark, Meaning, Part, Sense, SkillId, Vocabulary};

/// A text with what its words may mean.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
    pub(super) senses: Vec<Vec<Sense>>,
}

/// One thing that is asked for.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    /// Its tokens, without what joins it to others.
    pub(super) own: Vec<Range<usize>>,
    /// What else was said about it.
    pub(super) context: Vec<Range<usize>>,
    /// The tokens that command.
    pub(super) verbs: Vec<usize>,
    pub(super) link: Link,
    pub(super) back: Option<Back>,
    /// Whether it is a question rather than a command.
    pub(super) asks: bool,
    /// Whether something is wished for rather than asked to be done: "I need a report".
    pub(super) wished: bool,
    /// Whether it only leads up to what comes next.
    prepares: bool,
}

impl Clause {
    fn new(own: Vec<Range<usize>>) -> Self {
        Self {
            own,
            context: Vec::new(),
            verbs: Vec::new(),
            link: Link::After,
            back: None,
            asks: false,
            wished: false,
            prepares: false,
        }
    }

    /// Where its own tokens stand.
    pub(super) fn places(&self) -> Vec<usize> {
        self.own.iter().flat_map(Clone::clone).collect()
    }

    /// What the name of a capability or of a role asks for.
    pub(super) fn of_name(request: &Request<'_>) -> Self {
        let commands = |at: &usize| {
            let senses = request.senses.get(*at);
            senses.is_some_and(|senses| senses.iter().any(|sense| sense.mood.is_some()))
        };
        let verbs = Some(0).filter(commands).into_iter().collect();
        Self { verbs, ..Self::new(iter::once(0..request.tokens.len()).collect()) }
    }
}

/// How a clause is joined to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// It was said that it comes after them.
    After,
    /// It was said that it does not, or it is an item of a list.
    Beside,
    /// With "and" or a comma.
    Unsure,
}

/// What a clause points back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    Last,
    All,
}

impl<'a> Request<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let tokens = tokens::read(text);
        let senses = Vocabulary::get().read(&tokens);
        Self { text, tokens, senses }
    }

    /// Tokens of the longest phrase that begins here with that mark.
    pub(super) fn mark(&self, at: usize, mark: Mark) -> Option<usize> {
        let found = self.senses[at].iter().filter(|sense| sense.meaning == Meaning::Mark(mark));
        found.map(|sense| sense.len).max()
    }

    pub(super) fn words(&self, ranges: &[Range<usize>]) -> String {
        let text = |range: &Range<usize>| {
            let tokens = &self.tokens[range.clone()];
            let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return "" };
            &self.text[first.start..last.end]
        };
        ranges.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn clauses(&self) -> Vec<Clause> {
        let sentences = sentences::split(self);
        let steps = (0..self.tokens.len()).any(|at| self.mark(at, Mark::Steps).is_some());
        let mut building = Building { request: self, clauses: Vec::new(), waiting: Vec::new() };
        let mut in_list = false;
        for (at, sentence) in sentences.iter().enumerate() {
            let listed = sentence.place != Place::Text;
            let link = if listed && in_list && !steps { Link::Beside } else { Link::After };
            let items = sentences[at + 1..].iter().take_while(|next| next.place != Place::Text);
            if sentence.continues && items.take(3).any(|item| self.commands(item)) {
                building.waiting.push(sentence.tokens.clone());
            } else {
                building.sentence(sentence, link);
            }
            in_list = listed;
        }
        building.finish()
    }

    /// What the clause points back to, as far as it says so before it speaks of something else.
    fn back(&self, own: &Range<usize>) -> Option<Back> {
        let speaks_of = |at: &usize| self.mark(*at, Mark::Subordinate).is_some();
        let turn = own.clone().skip(2).find(speaks_of).map_or(own.end, |at| at + 1);
        let said = own.start..turn;
        let any = |mark: Mark| said.clone().any(|at| self.mark(at, mark).is_some());
        if any(Mark::BackMany) || (any(Mark::Report) && !any(Mark::Of)) {
            Some(Back::All)
        } else {
            any(Mark::Back).then_some(Back::Last)
        }
    }
}

struct Building<'a> {
    request: &'a Request<'a>,
    clauses: Vec<Clause>,
    /// Said before anything was asked for.
    waiting: Vec<Range<usize>>,
}

impl Building<'_> {
    fn sentence(&mut self, sentence: &Sentence, link: Link) {
        let first = self.clauses.len();
        for (place, fragment) in self.request.fragments(sentence).into_iter().enumerate() {
            let Fragment { opening, end } = fragment;
            let own = opening.start..end;
            if own.is_empty() {
                continue;
            }
            let introduces =
                self.request.tokens.get(end).is_some_and(|next| next.kind == Kind::Colon);
            if introduces
                && opening.verb.is_some_and(|verb| verb.loose)
                && end < sentence.tokens.end
            {
                self.waiting.push(own);
                continue;
            }
            let is_question = sentence.asks && place == 0 && sentence.tokens.end == end;
            let Some(verb) = opening.verb else {
                self.without_verb(own, &opening, sentence, is_question, link);
                continue;
            };
            let is_first = self.clauses.len() == first;
            let unsaid = match () {
                () if is_first => link,
                () if sentence.together => Link::Beside,
                () => Link::Unsure,
            };
            let link = opening.link.unwrap_or(unsaid);
            self.with_verb(own, verb, link, !is_first);
        }
        if sentence.place == Place::InItem
            && let Some(clause) = self.clauses.get_mut(first)
        {
            clause.back = clause.back.or(Some(Back::Last));
        }
    }

    fn with_verb(&mut self, own: Range<usize>, verb: Verb, link: Link, same_sentence: bool) {
        let mut link = link;
        if same_sentence
            && link == Link::Unsure
            && let Some(last) = self.clauses.last_mut()
        {
            let bare = last.own.last().is_some_and(|own| self.request.is_bare(own, &last.verbs));
            let leads = last.verbs.iter().any(|at| self.request.leads(*at, verb.at));
            let loose = last.verbs.iter().all(|at| self.request.is_loose(*at));
            if (last.prepares && !leads) || (bare && loose) {
                last.own.last_mut().expect("a clause has words").end = own.end;
                last.verbs.push(verb.at);
                last.prepares = verb.prepares;
                return;
            }
            if bare {
                link = Link::After;
            }
        }
        self.clauses.push(Clause {
            context: std::mem::take(&mut self.waiting),
            verbs: vec![verb.at],
            link,
            back: self.request.back(&own),
            prepares: verb.prepares,
            ..Clause::new(vec![own])
        });
    }

    fn without_verb(
        &mut self,
        own: Range<usize>,
        opening: &Opening,
        sentence: &Sentence,
        is_question: bool,
        link: Link,
    ) {
        let named = |at: usize| {
            let is_verb = |sense: &Sense| matches!(sense.meaning, Meaning::Skill(Part::Verb, _));
            self.request.senses[at].iter().any(is_verb)
        };
        let wished = sentence.tokens.clone().any(|at| self.request.mark(at, Mark::Wish).is_some());
        let is_wish = !opening.constraint && (named(own.start) || wished) && !sentence.continues;
        if is_question || is_wish {
            self.clauses.push(Clause {
                context: std::mem::take(&mut self.waiting),
                link: opening.link.unwrap_or(link),
                back: self.request.back(&own),
                asks: is_question,
                wished: wished && !is_question,
                ..Clause::new(vec![own])
            });
            return;
        }
        match self.clauses.last_mut() {
            Some(last) if sentence.place == Place::Item => last.own.push(own),
            Some(last) => last.context.push(own),
            None => self.waiting.push(own),
        }
    }

    fn finish(self) -> Vec<Clause> {
        if self.clauses.is_empty() && !self.waiting.is_empty() {
            return vec![Clause::new(self.waiting)];
        }
        self.spread()
    }

    /// "Research A and B, then compare them": A and B are two tasks, since what follows puts them side by side.
    fn spread(self) -> Vec<Clause> {
        let request = self.request;
        let mut spread = Vec::with_capacity(self.clauses.len());
        let mut clauses = self.clauses.into_iter().peekable();
        while let Some(clause) = clauses.next() {
            let compared = clauses.peek().is_some_and(|next| {
                next.back == Some(Back::All) && request.compares(next) && !request.compares(&clause)
            });
            match request.names(&clause).filter(|_| compared) {
                None => spread.push(clause),
                Some((before, names)) => {
                    for (place, name) in names.into_iter().enumerate() {
                        let own = vec![before.clone(), name..name + 1];
                        let link = if place == 0 { clause.link } else { Link::Beside };
                        spread.push(Clause { own, link, ..clause.clone() });
                    }
                }
            }
        }
        spread
    }
}

impl Request<'_> {
    /// The skills that a verb means by itself.
    fn skills(&self, at: usize) -> impl Iterator<Item = SkillId> {
        self.senses[at].iter().filter_map(|sense| match sense.meaning {
            Meaning::Skill(Part::Verb, skill) => Some(skill),
            Meaning::Skill(Part::Loose | Part::Question | Part::Object, _) | Meaning::Mark(_) => {
                None
            }
        })
    }

    fn is_loose(&self, at: usize) -> bool {
        self.skills(at).next().is_none()
    }

    /// Whether what the second verb may ask for needs what the first one finds out.
    fn leads(&self, first: usize, second: usize) -> bool {
        let skills = &Vocabulary::get().skills;
        let leads = |sense: &Sense| match sense.meaning {
            Meaning::Skill(Part::Verb | Part::Loose, skill) => {
                self.skills(first).any(|first| skills[first.0].leads_to.contains(&skill))
            }
            Meaning::Skill(Part::Question | Part::Object, _) | Meaning::Mark(_) => false,
        };
        self.senses[second].iter().any(leads)
    }

    /// Whether nothing but the verb is said.
    fn is_bare(&self, own: &Range<usize>, verbs: &[usize]) -> bool {
        let verb = verbs.last().copied().unwrap_or(own.start);
        own.clone().all(|at| at <= verb || !self.tokens[at].kind.speaks())
    }

    fn compares(&self, clause: &Clause) -> bool {
        let compare = Meaning::Skill(Part::Verb, Vocabulary::get().compare);
        let is_compare = |at: &usize| self.senses[*at].iter().any(|sense| sense.meaning == compare);
        clause.verbs.iter().any(is_compare)
    }

    /// The names that a clause ends with, if it is a verb with two or more of them.
    fn names(&self, clause: &Clause) -> Option<(Range<usize>, Vec<usize>)> {
        let [own] = clause.own.as_slice() else { return None };
        let is_name = |at: usize| self.tokens[at].name && self.tokens[at].kind.speaks();
        let mut names = Vec::new();
        let mut at = own.end;
        while at > own.start && is_name(at - 1) {
            at -= 1;
            names.push(at);
            let joined = at > own.start
                && (self.tokens[at - 1].kind == Kind::Comma
                    || self.mark(at - 1, Mark::Joins).is_some());
            if !joined {
                break;
            }
            at -= 1;
        }
        names.reverse();
        let verb = clause.verbs.last()?;
        (names.len() > 1 && *verb < at).then_some((own.start..at, names))
    }
}
