//! What takes a turn. Today: models behind an API.
//!
//! This crate knows no project, no plan and no database: it is handed a conversation and tools, and gives back
//! what was said, what it cost, and why it stopped.

pub mod llm;
