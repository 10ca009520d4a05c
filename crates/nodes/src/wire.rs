//! What servers and workers say to each other.
//!
//! The streams' names and the fields that stand open are a contract with others; what the two sides mean for each other
//! alone, keys of model services among it, is sealed with the secret that they share.

use std::collections::BTreeMap;
use std::sync::Arc;

use artel_domain::{AgentId, LifeId, OrderId, RunId, Timestamp, TurnId};
use artel_programs::codec::{Command, Event};
use artel_programs::host::{Opening, Refusal};
use artel_programs::life::{Status, Warning};
use artel_programs::runner::Error;
use artel_programs::sandbox::Uses;
use artel_storage::bus::{self, Bus, Entry};
use bytes::Bytes;
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::sealing::Sealer;

/// Orders that any worker may take.
pub const COMMANDS: &str = "cli-agent:commands";
/// What workers report.
pub const RESPONSES: &str = "cli-agent:responses";
/// Orders that nobody could take.
pub const DEAD: &str = "cli-agent:commands:dead";
/// The one group of all workers.
pub const GROUP: &str = "workers";
/// The doorbell on which both sides say that they are there.
pub const BEATS: &str = "cli-agent:beats";

/// So many entries a stream of orders keeps, about.
const KEPT_ORDERS: usize = 10_000;
/// Reports are kept by workers until they are heard; the stream is only their way.
const KEPT_REPORTS: usize = 2000;
const KEPT_DEAD: usize = 1000;
/// How much of an answer or a question stands open.
const SHOWN: usize = 64 * 1024;

const PURPOSE: &str = "artel: between servers and workers";
const REPORT: &str = "report";

/// Orders for one worker alone.
pub fn commands_of(node: &str) -> String {
    format!("{COMMANDS}:{node}")
}

/// Something that a server wants of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub id: OrderId,
    /// Who wants it, and hears what comes of it.
    pub server: Peer,
    pub agent: AgentId,
    pub want: Want,
}

/// A program of ours that runs now. Started again it has the same name, and is another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Peer {
    pub name: String,
    pub run: RunId,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// The agent is to live here, under this name of its stay.
    Create {
        life: LifeId,
        opening: Box<Opening>,
    },
    /// A turn begins. Its process is started if it is down.
    SendMessage {
        life: LifeId,
        turn: TurnId,
        text: String,
    },
    /// Something of the turn that runs.
    Command {
        life: LifeId,
        command: Command,
    },
    /// Everything up to this event has come; `again`: what comes after it may not have.
    Heard {
        life: LifeId,
        turn: TurnId,
        number: u64,
        again: bool,
    },
    /// Nobody follows the turn any more.
    Abandon {
        life: LifeId,
        turn: TurnId,
    },
    Start {
        life: LifeId,
    },
    Stop {
        life: LifeId,
        why: String,
    },
    /// Its next process begins a conversation of its own.
    Forget {
        life: LifeId,
        why: String,
    },
    Status {
        life: LifeId,
    },
    /// It is not needed here any more; its files stay.
    Close {
        life: LifeId,
        why: String,
    },
    /// Nothing of the agent stays.
    Delete,
}

impl Want {
    /// As it stands open.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::SendMessage { .. } => "send_message",
            Self::Command { .. } => "command",
            Self::Heard { .. } => "heard",
            Self::Abandon { .. } => "abandon",
            Self::Start { .. } => "start",
            Self::Stop { .. } => "stop",
            Self::Forget { .. } => "forget",
            Self::Status { .. } => "status",
            Self::Close { .. } => "close",
            Self::Delete => "delete",
        }
    }
}

/// What a worker tells a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    pub server: Peer,
    pub worker: Peer,
    pub agent: AgentId,
    pub news: News,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// What came of an order.
    Answer {
        order: OrderId,
        result: Result<Done, Failure>,
    },
    Event {
        turn: TurnId,
        number: u64,
        event: Event,
    },
    /// Numbered, since an old one may come again.
    Status {
        life: LifeId,
        number: u64,
        status: Status,
    },
    Warning {
        life: LifeId,
        warning: Warning,
    },
    /// An agent of an earlier run of this server was ended.
    Left {
        why: String,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    Yes,
    /// The agent lives there now.
    Living(LifeId),
    Seen {
        uses: Option<Uses>,
        waiting: Option<usize>,
    },
}

