//! The file tools against real folders: what they do, and that nothing gets them out of the workspace.
//!
//! Every test has a yard of its own: the workspace, and beside it things that must be neither read nor changed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

#[path = "files/changes.rs"]
mod changes;
#[path = "files/escapes.rs"]
mod escapes;
#[path = "files/killed.rs"]
mod killed;
#[path = "files/listing.rs"]
mod listing;
#[path = "files/reading.rs"]
mod reading;
#[path = "files/root.rs"]
mod root;
#[path = "files/searching.rs"]
mod searching;
#[path = "files/swaps.rs"]
mod swaps;
#[path = "files/yard.rs"]
mod yard;
