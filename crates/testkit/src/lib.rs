//! Servers to test against, a client, and the crash and race harness.
//!
//! Everything here stands outside the process boundary: it starts Redis, PostgreSQL and `artel`
//! as child processes, talks to them over sockets, and judges them by what they answer. It
//! depends on none of our crates, so that a mistake in them cannot hide itself here.
//! Children die with the value that owns them; temporary folders are removed with it.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read their own environment and stand outside the house rules"
)]

pub mod approvals;
pub mod client;
pub mod crash;
pub mod jail;
pub mod memories;
pub mod plans;
pub mod postgres;
pub mod process;
pub mod programs;
pub mod qdrant;
pub mod race;
pub mod redis;
pub mod server;
pub mod talk;
