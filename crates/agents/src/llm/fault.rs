//! What went wrong, from what a service said about it.
//!
//! The status decides, except where the body says more: services answer a used-up quota and a passing rush with the
//! same 429. Nothing of the key gets into an error, even if the service repeats it.

use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};
use jiff::fmt::rfc2822::DateTimeParser;
use secrecy::{ExposeSecret, SecretString};

use super::chat::Error;

/// The longest message that is kept of a service.
const MESSAGE: usize = 500;

/// What the body of a refusal says beyond its status.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) kind: Kind,
    pub(super) message: String,
    /// How long to wait, where the body says so.
    pub(super) after: Option<Duration>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The status says it all.
    #[default]
    ByStatus,
    Quota,
    Key,
}

/// The error for an answer of this status.
pub(super) fn by_status(status: u16, headers: &HeaderMap, told: Told) -> Error {
    let Told { kind, message, after } = told;
    let message = if message.trim().is_empty() { "it gives no reason".to_owned() } else { message };
    let after = retry_after(headers).or(after);
    // Two of the services say so when they know better than their status.
    let lasting = headers.get("x-should-retry").is_some_and(|value| value == "false");
    match (kind, status) {
        (Kind::Quota, _) => Error::Quota { message, reset_after: after },
        (Kind::Key, _) | (Kind::ByStatus, 401 | 403) => Error::Unauthorised,
        (Kind::ByStatus, 408 | 409 | 429 | 500..) if !lasting => {
            Error::Busy { status, retry_after: after }
        }
        (Kind::ByStatus, _) => Error::Refused { status, message },
    }
}

/// The error as it may be shown: cut to length, on one line, and without the key.
pub(super) fn presentable(error: Error, key: Option<&SecretString>) -> Error {
    let clean = |text: String| clean(&text, key);
    match error {
        Error::Unreachable(text) => Error::Unreachable(clean(text)),
        Error::Cut(text) => Error::Cut(clean(text)),
        Error::Malformed(text) => Error::Malformed(clean(text)),
        Error::Quota { message, reset_after } => {
            Error::Quota { message: clean(message), reset_after }
        }
        Error::Refused { status, message } => Error::Refused { status, message: clean(message) },
        Error::Busy { .. } | Error::Timeout | Error::Unauthorised => error,
    }
}

fn clean(text: &str, key: Option<&SecretString>) -> String {
    let text = match key.map(|key| key.expose_secret().trim()) {
        // Shorter ones are placeholders for services that want none, and may be part of any word.
        Some(key) if key.len() >= 8 => text.replace(key, "[key]"),
        Some(_) | None => text.to_owned(),
    };
    let spaced = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = spaced.take(MESSAGE).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// What the headers ask to wait: milliseconds, seconds, or a date. A date is taken against the service's own `Date`,
/// so that neither clock has to be right.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(span) = text("retry-after-ms").and_then(|ms| seconds(ms, 1000.0)) {
        return Some(span);
    }
    let asked = text(RETRY_AFTER.as_str())?;
    seconds(asked, 1.0).or_else(|| {
        let dates = DateTimeParser::new();
        let until = dates.parse_timestamp(asked).ok()?;
        let now = dates.parse_timestamp(text(DATE.as_str())?).ok()?;
        Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
    })
}

pub(super) fn seconds(text: &str, parts: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number / parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
            })
            .collect()
    }

    /// PF-1.6: `Retry-After` in all its forms.
    #[test]
    fn the_time_to_wait_is_read_in_every_form() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for (given, expected) in [
            (vec![("retry-after", "7")], Some(7_000)),
            (vec![("retry-after", "0.5")], Some(500)),
            (vec![("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
            (vec![("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date], Some(30_000)),
            (vec![("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date], Some(0)),
            (vec![("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None),
            (vec![("retry-after", "-3")], None),
            (vec![("retry-after", "soon")], None),
            (vec![("retry-after", "1e300")], None),
            (vec![], None),
        ] {
            assert_eq!(
                retry_after(&headers(&given)),
                expected.map(Duration::from_millis),
                "{given:?}"
            );
        }
    }

    #[test]
    fn statuses_become_errors() {
        let by = |status| by_status(status, &HeaderMap::new(), Told::default());
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert!(by(status).is_passing(), "{status}");
        }
        for status in [301, 400, 404, 413, 422] {
            assert!(matches!(by(status), Error::Refused { .. }), "{status}");
        }
        for status in [401, 403] {
            assert!(matches!(by(status), Error::Unauthorised), "{status}");
        }
    }

    /// PF-5.6: a service that repeats the key does not get it into an error.
    #[test]
    fn the_key_and_long_tales_stay_out() {
        let key = SecretString::from("sk-canary");
        let tale = format!("bad key sk-canary\r\n{}", "x".repeat(10_000));
        let error = Error::Refused { status: 400, message: tale };
        let shown = presentable(error, Some(&key)).to_string();
        assert!(!shown.contains("canary") && shown.contains("[key]"), "{shown}");
        assert!(!shown.contains(['\r', '\n']) && shown.chars().count() < 600);
    }
}
