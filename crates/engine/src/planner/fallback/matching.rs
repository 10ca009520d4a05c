//! Who fits a clause: first by words, then by nearness in meaning.
//!
//! The words of a clause are weighed for each skill, and so are those of each capability. A capability that means the
//! skill of the clause fits; one that means a skill near to it fits a little less. Words that the vocabulary does not
//! know count where a capability has them too, so an agent who can `water_plants` waters the tomatoes.

use std::collections::HashSet;

use artel_agents::embed::{Embedder, Kind as EmbedderKind, lexical};

use super::super::Member;
use super::clauses::{Clause, Request};
use super::tokens::Kind;
use super::vocabulary::{Mark, Meaning, Part, SkillId, Vocabulary, plain, stems};

/// A verb that means the skill, where it commands.
const VERB: f32 = 2.5;
/// The same verb elsewhere, or as a noun.
const MENTION: f32 = 1.5;
/// A verb that says little by itself.
const LOOSE: f32 = 1.0;
/// The first thing that is named.
const HEAD: f32 = 2.0;
/// Something that is named later.
const LATER: f32 = 0.5;
/// A file of code says more than a word, and one of prose is what is to be written.
const CODE_FILE: f32 = 1.0;
const PROSE_FILE: f32 = 2.5;
/// How a question begins; with each further word of it.
const QUESTION: f32 = 1.5;
const QUESTION_WORD: f32 = 0.5;
/// Whatever is only guessed: a question or a topic, a verb that says little.
const VAGUE: f32 = 1.6;
/// Words from which on something is told rather than named.
const TOLD: usize = 5;
/// From here on an agent fits.
const ENOUGH: f32 = 1.5;
/// Another reading of a clause counts if it is at least that likely.
const SECOND: f32 = 0.6;
/// The factor of the skill that is nearest, and what each further one has less.
const NEAR: f32 = 0.85;
const FURTHER: f32 = 0.05;
/// A word of the capability itself that is not in the vocabulary.
const OWN_WORD: f32 = 1.5;
/// The same where it is the verb.
const OWN_VERB: f32 = 2.5;
/// The agent's own name or role is said.
const CALLED: f32 = 0.5;
/// Those who are less than that apart fit equally.
const EQUAL: f32 = 0.05;
/// Cosine from which a clause and an agent are near in meaning: far above chance, since a wrong agent is worse than a
/// refusal.
const ALIKE: f32 = 0.55;
/// What is embedded of a text, in bytes.
const LONGEST_TEXT: usize = 1_000;
/// Agents whose texts are embedded at most.
const MOST_PROFILES: usize = 100;

/// What a clause is about.
#[derive(Debug)]
pub(super) struct Reading {
    /// The skills that may be meant, each with how likely it is.
    skills: Vec<(SkillId, f32)>,
    stems: HashSet<String>,
    /// The stem of the word that commands, or that comes first.
    verb: Option<String>,
}

impl Reading {
    /// The skill that is most likely, if one is likely at all.
    pub(super) fn skill(&self) -> Option<SkillId> {
        // Of equal ones the first.
        let best = self.skills.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1));
        best.map(|(skill, _)| *skill)
    }

    /// Whether both speak of the same thing.
    pub(super) fn shares(&self, other: &Self) -> bool {
        let verb = |reading: &Self, stem: &String| reading.verb.as_ref() == Some(stem);
        let mut shared = self.stems.intersection(&other.stems);
        shared.any(|stem| !verb(self, stem) && !verb(other, stem))
    }

    /// Whether it names little but what comes of it.
    pub(super) fn is_bare(&self) -> bool {
        self.stems.iter().filter(|stem| self.verb.as_ref() != Some(*stem)).count() <= 1
    }
}

