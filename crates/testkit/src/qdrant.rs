//! A stand-in for a Qdrant server: its gRPC side over a real socket, with the points in memory.
//!
//! Where there is no Qdrant (CI), tests talk to this. It serves what we call and nothing else, exactly and without
//! an index, and says no where Qdrant says no, in its words; the same suite runs against both. Tests can read what
//! was asked, and have it fail. It lives on a thread of its own, as a server would, so that a test may stop the clock.

use std::any::Any;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use bytes::Bytes;
use tokio::sync::oneshot;
use tonic::Status;

use self::calls::Call;
use self::state::State;

mod calls;
mod collections;
mod conditions;
mod points;
mod state;
mod wire;

/// The environment variable that names a real Qdrant server (its gRPC side) for tests.
pub const REAL: &str = "ARTEL_TEST_QDRANT_URL";

/// The address of a real server, when the environment names one.
pub fn real() -> Option<String> {
    std::env::var(REAL).ok().filter(|url| !url.is_empty())
}

/// What goes wrong with a call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Nothing; for putting a fault behind calls that work.
    Pass,
    /// It says that it cannot now, and does nothing.
    Unavailable,
    /// It never answers.
    Hang,
    /// It does what was asked, and the answer is lost.
    Lost,
    /// It says no, with these words.
    Refuse(String),
}

/// The stand-in; gone on drop.
#[derive(Debug)]
pub struct StandIn {
    desk: Desk,
    port: u16,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<()>>,
}

/// What calls are served from.
#[derive(Debug, Clone, Default)]
struct Desk {
    state: Arc<Mutex<State>>,
    notes: Arc<Mutex<Vec<Note>>>,
    faults: Arc<Mutex<VecDeque<Fault>>>,
    key: Arc<Mutex<Option<String>>>,
}

#[derive(Debug)]
struct Note {
    method: &'static str,
    question: Box<dyn Any + Send>,
}

type Answer<T> = std::result::Result<T, Status>;

impl StandIn {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let desk = Desk::default();
        let running = Running::start(listener, desk.clone())?;
        Ok(Self { desk, port, running: Some(running) })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Connections break, and no new ones are taken. What it holds is kept.
    pub fn stop(&mut self) -> Result<()> {
        match self.running.take() {
            Some(running) => running.stop(),
            None => Ok(()),
        }
    }

    /// Comes back at the same address.
    pub fn restart(&mut self) -> Result<()> {
        self.stop()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port))?;
        self.running = Some(Running::start(listener, self.desk.clone())?);
        Ok(())
    }

    /// From now on calls need this key.
    pub fn demand_key(&self, key: &str) {
        *lock(&self.desk.key) = Some(key.to_owned());
    }

    /// The next calls go wrong, one fault each.
    pub fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        lock(&self.desk.faults).extend(faults);
    }

    /// How many of the faults are still to come.
    pub fn faults_left(&self) -> usize {
        lock(&self.desk.faults).len()
    }

    /// All messages of one type that were received, in order.
    pub fn asked<Q: Clone + 'static>(&self) -> Vec<Q> {
        let notes = lock(&self.desk.notes);
        notes.iter().filter_map(|note| note.question.downcast_ref::<Q>().cloned()).collect()
    }

    /// The names of all calls that were received, in order.
    pub fn methods(&self) -> Vec<&'static str> {
        lock(&self.desk.notes).iter().map(|note| note.method).collect()
    }

    pub fn collections(&self) -> Vec<String> {
        lock(&self.desk.state).names()
    }

    /// Which collection an alias stands for.
    pub fn alias(&self, alias: &str) -> Option<String> {
        lock(&self.desk.state).alias(alias)
    }

    /// Deletes a collection behind everybody's back.
    pub fn lose(&self, collection: &str) {
        lock(&self.desk.state).remove(collection);
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // A test that ends cannot do more about it.
        let _ = self.stop();
    }
}

impl Running {
    fn start(listener: TcpListener, desk: Desk) -> Result<Self> {
        listener.set_nonblocking(true)?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("qdrant stand-in".to_owned())
            .spawn(move || serve(listener, desk, stopped))?;
        Ok(Self { stop, thread })
    }

    fn stop(self) -> Result<()> {
        // It fails when the server has ended by itself, and then the thread says why.
        let _ = self.stop.send(());
        self.thread.join().ok().context("the stand-in panicked")?
    }
}

fn serve(listener: TcpListener, desk: Desk, stopped: oneshot::Receiver<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::select! {
            ended = wire::accept(&listener, desk) => ended,
            _ = stopped => Ok(()),
        }
    })
    // The runtime goes, and all connections with it.
}

impl Desk {
    async fn serve(&self, call: &Call, key: Option<&str>, question: Bytes) -> Answer<Vec<u8>> {
        match self.work(call, key, question)? {
            Some(answer) => Ok(answer),
            None => std::future::pending().await,
        }
    }

    /// One call: the key, what is to go wrong, the work, and the note. None when there is to be no answer.
    fn work(&self, call: &Call, key: Option<&str>, question: Bytes) -> Answer<Option<Vec<u8>>> {
        self.check_key(key)?;
        let question = (call.read)(question)?;
        let work = || (call.work)(&mut lock(&self.state), &*question);
        let fault = lock(&self.faults).pop_front();
        let unavailable = || Status::unavailable("the stand-in was told to fail");
        let answer = match fault {
            Some(Fault::Unavailable) => Err(unavailable()),
            Some(Fault::Hang) => Ok(None),
            Some(Fault::Lost) => work().and_then(|_| Err(unavailable())),
            Some(Fault::Refuse(words)) => Err(Status::permission_denied(words)),
            Some(Fault::Pass) | None => work().map(Some),
        };
        lock(&self.notes).push(Note { method: call.name, question });
        answer
    }

    fn check_key(&self, given: Option<&str>) -> Answer<()> {
        let key = lock(&self.key);
        let Some(key) = key.as_deref() else { return Ok(()) };
        match given {
            Some(given) if given == key => Ok(()),
            Some(_) => Err(Status::unauthenticated("Invalid API key or JWT")),
            None => Err(Status::unauthenticated(
                "Must provide an API key or an Authorization bearer token",
            )),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
