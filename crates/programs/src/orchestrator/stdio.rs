//! `orchestrator mcp`: the tools as an MCP server on standard input and output, a message per line.
//!
//! What a message means is said by [`mcp`]; this carries calls over the same channels as everything else. Calls run
//! side by side, each in a thread, and one that is cancelled is given up.

use std::collections::HashMap;
use std::io::{self, BufRead, Read, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::channel::{Channels, Recall};
use super::{Failure, INPUT};
use crate::toolbox::mcp::{self, Asked, Id};

/// How many calls may be under way at once; the server takes fewer.
const CALLS: usize = 64;
/// How long calls that run may take to end after the last message.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves until the input ends.
pub(super) fn serve(channels: Channels, mut input: impl BufRead) -> Result<(), Failure> {
    let broken = |error: io::Error| Failure::Away(format!("the client cannot be reached: {error}"));
    let mut calls = Calls::new(channels);
    while let Some(line) = read(&mut input).map_err(broken)? {
        calls.sweep();
        let asked = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => Asked::Nothing,
            Line::Whole(line) => mcp::read(&line),
            // As if it had ended there, which is no JSON.
            Line::Cut => mcp::read(b""),
        };
        match asked {
            Asked::Nothing => {}
            Asked::Answer(answer) => write(&answer).map_err(broken)?,
            Asked::Withdrawn(id) => calls.withdraw(&id),
            Asked::Tools(id) => calls
                .start(id, |id, channels, recall| match channels.tools(recall) {
                    Ok(tools) => id.tools(&tools),
                    Err(failure) => id.failed(&failure.to_string()),
                })
                .map_err(broken)?,
            Asked::Call { id, tool, arguments } => calls
                .start(id, move |id, channels, recall| {
                    let outcome = channels.call(&tool, arguments, recall);
                    id.called(outcome.map_err(|failure| failure.to_string()))
                })
                .map_err(broken)?,
        }
    }
    calls.end();
    Ok(())
}

/// What is under way.
struct Calls {
    channels: Channels,
    running: HashMap<Id, Recall>,
    ended: Receiver<Id>,
    end: Sender<Id>,
}

impl Calls {
    fn new(channels: Channels) -> Self {
        let (end, ended) = mpsc::channel();
        Self { channels, running: HashMap::new(), ended, end }
    }

    fn start(
        &mut self,
        id: Id,
        work: impl FnOnce(&Id, &Channels, &Recall) -> Value + Send + 'static,
    ) -> io::Result<()> {
        if self.running.len() >= CALLS {
            return write(&id.failed("Too many calls are running: wait for one to end"));
        }
        let recall = Recall::default();
        let (channels, end, held) = (self.channels.clone(), self.end.clone(), recall.clone());
        let name = id.clone();
        thread::Builder::new().spawn(move || {
            let answer = work(&id, &channels, &held);
            // A client that cancelled a call wants no answer to it, and one that is gone cannot be told.
            if !held.is_withdrawn() {
                let _ = write(&answer);
            }
            let _ = end.send(id);
        })?;
        self.running.insert(name, recall);
        Ok(())
    }

    fn withdraw(&mut self, id: &Id) {
        if let Some(recall) = self.running.get(id) {
            recall.withdraw();
        }
    }

    fn sweep(&mut self) {
        while let Ok(id) = self.ended.try_recv() {
            self.running.remove(&id);
        }
    }

    /// Lets what is nearly done be done; the rest ends with the process.
    fn end(mut self) {
        let begun = Instant::now();
        while !self.running.is_empty() {
            match self.ended.recv_timeout(FAREWELL.saturating_sub(begun.elapsed())) {
                Ok(id) => self.running.remove(&id),
                Err(_) => return,
            };
        }
    }
}

/// A line, or too long a one, of which nothing is kept.
enum Line {
    Whole(Vec<u8>),
    Cut,
}

fn read(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    input.take(INPUT + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.ends_with(b"\n") || line.len() as u64 <= INPUT {
        return Ok(Some(Line::Whole(line)));
    }
    input.skip_until(b'\n')?;
    Ok(Some(Line::Cut))
}

/// One whole line at a time, whoever writes.
fn write(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{message}\n").as_bytes())?;
    out.flush()
}
