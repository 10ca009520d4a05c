//! The tools of an agent, as its programs reach them: the real program, a real shell, a real MCP client.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

#[path = "toolbox/bench.rs"]
mod bench;
#[path = "toolbox/endpoint.rs"]
mod endpoint;
#[path = "toolbox/folder.rs"]
mod folder;
#[path = "toolbox/program.rs"]
mod program;
#[path = "toolbox/protocol.rs"]
mod protocol;
