//! The stub from outside: over HTTP, against shapes written down by hand from the documentation
//! of the services.

#![expect(clippy::unwrap_used, reason = "what surprises a test ends it")]

mod client;

mod chat;
mod cli;
mod faults;
mod gemini;
mod messages;
mod program;
mod responses;
mod rules;
mod services;
mod strictness;
