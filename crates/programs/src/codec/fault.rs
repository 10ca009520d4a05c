//! What kind of failure it is, read from what the programs say about it.

use super::Fault;

/// Words by which a failure is known, in the order in which they count.
const WORDS: [(Fault, &[&str]); 4] = [
    (
        Fault::Login,
        &[
            "not logged in",
            "/login",
            "log in",
            "api key",
            "api_key",
            "_key`",
            "authenti",
            "unauthorized",
            "access token",
        ],
    ),
    (
        Fault::Quota,
        &["rate limit", "rate_limit", "quota", "usage limit", "too many requests", "exhausted"],
    ),
    (
        Fault::Unreachable,
        &[
            "connect",
            "network",
            "unreachable",
            "timed out",
            "timeout",
            "overloaded",
            "high demand",
            "fetch failed",
        ],
    ),
    (Fault::Refused, &["invalid_request", "invalid request"]),
];

impl Fault {
    /// By an HTTP status of the model service.
    pub(super) fn of_status(status: u64) -> Self {
        match status {
            401 | 403 => Self::Login,
            402 | 429 => Self::Quota,
            400..=499 => Self::Refused,
            500..=599 => Self::Unreachable,
            _ => Self::Other,
        }
    }

    /// By the words for people, which often hold the status too.
    pub(super) fn of_text(text: &str) -> Self {
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| digits.len() == 3);
        let status = numbers.filter_map(|digits| digits.parse().ok()).map(Self::of_status);
        if let Some(fault) = status.into_iter().find(|fault| *fault != Self::Other) {
            return fault;
        }
        let text = text.to_lowercase();
        let known = WORDS.iter().find(|(_, words)| words.iter().any(|word| text.contains(word)));
        known.map_or(Self::Other, |(fault, _)| *fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_tell_the_fault() {
        for (text, fault) in [
            ("Not logged in · Please run /login", Fault::Login),
            ("API Error: 400 scripted 400", Fault::Refused),
            ("API Error: Unable to connect to API (ConnectionRefused)", Fault::Unreachable),
            ("Missing environment variable: `FAKE_OPENAI_KEY`.", Fault::Login),
            ("Gemini API key is missing or not configured.", Fault::Login),
            (r#"{"error":{"code":429,"message":"slow down"}}"#, Fault::Quota),
            ("We’re currently experiencing high demand", Fault::Unreachable),
            ("it is Tuesday", Fault::Other),
        ] {
            assert_eq!(Fault::of_text(text), fault, "{text}");
        }
    }
}
