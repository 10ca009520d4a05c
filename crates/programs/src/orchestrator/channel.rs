//! How the program reaches the server: by the socket, else by the loopback interface, else by the folder of calls.
//!
//! The next way is tried only if nothing was sent by the one before, so that no call is made twice.

use std::env;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};

use super::exchange::{self, Request};
use super::{Failure, spool};
use crate::sockets;
use crate::toolbox::ToolSpec;
use crate::toolbox::wire::{Body, Letter, Reply};

/// How long the list of tools may take, and a connection.
const SHORT: Duration = Duration::from_secs(30);
/// How long a call may take; the server gives it up before.
const LONG: Duration = Duration::from_hours(24);

/// What the environment names.
#[derive(Clone)]
pub(super) struct Channels {
    socket: Option<PathBuf>,
    url: Option<String>,
    spool: Option<PathBuf>,
    token: String,
}

/// Takes back a call that is no longer wanted.
#[derive(Clone, Default)]
pub(super) struct Recall(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    #[default]
    Wanted,
    /// On its way, over this.
    Sent(Line),
    Withdrawn,
}

impl Channels {
    pub(super) fn of_environment() -> Self {
        let named = |name| env::var_os(name).filter(|value| !value.is_empty());
        let text = |name| named(name).map(|value| value.to_string_lossy().into_owned());
        Self {
            socket: named("ORCH_SOCK").map(PathBuf::from),
            url: text("ORCH_URL"),
            spool: named("ORCH_SPOOL").map(PathBuf::from),
            token: text("ORCH_AUTH").unwrap_or_default(),
        }
    }

    pub(super) fn tools(&self, recall: &Recall) -> Result<Vec<ToolSpec>, Failure> {
        match self.send(None, Map::new(), SHORT, recall)? {
            Reply::Tools(tools) => Ok(tools),
            Reply::Error(refusal) => Err(refusal.into()),
            Reply::Result(_) => Err(Failure::Away(FOREIGN.to_owned())),
        }
    }

    pub(super) fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        recall: &Recall,
    ) -> Result<String, Failure> {
        match self.send(Some(tool), arguments, LONG, recall)? {
            Reply::Result(result) => Ok(result),
            Reply::Error(refusal) => Err(refusal.into()),
            Reply::Tools(_) => Err(Failure::Away(FOREIGN.to_owned())),
        }
    }

    fn send(
        &self,
        tool: Option<&str>,
        arguments: Map<String, Value>,
        patience: Duration,
        recall: &Recall,
    ) -> Result<Reply, Failure> {
        if !exchange::is_sendable(&self.token) {
            return Err(Failure::Denied);
        }
        let mut tried = Vec::new();
        if let Some(line) = self.connect(&mut tried) {
            return self.ask(line, tool, arguments, patience, recall);
        }
        let (token, tool) = (self.token.clone(), tool.map(str::to_owned));
        let letter = Letter { token, tool, arguments };
        let answered = match &self.spool {
            Some(folder) => spool::send(folder, &letter, patience, recall),
            None => Err(Failure::Away("not set".to_owned())),
        };
        if let Err(Failure::Away(why)) = answered {
            tried.push(format!("ORCH_SPOOL: {why}"));
            let why = format!("the server cannot be reached ({})", tried.join("; "));
            return Err(Failure::Away(why));
        }
        answered
    }

    fn connect(&self, tried: &mut Vec<String>) -> Option<Line> {
        let reach = |path: &PathBuf| sockets::at(path, |short| UnixStream::connect(short));
        let socket = self.socket.as_ref().map(|path| reach(path).map(Line::Unix));
        let mut note = |name: &str, outcome: Option<io::Result<Line>>| match outcome {
            Some(Ok(line)) => Some(line),
            Some(Err(error)) => {
                tried.push(format!("{name}: {error}"));
                None
            }
            None => {
                tried.push(format!("{name}: not set"));
                None
            }
        };
        note("ORCH_SOCK", socket)
            .or_else(|| note("ORCH_URL", self.url.as_deref().map(|url| dial(url).map(Line::Port))))
    }

    fn ask(
        &self,
        mut line: Line,
        tool: Option<&str>,
        arguments: Map<String, Value>,
        patience: Duration,
        recall: &Recall,
    ) -> Result<Reply, Failure> {
        let broken = |error: io::Error| {
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
                return Failure::Late(format!("no answer within {} s", patience.as_secs()));
            }
            Failure::Away(format!(
                "the server went away before it answered ({error}); whether the call was carried out is not known"
            ))
        };
        line.wait(patience).and_then(|()| recall.hold(&line)).map_err(broken)?;
        let path = tool.map_or_else(
            || "/tools".to_owned(),
            |tool| format!("/tools/{}", exchange::encode(tool)),
        );
        let body = serde_json::to_vec(&Body { arguments }).expect("JSON can be written");
        let body = tool.is_some().then_some(body.as_slice());
        let request = Request { path: &path, token: &self.token, body };
        let (status, body) = exchange::exchange(&mut line, &request).map_err(broken)?;
        match (status, serde_json::from_slice(&body)) {
            (401, _) => Err(Failure::Denied),
            (_, Ok(reply)) => Ok(reply),
            (_, Err(_)) => Err(Failure::Away(FOREIGN.to_owned())),
        }
    }
}

impl Recall {
    /// Whatever it is doing, it ends now.
    pub(super) fn withdraw(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Sent(line) = &*state {
            line.cut();
        }
        *state = State::Withdrawn;
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), State::Withdrawn)
    }

    fn hold(&self, line: &Line) -> io::Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Withdrawn) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        *state = State::Sent(line.another()?);
        Ok(())
    }
}

const FOREIGN: &str = "something else than the server answers";

/// A connection of either sort.
enum Line {
    Unix(UnixStream),
    Port(TcpStream),
}

impl Line {
    fn wait(&self, longest: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream
                .set_read_timeout(Some(longest))
                .and_then(|()| stream.set_write_timeout(Some(SHORT))),
            Self::Port(stream) => stream
                .set_read_timeout(Some(longest))
                .and_then(|()| stream.set_write_timeout(Some(SHORT))),
        }
    }

    fn another(&self) -> io::Result<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
            Self::Port(stream) => stream.try_clone().map(Self::Port),
        }
    }

    fn cut(&self) {
        // One that has ended needs no cutting.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Port(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Port(stream) => stream.read(buffer),
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Port(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.flush(),
            Self::Port(stream) => stream.flush(),
        }
    }
}

fn dial(url: &str) -> io::Result<TcpStream> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "not of the form http://HOST:PORT");
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let place = rest.split('/').next().unwrap_or_default();
    let address = place.to_socket_addrs()?.next().ok_or_else(wrong)?;
    TcpStream::connect_timeout(&address, SHORT)
}
