//! One process at work: its pipes, its [`Codec`] and its log, and the patience that is had with it.
//!
//! Both pipes are always read and its input is written as it takes it, in a task of the process's own, so that none can
//! hold up another. The one thing that lets a program wait is whoever reads its turn: when too much lies unread there,
//! its standard output is left alone until there is room.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::codec::{CallId, Codec, Command, Decision, Fault, Refused, RequestId, Signal};
use crate::kind::Launch;
use crate::log::Log;
use crate::sandbox::{Exit, Mark, Started, Uses};

mod feed;
mod pipes;
mod talk;
mod vigil;
mod warden;

pub use feed::Turn;

use pipes::Pipes;
use talk::Talk;
use warden::Warden;

/// The largest message that is given to a program.
pub const LARGEST: usize = 8 * 1024 * 1024;
/// What may wait to be taken by a process's task; each takes it no time.
const ASKS: usize = 64;

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Without a frame in a turn, unless it runs a tool or waits for somebody.
    pub silence: Duration,
    /// While its model does not answer it. Longer than those programs try that give up by themselves.
    pub unreachable: Duration,
    /// For a whole turn.
    pub turn: Duration,
    /// For the end of a turn that was interrupted; then it is killed.
    pub interrupted: Duration,
    /// Until it has read some more of what was written to it.
    pub input: Duration,
    /// On the way to its end: for the end of its turn, …
    pub stop_turn: Duration,
    /// … for its own end, after its protocol's word and the end of its input, …
    pub stop_close: Duration,
    /// … and after a signal.
    pub stop_signal: Duration,
    /// For its last words, when it has ended.
    pub rest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            silence: Duration::from_mins(3),
            unreachable: Duration::from_mins(4),
            turn: Duration::from_hours(1),
            interrupted: Duration::from_secs(5),
            input: Duration::from_secs(30),
            stop_turn: Duration::from_secs(2),
            stop_close: Duration::from_secs(5),
            stop_signal: Duration::from_secs(2),
            rest: Duration::from_secs(2),
        }
    }
}

/// Why something that was wanted of a process, or an agent, was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the message has {0} bytes, and {LARGEST} are the most: put the rest into a file")]
    TooLong(usize),
    #[error("it has ended: {0}")]
    Ended(String),
    #[error("it cannot be started: {0}; put that right and start it again")]
    Failed(String),
    #[error("there is no such agent any more")]
    Gone,
}

/// What a process is doing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    Idle,
    Working,
    /// A tool of its own, or one of ours.
    Tool,
    /// For a person.
    Waiting,
    /// Its model does not answer.
    Retrying,
}

/// What is known of a process.
#[derive(Debug, Clone)]
pub struct Facts {
    pub stage: Stage,
    pub doing: Doing,
    pub session: Option<String>,
    pub version: Option<String>,
    pub model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    Starting,
    Ready,
    Ended(End),
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub exit: Option<Exit>,
    /// Whether it ever took messages.
    pub was_ready: bool,
    /// What was wrong with it, if it was ended for that or never became ready.
    pub fault: Option<Fault>,
    /// In a sentence, with its last words; without secrets.
    pub why: String,
}

impl End {
    /// Of a process whose task is gone.
    pub(crate) fn lost(why: &str) -> Self {
        Self { exit: None, was_ready: true, fault: None, why: why.to_owned() }
    }
}

/// What a process is wanted to do, on the way to its task.
enum Ask {
    Turn { text: String, reply: oneshot::Sender<Result<Turn, Error>> },
    Command { command: Command, reply: oneshot::Sender<Result<(), Error>> },
    Stop,
}

/// Owns a process: dropping it kills that.
#[derive(Debug)]
pub struct Runner {
    handle: Handle,
    tasks: JoinSet<()>,
}

/// What a process is run with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The agent's, for the server's own log.
    pub name: String,
    pub log: Log,
    pub patience: Patience,
}

impl Runner {
    /// Takes over a process that was just started.
    pub fn new(
        started: Started,
        codec: Box<dyn Codec>,
        launch: &Launch,
        settings: Settings,
    ) -> Self {
        let (mut runner, talk, asks) = Self::prepare(started, codec, launch, settings);
        runner.tasks.spawn(talk.run(asks));
        runner
    }

    /// Takes over a process that is there for one message, and so may end before anybody could say it.
    pub(crate) fn for_one(
        started: Started,
        codec: Box<dyn Codec>,
        launch: &Launch,
        settings: Settings,
        text: String,
    ) -> Result<(Self, Turn), Error> {
        let (mut runner, mut talk, asks) = Self::prepare(started, codec, launch, settings);
        let turn = talk.say_now(text)?;
        runner.tasks.spawn(talk.run(asks));
        Ok((runner, turn))
    }

