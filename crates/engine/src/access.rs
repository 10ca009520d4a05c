//! Who is who: tokens, passwords, and the accounts behind them.
//!
//! A token says which account it is for; whether the account exists, what it may do and whether it was disabled is
//! looked up (and remembered for a few seconds), never taken from the token.

use std::sync::Arc;
use std::time::Duration;

use artel_domain::{Clock, Role, User};
use artel_storage::users::{self, LOCAL, NewUser};
use artel_storage::{Db, Lane, Listed, Page};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moka::future::Cache;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::input::Input;
use crate::{Caller, Error, Kind, Result};

pub mod keys;
mod passwords;

pub use keys::{Identity, Keys, Outside};
use passwords::Passwords;

/// How long an account is remembered, and so how long a disabled one may still be served by another node.
const REMEMBERED: Duration = Duration::from_secs(5);

/// How long a ticket can be used.
const TICKET: Duration = Duration::from_mins(10);

/// Shortest password that is taken.
const PASSWORD: usize = 8;

#[derive(Debug, Clone)]
pub struct Settings {
    pub keys: Keys,
    /// How long a log-in lasts.
    pub token_ttl: Duration,
    /// Whether an account is made for a valid token whose subject is new.
    pub auto_provision: bool,
}

/// A name and its password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogIn {
    #[schema(min_length = 1, max_length = 255, example = "ada")]
    pub username: String,
    #[schema(min_length = 1, max_length = 1024, example = "correct horse battery staple")]
    pub password: String,
}

impl Input for LogIn {}

/// The ticket of a one-time link.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ticket {
    #[schema(min_length = 1, max_length = 100)]
    pub ticket: String,
}

impl Input for Ticket {}

/// A token to send as `Authorization: Bearer`.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names of RFC 6749")]
pub struct Token {
    pub access_token: String,
    #[schema(example = "bearer")]
    pub token_type: &'static str,
    /// In seconds.
    #[schema(example = 86_400)]
    pub expires_in: u64,
}

#[derive(Debug)]
pub struct Accounts {
    db: Db,
    clock: Arc<dyn Clock>,
    keys: Keys,
    passwords: Passwords,
    token_ttl: Duration,
    auto_provision: bool,
    known: Cache<Identity, Arc<User>>,
    /// Log-ins that were promised, by their tickets.
    tickets: Cache<String, Arc<User>>,
}

impl Accounts {
    pub fn new(db: Db, clock: Arc<dyn Clock>, settings: &Settings) -> Result<Self> {
        Ok(Self {
            db,
            clock,
            keys: settings.keys.clone(),
            passwords: Passwords::new()?,
            token_ttl: settings.token_ttl,
            auto_provision: settings.auto_provision,
            known: Cache::builder().max_capacity(10_000).time_to_live(REMEMBERED).build(),
            tickets: Cache::builder().max_capacity(100).time_to_live(TICKET).build(),
        })
    }

    /// What seals secrets that are kept for users.
    pub(crate) fn sealer(&self) -> &artel_nodes::sealing::Sealer {
        self.keys.sealer()
    }

    /// Checks a token and finds the account it is for.
    pub async fn authenticate(&self, token: &str) -> Result<Caller> {
        let identity = self.keys.verify(token)?;
        let found = self.known.try_get_with_by_ref(&identity, self.resolve(&identity)).await;
        let user = found.map_err(|error: Arc<Error>| Error::shared(&error))?;
        if user.disabled {
            return Err(Error::unauthenticated("account_disabled", "This account is disabled"));
        }
        Ok(Caller { user: user.id, name: user.name.clone(), role: user.role })
    }

    async fn resolve(&self, identity: &Identity) -> Result<Arc<User>> {
        let Identity { issuer, subject } = identity.clone();
        let found = self
            .db
            .read(move |conn| Box::pin(async move { users::find(conn, &issuer, &subject).await }));
        if let Some(user) = found.await? {
            return Ok(Arc::new(user));
        }
        if !self.auto_provision {
            return Err(Error::unauthenticated(
                "unknown_user",
                "There is no account for this token",
            ));
        }
        let Identity { issuer, subject } = identity.clone();
        let new = NewUser {
            issuer,
            subject,
            role: Role::User,
            password_hash: None,
            created_at: self.clock.now(),
        };
        tracing::info!(subject = %new.subject, "account made for a new subject");
        let added = self.db.write(Lane::House, move |conn| {
            Box::pin(async move {
                // Two first requests at once: the second finds what the first has made.
                match users::find(conn, &new.issuer, &new.subject).await? {
                    Some(user) => Ok(user),
                    None => users::add(conn, &new).await,
                }
            })
        });
        Ok(Arc::new(added.await?))
    }

