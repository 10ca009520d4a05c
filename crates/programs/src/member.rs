//! A program as a member of a team: its life, and the tools that it calls, seen as one.
//!
//! Whichever way a call of our tools comes, in the conversation itself, by MCP or by the `orchestrator` program, whoever
//! follows the turn gets it as an [`Event::Call`] and gives its result as a [`Command::Return`].

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::codec::{CallId, Command, Event, Refused};
use crate::kind::Abilities;
use crate::life::{Life, Parts, Status};
use crate::log::Log;
use crate::runner::{self, Error};
use crate::sandbox::Uses;
use crate::toolbox::endpoint::Endpoint;
use crate::toolbox::{ToolSpec, Toolbox};

/// Calls that wait to be taken.
const WAITING: usize = 64;
/// Conversations of people's that a member is known to have met.
const MET: usize = 1000;

/// Clones are the same member; with the last one its process ends.
#[derive(Debug, Clone)]
pub struct Member(Arc<Inner>);

/// Does not keep it up.
#[derive(Debug, Clone)]
pub struct WeakMember(Weak<Inner>);

impl WeakMember {
    pub fn upgrade(&self) -> Option<Member> {
        self.0.upgrade().map(Member)
    }
}

#[derive(Debug)]
struct Inner {
    life: Life,
    abilities: Abilities,
    desk: Arc<Desk>,
    endpoint: Endpoint,
    log: Log,
    met: Met,
}

/// A call that came in the conversation, on its way through the desk.
type Inside = BoxFuture<'static, (CallId, Result<String, String>)>;

/// The tools of a member: calls of all ways meet here.
#[derive(Debug)]
pub struct Desk {
    specs: Vec<ToolSpec>,
    state: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    /// Whoever follows the turn that runs.
    turn: Option<mpsc::Sender<Event>>,
    open: HashMap<CallId, oneshot::Sender<Result<String, String>>>,
    last: u64,
}

/// Which conversations of people's are part of a program's own.
#[derive(Debug, Default)]
pub struct Met(Mutex<Thread>);

#[derive(Debug, Default)]
struct Thread {
    session: Option<String>,
    conversations: BTreeSet<String>,
}

impl Met {
    /// Says whether a conversation of people's is new to the program's own of this name; from now on it is not.
    pub fn meets(&self, session: Option<String>, conversation: &str) -> bool {
        let mut met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if met.session != session && met.session.is_some() {
            met.conversations.clear();
        }
        met.session = session;
        if met.conversations.len() >= MET {
            met.conversations.clear();
        }
        met.conversations.insert(conversation.to_owned())
    }
}

/// A turn, with the calls of our tools that come with it, whichever way.
#[derive(Debug)]
pub struct Turn {
    inner: runner::Turn,
    calls: mpsc::Receiver<Event>,
    /// Each with what gives it up.
    inside: FuturesUnordered<Abortable<Inside>>,
    given_up: HashMap<CallId, AbortHandle>,
    member: Member,
}

impl Member {
    /// What it is made of; the endpoint must serve the same desk.
    pub fn new(parts: Parts, desk: Arc<Desk>, endpoint: Endpoint) -> Self {
        let patience = parts.kind.patience(&parts.wish);
        let abilities = Abilities { patience, ..parts.kind.abilities() };
        let log = parts.log.clone();
        let (life, met) = (Life::new(parts), Met::default());
        Self(Arc::new(Inner { life, abilities, desk, endpoint, log, met }))
    }

    pub fn downgrade(&self) -> WeakMember {
        WeakMember(Arc::downgrade(&self.0))
    }

    pub fn abilities(&self) -> Abilities {
        self.0.abilities
    }

    pub fn log(&self) -> &Log {
        &self.0.log
    }

    pub fn status(&self) -> Status {
        self.0.life.status()
    }

    pub async fn uses(&self) -> Option<Uses> {
        self.0.life.uses().await
    }

    /// Whether it remembers nothing of what was said before.
    pub fn is_fresh(&self) -> bool {
        self.status().session.is_none()
    }

    /// Says whether a conversation of people's is new to it; from now on it is not.
    pub fn meets(&self, conversation: &str) -> bool {
        self.0.met.meets(self.status().session, conversation)
    }

    /// Starts its process and waits until it takes messages.
    pub async fn start(&self) -> Result<(), Error> {
        self.0.life.start().await
    }

