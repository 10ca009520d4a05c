//! A model service for tests that speaks the real wire formats.
//!
//! A [`Stub`] listens on a local port and answers as `OpenAI` (chat completions and responses),
//! Anthropic (messages) and Gemini (generateContent) do, streaming or whole, by the rules of a
//! [`Scenario`]. It also fails as they do: with their error bodies, by hanging, by breaking off in
//! the middle, by talking nonsense. Requests that the real services would refuse are refused.
//!
//! Rules instead of a list of answers, because real clients send requests of their own in between
//! (titles, token counts, retries), and a list would be out of step at once. The format of a
//! scenario file is described at [`Scenario::parse`].
//!
//! It depends on none of our crates, so that a mistake in them cannot hide itself here.

mod embed;
mod ledger;
mod play;
mod player;
mod reply;
mod scenario;
mod serve;
mod strict;
mod stub;
mod wire;

pub use ledger::{End, Recorded};
pub use scenario::Scenario;
pub use stub::{Options, Stub};
pub use wire::Wire;
