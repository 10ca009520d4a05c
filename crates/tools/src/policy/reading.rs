//! Commands that only read: known by every one of their arguments, or not at all.

use artel_domain::agent::RiskLevel;
use serde::Deserialize;

use super::{Example, READING, Rule, inside};

/// All that a program may be told and still only reads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reading {
    pub(super) name: String,
    pub(super) programs: Vec<String>,
    /// Options that may stand before the subcommand.
    #[serde(default)]
    leading: Vec<String>,
    /// One of these must follow; words of one are divided by a blank.
    #[serde(default)]
    subcommands: Vec<String>,
    /// One of these must be among the arguments.
    #[serde(default)]
    needs: Vec<String>,
    /// Flags of one letter, which may be combined.
    #[serde(default)]
    letters: String,
    /// Options that stand alone.
    #[serde(default)]
    options: Vec<String>,
    /// Options that stand alone or with their value in the same argument.
    #[serde(default)]
    attached: Vec<String>,
    /// Options that take a value, in the same argument or the next.
    #[serde(default)]
    valued: Vec<String>,
    /// Options that take a path, in the same argument or the next.
    #[serde(default)]
    paths: Vec<String>,
    /// Whether `-20` is an option.
    #[serde(default)]
    numbers: bool,
    #[serde(default)]
    operands: Operands,
    /// So many operands at most.
    most: Option<usize>,
    /// What every operand begins with.
    operand_start: Option<String>,
    /// So many operands at the beginning are no paths …
    #[serde(default)]
    text: usize,
    /// … unless one of these options was there.
    #[serde(default)]
    text_from: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
    pub(super) examples: Vec<Example>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
    pub(super) counterexamples: Vec<Example>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operands {
    #[default]
    None,
    /// In the workspace.
    Paths,
    /// Anything.
    Text,
}

/// What one argument turned out to be.
enum Argument<'a> {
    /// An option, with nothing more to it.
    Option(&'a str),
    /// An option and its value in one.
    With(&'a str, &'a str),
    /// An option whose value is the next argument.
    Awaits(&'a str),
    Operand,
    Unknown,
}

impl Reading {
    pub(super) fn rule(&'static self) -> Rule {
        Rule { name: &self.name, risk: Some(RiskLevel::Low), why: READING.why }
    }

    /// Whether nothing in this command is unknown.
    pub(super) fn understands(&self, argv: &[&str]) -> bool {
        let Some((program, arguments)) = argv.split_first() else { return false };
        has(&self.programs, program)
            && self
                .after_subcommand(arguments)
                .is_some_and(|arguments| self.understands_all(arguments))
    }

    fn after_subcommand<'a, 'b>(&self, arguments: &'a [&'b str]) -> Option<&'a [&'b str]> {
        if self.subcommands.is_empty() {
            return Some(arguments);
        }
        let leading = arguments.iter().take_while(|argument| has(&self.leading, argument)).count();
        let arguments = &arguments[leading..];
        // The longest one, so that `stash list` is not a `stash` with an operand.
        let lengths = self.subcommands.iter().filter_map(|subcommand| {
            let words: Vec<&str> = subcommand.split(' ').collect();
            arguments.starts_with(&words).then_some(words.len())
        });
        lengths.max().map(|length| &arguments[length..])
    }

    fn understands_all(&self, arguments: &[&str]) -> bool {
        let mut operands = Vec::new();
        let mut seen = Vec::new();
        let mut rest = arguments.iter().copied();
        while let Some(argument) = rest.next() {
            if argument == "--" {
                operands.extend(rest.by_ref());
                break;
            }
            let (option, value) = match self.read(argument) {
                Argument::Option(option) => (option, None),
                Argument::With(option, value) => (option, Some(value)),
                Argument::Awaits(option) => match rest.next() {
                    Some(value) => (option, Some(value)),
                    None => return false,
                },
                Argument::Operand => {
                    operands.push(argument);
                    continue;
                }
                Argument::Unknown => return false,
            };
            if has(&self.paths, option) && !value.is_some_and(inside) {
                return false;
            }
            seen.push(option);
        }
        let needed =
            self.needs.is_empty() || self.needs.iter().any(|need| seen.contains(&need.as_str()));
        needed && self.takes(&operands, &seen)
    }

    fn read<'a>(&'a self, argument: &'a str) -> Argument<'a> {
        if !argument.starts_with('-') || argument == "-" {
            return Argument::Operand;
        }
        if has(&self.options, argument) || has(&self.attached, argument) {
            return Argument::Option(argument);
        }
        if self.awaits(argument) {
            return Argument::Awaits(argument);
        }
        if self.numbers && argument[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            return Argument::Option(argument);
        }
        if let Some((option, value)) = argument.split_once('=')
            && (has(&self.attached, option) || self.awaits(option))
            && option.starts_with("--")
        {
            return Argument::With(option, value);
        }
        self.read_letters(argument)
    }

    /// `-la`, `-n5`, `-ln 5`: flags, the last of which may take a value.
    fn read_letters<'a>(&'a self, argument: &'a str) -> Argument<'a> {
        let Some(letters) = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
            return Argument::Unknown;
        };
        for (at, letter) in letters.char_indices() {
            let is = |option: &&String| {
                option.strip_prefix('-').is_some_and(|rest| rest.chars().eq([letter]))
            };
            let value = &letters[at + letter.len_utf8()..];
            if let Some(option) = self.valued.iter().chain(&self.paths).find(is) {
                return if value.is_empty() {
                    Argument::Awaits(option)
                } else {
                    Argument::With(option, value)
                };
            }
            if let Some(option) = self.attached.iter().find(is) {
                return Argument::With(option, value);
            }
            if !self.letters.contains(letter) {
                return Argument::Unknown;
            }
        }
        Argument::Option(argument)
    }

    fn awaits(&self, option: &str) -> bool {
        has(&self.valued, option) || has(&self.paths, option)
    }

    fn takes(&self, operands: &[&str], seen: &[&str]) -> bool {
        let given = self.text_from.iter().any(|option| seen.contains(&option.as_str()));
        let text = if given { 0 } else { self.text };
        let begins = |operand: &&str| {
            self.operand_start.as_ref().is_none_or(|start| operand.starts_with(start))
        };
        self.most.is_none_or(|most| operands.len() <= most)
            && operands.iter().all(begins)
            && match self.operands {
                Operands::None => operands.is_empty(),
                Operands::Paths => operands.iter().skip(text).all(|operand| inside(operand)),
                Operands::Text => true,
            }
    }
}

fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|one| one == word)
}

#[cfg(test)]
impl Reading {
    /// Whether the rule names this option as harmless.
    pub(super) fn lists(&self, argument: &str) -> bool {
        !matches!(self.read(argument), Argument::Operand | Argument::Unknown)
    }

    pub(super) fn takes_text(&self) -> bool {
        self.operands == Operands::Text
    }
}