    fn prepare(
        started: Started,
        codec: Box<dyn Codec>,
        launch: &Launch,
        settings: Settings,
    ) -> (Self, Talk, mpsc::Receiver<Ask>) {
        let Started { stdin, stdout, stderr, running } = started;
        let mark = running.mark();
        tracing::info!(agent = settings.name, ?mark, "process_started");
        let mut tasks = JoinSet::new();
        let warden = Warden::new(running, &mut tasks);
        let (inbox, asks) = mpsc::channel(ASKS);
        let (facts, known) = watch::channel(Facts {
            stage: Stage::Starting,
            doing: Doing::Idle,
            session: None,
            version: None,
            model: None,
        });
        let handle = Handle { inbox, facts: known, warden: warden.clone(), mark };
        let limits = Limits { ready_within: launch.ready_within, stop: launch.stop };
        let pipes = Pipes::new(stdin, stdout, stderr);
        let talk = Talk::new(codec, pipes, warden, settings, limits, facts);
        (Self { handle, tasks }, talk, asks)
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

/// What a process's task has to keep to.
#[derive(Debug, Clone, Copy)]
struct Limits {
    ready_within: Duration,
    stop: Signal,
}

/// Speaks to a process. It may be gone.
#[derive(Clone)]
pub struct Handle {
    inbox: mpsc::Sender<Ask>,
    facts: watch::Receiver<Facts>,
    warden: Warden,
    mark: Mark,
}

impl Handle {
    /// Begins a turn. One that was given up is waited for.
    pub async fn turn(&self, text: String) -> Result<Turn, Error> {
        let size = text.len();
        if size > LARGEST {
            return Err(Error::TooLong(size));
        }
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Turn { text, reply }, answer).await
    }

    /// Gives a word into the turn that runs.
    pub async fn steer(&self, text: String) -> Result<(), Error> {
        let size = text.len();
        if size > LARGEST {
            return Err(Error::TooLong(size));
        }
        self.command(Command::Steer { text }).await
    }

    /// Ends the turn that runs; its last event still comes.
    pub async fn interrupt(&self) -> Result<(), Error> {
        self.command(Command::Interrupt).await
    }

    pub async fn decide(&self, request: RequestId, decision: Decision) -> Result<(), Error> {
        self.command(Command::Decide { request, decision }).await
    }

    pub async fn answer(&self, request: RequestId, answers: Vec<String>) -> Result<(), Error> {
        self.command(Command::Answer { request, answers }).await
    }

    pub async fn return_call(
        &self,
        call: CallId,
        result: Result<String, String>,
    ) -> Result<(), Error> {
        self.command(Command::Return { call, result }).await
    }

    /// Has it end in its own way, and by force if it does not, and waits for that.
    pub async fn close(&self) -> End {
        self.begin_close().await;
        self.ended().await
    }

    /// Has it end in its own way, and by force if it does not.
    pub(crate) async fn begin_close(&self) {
        // It fails when it has ended already.
        let _ = self.inbox.send(Ask::Stop).await;
    }

    /// Ends it and everything that it started, at once.
    pub fn kill(&self) {
        self.warden.kill();
    }

    /// Waits for its end.
    pub async fn ended(&self) -> End {
        let mut facts = self.facts.clone();
        let ended = facts.wait_for(|facts| matches!(facts.stage, Stage::Ended(_))).await;
        match ended.map(|facts| facts.stage.clone()) {
            Ok(Stage::Ended(end)) => end,
            // Whoever owned it has dropped it.
            Ok(Stage::Starting | Stage::Ready) | Err(_) => End::lost("it was stopped"),
        }
    }

    /// What it uses now, unless it has ended.
    pub async fn uses(&self) -> Option<Uses> {
        self.warden.uses().await
    }

    /// What is known of it; changes can be waited for.
    pub fn facts(&self) -> watch::Receiver<Facts> {
        self.facts.clone()
    }

    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    async fn command(&self, command: Command) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Command { command, reply }, answer).await
    }

    async fn ask<T>(
        &self,
        ask: Ask,
        answer: oneshot::Receiver<Result<T, Error>>,
    ) -> Result<T, Error> {
        if self.inbox.send(ask).await.is_ok()
            && let Ok(result) = answer.await
        {
            return result;
        }
        Err(Error::Ended(self.ended().await.why))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("mark", &self.mark).finish_non_exhaustive()
    }
}
