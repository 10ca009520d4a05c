//! What is written with: the characters that a terminal can show, and figures as people read them.

use std::collections::BTreeMap;
use std::time::Duration;

use artel_domain::plan::{Range, TaskStatus};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pen {
    Unicode,
    /// For terminals that know no better.
    Ascii,
}

impl Pen {
    /// What the terminal of this environment can show, by its locale.
    pub(crate) fn of(environment: &BTreeMap<String, String>) -> Self {
        let said = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(said);
        let utf8 = locale.is_some_and(|locale| {
            let locale = locale.to_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        if utf8 && !is_dumb(environment) { Self::Unicode } else { Self::Ascii }
    }

    pub(super) const fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }

    pub(super) const fn state(self, status: TaskStatus) -> &'static str {
        match status {
            TaskStatus::Pending => self.pick("○", "o"),
            TaskStatus::Executing => self.pick("●", ">"),
            TaskStatus::Completed => self.pick("✓", "v"),
            TaskStatus::Failed => self.pick("✗", "x"),
            TaskStatus::Cancelled => self.pick("⊘", "/"),
            TaskStatus::Skipped => self.pick("·", "."),
            TaskStatus::OutcomeUnknown => "?",
        }
    }

    /// Stands for what was left out.
    pub(super) const fn more(self) -> &'static str {
        self.pick("…", "...")
    }

    pub(super) fn dollars_between(self, range: Range) -> String {
        self.between(dollars(range.min), &dollars(range.max))
    }

    pub(super) fn seconds_between(self, range: Range) -> String {
        self.between(seconds(range.min), &seconds(range.max))
    }

    fn between(self, least: String, most: &str) -> String {
        if least == most { least } else { format!("{least}{}{most}", self.pick("–", "-")) }
    }
}

/// A terminal that can only be written to line by line.
pub(super) fn is_dumb(environment: &BTreeMap<String, String>) -> bool {
    environment.get("TERM").is_some_and(|term| term == "dumb")
}

pub(super) fn dollars(value: f64) -> String {
    if value <= 0.0 {
        "$0".to_owned()
    } else if value < 0.0001 {
        "<$0.0001".to_owned()
    } else if value < 1.0 {
        format!("${value:.4}")
    } else {
        format!("${value:.2}")
    }
}

pub(super) fn seconds(value: f64) -> String {
    span(Duration::try_from_secs_f64(value).unwrap_or_default())
}

pub(super) fn span(span: Duration) -> String {
    match span.as_secs() {
        0..10 => format!("{:.1} s", span.as_secs_f64()),
        whole @ 10..120 => format!("{whole} s"),
        whole @ 120..7200 => format!("{} min", whole / 60),
        whole @ 7200..172_800 => format!("{} h", whole / 3600),
        whole => format!("{} d", whole / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_locale_says_what_can_be_shown() {
        let cases: &[(&[(&str, &str)], Pen)] = &[
            (&[], Pen::Ascii),
            (&[("LANG", "C")], Pen::Ascii),
            (&[("LANG", "ru_RU.UTF-8")], Pen::Unicode),
            (&[("LANG", "C.utf8"), ("LC_ALL", "")], Pen::Unicode),
            (&[("LANG", "en_GB.UTF-8"), ("LC_ALL", "POSIX")], Pen::Ascii),
            (&[("LANG", "en_GB.UTF-8"), ("TERM", "dumb")], Pen::Ascii),
        ];
        for (pairs, pen) in cases {
            assert_eq!(Pen::of(&environment(pairs)), *pen, "{pairs:?}");
        }
    }

    #[test]
    fn figures_are_short() {
        for (value, shown) in [
            (0.0, "$0"),
            (-1.0, "$0"),
            (0.000_001, "<$0.0001"),
            (0.012_34, "$0.0123"),
            (1234.5, "$1234.50"),
        ] {
            assert_eq!(dollars(value), shown);
        }
        for (value, shown) in [
            (f64::NAN, "0.0 s"),
            (0.3, "0.3 s"),
            (10.9, "10 s"),
            (150.0, "2 min"),
            (7200.0, "2 h"),
            (400_000.0, "4 d"),
            (f64::INFINITY, "0.0 s"),
        ] {
            assert_eq!(seconds(value), shown);
        }
        assert_eq!(Pen::Ascii.seconds_between(Range::new(3.0, 20.0)), "3.0 s-20 s");
        assert_eq!(Pen::Unicode.dollars_between(Range::exactly(0.5)), "$0.5000");
    }
}
