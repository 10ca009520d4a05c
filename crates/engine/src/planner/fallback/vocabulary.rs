//! The words that the planner knows, and what they mean where they stand.
//!
//! They are data (`vocabulary.toml`). Each word of a text is looked up once; everything else asks what was found.

use std::collections::HashMap;
use std::sync::LazyLock;

use artel_agents::embed::lexical;
use serde::Deserialize;

use super::tokens::{Kind, Token, small};

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let file = toml::from_str(include_str!("vocabulary.toml")).expect("the vocabulary is tested");
    Vocabulary::new(&file)
});

/// Endings that make a command of the beginning of a Russian verb.
#[rustfmt::skip]
const COMMANDS: [&str; 24] = [
    "ь", "ьте", "и", "ите", "й", "йте", "ай", "айте", "яй", "яйте", "уй", "уйте", "ируй", "ируйте",
    "ей", "ейте", "ой", "ойте", "им", "ем", "ись", "итесь", "ься", "ьтесь",
];
#[rustfmt::skip]
const INFINITIVES: [&str; 13] = [
    "ть", "ить", "ать", "ять", "еть", "уть", "овать", "ировать", "ти", "чь", "ться", "иться", "аться",
];
const FUTURES: [&str; 3] = ["ишь", "ешь", "аешь"];
/// In bytes; what is longer is no word.
const LONGEST_WORD: usize = 64;

/// A kind of work, by its place in the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SkillId(pub(super) usize);

#[derive(Debug)]
pub(super) struct Skill {
    /// Whose agents can do it as well, best first.
    pub(super) near: Vec<SkillId>,
    /// What needs its result when it is asked for in one breath.
    pub(super) leads_to: Vec<SkillId>,
    /// The same, as long as that names nothing of its own.
    pub(super) leads_bare_to: Vec<SkillId>,
}

/// What a word or a phrase may mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sense {
    pub(super) meaning: Meaning,
    /// Tokens of the phrase.
    pub(super) len: usize,
    /// In what form a verb stands, if it can be one.
    pub(super) mood: Option<Mood>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Skill(Part, SkillId),
    Mark(Mark),
}

impl Meaning {
    fn is_verb(self) -> bool {
        match self {
            Self::Skill(part, _) => matches!(part, Part::Verb | Part::Loose),
            Self::Mark(mark) => matches!(mark, Mark::Prepare | Mark::Outside | Mark::Changes),
        }
    }
}

/// The part that a word plays for a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Verb,
    /// A verb that says little without an object.
    Loose,
    Question,
    Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Command,
    Infinitive,
    /// Of something that is to be done before or after: `fixing`, `you have fixed`, `исправишь`.
    Other,
}

/// How the parts of a request hang together; `vocabulary.toml` says what each is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    After,
    First,
    Beside,
    Together,
    Steps,
    BeforeVerb,
    AfterVerb,
    Joins,
    Polite,
    Constraint,
    Prepare,
    Back,
    BackMany,
    Report,
    Of,
    Subordinate,
    Wish,
    Determiner,
    NounToo,
    Outside,
    Topic,
    Changes,
}

impl Mark {
    /// Whether its words are known in all their forms.
    const fn has_forms(self) -> bool {
        matches!(self, Self::Prepare | Self::Outside | Self::Topic | Self::Changes)
    }
}

#[derive(Debug)]
pub(super) struct Vocabulary {
    pub(super) skills: Vec<Skill>,
    /// Who changes code, where no more is known.
    pub(super) implement: SkillId,
    /// Who is asked what nobody else is.
    pub(super) answer: SkillId,
    pub(super) compare: SkillId,
    pub(super) coordinate: SkillId,
    pub(super) investigate: SkillId,
    exact: HashMap<String, Vec<Entry>>,
    stems: HashMap<String, Vec<Entry>>,
    beginnings: HashMap<String, Vec<Entry>>,
    code: Vec<Meaning>,
    prose: Vec<Meaning>,
}

#[derive(Debug)]
struct Entry {
    /// The first word as the vocabulary has it.
    first: String,
    rest: Vec<Form>,
    meaning: Meaning,
}

#[derive(Debug)]
enum Form {
    Exact(String),
    Stem(String),
    Beginning(String),
}

