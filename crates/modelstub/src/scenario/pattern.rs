//! How a rule looks for something in a request.

use anyhow::{Context, Result};
use regex::Regex;

const REGEX: &str = "re:";

/// A part of a text, or `re:` and a regular expression.
#[derive(Debug, Clone)]
pub(crate) enum Text {
    Part(String),
    Regex(Regex),
}

impl Text {
    pub(crate) fn parse(pattern: String) -> Result<Self> {
        match pattern.strip_prefix(REGEX) {
            Some(regex) => Ok(Self::Regex(
                Regex::new(regex).with_context(|| format!("bad expression {regex:?}"))?,
            )),
            None => Ok(Self::Part(pattern)),
        }
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Part(part) => text.contains(part),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

/// A name in which `*` stands for anything.
#[derive(Debug, Clone)]
pub(crate) struct Glob(Regex);

impl Glob {
    pub(crate) fn parse(pattern: &str) -> Result<Self> {
        let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
        let regex = format!("(?s)^{}$", parts.join(".*"));
        Ok(Self(Regex::new(&regex).with_context(|| format!("bad pattern {pattern:?}"))?))
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_and_a_dot_for_itself() {
        let glob = Glob::parse("gpt-4.1*").unwrap();
        assert!(glob.matches("gpt-4.1") && glob.matches("gpt-4.1-mini"));
        assert!(!glob.matches("gpt-4x1") && !glob.matches("my-gpt-4.1"));
    }
}