    /// Ends its process in its own way; when this returns, nothing of it is left.
    pub async fn stop(&self, why: &str) {
        // It fails only when there is nothing any more to be stopped.
        let _ = self.0.life.stop(why).await;
        self.0.log.flush().await;
    }

    /// Lets it begin a conversation of its own: the one it has cannot go on.
    pub async fn forget(&self, why: &str) -> Result<(), Error> {
        self.0.life.forget(why).await
    }

    /// Gives it a message. Its process is started if it is down.
    pub async fn turn(&self, text: String) -> Result<Turn, Error> {
        let inner = self.0.life.turn(text).await?;
        let (sender, calls) = mpsc::channel(WAITING);
        self.0.desk.lock().turn = Some(sender);
        let (inside, given_up) = (FuturesUnordered::new(), HashMap::new());
        Ok(Turn { inner, calls, inside, given_up, member: self.clone() })
    }

    /// What is wanted of it while its turn runs.
    pub async fn command(&self, command: Command) -> Result<(), Error> {
        match command {
            Command::Say { .. } => Err(Error::Refused(Refused::Busy)),
            Command::Steer { text } => self.0.life.steer(text).await,
            Command::Interrupt => self.0.life.interrupt().await,
            Command::Decide { request, decision } => self.0.life.decide(request, decision).await,
            Command::Answer { request, answers } => self.0.life.answer(request, answers).await,
            Command::Return { call, result } => self.0.desk.returned(&call, result),
            Command::Close => {
                self.stop("It was closed").await;
                Ok(())
            }
        }
    }
}

impl Turn {
    /// What happens next; none when the turn is over.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let event = tokio::select! {
                Some(call) = self.calls.recv() => return Some(call),
                Some(done) = self.inside.next(), if !self.inside.is_empty() => {
                    if let Ok((call, result)) = done {
                        self.given_up.remove(&call);
                        // Refused when the program no longer waits for it.
                        let _ = self.member.0.life.return_call(call, result).await;
                    }
                    continue;
                }
                event = self.inner.next() => event?,
            };
            if let Event::Call { call, tool, arguments } = event {
                self.enter(call, tool, arguments);
            } else if let Event::Withdrawn(request) = &event
                && let Some(call) = self.given_up.remove(&CallId(request.0.clone()))
            {
                call.abort();
            } else {
                return Some(event);
            }
        }
    }

    /// A call in the conversation goes the way of all others.
    fn enter(&mut self, call: CallId, tool: String, arguments: Map<String, Value>) {
        let (toolbox, id) = (self.member.0.endpoint.toolbox(), call.clone());
        let run: Inside = Box::pin(async move {
            let done = toolbox.run(&tool, arguments).await;
            (id, done.map_err(|refusal| refusal.message))
        });
        let (run, handle) = abortable(run);
        self.inside.push(run);
        self.given_up.insert(call, handle);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut calls = self.member.0.desk.lock();
        calls.turn = None;
        // Whoever waits for their results is told that nothing will come.
        calls.open.clear();
    }
}

impl Desk {
    pub fn new(specs: Vec<ToolSpec>) -> Arc<Self> {
        Arc::new(Self { specs, state: Mutex::default() })
    }

    /// Hands a result to whoever waits for it.
    fn returned(&self, call: &CallId, result: Result<String, String>) -> Result<(), Error> {
        let waiting = self.lock().open.remove(call).ok_or(Error::Refused(Refused::Unknown))?;
        // Who no longer waits needs no result.
        let _ = waiting.send(result);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Toolbox for Desk {
    fn tools(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<String, String> {
        let (sender, call, answer) = {
            let mut calls = self.lock();
            let idle = "No turn of yours is running: wait for a message, and answer it then";
            let sender = calls.turn.clone().ok_or(idle)?;
            calls.last += 1;
            let call = CallId(format!("call-{}", calls.last));
            let (waiting, answer) = oneshot::channel();
            calls.open.insert(call.clone(), waiting);
            (sender, call, answer)
        };
        let _given_up = GivenUp { desk: self, call: call.clone() };
        let event = Event::Call { call, tool: tool.to_owned(), arguments };
        let over = || "The turn has ended".to_owned();
        sender.send(event).await.map_err(|_| over())?;
        answer.await.unwrap_or_else(|_| Err(over()))
    }
}

/// Forgets a call that nobody waits for any more.
struct GivenUp<'a> {
    desk: &'a Desk,
    call: CallId,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.desk.lock().open.remove(&self.call);
    }
}
