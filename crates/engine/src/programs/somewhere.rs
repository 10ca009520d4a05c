//! A program, wherever it runs: on this node, or on a worker. Whoever works with it need not know.

use artel_domain::{AgentId, Timestamp};
use artel_nodes::server::{self, Far, Workers};
use artel_nodes::wire::Failure;
use artel_programs::codec::{Command, Event};
use artel_programs::host::Host;
use artel_programs::kind::Abilities;
use artel_programs::life::Status;
use artel_programs::member::{self, Member};
use artel_programs::runner::Error;
use artel_programs::sandbox::Uses;
use serde::Serialize;
use utoipa::ToSchema;

use super::RuntimeView;
use crate::App;

/// Clones are the same program; with the last one its process ends.
#[derive(Debug, Clone)]
pub(crate) enum Program {
    Here(Member),
    There(Far),
}

/// A turn of it. Dropped before its end, it is given up.
#[derive(Debug)]
pub(crate) enum Turn {
    Here(member::Turn),
    There(server::Turn),
}

impl Turn {
    /// What happens next; none when the turn is over.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        match self {
            Self::Here(turn) => turn.next().await,
            Self::There(turn) => turn.next().await,
        }
    }
}

impl Program {
    pub(crate) fn abilities(&self) -> Abilities {
        match self {
            Self::Here(member) => member.abilities(),
            Self::There(far) => far.abilities(),
        }
    }

    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Here(member) => member.status(),
            Self::There(far) => far.status(),
        }
    }

    /// Whether it remembers nothing of what was said before.
    pub(crate) fn is_fresh(&self) -> bool {
        self.status().session.is_none()
    }

    /// Says whether a conversation of people's is new to it; from now on it is not.
    pub(crate) fn meets(&self, conversation: &str) -> bool {
        match self {
            Self::Here(member) => member.meets(conversation),
            Self::There(far) => far.meets(conversation),
        }
    }

    /// What it uses now, and its number in the queue for a place.
    pub(super) async fn look(&self, host: &Host, id: AgentId) -> (Option<Uses>, Option<usize>) {
        match self {
            Self::Here(member) => (member.uses().await, host.waiting(id)),
            Self::There(far) => far.look().await,
        }
    }

    /// Starts its process and waits until it takes messages.
    pub(super) async fn start(&self) -> Result<(), Error> {
        match self {
            Self::Here(member) => member.start().await,
            Self::There(far) => Ok(far.start().await?),
        }
    }

    /// Ends its process in its own way; when this returns, nothing of it is left.
    pub(super) async fn stop(&self, why: &str) {
        match self {
            Self::Here(member) => member.stop(why).await,
            Self::There(far) => far.stop(why).await,
        }
    }

    /// Lets it begin a conversation of its own: the one it has cannot go on.
    pub(crate) async fn forget(&self, why: &str) -> Result<(), Error> {
        match self {
            Self::Here(member) => member.forget(why).await,
            Self::There(far) => Ok(far.forget(why).await?),
        }
    }

    /// Gives it a message. Its process is started if it is down.
    pub(crate) async fn turn(&self, text: String) -> Result<Turn, Failure> {
        match self {
            Self::Here(member) => Ok(Turn::Here(member.turn(text).await?)),
            Self::There(far) => far.turn(text).await.map(Turn::There),
        }
    }

    /// What is wanted of it while its turn runs.
    pub(crate) async fn command(&self, command: Command) -> Result<(), Error> {
        match self {
            Self::Here(member) => member.command(command).await,
            Self::There(far) => Ok(far.command(command).await?),
        }
    }
}

/// A worker, as the server knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct NodeView {
    #[schema(example = "worker-1")]
    pub name: String,
    pub version: String,
    /// Agents that live there, of all servers, …
    pub agents: usize,
    /// … and how many of them have a process.
    pub running: usize,
    /// How many processes may run there at a time.
    pub most: usize,
    /// Since when it runs.
    pub since: Timestamp,
    /// How long ago it was last heard, in seconds.
    pub silent_for: u64,
    pub runtimes: Vec<RuntimeView>,
}

impl App {
    /// The workers that are there; none where programs run on the server's own node.
    pub fn nodes(&self) -> Vec<NodeView> {
        let Some(workers) = &self.0.programs.workers else { return Vec::new() };
        let view = |node: server::Node| {
            let silent_for = node.silence().as_secs();
            let presence = node.presence;
            let runtimes = presence.kinds.into_iter().map(|(kind, (status, detail))| RuntimeView {
                kind,
                status,
                detail,
            });
            NodeView {
                name: presence.peer.name,
                version: presence.version,
                agents: presence.agents,
                running: presence.running,
                most: presence.most,
                since: presence.since,
                silent_for,
                runtimes: runtimes.collect(),
            }
        };
        workers.nodes().into_iter().map(view).collect()
    }
}

/// Each kind as the worker has it that has it best.
pub(super) fn runtimes(workers: &Workers) -> Vec<RuntimeView> {
    let nodes = workers.nodes();
    let rank = |status: &str| u8::from(status == "not_installed");
    let of = |kind: &str| {
        let all = nodes.iter().filter_map(|node| Some((node, node.presence.kinds.get(kind)?)));
        let best = all.min_by_key(|(_, (status, _))| rank(status));
        let nobody = || {
            let remedy = if nodes.is_empty() {
                "no worker is there; start one with `artel worker`"
            } else {
                "the workers are still looking what they have; ask again in a moment"
            };
            ("not_installed".to_owned(), remedy.to_owned())
        };
        let (status, detail) = best.map_or_else(nobody, |(node, (status, detail))| {
            (status.clone(), format!("on {}: {detail}", node.presence.peer.name))
        });
        RuntimeView { kind: kind.to_owned(), status, detail }
    };
    artel_programs::kinds::all().iter().map(|kind| of(kind.name())).collect()
}
