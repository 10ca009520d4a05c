//! The codecs against recorded conversations of the real programs, against noise, and against the law they all keep.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

#[path = "codecs/acp.rs"]
mod acp;
#[path = "codecs/claude.rs"]
mod claude;
#[path = "codecs/codex.rs"]
mod codex;
#[path = "codecs/droid.rs"]
mod droid;
#[path = "codecs/line.rs"]
mod line;
#[path = "codecs/noise.rs"]
mod noise;
#[path = "codecs/replay.rs"]
mod replay;
#[path = "codecs/watched.rs"]
mod watched;