impl Form {
    fn new(word: &str, has_forms: bool) -> Self {
        if let Some(word) = word.strip_prefix('=') {
            Self::Exact(word.to_owned())
        } else if let Some(word) = word.strip_suffix('*') {
            Self::Beginning(word.to_owned())
        } else if !has_forms {
            Self::Exact(word.to_owned())
        } else if word.is_ascii() {
            Self::Stem(lexical::stem(word).to_owned())
        } else {
            Self::Beginning(word.to_owned())
        }
    }

    fn fits(&self, word: &str) -> bool {
        match self {
            Self::Exact(form) => word == form,
            Self::Stem(stem) => lexical::stem(word) == stem,
            Self::Beginning(beginning) => word.starts_with(beginning.as_str()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    skill: Vec<SkillFile>,
    grammar: HashMap<Mark, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillFile {
    name: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    loosely: Vec<String>,
    #[serde(default)]
    questions: Vec<String>,
    #[serde(default)]
    objects: Vec<String>,
    near: Vec<String>,
    #[serde(default)]
    leads_to: Vec<String>,
    #[serde(default)]
    leads_bare_to: Vec<String>,
}

impl Vocabulary {
    /// The one that comes with Artel.
    pub(super) fn get() -> &'static Self {
        &VOCABULARY
    }

    fn new(file: &File) -> Self {
        let id = |name: &str| {
            let place = file.skill.iter().position(|skill| skill.name == name);
            SkillId(place.expect("skills name skills; the vocabulary is tested"))
        };
        let ids = |names: &[String]| names.iter().map(|name| id(name)).collect();
        let skills = file.skill.iter().map(|skill| Skill {
            near: ids(&skill.near),
            leads_to: ids(&skill.leads_to),
            leads_bare_to: ids(&skill.leads_bare_to),
        });
        let mut vocabulary = Self {
            skills: skills.collect(),
            implement: id("implement"),
            answer: id("answer"),
            compare: id("compare"),
            coordinate: id("coordinate"),
            investigate: id("investigate"),
            exact: HashMap::new(),
            stems: HashMap::new(),
            beginnings: HashMap::new(),
            code: Vec::new(),
            prose: Vec::new(),
        };
        for (at, skill) in file.skill.iter().enumerate() {
            for (part, words) in [
                (Part::Verb, &skill.verbs),
                (Part::Loose, &skill.loosely),
                (Part::Question, &skill.questions),
                (Part::Object, &skill.objects),
            ] {
                for word in words {
                    vocabulary.add(word, true, Meaning::Skill(part, SkillId(at)));
                }
            }
        }
        for (mark, words) in &file.grammar {
            for word in words {
                vocabulary.add(word, mark.has_forms(), Meaning::Mark(*mark));
            }
        }
        vocabulary
    }

    fn add(&mut self, phrase: &str, has_forms: bool, meaning: Meaning) {
        match phrase {
            "<code>" => return self.code.push(meaning),
            "<text>" => return self.prose.push(meaning),
            _ => {}
        }
        let mut words = phrase.split(' ');
        let first = words.next().unwrap_or_default();
        let rest = words.map(|word| Form::new(word, has_forms)).collect();
        let entry = |key: &str| Entry { first: key.to_owned(), rest, meaning };
        let (map, key, entry) = match Form::new(first, has_forms) {
            Form::Exact(key) => (&mut self.exact, key.clone(), entry(&key)),
            Form::Stem(key) => (&mut self.stems, key, entry(first)),
            Form::Beginning(key) => (&mut self.beginnings, key.clone(), entry(&key)),
        };
        map.entry(key).or_default().push(entry);
    }

    /// What each of the tokens may mean, with those that follow it.
    pub(super) fn read(&self, tokens: &[Token]) -> Vec<Vec<Sense>> {
        (0..tokens.len()).map(|at| self.senses(&tokens[at..])).collect()
    }

    fn senses(&self, tokens: &[Token]) -> Vec<Sense> {
        let Some(token) = tokens.first() else { return Vec::new() };
        let object = |meaning: &Meaning| Sense { meaning: *meaning, len: 1, mood: None };
        match token.kind {
            Kind::Code => return self.code.iter().map(object).collect(),
            Kind::Prose => return self.prose.iter().map(object).collect(),
            Kind::Word => {}
            Kind::Quote
            | Kind::Stop
            | Kind::Ask
            | Kind::Comma
            | Kind::Colon
            | Kind::Line
            | Kind::Item => return Vec::new(),
        }
        let word = token.word.as_str();
        if word.len() > LONGEST_WORD {
            return Vec::new();
        }
        let beginnings = word.char_indices().map(|(at, c)| &word[..at + c.len_utf8()]);
        // None is English.
        let most = if word.is_ascii() { 0 } else { LONGEST_WORD };
        let beginnings = beginnings.take(most).filter_map(|start| self.beginnings.get(start));
        let known = self.exact.get(word).into_iter();
        let known = known.chain(self.stems.get(lexical::stem(word))).chain(beginnings).flatten();
        let sense = |entry: &Entry| {
            let len = entry.len_at(tokens)?;
            let mood = entry.meaning.is_verb().then(|| mood(word, &entry.first)).flatten();
            Some(Sense { meaning: entry.meaning, len, mood })
        };
        known.filter_map(sense).collect()
    }
}

impl Entry {
    /// Tokens that the phrase takes here, if it stands here. Commas may stand within.
    fn len_at(&self, tokens: &[Token]) -> Option<usize> {
        let mut len = 1;
        for form in &self.rest {
            if tokens.get(len).is_some_and(|token| token.kind == Kind::Comma) {
                len += 1;
            }
            let token = tokens.get(len)?;
            if token.kind != Kind::Word || !form.fits(&token.word) {
                return None;
            }
            len += 1;
        }
        Some(len)
    }
}

/// The form of a verb that the vocabulary has like this.
fn mood(word: &str, first: &str) -> Option<Mood> {
    if word.is_ascii() {
        return match word {
            word if word == first => Some(Mood::Command),
            word if word.ends_with("ing") || word.ends_with("ed") => Some(Mood::Other),
            _ => None,
        };
    }
    let ending = word.strip_prefix(first)?;
    if COMMANDS.contains(&ending) || (ending == "те" && first.ends_with(['и', 'й', 'ь'])) {
        Some(Mood::Command)
    } else if INFINITIVES.contains(&ending) {
        Some(Mood::Infinitive)
    } else if FUTURES.contains(&ending) {
        Some(Mood::Other)
    } else if ending.is_empty() {
        // The vocabulary has the form itself.
        match first {
            first if first.ends_with("ть") => Some(Mood::Infinitive),
            first if first.ends_with(['и', 'й', 'ь']) => Some(Mood::Command),
            _ => None,
        }
    } else {
        None
    }
}

/// The stems of what is said, without words that every text has.
pub(super) fn stems(tokens: &[Token]) -> impl Iterator<Item = &str> {
    let words = tokens.iter().filter(|token| token.kind.speaks());
    let words = words.filter(|token| (1..=LONGEST_WORD).contains(&token.word.len()));
    words.filter(|token| !lexical::is_stop(&token.word)).map(|token| lexical::stem(&token.word))
}

/// A name of code or of an agent in plain words: `fix_bug`, `fixBug` and `fix-bug` are `fix bug`.
pub(super) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if before.is_lowercase() && c.is_uppercase() {
            plain.push(' ');
        }
        plain.push(if c.is_alphanumeric() { c } else { ' ' });
        before = c;
    }
    small(&plain)
}

#[cfg(test)]
mod tests {
    use super::super::tokens;
    use super::*;

    fn moods(text: &str, mark: Part) -> Vec<Option<Mood>> {
        let tokens = tokens::read(text);
        let senses = Vocabulary::get().read(&tokens);
        let found = |senses: &Vec<Sense>| {
            let found = senses
                .iter()
                .find(|sense| matches!(sense.meaning, Meaning::Skill(part, _) if part == mark));
            found.and_then(|sense| sense.mood)
        };
        senses.iter().map(found).collect()
    }

    #[test]
    fn commands_are_told_from_other_forms() {
        let (command, infinitive, other) =
            (Some(Mood::Command), Some(Mood::Infinitive), Some(Mood::Other));
        let expected = [command, command, infinitive, other, None, None];
        assert_eq!(
            moods("исправь исправьте исправить исправишь исправление фикса", Part::Verb),
            expected
        );
        assert_eq!(moods("fix fixing fixed fixes", Part::Verb), [command, other, other, None]);
    }

    #[test]
    fn names_become_words() {
        assert_eq!(plain("fix_bug"), "fix bug");
        assert_eq!(plain("reviewPullRequests"), "review pull requests");
        assert_eq!(plain("code-review/SQL"), "code review sql");
    }
}