    /// Checks a password and gives a token. An unknown name takes as long as a wrong password, and reads the same.
    pub async fn log_in(&self, attempt: &LogIn) -> Result<Token> {
        let name = attempt.username.clone();
        let found = self
            .db
            .read(move |conn| Box::pin(async move { users::with_password(conn, &name).await }));
        let (user, hash) = match found.await? {
            Some((user, Some(hash))) => (Some(user), Some(hash)),
            Some((_, None)) | None => (None, None),
        };
        let fits = self.passwords.verify(attempt.password.clone(), hash).await?;
        match user {
            Some(user) if fits && !user.disabled => self.token_for(&user, self.token_ttl),
            Some(_) | None => {
                Err(Error::unauthenticated("wrong_credentials", "Wrong name or password"))
            }
        }
    }

    /// A ticket that logs the user in once, soon.
    pub async fn ticket_for(&self, user: &User) -> Result<String> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
        let ticket = URL_SAFE_NO_PAD.encode(random);
        self.tickets.insert(ticket.clone(), Arc::new(user.clone())).await;
        Ok(ticket)
    }

    /// Logs in with a ticket, which is worth nothing afterwards.
    pub async fn redeem(&self, ticket: &str) -> Result<Token> {
        let spent = || {
            let message = "This link was used, or is too old; `artel up` prints a new one";
            Error::unauthenticated("spent_ticket", message)
        };
        let user = self.tickets.remove(ticket).await.ok_or_else(spent)?;
        let user = self.find_local(&user.name).await?;
        if user.disabled { Err(spent()) } else { self.token_for(&user, self.token_ttl) }
    }

    /// A token for a local account.
    pub fn token_for(&self, user: &User, ttl: Duration) -> Result<Token> {
        let access_token = self.keys.sign(&user.name, self.clock.now(), ttl)?;
        Ok(Token { access_token, token_type: "bearer", expires_in: ttl.as_secs() })
    }

    pub async fn find_local(&self, name: &str) -> Result<User> {
        let name = name.to_owned();
        let found = self
            .db
            .read(move |conn| Box::pin(async move { users::find(conn, LOCAL, &name).await }));
        found.await?.ok_or_else(|| Error::not_found("user"))
    }

    pub async fn add_local(
        &self,
        name: &str,
        role: Role,
        password: Option<String>,
    ) -> Result<User> {
        if name.is_empty() || name.chars().count() > 255 || name.chars().any(char::is_control) {
            return Err(Error::invalid_field("name", "must have 1 to 255 visible characters"));
        }
        let password_hash = self.hash(password).await?;
        let new = NewUser {
            issuer: LOCAL.to_owned(),
            subject: name.to_owned(),
            role,
            password_hash,
            created_at: self.clock.now(),
        };
        let added = self
            .db
            .write(Lane::House, move |conn| Box::pin(async move { users::add(conn, &new).await }));
        added.await.map_err(|error| {
            if matches!(error, artel_storage::Error::Duplicate) {
                let message = format!("There is a user named {name:?} already");
                Error::new(Kind::Conflict, "user_exists", message)
            } else {
                error.into()
            }
        })
    }

    pub async fn set_password(&self, name: &str, password: String) -> Result<()> {
        let Some(hash) = self.hash(Some(password)).await? else { return Ok(()) };
        let name = name.to_owned();
        let change = self.db.write(Lane::House, move |conn| {
            Box::pin(async move { users::set_password(conn, &name, &hash).await })
        });
        Ok(change.await?)
    }

    pub async fn set_disabled(&self, name: &str, disabled: bool) -> Result<()> {
        let name = name.to_owned();
        let change = self.db.write(Lane::House, move |conn| {
            Box::pin(async move { users::set_disabled(conn, &name, disabled).await })
        });
        Ok(change.await?)
    }

    pub async fn list(&self, page: Page) -> Result<Listed<User>> {
        Ok(self.db.read(move |conn| Box::pin(users::list(conn, page))).await?)
    }

    async fn hash(&self, password: Option<String>) -> Result<Option<String>> {
        let Some(password) = password else { return Ok(None) };
        if password.chars().count() < PASSWORD {
            return Err(Error::invalid_field(
                "password",
                format!("must have at least {PASSWORD} characters"),
            ));
        }
        self.passwords.hash(password).await.map(Some)
    }
}
