//! Models behind an API, all spoken to in one way.
//!
//! [`chat`] is the seam. Behind it stand three wires ([`openai`], [`anthropic`], [`gemini`]) and the [`scripted`]
//! provider, which needs no network; [`providers`] finds the right one by name. Beside it: [`retry`], [`prices`] and
//! [`tokens`].

pub mod anthropic;
pub mod chat;
pub mod gemini;
pub mod http;
pub mod openai;
pub mod prices;
pub mod providers;
pub mod retry;
pub mod scripted;
pub mod tokens;

mod answer;
mod fault;
mod sse;
mod wire;

pub use chat::{ChatModel, Error, Piece, Request, Stop, Usage};
pub use providers::{Providers, Resolved, Unavailable};
pub use retry::ask_with_retries;