/// Why an order was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Nothing lives there under this name: the worker was started again, or gave it up.
    #[error("the agent does not live on that worker any more")]
    Unknown,
    /// The turn was given up before it began.
    #[error("the message was given up before it was given to the agent")]
    NotBegun,
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Program(#[from] Error),
    /// What became of the order is not known.
    #[error("the worker that it ran on is not heard of any more")]
    Lost,
    #[error("no worker takes it; start one with `artel worker`")]
    NoWorker,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Program(error) => error,
            Failure::Refused(refusal) => Self::Failed(refusal.to_string()),
            failure
            @ (Failure::Unknown | Failure::NotBegun | Failure::Lost | Failure::NoWorker) => {
                Self::Ended(failure.to_string())
            }
        }
    }
}

/// What is said on the doorbell.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beat {
    Server(Peer),
    Worker(Box<Presence>),
    /// The worker ends in order; nothing lives there any more.
    Gone(Peer),
}

/// A worker, as it says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Presence {
    pub peer: Peer,
    pub version: String,
    /// Agents that live there, and how many of them run.
    pub agents: usize,
    pub running: usize,
    /// Processes at a time.
    pub most: usize,
    /// Since when it runs.
    pub since: Timestamp,
    /// Each kind, and whether it can be had there: a word and what was found or is missing.
    pub kinds: BTreeMap<String, (String, String)>,
}

/// A bus, and the secret that both sides share.
#[derive(Debug, Clone)]
pub struct Line {
    bus: Arc<dyn Bus>,
    sealer: Arc<Sealer>,
}

/// An entry that is no order or report of ours.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(&'static str);

impl Line {
    pub fn new(bus: Arc<dyn Bus>, secret: &SecretString) -> Self {
        Self { bus, sealer: Arc::new(Sealer::new(secret, PURPOSE)) }
    }

    pub fn bus(&self) -> &dyn Bus {
        self.bus.as_ref()
    }

    pub(crate) fn share(&self) -> Arc<dyn Bus> {
        Arc::clone(&self.bus)
    }

    /// Posts an order to one worker, or to whichever takes it first.
    pub(crate) async fn post(
        &self,
        node: Option<&str>,
        order: &Order,
        now: Timestamp,
    ) -> bus::Result<()> {
        let stream = node.map_or_else(|| COMMANDS.to_owned(), commands_of);
        let id = order.id.to_string();
        let sealed = self.sealed(order, &id)?;
        let (agent, now) = (order.agent.to_string(), now.to_string());
        let fields: [(&str, &[u8]); 5] = [
            ("id", id.as_bytes()),
            ("type", order.want.name().as_bytes()),
            ("agent_id", agent.as_bytes()),
            ("timestamp", now.as_bytes()),
            ("sealed", sealed.as_bytes()),
        ];
        self.bus.append(&stream, &fields, KEPT_ORDERS).await.map(drop)
    }

    pub(crate) fn order(&self, entry: &Entry) -> Result<Order, Unreadable> {
        let id = field(entry, "id").ok_or(Unreadable("it has no id"))?;
        let order: Order = self.opened(entry, id)?;
        if order.id.to_string() == id { Ok(order) } else { Err(Unreadable("its id is another's")) }
    }

    pub(crate) async fn report(&self, report: &Report, now: Timestamp) -> bus::Result<()> {
        let sealed = self.sealed(report, REPORT)?;
        let (kind, name, words) = shown(&report.news);
        let (agent, now) = (report.agent.to_string(), now.to_string());
        let (turn, id) = match &report.news {
            News::Event { turn, number, .. } => (turn.to_string(), format!("{turn}-{number}")),
            News::Answer { order, .. } => (String::new(), order.to_string()),
            News::Status { life, number, .. } => (String::new(), format!("{life}-{number}")),
            News::Warning { .. } | News::Left { .. } => (String::new(), String::new()),
        };
        let fields: [(&str, &[u8]); 8] = [
            ("agent_id", agent.as_bytes()),
            ("type", kind.as_bytes()),
            (name, words.as_bytes()),
            ("timestamp", now.as_bytes()),
            ("id", id.as_bytes()),
            ("turn_id", turn.as_bytes()),
            ("server", report.server.name.as_bytes()),
            ("sealed", sealed.as_bytes()),
        ];
        self.bus.append(RESPONSES, &fields, KEPT_REPORTS).await.map(drop)
    }