pub(super) fn read(request: &Request<'_>, clause: &Clause) -> Reading {
    let vocabulary = Vocabulary::get();
    let mut scores = weigh(request, clause, false);
    let any = |mark: Mark| clause.places().iter().any(|at| request.mark(*at, mark).is_some());
    if scores.iter().all(|score| *score < ENOUGH) {
        let commands = |mark: Mark| clause.verbs.iter().any(|at| request.mark(*at, mark).is_some());
        if commands(Mark::Changes) {
            scores[vocabulary.implement.0] = VAGUE;
        } else if let Some(SkillId(skill)) = vaguely(request, clause) {
            scores[skill] = VAGUE;
        } else if clause.asks || (clause.verbs.is_empty() && any(Mark::Topic)) {
            scores[vocabulary.answer.0] = VAGUE;
        } else if clause.verbs.is_empty() && is_report(request, clause) {
            scores[vocabulary.investigate.0] = VAGUE;
        } else if clause.verbs.is_empty() && names(request, clause) {
            scores[vocabulary.answer.0] = VAGUE;
        }
    }
    let tokens = || clause.own.iter().flat_map(|range| &request.tokens[range.clone()]);
    let first = clause.verbs.last().map(|at| &request.tokens[*at]);
    let first = first.or_else(|| tokens().find(|token| token.kind == Kind::Word));
    let best = scores.iter().copied().fold(0.0, f32::max);
    let likely = |score: &f32| *score >= ENOUGH.max(best * SECOND);
    let skills = scores.into_iter().enumerate().filter(|(_, score)| likely(score));
    Reading {
        skills: skills.map(|(at, score)| (SkillId(at), score)).collect(),
        stems: clause
            .own
            .iter()
            .flat_map(|range| stems(&request.tokens[range.clone()]))
            .map(str::to_owned)
            .collect(),
        verb: first.map(|token| lexical::stem(&token.word).to_owned()),
    }
}

/// What a verb that says little may mean, if it is done to something that is known at all.
fn vaguely(request: &Request<'_>, clause: &Clause) -> Option<SkillId> {
    head(request, clause, &clause.places())?;
    let senses = clause.verbs.iter().flat_map(|at| &request.senses[*at]);
    let loose = senses.filter_map(|sense| match sense.meaning {
        Meaning::Skill(Part::Loose, skill) => Some(skill),
        Meaning::Skill(Part::Verb | Part::Question | Part::Object, _) | Meaning::Mark(_) => None,
    });
    loose.min_by_key(|skill| skill.0)
}

/// Whether it tells how something known behaves: who does so without a word of what to do reports that it is wrong.
fn is_report(request: &Request<'_>, clause: &Clause) -> bool {
    let own = clause.places();
    let words = own.iter().filter(|at| request.tokens[**at].kind.speaks());
    words.count() >= TOLD && head(request, clause, &own).is_some()
}

/// Whether something that looks like a technical name is in it: `TCP`, `FastAPI`, `OAuth2`.
fn names(request: &Request<'_>, clause: &Clause) -> bool {
    let is_technical = |word: &str| {
        let inner = word.chars().skip(1).any(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        inner && word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.len() <= 32
    };
    let tokens = clause.own.iter().flat_map(|range| &request.tokens[range.clone()]);
    let shouting = !request.text.contains(char::is_lowercase);
    let mut words = tokens.filter(|token| token.kind == Kind::Word);
    !shouting && words.any(|token| is_technical(&request.text[token.start..token.end]))
}

/// How likely each skill is meant. In a capability things alone mean what is done to them.
fn weigh(request: &Request<'_>, clause: &Clause, capability: bool) -> Vec<f32> {
    let count = Vocabulary::get().skills.len();
    let (mut verbs, mut loose, mut objects) =
        (vec![0.0_f32; count], vec![0.0; count], vec![0.0; count]);
    let own = clause.places();
    let head = head(request, clause, &own);
    let is_foreign = |at: &usize| request.senses[*at].iter().all(|sense| sense.mood.is_none());
    if clause.verbs.iter().any(is_foreign) {
        loose[Vocabulary::get().implement.0] = LOOSE;
    }
    for (place, at) in own.iter().enumerate() {
        let commands = clause.verbs.contains(at);
        for sense in &request.senses[*at] {
            let Meaning::Skill(part, SkillId(skill)) = sense.meaning else { continue };
            let (scores, score) = match part {
                Part::Verb if commands => (&mut verbs, VERB),
                // A noun that is a verb too, such as "code", counts once.
                Part::Verb if clause.asks || is_object(request, *at, skill) => continue,
                Part::Verb => (&mut verbs, MENTION),
                Part::Loose if commands => (&mut loose, LOOSE),
                Part::Question if clause.verbs.is_empty() && place < 3 => {
                    #[expect(clippy::cast_precision_loss, reason = "a phrase of a few words")]
                    let words = (sense.len - 1) as f32;
                    (&mut verbs, QUESTION + QUESTION_WORD * words)
                }
                Part::Loose | Part::Question => continue,
                // What comes before the last verb only leads up to it: "read the guide and update the config".
                Part::Object if commands || head.is_some_and(|head| *at < head) => continue,
                Part::Object if Some(*at) == head => (&mut objects, HEAD),
                Part::Object if request.tokens[*at].kind == Kind::Code => (&mut objects, CODE_FILE),
                Part::Object if request.tokens[*at].kind == Kind::Prose => {
                    (&mut objects, PROSE_FILE)
                }
                Part::Object => (&mut objects, LATER),
            };
            scores[skill] = score.max(scores[skill]);
        }
    }
    let no_verb = clause.verbs.is_empty() && verbs.iter().all(|score| *score == 0.0);
    let things_alone = (capability && no_verb) || clause.wished;
    let skills = 0..count;
    let score = |skill: usize| {
        let troubled = clause.verbs.is_empty() && !capability && is_trouble(skill);
        let (verb, loose, object) = (verbs[skill], loose[skill], objects[skill]);
        match () {
            () if troubled && object > 0.0 => HEAD.max(verb + object),
            () if verb > 0.0 => verb + object + if object > 0.0 { loose } else { 0.0 },
            () if object > 0.0 && (loose > 0.0 || things_alone) => loose + object,
            () => 0.0,
        }
    };
    skills.map(score).collect()
}

fn is_object(request: &Request<'_>, at: usize, skill: usize) -> bool {
    let object = Meaning::Skill(Part::Object, SkillId(skill));
    request.senses[at].iter().any(|sense| sense.meaning == object)
}

/// What is broken wants to be looked into, even if nobody says so.
fn is_trouble(skill: usize) -> bool {
    Vocabulary::get().investigate.0 == skill
}

/// The first thing that is named behind the last verb; of English words in a row it is the last.
fn head(request: &Request<'_>, clause: &Clause, own: &[usize]) -> Option<usize> {
    let is_object = |at: &usize| {
        let object = |meaning: Meaning| matches!(meaning, Meaning::Skill(Part::Object, _));
        !clause.verbs.contains(at) && request.senses[*at].iter().any(|sense| object(sense.meaning))
    };
    let last = clause.verbs.last();
    let after = own.iter().copied().filter(|at| last.is_none_or(|verb| at > verb)).find(is_object);
    let mut head = after.or_else(|| own.iter().copied().find(is_object))?;
    let is_latin =
        |at: usize| request.tokens[at].kind == Kind::Word && request.tokens[at].word.is_ascii();
    while is_latin(head)
        && own.contains(&(head + 1))
        && is_latin(head + 1)
        && is_object(&(head + 1))
    {
        head += 1;
    }
    Some(head)
}

/// The agents of a project, read once for a request.
#[derive(Debug)]
pub(super) struct Team<'a> {
    members: Vec<Profile<'a>>,
}

