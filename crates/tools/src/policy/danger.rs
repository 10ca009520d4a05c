//! Commands that are dangerous: looked for generously, since the price of a mistake is a question.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use artel_domain::agent::RiskLevel;
use serde::Deserialize;

use super::{Book, Example, Rule, stricter};

/// Programs within programs are followed so far.
const DEEPEST: usize = 8;
/// Where every word may be a program, so many are looked at.
const MOST_WORDS: usize = 64;

pub(super) const TOO_DEEP: Rule = Rule {
    name: "too deep",
    risk: Some(RiskLevel::High),
    why: "It runs a program that cannot be found among so many words.",
};

/// A rule fits when all the conditions it has hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Danger {
    pub(super) name: String,
    verdict: Severity,
    why: String,
    /// By name, wherever the program is …
    #[serde(default)]
    programs: Vec<String>,
    /// … or by the beginning of its name.
    #[serde(default)]
    program_starts: Vec<String>,
    #[serde(default)]
    subcommands: Vec<String>,
    /// One of these options before the first word.
    #[serde(default)]
    before: Vec<String>,
    /// One of these options anywhere.
    #[serde(default)]
    any: Vec<String>,
    /// One of these operands …
    #[serde(default)]
    operands: Vec<String>,
    /// … or one that begins like this.
    #[serde(default)]
    operand_starts: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
    pub(super) examples: Vec<Example>,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
    pub(super) counterexamples: Vec<Example>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    High,
    Refuse,
}

/// Programs that run the program among their arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wrapper {
    pub(super) programs: Vec<String>,
    /// Options that take the next argument.
    #[serde(default)]
    valued: Vec<String>,
    #[serde(default)]
    flags: Vec<String>,
    /// Operands before the command.
    #[serde(default)]
    operands: usize,
    /// Whether `NAME=value` may stand before the command.
    #[serde(default)]
    assignments: bool,
    /// Options that are followed by the command.
    #[serde(default)]
    after: Vec<String>,
    /// Whether every word may be the command.
    #[serde(default)]
    anywhere: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
    pub(super) examples: Vec<Example>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests of the rules"))]
    pub(super) counterexamples: Vec<Example>,
}

/// The strictest rule that fits, also what is wrapped in the command.
pub(super) fn judge(book: &'static Book, argv: &[&str]) -> Option<Rule> {
    let mut found = None;
    let mut argv = argv;
    for _ in 0..DEEPEST {
        found = both(found, book.direct(argv));
        match book.unwrap(argv) {
            Inner::None => return found,
            Inner::Command(inner) => argv = inner,
            // These are all that could follow, so there is nothing deeper to look for.
            Inner::Anywhere(words) => {
                let every =
                    (0..words.len().min(MOST_WORDS)).filter_map(|at| book.direct(&words[at..]));
                let found = every.fold(found, |found, rule| both(found, Some(rule)));
                return if words.len() > MOST_WORDS { both(found, Some(TOO_DEEP)) } else { found };
            }
        }
    }
    both(found, Some(TOO_DEEP))
}

fn both(one: Option<Rule>, other: Option<Rule>) -> Option<Rule> {
    one.into_iter().chain(other).reduce(stricter)
}

/// The command within a command.
enum Inner<'a, 'b> {
    None,
    Command(&'a [&'b str]),
    /// It begins at one of these words.
    Anywhere(&'a [&'b str]),
}

impl Book {
    /// By the rules alone, without what is wrapped.
    fn direct(&'static self, argv: &[&str]) -> Option<Rule> {
        let (program, arguments) = argv.split_first()?;
        let program = name(program);
        let mut fitting = self.rule.iter().filter(|rule| rule.is_of(program)).peekable();
        fitting.peek()?;
        let line = Line::new(self, program, arguments);
        fitting.filter(|rule| rule.fits(&line)).map(Danger::rule).reduce(stricter)
    }

    fn unwrap<'a, 'b>(&self, argv: &'a [&'b str]) -> Inner<'a, 'b> {
        let Some((program, arguments)) = argv.split_first() else { return Inner::None };
        let program = name(program);
        let wrapper =
            self.wrapper.iter().find(|wrapper| wrapper.programs.iter().any(|one| one == program));
        wrapper.map_or(Inner::None, |wrapper| wrapper.unwrap(arguments))
    }
}

