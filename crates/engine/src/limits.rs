//! How much one user, or one address, may ask for in a minute.
//!
//! Counted per node. The books are kept only for those who asked within the last minutes, and shrink by
//! themselves (see [`Limits::tidy`]).

use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use artel_domain::UserId;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use crate::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Requests per user and minute; none: no limit.
    pub requests: Option<NonZeroU32>,
    /// Log-in attempts per account and minute.
    pub log_ins: NonZeroU32,
    /// Open event streams per user.
    pub streams_per_user: usize,
}

/// What is left after a request that was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub limit: u32,
    pub remaining: u32,
    /// Until all of it is there again.
    pub reset: Duration,
}

type Keyed<K> = RateLimiter<K, DefaultKeyedStateStore<K>, DefaultClock, StateInformationMiddleware>;

pub struct Limits {
    requests: Option<Keyed<UserId>>,
    accounts: Keyed<String>,
    addresses: Keyed<IpAddr>,
    clock: DefaultClock,
    requests_per_minute: Option<u32>,
    streams_per_user: usize,
}

/// An address may serve several people.
const ACCOUNTS_PER_ADDRESS: u32 = 5;

impl Limits {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            requests: settings.requests.map(per_minute),
            accounts: per_minute(settings.log_ins),
            addresses: per_minute(
                settings.log_ins.saturating_mul(
                    NonZeroU32::new(ACCOUNTS_PER_ADDRESS).expect("five is not zero"),
                ),
            ),
            clock: DefaultClock::default(),
            requests_per_minute: settings.requests.map(NonZeroU32::get),
            streams_per_user: settings.streams_per_user,
        }
    }

    /// Counts a request of a user.
    pub fn request(&self, user: UserId) -> Result<Option<Allowance>> {
        self.requests
            .as_ref()
            .map(|limiter| self.count(limiter, &user, "Too many requests"))
            .transpose()
    }

    /// Counts an attempt to log in, by account and by address.
    pub fn log_in(&self, name: &str, address: Option<IpAddr>) -> Result<()> {
        let refused = "Too many attempts to log in";
        if let Some(address) = address {
            self.count(&self.addresses, &address, refused)?;
        }
        self.count(&self.accounts, &name.to_owned(), refused)?;
        Ok(())
    }

    pub fn requests_per_minute(&self) -> Option<u32> {
        self.requests_per_minute
    }

    pub fn streams_per_user(&self) -> usize {
        self.streams_per_user
    }

    /// Forgets those who have been quiet.
    pub(crate) fn tidy(&self) {
        if let Some(requests) = &self.requests {
            requests.retain_recent();
        }
        self.accounts.retain_recent();
        self.addresses.retain_recent();
    }

    fn count<K: Hash + Eq + Clone>(
        &self,
        limiter: &Keyed<K>,
        key: &K,
        refused: &str,
    ) -> Result<Allowance> {
        match limiter.check_key(key) {
            Ok(state) => {
                let limit = state.quota().burst_size().get();
                let remaining = state.remaining_burst_capacity();
                let reset = state.quota().replenish_interval() * (limit - remaining);
                Ok(Allowance { limit, remaining, reset })
            }
            Err(not_until) => {
                let wait = not_until.wait_time_from(self.clock.now());
                Err(Error::busy("rate_limited", format!("{refused}; try again later"), wait))
            }
        }
    }
}

fn per_minute<K: Hash + Eq + Clone>(requests: NonZeroU32) -> Keyed<K> {
    RateLimiter::keyed(Quota::per_minute(requests)).with_middleware()
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Limits")
    }
}
