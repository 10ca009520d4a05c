//! What agents can do on a machine: files under one root, and commands in a sandbox.
//!
//! The server links this for the catalogue, the lexical checks and the policy that says when a person is asked; the
//! client links it to do the work. The walls are the operating system's: a path is opened through the handle of the
//! root, a command runs in a sandbox. Nothing here knows of agents, projects or the network.

pub mod binding;
pub mod catalog;
pub mod files;
pub mod policy;
pub mod request;
pub mod shell;
pub mod show;

pub use request::{Outcome, Request};
