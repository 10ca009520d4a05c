//! Passwords, kept as argon2id hashes. Hashing is slow on purpose, so it runs beside the requests, few at a time.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::{Error, Result};

/// Hashes at once; each takes a core and 19 MiB.
const AT_ONCE: usize = 2;

#[derive(Debug)]
pub(super) struct Passwords {
    places: Arc<Semaphore>,
    /// Verified in place of a missing one, so that an unknown name takes as long as a wrong password.
    decoy: String,
}

impl Passwords {
    pub(super) fn new() -> Result<Self> {
        // A well-formed hash that no password gives: its output is all zeros.
        let decoy = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$\
                     AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        PasswordHash::new(decoy).map_err(|error| Error::internal(error.to_string()))?;
        Ok(Self { places: Arc::new(Semaphore::new(AT_ONCE)), decoy: decoy.to_owned() })
    }

    pub(super) async fn hash(&self, password: String) -> Result<String> {
        self.aside(move || {
            let hash = Argon2::default().hash_password(password.as_bytes());
            hash.map(|hash| hash.to_string()).map_err(|error| Error::internal(error.to_string()))
        })
        .await
    }

    /// Whether the password fits the hash; never, but as slowly, when there is no hash.
    pub(super) async fn verify(&self, password: String, hash: Option<String>) -> Result<bool> {
        let hash = hash.unwrap_or_else(|| self.decoy.clone());
        self.aside(move || {
            let parsed =
                PasswordHash::new(&hash).map_err(|error| Error::internal(error.to_string()))?;
            Ok(Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok())
        })
        .await
    }

    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(Error::internal)?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.map_err(Error::internal)?
    }
}
