//! When a person is asked, and what is never done.
//!
//! The sandbox is the wall; this decides only whether somebody looks first. The rules are data (`rules/`) and
//! carry their own tests. A command is harmless only when every argument of it is understood ([`reading`]): a list
//! of harmless first words has failed everyone who tried it. Danger is looked for generously ([`danger`]), also
//! behind programs that run others.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::LazyLock;

use artel_domain::agent::RiskLevel;
use serde::Deserialize;

use crate::Request;

mod danger;
mod reading;
#[cfg(test)]
mod tests;

use danger::{Danger, Wrapper};
use reading::Reading;

/// What the rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// None when it is refused, whoever asks.
    pub risk: Option<RiskLevel>,
    /// The name of the rule that decided.
    pub rule: &'static str,
    /// For a person to read.
    pub why: String,
}

/// A rule as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub name: &'static str,
    /// None when what fits is refused.
    pub risk: Option<RiskLevel>,
    pub why: &'static str,
}

/// Judges a call; the strictest rule that fits decides.
pub fn judge(request: &Request) -> Verdict {
    match request {
        Request::ReadFile(_) | Request::ListDirectory(_) | Request::SearchFiles(_) => {
            READING.verdict()
        }
        Request::WriteFile(write) => judge_path(&write.path),
        Request::EditFile(edit) => judge_path(&edit.path),
        Request::ExecuteCommand(execute) => {
            let argv: Vec<&str> = execute.argv().collect();
            judge_command(&argv, execute.network)
        }
    }
}

/// Judges a command by all of its arguments.
pub fn judge_command(argv: &[&str], network: bool) -> Verdict {
    let danger = danger::judge(&BOOK, argv);
    let asked = network.then_some(NETWORK);
    if let Some(rule) = danger.into_iter().chain(asked).reduce(stricter) {
        return rule.verdict();
    }
    match BOOK.read.iter().find(|reading| reading.understands(argv)) {
        Some(reading) => reading.rule().verdict(),
        None => UNKNOWN.verdict(),
    }
}

/// Every rule, the strictest kinds first.
pub fn rules() -> &'static [Rule] {
    &RULES
}

/// Names at the top of the workspace that no command may write to or make.
pub(crate) fn sealed() -> impl Iterator<Item = &'static str> {
    BOOK.touch.iter().flat_map(|touch| &touch.sealed).map(String::as_str)
}

impl Rule {
    fn verdict(self) -> Verdict {
        Verdict { risk: self.risk, rule: self.name, why: self.why.to_owned() }
    }

    /// Refused is stricter than any risk.
    fn strictness(self) -> (bool, Option<RiskLevel>) {
        (self.risk.is_none(), self.risk)
    }
}

/// The first one stays where both are equal.
fn stricter(one: Rule, other: Rule) -> Rule {
    if other.strictness() > one.strictness() { other } else { one }
}

const READING: Rule =
    Rule { name: "reading", risk: Some(RiskLevel::Low), why: "It only reads the workspace." };
const WRITING: Rule = Rule {
    name: "writing",
    risk: Some(RiskLevel::Medium),
    why: "It changes a file of the workspace.",
};
const NETWORK: Rule =
    Rule { name: "network", risk: Some(RiskLevel::High), why: "It asks for the network." };
const UNKNOWN: Rule =
    Rule { name: "unknown", risk: Some(RiskLevel::Medium), why: "It is not known to only read." };

/// All that is in `rules/`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    /// By program: options before the first word that take a value.
    valued: BTreeMap<String, Vec<String>>,
    touch: Vec<Touch>,
    rule: Vec<Danger>,
    wrapper: Vec<Wrapper>,
    read: Vec<Reading>,
}

static BOOK: LazyLock<Book> = LazyLock::new(|| {
    toml::from_str(concat!(
        include_str!("policy/rules/names.toml"),
        include_str!("policy/rules/danger.toml"),
        include_str!("policy/rules/reading.toml"),
    ))
    .expect("the rules are read by every test of them")
});

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let book = &*BOOK;
    let dangers = book.rule.iter().map(Danger::rule);
    let mut rules: Vec<Rule> = dangers.chain(book.touch.iter().map(Touch::rule)).collect();
    rules.extend([NETWORK, danger::TOO_DEEP, WRITING, UNKNOWN, READING]);
    rules.extend(book.read.iter().map(Reading::rule));
    // Sorting keeps the order of the file among equals.
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.strictness()));
    rules
});

/// Names that other programs execute or obey.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Touch {
    name: String,
    why: String,
    /// One name or a few with `/` between, anywhere in a path.
    names: Vec<String>,
    #[serde(default)]
    sealed: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
    examples: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
    counterexamples: Vec<String>,
}

impl Touch {
    fn rule(&'static self) -> Rule {
        Rule { name: &self.name, risk: Some(RiskLevel::High), why: &self.why }
    }

    fn fits(&self, path: &[String]) -> bool {
        self.names.iter().any(|name| {
            let name: Vec<String> = name.split('/').map(str::to_lowercase).collect();
            path.windows(name.len()).any(|part| part == name)
        })
    }
}

fn judge_path(path: &str) -> Verdict {
    // Some file systems do not tell large letters from small ones, so neither do the rules. What a link makes of `..`
    // cannot be known here, so it is both followed and passed over.
    let (mut followed, mut passed) = (Vec::new(), Vec::new());
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => {
                let name = name.to_string_lossy().to_lowercase();
                followed.push(name.clone());
                passed.push(name);
            }
            Component::ParentDir => drop(followed.pop()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    let fitting = BOOK.touch.iter().find(|touch| touch.fits(&followed) || touch.fits(&passed));
    fitting.map_or(WRITING, Touch::rule).verdict()
}

/// An argument that is no path out of the workspace, by its letters.
fn inside(path: &str) -> bool {
    !path.starts_with(['/', '~']) && !path.contains('\0') && !crate::catalog::climbs(path)
}

/// What an example of a rule looks like: a line, or the arguments where one has blanks.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
#[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
enum Example {
    Line(String),
    Argv(Vec<String>),
}
