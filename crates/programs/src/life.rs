//! One agent over its successive processes.
//!
//! A process is started when a message needs it, taken up again where it was after a crash, and ended when it has run
//! long enough. A task of the agent's own sees to that; [`Watcher`] is told what it does, so that its owner can make it
//! last and tell the user. Dropping a [`Life`] kills what runs.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use artel_domain::clock::{Clock, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::codec::{CallId, Decision, Refused, RequestId};
use crate::kind::{Kind, Launch, Place, Wish};
use crate::log::Log;
use crate::runner::{Error, Handle, Patience, Turn};
use crate::sandbox::{Mark, Room, Started, Uses};

mod alone;
mod care;
mod restarts;
mod state;

pub use restarts::Backoff;
pub use state::State;

use care::{Care, Message, Up};

/// What may wait to be taken by an agent's task.
const MESSAGES: usize = 64;
/// A process may end between a message's arrival and its turn; so often it is tried.
const TRIES: usize = 3;

/// Starts processes in a sandbox of some sort.
#[async_trait]
pub trait Starter: Send + Sync + fmt::Debug {
    /// How a room looks from inside.
    fn place(&self, room: &Room) -> Place;
    /// Starts a process, with the files that it needs. Dropping this before its end leaves nothing behind.
    async fn start(&self, room: &Room, place: &Place, launch: &Launch) -> io::Result<Started>;
}

/// Is told what becomes of an agent, one thing after the other. The next waits until it has returned.
#[async_trait]
pub trait Watcher: Send + Sync + fmt::Debug {
    /// Something of its status has changed. What it does within [`State::Running`] may be passed over when it changes
    /// again at once.
    async fn changed(&self, status: &Status);
    /// Something its user should know.
    async fn warned(&self, warning: Warning);
}

/// How an agent is looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// For a process to be there at all, before it has its own time to become ready.
    pub start_within: Duration,
    /// How long a process runs at most; it ends between turns.
    pub ttl: Duration,
    /// So long before its end the user is warned.
    pub warn_before: Duration,
    /// How long a process may have nothing to do.
    pub idle: Duration,
    /// A process that uses more bytes than this is started anew between turns.
    pub memory: Option<u64>,
    /// How often that is looked at.
    pub look_every: Duration,
    pub backoff: Backoff,
    pub patience: Patience,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            start_within: Duration::from_mins(2),
            ttl: Duration::from_hours(2),
            warn_before: Duration::from_mins(5),
            idle: Duration::from_mins(30),
            memory: None,
            look_every: Duration::from_secs(10),
            backoff: Backoff::default(),
            patience: Patience::default(),
        }
    }
}

/// What is known of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub state: State,
    /// Since when it is in that state.
    pub since: Timestamp,
    /// Of its process, while there is one.
    pub mark: Option<Mark>,
    /// The conversation that is taken up again.
    pub session: Option<String>,
    pub version: Option<String>,
    pub model: Option<String>,
    /// Why it is as it is, if there is something to say.
    pub reason: Option<String>,
    /// Each message has a process of its own, since none could be kept up.
    pub single: bool,
    /// On which node, where that is not the one that is asked.
    pub node: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    #[error("the agent has run for long and will be stopped in {} s; a message starts it again", left.as_secs())]
    TtlNear { left: Duration },
    #[error("the agent was stopped, since it had run for {} s; a message starts it again", ran.as_secs())]
    TtlOver { ran: Duration },
    #[error("the agent was stopped, since it had nothing to do for {} s; a message starts it again", idle.as_secs())]
    Idle { idle: Duration },
    #[error(
        "the agent is started anew, since it used {used} bytes of memory and {limit} are its limit"
    )]
    Memory { used: u64, limit: u64 },
    #[error("the agent could not be kept up, so each message is answered on its own: {why}")]
    Single { why: String },
    #[error("the earlier conversation could not be taken up again, so a new one has begun: {why}")]
    Forgotten { why: String },
    #[error("the agent could not be started and is not tried again: {why}")]
    GivenUp { why: String },
}

