//! The id of a stream entry, shaped like Redis's: two numbers, `ms-seq`, compared as a pair.
//!
//! Both sides check ids here before they use them. Redis would take more (`$`, `+`, `>`) and mean something else by
//! it; the embedded side could not follow.

use std::fmt;
use std::str::FromStr;

use super::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) major: u64,
    pub(super) minor: u64,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.major, self.minor)
    }
}

impl FromStr for Id {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (major, minor) = text.split_once('-').unwrap_or((text, "0"));
        match (number(major), number(minor)) {
            (Some(major), Some(minor)) => Ok(Self { major, minor }),
            (None, _) | (_, None) => {
                Err(Error::Invalid(format!("{text:?} is not the id of an entry")))
            }
        }
    }
}

/// Digits only: `u64::from_str` would take a plus sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_compare_as_pairs() {
        let parse = |text: &str| text.parse::<Id>().unwrap();
        assert!(parse("0") < parse("0-1"));
        assert!(parse("9-9") < parse("9-10"));
        assert!(parse("9-10") < parse("10-0"));
        assert_eq!(parse("7"), parse("7-0"));
        assert_eq!(parse("7-3").to_string(), "7-3");
    }

    #[test]
    fn what_means_something_else_to_redis_is_no_id() {
        for text in ["", "-", "1-", "-1", "$", ">", "+", "+1", "1-*", "a-b", "1-2-3"] {
            assert!(text.parse::<Id>().is_err(), "{text:?}");
        }
    }
}
