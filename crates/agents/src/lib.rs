//! What takes a turn, and what turns texts into vectors. Today: models behind an API, and one small model of our own.
//!
//! This crate knows no project, no plan and no database: it is handed a conversation and tools, and gives back
//! what was said, what it cost, and why it stopped.

pub mod embed;
pub mod llm;