    /// None: it is for another server.
    pub(crate) fn report_for(
        &self,
        server: &Peer,
        entry: &Entry,
    ) -> Result<Option<Report>, Unreadable> {
        if field(entry, "server") != Some(&server.name) {
            return Ok(None);
        }
        let report: Report = self.opened(entry, REPORT)?;
        Ok(Some(report).filter(|report| report.server == *server))
    }

    /// Says where the responses stand now: what is read after this is new.
    pub(crate) async fn mark(&self, server: &Peer) -> bus::Result<String> {
        let fields: [(&str, &[u8]); 3] = [
            ("type", b"status"),
            ("message", b"a server listens"),
            ("listener", server.name.as_bytes()),
        ];
        self.bus.append(RESPONSES, &fields, KEPT_REPORTS).await
    }

    /// Puts an order aside that nobody could take, with the reason.
    pub(crate) async fn bury(&self, stream: &str, entry: &Entry, why: &str) -> bus::Result<()> {
        let mut fields: Vec<(&str, &[u8])> =
            entry.fields.iter().map(|(name, value)| (name.as_str(), value.as_ref())).collect();
        fields.push(("stream", stream.as_bytes()));
        fields.push(("entry", entry.id.as_bytes()));
        fields.push(("error", why.as_bytes()));
        self.bus.append(DEAD, &fields, KEPT_DEAD).await.map(drop)
    }

    pub(crate) async fn beat(&self, beat: &Beat) -> bus::Result<()> {
        let sealed = self.sealed(beat, BEATS)?;
        self.bus.ring(BEATS, Bytes::from(sealed)).await
    }

    pub(crate) fn beaten(&self, payload: &[u8]) -> Option<Beat> {
        let text = self.sealer.open(std::str::from_utf8(payload).ok()?, BEATS)?;
        serde_json::from_str(text.expose_secret()).ok()
    }

    fn sealed(&self, what: &impl Serialize, owner: &str) -> bus::Result<String> {
        let text = serde_json::to_string(what).map_err(|error| invalid(&error))?;
        self.sealer.seal(&text, owner).map_err(|error| invalid(&error))
    }

    fn opened<T: DeserializeOwned>(&self, entry: &Entry, owner: &str) -> Result<T, Unreadable> {
        let sealed = field(entry, "sealed").ok_or(Unreadable("it is not sealed"))?;
        let text = self
            .sealer
            .open(sealed, owner)
            .ok_or(Unreadable("it was sealed with another worker_secret, or is damaged"))?;
        serde_json::from_str(text.expose_secret())
            .map_err(|_| Unreadable("it is of another version of this program"))
    }
}

fn invalid(error: &dyn std::fmt::Display) -> bus::Error {
    bus::Error::Invalid(error.to_string())
}

fn field<'a>(entry: &'a Entry, name: &str) -> Option<&'a str> {
    let found = entry.fields.iter().find(|(key, _)| key == name)?;
    std::str::from_utf8(&found.1).ok()
}

/// What stands open of a report: its type, and its words under their name.
fn shown(news: &News) -> (&'static str, &'static str, String) {
    let cut = |text: &str| text.chars().take(SHOWN).collect();
    match news {
        News::Event { event: Event::Call { tool, arguments, .. }, .. } => {
            let text = |name| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
            match tool.as_str() {
                "answer" => ("answer", "message", cut(text("message"))),
                "ask" => ("question", "question", cut(text("question"))),
                other => ("status", "message", format!("calls {}", cut(other))),
            }
        }
        News::Event { event: Event::Question { items, .. }, .. } => {
            let all: Vec<_> = items.iter().map(|item| item.text.as_str()).collect();
            ("question", "question", cut(&all.join("\n")))
        }
        News::Event { event: Event::Ended(_), .. } => {
            ("status", "message", "the turn is over".to_owned())
        }
        News::Event { .. } => ("status", "message", "working".to_owned()),
        News::Answer { result: Ok(_), .. } => ("status", "message", "done".to_owned()),
        News::Answer { result: Err(failure), .. } => {
            ("status", "message", cut(&failure.to_string()))
        }
        News::Status { status, .. } => ("status", "message", format!("{:?}", status.state)),
        News::Warning { warning, .. } => ("status", "message", warning.to_string()),
        News::Left { why } => ("status", "message", why.clone()),
    }
}