/// What an agent is made of.
#[derive(Debug)]
pub struct Parts {
    pub kind: Arc<dyn Kind>,
    pub wish: Wish,
    pub room: Room,
    pub starter: Arc<dyn Starter>,
    pub policy: Policy,
    pub clock: Arc<dyn Clock>,
    pub log: Log,
    pub watcher: Arc<dyn Watcher>,
}

/// An agent. Nothing runs before it is needed.
#[derive(Debug)]
pub struct Life {
    inbox: mpsc::Sender<Message>,
    status: watch::Receiver<Status>,
    process: watch::Receiver<Option<Handle>>,
    _task: JoinSet<()>,
}

impl Life {
    pub fn new(parts: Parts) -> Self {
        let (inbox, messages) = mpsc::channel(MESSAGES);
        let (care, status, process) = Care::new(parts);
        let mut task = JoinSet::new();
        task.spawn(care.run(messages));
        Self { inbox, status, process, _task: task }
    }

    /// Gives it a message, and starts it when it is down. Waits while it is being started, and no longer.
    pub async fn turn(&self, text: String) -> Result<Turn, Error> {
        let mut tried = 0;
        loop {
            tried += 1;
            let (reply, answer) = oneshot::channel();
            let turn = match self.ask(Message::Up { text: text.clone(), reply }, answer).await?? {
                Up::Turn(turn) => return Ok(turn),
                Up::Process(handle) => handle.turn(text.clone()).await,
            };
            match turn {
                Err(Error::Refused(Refused::Closed) | Error::Ended(_)) if tried < TRIES => (),
                turn => return turn,
            }
        }
    }

    /// Starts it, whatever it ended of, and waits until it takes messages.
    pub async fn start(&self) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        self.ask(Message::Start { reply }, answer).await?
    }

    /// Ends its process in the process's own way, and waits for that.
    pub async fn stop(&self, reason: &str) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        self.ask(Message::Stop { reason: reason.to_owned(), reply }, answer).await
    }

    /// Ends its process; the next one begins a conversation of its own.
    pub async fn forget(&self, why: &str) -> Result<(), Error> {
        self.stop(why).await?;
        let (reply, answer) = oneshot::channel();
        self.ask(Message::Forget { why: why.to_owned(), reply }, answer).await
    }

    /// Ends its process at once, and waits for that.
    pub async fn kill(&self) -> Result<(), Error> {
        // First of all, whatever the agent's task is at.
        if let Some(process) = self.process.borrow().as_ref() {
            process.kill();
        }
        let (reply, answer) = oneshot::channel();
        self.ask(Message::Kill { reply }, answer).await
    }

    pub async fn steer(&self, text: String) -> Result<(), Error> {
        self.process()?.steer(text).await
    }

    pub async fn interrupt(&self) -> Result<(), Error> {
        self.process()?.interrupt().await
    }

    pub async fn decide(&self, request: RequestId, decision: Decision) -> Result<(), Error> {
        self.process()?.decide(request, decision).await
    }

    pub async fn answer(&self, request: RequestId, answers: Vec<String>) -> Result<(), Error> {
        self.process()?.answer(request, answers).await
    }

    pub async fn return_call(
        &self,
        call: CallId,
        result: Result<String, String>,
    ) -> Result<(), Error> {
        self.process()?.return_call(call, result).await
    }

    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// What its process uses now, if there is one.
    pub async fn uses(&self) -> Option<Uses> {
        self.process().ok()?.uses().await
    }

    fn process(&self) -> Result<Handle, Error> {
        let process = self.process.borrow().clone();
        process.ok_or_else(|| {
            let reason = self.status.borrow().reason.clone();
            Error::Ended(reason.unwrap_or_else(|| "it is not running".to_owned()))
        })
    }

    async fn ask<T>(&self, message: Message, answer: oneshot::Receiver<T>) -> Result<T, Error> {
        self.inbox.send(message).await.map_err(|_| Error::Gone)?;
        answer.await.map_err(|_| Error::Gone)
    }
}
