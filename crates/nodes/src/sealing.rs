//! What others must not read, such as keys of model services, is sealed: in the database, and on its way to a worker.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

/// Seals with a key that is made of a secret.
pub struct Sealer(LessSafeKey);

/// Nothing could be sealed: the machine gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a text could not be sealed: the operating system gives no random bytes")]
pub struct Unsealed;

impl Sealer {
    /// The purpose keeps this use of the secret apart from all others.
    pub fn new(secret: &SecretString, purpose: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
        let derived = hmac::sign(&key, purpose.as_bytes());
        let key = UnboundKey::new(&CHACHA20_POLY1305, derived.as_ref())
            .expect("the digest has the length of the key");
        Self(LessSafeKey::new(key))
    }

    /// Seals a text to what it belongs to: moved elsewhere, it cannot be opened.
    pub fn seal(&self, text: &str, owner: &str) -> Result<String, Unsealed> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| Unsealed)?;
        let mut sealed = text.as_bytes().to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(owner),
                &mut sealed,
            )
            .map_err(|_| Unsealed)?;
        let mut whole = nonce.to_vec();
        whole.append(&mut sealed);
        Ok(URL_SAFE_NO_PAD.encode(whole))
    }

    /// None: it is damaged, belongs to another, or was sealed with another secret.
    pub fn open(&self, sealed: &str, owner: &str) -> Option<SecretString> {
        let mut whole = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, rest) = whole.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.0.open_in_place(nonce, Aad::from(owner), rest).ok()?;
        Some(String::from_utf8(text.to_vec()).ok()?.into())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_opens_it_and_only_with_the_same_secret() {
        let sealer = |secret: &str, purpose| Sealer::new(&secret.into(), purpose);
        let (one, other, third) = (sealer("a", "x"), sealer("b", "x"), sealer("a", "y"));
        let sealed = one.seal("sk-123", "agent").unwrap();
        assert!(!sealed.contains("sk-123"));
        assert_eq!(one.open(&sealed, "agent").unwrap().expose_secret(), "sk-123");
        assert_ne!(sealed, one.seal("sk-123", "agent").unwrap());
        assert!(one.open(&sealed, "another").is_none());
        assert!(other.open(&sealed, "agent").is_none());
        assert!(third.open(&sealed, "agent").is_none());
        for damaged in ["", "AAAA", &sealed[..sealed.len() - 2], "not base64!"] {
            assert!(one.open(damaged, "agent").is_none(), "{damaged}");
        }
    }
}
