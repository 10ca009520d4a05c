//! Command-line programs as agents: Claude Code, Codex, Gemini CLI, Droid, and any other that speaks a machine protocol.
//!
//! A program is one long-lived process. What to start is said by its [`kind`]; what its bytes mean by its [`codec`], a
//! state machine without input or output of its own; whatever it wants from us it calls through its [`toolbox`]. The
//! crate knows no project, no plan and no database.

pub mod availability;
pub mod codec;
pub mod host;
pub mod keeper;
pub mod kind;
pub mod kinds;
pub mod life;
pub mod log;
pub mod member;
pub mod orchestrator;
pub mod runner;
pub mod sandbox;
pub mod toolbox;

mod lines;
mod sockets;
mod tree;
