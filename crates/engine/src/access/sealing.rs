//! What is kept for others, such as keys of model services, is kept sealed: who has the database alone cannot read it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

use crate::{Error, Result};

/// Keeps this use of the server's secret apart from all others.
const PURPOSE: &[u8] = b"artel: what is kept for others";

pub(crate) struct Sealer(LessSafeKey);

impl Sealer {
    pub(super) fn new(secret: &SecretString) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
        let derived = hmac::sign(&key, PURPOSE);
        let key = UnboundKey::new(&CHACHA20_POLY1305, derived.as_ref())
            .expect("the digest has the length of the key");
        Self(LessSafeKey::new(key))
    }

    /// Seals a text to what it belongs to: moved elsewhere, it cannot be opened.
    pub(crate) fn seal(&self, text: &str, owner: &str) -> Result<String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|error| Error::internal(error.to_string()))?;
        let mut sealed = text.as_bytes().to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(owner),
                &mut sealed,
            )
            .map_err(|_| Error::internal("a text could not be sealed"))?;
        let mut whole = nonce.to_vec();
        whole.append(&mut sealed);
        Ok(URL_SAFE_NO_PAD.encode(whole))
    }

    /// None: it is damaged, belongs to another, or was sealed with another secret.
    pub(crate) fn open(&self, sealed: &str, owner: &str) -> Option<SecretString> {
        let mut whole = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, rest) = whole.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.0.open_in_place(nonce, Aad::from(owner), rest).ok()?;
        Some(String::from_utf8(text.to_vec()).ok()?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_opens_it_and_only_with_the_same_secret() {
        let (one, other) = (Sealer::new(&"a".into()), Sealer::new(&"b".into()));
        let sealed = one.seal("sk-123", "agent").unwrap();
        assert!(!sealed.contains("sk-123"));
        assert_eq!(one.open(&sealed, "agent").unwrap().expose_secret(), "sk-123");
        assert_ne!(sealed, one.seal("sk-123", "agent").unwrap());
        assert!(one.open(&sealed, "another").is_none());
        assert!(other.open(&sealed, "agent").is_none());
        for damaged in ["", "AAAA", &sealed[..sealed.len() - 2], "not base64!"] {
            assert!(one.open(damaged, "agent").is_none(), "{damaged}");
        }
    }
}