#[derive(Debug)]
struct Profile<'a> {
    member: &'a Member,
    capabilities: Vec<Capability>,
    /// The stems of its name and role.
    called: Vec<String>,
    /// Whether it gives work to others rather than doing it.
    coordinates: bool,
}

#[derive(Debug)]
struct Capability {
    skills: Vec<SkillId>,
    /// Stems, each with whether the vocabulary knows it.
    words: Vec<(String, bool)>,
}

impl Capability {
    fn read(name: &str) -> Self {
        let text = plain(name);
        let request = Request::read(&text);
        let clause = Clause::of_name(&request);
        let scores = weigh(&request, &clause, true);
        let best = scores.iter().copied().fold(0.0, f32::max);
        let likely = |(_, score): &(usize, &f32)| best > 0.0 && **score >= best * 0.9;
        let skills = scores.iter().enumerate().filter(likely).map(|(at, _)| SkillId(at)).collect();
        let known = |at: usize| {
            let is_skill = |meaning: Meaning| matches!(meaning, Meaning::Skill(..));
            request.senses[at].iter().any(|sense| is_skill(sense.meaning))
        };
        let words = request
            .tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.kind.speaks() && !lexical::is_stop(&token.word));
        let words = words.map(|(at, token)| (lexical::stem(&token.word).to_owned(), known(at)));
        Self { skills, words: words.collect() }
    }

    /// How well it fits what was read, and how many words they share.
    fn fit(&self, reading: &Reading) -> (f32, usize) {
        let meant = reading.skills.iter().map(|(skill, score)| score * self.affinity(*skill));
        let meant = meant.fold(0.0, f32::max);
        let shared = self.words.iter().filter(|(stem, _)| reading.stems.contains(stem));
        let (known, own): (Vec<_>, Vec<_>) = shared.partition(|(_, known)| *known);
        let is_verb = |stem: &String| reading.verb.as_ref() == Some(stem);
        let said = own.iter().map(|(stem, _)| if is_verb(stem) { OWN_VERB } else { OWN_WORD });
        (meant + said.sum::<f32>(), known.len())
    }

    fn affinity(&self, skill: SkillId) -> f32 {
        if self.skills.contains(&skill) {
            return 1.0;
        }
        let near = &Vocabulary::get().skills[skill.0].near;
        let place = near.iter().position(|near| self.skills.contains(near));
        #[expect(clippy::cast_precision_loss, reason = "a handful of skills")]
        place.map_or(0.0, |place| NEAR - FURTHER * place as f32)
    }
}

