//! Known secrets are taken out of what programs print, before anybody keeps or shows it.

use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};

/// Shorter ones would be found in harmless text.
const SHORTEST: usize = 6;
const MARK: &[u8] = b"[redacted]";

/// Finds the secrets it was made with: as they are, inside a JSON string, and inside base64 wherever they begin there.
#[derive(Clone, Default)]
pub struct Redactor {
    forms: Option<AhoCorasick>,
    longest: usize,
}

impl Redactor {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut forms = Vec::new();
        for secret in secrets {
            let secret = secret.expose_secret();
            if secret.len() >= SHORTEST {
                forms.push(secret.as_bytes().to_vec());
                let quoted = serde_json::Value::from(secret).to_string();
                forms.push(quoted.as_bytes()[1..quoted.len() - 1].to_vec());
                forms.extend(encoded(secret.as_bytes()));
            }
        }
        if forms.is_empty() {
            return Self::default();
        }
        let longest = forms.iter().map(Vec::len).max().unwrap_or(0);
        let forms = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(forms);
        // It refuses only what fills the memory many times over, which no key and no token does.
        Self { forms: forms.ok(), longest }
    }

    /// The first `most` bytes of a line as they may be shown; a secret that goes beyond them is taken out, too.
    pub fn show(&self, line: &[u8], most: usize) -> String {
        let end = line.len().min(most);
        let Some(forms) = &self.forms else {
            return String::from_utf8_lossy(&line[..end]).into_owned();
        };
        let window = &line[..line.len().min(most.saturating_add(self.longest))];
        let mut shown = Vec::new();
        let mut done = 0;
        for found in forms.find_iter(window).take_while(|found| found.start() < end) {
            shown.extend_from_slice(&window[done..found.start()]);
            shown.extend_from_slice(MARK);
            done = found.end();
        }
        shown.extend_from_slice(&window[done..end.max(done)]);
        String::from_utf8(shown)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// How a secret looks in base64, with zero, one or two bytes of a group before it: only the characters that nothing but
/// the secret decides.
fn encoded(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(secret);
        let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&bytes).as_bytes()[first..end].to_vec());
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        let secrets: Vec<_> = secrets.iter().map(|secret| SecretString::from(*secret)).collect();
        Redactor::new(&secrets)
    }

    #[test]
    fn secrets_are_taken_out_in_every_form() {
        let secret = "sk-\"quoted\"/+key?>";
        let redactor = redactor(&[secret, "short", "another-token"]);
        let show = |line: &str| redactor.show(line.as_bytes(), 1000);
        assert_eq!(show(&format!("key={secret}!")), "key=[redacted]!");
        assert_eq!(show("short words stay"), "short words stay");
        let json = serde_json::json!({"key": secret}).to_string();
        assert_eq!(show(&json), r#"{"key":"[redacted]"}"#);
        for before in ["", "u", "us", "user:"] {
            let basic = STANDARD.encode(format!("{before}{secret}:"));
            let shown = show(&format!("Authorization: Basic {basic}"));
            assert!(shown.contains("[redacted]"), "{shown}");
            let url_safe = URL_SAFE_NO_PAD.encode(format!("{before}another-token"));
            assert!(show(&url_safe).contains("[redacted]"));
        }
    }

    #[test]
    fn a_secret_across_the_cut_does_not_show_its_beginning() {
        let redactor = redactor(&["a-secret-of-some-length"]);
        let line = "0123456789 a-secret-of-some-length and more";
        for most in 12..30 {
            assert_eq!(redactor.show(line.as_bytes(), most), "0123456789 [redacted]");
        }
        let many = "a-secret-of-some-length ".repeat(20);
        for most in 0..many.len() {
            assert!(!redactor.show(many.as_bytes(), most).contains("a-s"));
        }
        assert_eq!(Redactor::default().show(b"\xffab", 2), "\u{fffd}a");
    }
}
