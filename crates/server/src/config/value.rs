//! A configured value, as text in the environment or as TOML.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Flag,
    List,
    Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Unset,
    Text(String),
    Number(u64),
    Flag(bool),
    List(Vec<String>),
    Span(Duration),
}

impl Value {
    pub(super) fn from_text(kind: Kind, text: &str) -> Result<Self, String> {
        let text = text.trim();
        Ok(match kind {
            Kind::Text if text.is_empty() => Self::Unset,
            Kind::Text => Self::Text(text.to_owned()),
            Kind::Number => Self::Number(
                text.parse().map_err(|_| format!("{text:?} is not a number from 0 up"))?,
            ),
            Kind::Flag => Self::Flag(match text {
                "true" | "1" | "yes" => true,
                "false" | "0" | "no" => false,
                other => return Err(format!("{other:?} is neither true nor false")),
            }),
            Kind::List => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Self::List(items.map(str::to_owned).collect())
            }
            Kind::Span => Self::Span(parse_span(text)?),
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "TOML has kinds that no setting takes")]
    pub(super) fn from_toml(kind: Kind, value: toml::Value) -> Result<Self, String> {
        match (kind, value) {
            (Kind::Text | Kind::Span, toml::Value::String(text)) => Self::from_text(kind, &text),
            (Kind::Number, toml::Value::Integer(number)) => {
                u64::try_from(number).map(Self::Number).map_err(|_| format!("{number} is below 0"))
            }
            (Kind::Flag, toml::Value::Boolean(flag)) => Ok(Self::Flag(flag)),
            (Kind::List, toml::Value::Array(items)) => {
                let texts = items.into_iter().map(|item| match item {
                    toml::Value::String(text) => Ok(text),
                    other => Err(format!("{other} is not text")),
                });
                texts.collect::<Result<_, _>>().map(Self::List)
            }
            (_, other) => Err(format!("{other} is not {}", kind.described())),
        }
    }
}

impl Kind {
    fn described(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number from 0 up",
            Self::Flag => "true or false",
            Self::List => "a list of texts",
            Self::Span => "a span of time such as \"30s\", \"15m\", \"12h\" or \"30d\"",
        }
    }
}

/// `500ms`, `30s`, `15m`, `12h`, `30d`.
pub(crate) fn parse_span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not {}", Kind::Span.described());
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    // A hundred years is for ever, and keeps every sum of times in range.
    let millis = number
        .checked_mul(millis)
        .filter(|millis| *millis <= 36_500 * 86_400_000)
        .ok_or_else(wrong)?;
    Ok(Duration::from_millis(millis))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::List(items) => f.write_str(&items.join(",")),
            Self::Span(span) => {
                let millis = span.as_millis();
                let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
                match units.iter().find(|(unit, _)| millis > 0 && millis % unit == 0) {
                    Some((unit, name)) => write!(f, "{}{name}", millis / unit),
                    None => write!(f, "{millis}ms"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_show_alike() {
        for text in ["250ms", "30s", "15m", "12h", "30d"] {
            let span = parse_span(text).unwrap();
            assert_eq!(Value::Span(span).to_string(), text);
        }
        for text in ["", "30", "s", "-1s", "1 s", "99999999999999999999d", "40000d", "1y"] {
            assert!(parse_span(text).is_err(), "{text}");
        }
    }
}