impl Wrapper {
    fn unwrap<'a, 'b>(&self, arguments: &'a [&'b str]) -> Inner<'a, 'b> {
        if self.anywhere {
            return Inner::Anywhere(arguments);
        }
        if !self.after.is_empty() {
            let is = |argument: &&str| self.after.iter().any(|one| one == argument);
            // All that follows the first one; a second one is among it.
            return arguments
                .iter()
                .position(is)
                .map_or(Inner::None, |at| Inner::Anywhere(&arguments[at + 1..]));
        }
        let mut operands = self.operands;
        let mut at = 0;
        while let Some(&argument) = arguments.get(at) {
            let known = |list: &[String]| list.iter().any(|one| one == argument);
            if argument == "--" || known(&self.flags) || self.has_value(argument) {
                at += 1;
            } else if known(&self.valued) {
                at += 2;
            } else if argument.starts_with('-') {
                return Inner::Anywhere(arguments);
            } else if self.assignments && argument.contains('=') {
                at += 1;
            } else if operands > 0 {
                operands -= 1;
                at += 1;
            } else {
                return Inner::Command(&arguments[at..]);
            }
        }
        Inner::None
    }

    /// `-n5` or `--signal=KILL`.
    fn has_value(&self, argument: &str) -> bool {
        let with = |option: &String| match argument.strip_prefix(option.as_str()) {
            Some(rest) if option.starts_with("--") => rest.starts_with('='),
            Some(rest) => !rest.is_empty(),
            None => false,
        };
        self.valued.iter().any(with)
    }
}

/// A command as the rules look at it.
struct Line<'a> {
    arguments: &'a [&'a str],
    /// The options before the first word; all arguments when it is not sure where that is.
    before: &'a [&'a str],
    /// What is no option, nor the value of a known one, from the first word on.
    words: Vec<&'a str>,
    sure: bool,
}

impl<'a> Line<'a> {
    fn new(book: &'a Book, program: &str, arguments: &'a [&'a str]) -> Self {
        let valued = book.valued.get(program).map_or(&[][..], Vec::as_slice);
        let mut at = 0;
        let mut sure = true;
        while let Some(argument) = arguments.get(at) {
            if valued.iter().any(|option| option == argument) {
                at += 1;
            } else if argument.starts_with('-') {
                sure = sure && argument.contains('=');
            } else if !argument.starts_with('+') {
                break;
            }
            at += 1;
        }
        let at = at.min(arguments.len());
        let from = if sure { at } else { 0 };
        let words =
            arguments[from..].iter().copied().filter(|word| !word.starts_with('-')).collect();
        Self { arguments, before: if sure { &arguments[..at] } else { arguments }, words, sure }
    }

    fn has_subcommand(&self, subcommand: &str) -> bool {
        let wanted: Vec<&str> = subcommand.split(' ').collect();
        if self.sure {
            self.words.starts_with(&wanted)
        } else {
            self.words.windows(wanted.len()).any(|words| words == wanted)
        }
    }
}

impl Danger {
    pub(super) fn rule(&'static self) -> Rule {
        let risk = match self.verdict {
            Severity::High => Some(RiskLevel::High),
            Severity::Refuse => None,
        };
        Rule { name: &self.name, risk, why: &self.why }
    }

    fn is_of(&self, program: &str) -> bool {
        self.programs.iter().any(|one| one == program)
            || self.program_starts.iter().any(|start| program.starts_with(start.as_str()))
    }

    fn fits(&self, line: &Line<'_>) -> bool {
        let subcommand = self.subcommands.is_empty()
            || self.subcommands.iter().any(|one| line.has_subcommand(one));
        let before = self.before.is_empty() || has_any(line.before, &self.before);
        let any = self.any.is_empty() || has_any(line.arguments, &self.any);
        subcommand && before && any && self.fits_operands(line)
    }

    fn fits_operands(&self, line: &Line<'_>) -> bool {
        if self.operands.is_empty() && self.operand_starts.is_empty() {
            return true;
        }
        let mut operands = line.arguments.iter().map(|argument| plain(argument));
        operands.any(|operand| {
            self.operands.iter().any(|one| *one == operand)
                || self.operand_starts.iter().any(|start| operand.starts_with(start.as_str()))
        })
    }
}

/// The name of a program. One of the workspace goes by its whole path: it is not the system's of the same name.
fn name(program: &str) -> &str {
    if program.starts_with('/') || !super::inside(program) {
        program.rsplit('/').next().unwrap_or(program)
    } else {
        program
    }
}

fn has_any(arguments: &[&str], options: &[String]) -> bool {
    options.iter().any(|option| arguments.iter().any(|argument| is_option(argument, option)))
}

/// Whether an argument is, or contains, this option: also abbreviated (`--recurs`), with its value (`--eval=x`) or
/// among other letters (`-rf`).
fn is_option(argument: &str, option: &str) -> bool {
    let given = argument.split_once('=').map_or(argument, |(given, _)| given);
    if option.starts_with("--") {
        return given == option || (given.len() >= 4 && option.starts_with(given));
    }
    let mut letters = option.chars().skip(1);
    match (letters.next(), letters.next()) {
        (Some(letter), None) => {
            argument.starts_with('-') && !argument.starts_with("--") && argument.contains(letter)
        }
        _ => given == option,
    }
}

/// An absolute path by its shortest spelling, anything else without slashes at its end.
fn plain(operand: &str) -> Cow<'_, str> {
    if !operand.starts_with('/') {
        return Cow::Borrowed(operand.trim_end_matches('/'));
    }
    let mut path = PathBuf::from("/");
    for component in Path::new(operand).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => drop(path.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Cow::Owned(path.to_string_lossy().into_owned())
}