/// An agent for a clause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice<'a> {
    pub(super) member: &'a Member,
    pub(super) capability: Option<&'a str>,
}

impl<'a> Team<'a> {
    pub(super) fn read(members: &'a [Member]) -> Self {
        let coordinate = Vocabulary::get().coordinate;
        let profile = |member: &'a Member| {
            let capabilities: Vec<_> =
                member.capabilities.iter().map(|name| Capability::read(name)).collect();
            let role = member.role.as_deref().map(Capability::read);
            let called = Capability::read(&member.name).words.into_iter();
            let called = called.chain(role.iter().flat_map(|role| role.words.clone()));
            let coordinates = |one: &Capability| one.skills.contains(&coordinate);
            Profile {
                member,
                called: called.map(|(stem, _)| stem).collect(),
                coordinates: capabilities.iter().chain(&role).any(coordinates),
                capabilities,
            }
        };
        Self { members: members.iter().map(profile).collect() }
    }

    /// Whose capabilities fit by their words; of those who fit equally, who has the least to do.
    pub(super) fn by_words(&self, reading: &Reading) -> Option<Choice<'a>> {
        let coordination = reading.skill() == Some(Vocabulary::get().coordinate);
        let fits = self.members.iter().filter(|one| coordination || !one.coordinates);
        let fits: Vec<_> = fits.filter_map(|profile| profile.fit(reading)).collect();
        let best = fits.iter().map(|(fit, _)| *fit).fold(0.0, f32::max);
        let equal = fits.into_iter().filter(|(fit, _)| *fit > best - EQUAL);
        equal.map(|(_, choice)| choice).min_by_key(|choice| choice.member.load)
    }

    /// Who is nearest in meaning to each of the clauses that words say nothing about.
    pub(super) async fn by_meaning(
        &self,
        clauses: &[String],
        embedder: &dyn Embedder,
    ) -> Vec<Option<Choice<'a>>> {
        let workers = self.members.iter().filter(|one| !one.coordinates);
        let workers: Vec<_> = workers.take(MOST_PROFILES).collect();
        let short = |text: &str| text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned();
        let texts = clauses.iter().map(|clause| short(clause));
        let texts = texts.chain(workers.iter().map(|worker| short(&worker.text())));
        let texts: Vec<String> = texts.collect();
        let vectors = vectors(&texts, embedder).await;
        let (clauses, profiles) = vectors.split_at(clauses.len());
        let nearest = |clause: &Vec<f32>| {
            let likeness = profiles.iter().map(|profile| dot(clause, profile));
            let near = likeness.zip(&workers).filter(|(likeness, _)| *likeness >= ALIKE);
            let (_, worker) = near.max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(Choice { member: worker.member, capability: None })
        };
        clauses.iter().map(nearest).collect()
    }
}

impl<'a> Profile<'a> {
    fn fit(&self, reading: &Reading) -> Option<(f32, Choice<'a>)> {
        let named = self.member.capabilities.iter().zip(&self.capabilities);
        let fits = named.map(|(name, capability)| (capability.fit(reading), name));
        // Of equal ones the first.
        let best = fits.reduce(|best, other| if other.0 > best.0 { other } else { best });
        let ((fit, _), name) = best.filter(|((fit, _), _)| *fit >= ENOUGH)?;
        let called = self.called.iter().any(|stem| reading.stems.contains(stem));
        let fit = if called { fit + CALLED } else { fit };
        Some((fit, Choice { member: self.member, capability: Some(name) }))
    }

    /// What it is, in words.
    fn text(&self) -> String {
        let Member { name, role, capabilities, about, load: _ } = self.member;
        let mut words: Vec<String> = capabilities.iter().map(|name| plain(name)).collect();
        words.extend([plain(name), role.as_deref().map(plain).unwrap_or_default(), about.clone()]);
        words.join(". ")
    }
}

/// A service takes longer than a plan may, and what is asked here is worth no call; then words must do.
async fn vectors(texts: &[String], embedder: &dyn Embedder) -> Vec<Vec<f32>> {
    let by_words = || texts.iter().map(|text| lexical::vector(text)).collect();
    match embedder.kind() {
        EmbedderKind::Service => by_words(),
        EmbedderKind::Local | EmbedderKind::Lexical => {
            let vectors = embedder.embed(texts).await;
            vectors.ok().filter(|vectors| vectors.len() == texts.len()).unwrap_or_else(by_words)
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
