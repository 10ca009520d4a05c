//! The task of one process: everything that comes, goes or is due, one thing after the other.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::feed::Feed;
use super::pipes::Pipes;
use super::vigil::Vigil;
use super::warden::{Exited, Warden};
use super::{Ask, Doing, Error, Facts, Limits, Settings, Stage, Turn};
use crate::codec::{Codec, Command, Event, Fault, Out, Outcome, Refused};
use crate::lines::Line;
use crate::log::{Entry, Stream};

mod ending;
mod times;

/// So many lines of standard error are told when a process has died.
const LAST_WORDS: usize = 10;

/// One process and what we have with it.
#[derive(Debug)]
pub(super) struct Talk {
    settings: Settings,
    codec: Box<dyn Codec>,
    pipes: Pipes,
    warden: Warden,
    limits: Limits,
    facts: watch::Sender<Facts>,
    /// Until when it has to be ready, while it is not.
    ready_by: Option<Instant>,
    /// When the codec is to be told that nothing came.
    quiet: Option<(std::time::Duration, Instant)>,
    turn: Option<Open>,
    /// A message that waits for the end of a turn that nobody reads.
    held: Option<(String, oneshot::Sender<Result<Turn, Error>>)>,
    /// The step of its stopping, and until when that may take.
    stopping: Option<(Step, Instant)>,
    /// What was wrong with it, if it was ended for that.
    verdict: Option<(Fault, String)>,
    exit: Option<Exited>,
    /// Until when what it left in its pipes is waited for.
    rest: Option<Instant>,
    last_words: VecDeque<Arc<Entry>>,
}

/// A turn that runs.
#[derive(Debug)]
struct Open {
    feed: Feed,
    vigil: Vigil,
    /// It was interrupted: until when its end is waited for, and how it is told if that comes.
    interrupted: Option<(Instant, Option<Outcome>)>,
    /// Nobody reads it any more, and that was acted upon.
    let_go: bool,
    /// The process waits for the reader.
    held_up: bool,
    /// Its message is not written yet.
    unwritten: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Turn,
    Close,
    Signal,
    Kill,
}

enum Next {
    Ask(Ask),
    Out(Option<Line>),
    Err(Option<Line>),
    Wrote(std::io::Result<()>),
    /// The reader of the turn has taken something or has gone.
    Reader,
    Exited(Exited),
    Due,
}

impl Talk {
    pub(super) fn new(
        codec: Box<dyn Codec>,
        pipes: Pipes,
        warden: Warden,
        settings: Settings,
        limits: Limits,
        facts: watch::Sender<Facts>,
    ) -> Self {
        let mut talk = Self {
            settings,
            codec,
            pipes,
            warden,
            limits,
            facts,
            ready_by: Some(Instant::now() + limits.ready_within),
            quiet: None,
            turn: None,
            held: None,
            stopping: None,
            verdict: None,
            exit: None,
            rest: None,
            last_words: VecDeque::new(),
        };
        let mut out = Out::default();
        talk.codec.start(&mut out);
        talk.apply(out, 0);
        talk
    }

    /// Begins a turn before anything was read.
    pub(super) fn say_now(&mut self, text: String) -> Result<Turn, Error> {
        let (reply, mut answer) = oneshot::channel();
        self.say(text, reply);
        answer.try_recv().unwrap_or(Err(Error::Gone))
    }

    pub(super) async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        while !self.is_over() {
            let next = self.next(&mut asks).await;
            self.take(next);
            // A process that floods us does not keep others from their turn.
            tokio::task::consume_budget().await;
        }
        self.finish();
    }

    fn is_over(&self) -> bool {
        self.exit.is_some()
            && (self.pipes.have_ended() || self.rest.is_some_and(|rest| Instant::now() >= rest))
    }

    /// Whether it has to wait for the reader of its turn. What it left behind when it ended is little, and is taken.
    fn is_full(&self) -> bool {
        self.exit.is_none() && self.turn.as_ref().is_some_and(|turn| turn.feed.is_full())
    }

    async fn next(&mut self, asks: &mut mpsc::Receiver<Ask>) -> Next {
        let full = self.is_full();
        if let Some(turn) = &mut self.turn
            && std::mem::replace(&mut turn.held_up, full)
            && !full
        {
            turn.vigil.resume(Instant::now());
        }
        let due = self.due();
        let Self { pipes: Pipes { input, stdout, stderr }, warden, turn, exit, .. } = self;
        let (reads_out, reads_err) = (!stdout.has_ended() && !full, !stderr.has_ended());
        let reader = async {
            match turn {
                Some(turn) => turn.feed.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(ask) = asks.recv() => Next::Ask(ask),
            line = stdout.next(), if reads_out => Next::Out(line),
            line = stderr.next(), if reads_err => Next::Err(line),
            wrote = input.write(), if input.is_waiting() => Next::Wrote(wrote),
            exited = warden.exited(), if exit.is_none() => Next::Exited(exited),
            () = reader => Next::Reader,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Next::Due,
        }
    }

    fn take(&mut self, next: Next) {
        match next {
            Next::Ask(Ask::Turn { text, reply }) => self.say(text, reply),
            Next::Ask(Ask::Command { command, reply }) => {
                // Whoever asked may have gone.
                let _ = reply.send(self.asked(command));
            }
            Next::Ask(Ask::Stop) => self.stop(),
            Next::Out(Some(line)) => {
                self.line(&line);
                while !self.is_full()
                    && let Some(line) = self.pipes.stdout.buffered()
                {
                    self.line(&line);
                }
            }
            Next::Err(Some(line)) => {
                self.error_line(&line);
                while let Some(line) = self.pipes.stderr.buffered() {
                    self.error_line(&line);
                }
            }
            Next::Err(None) => (),
            Next::Out(None) | Next::Wrote(Err(_)) => self.await_end(),
            Next::Wrote(Ok(())) => {
                if let Some(turn) = &mut self.turn
                    && !self.pipes.input.is_waiting()
                    && std::mem::take(&mut turn.unwritten)
                {
                    tracing::info!(agent = self.settings.name, "message_written");
                }
            }
            Next::Reader => self.look_at_reader(),
            Next::Exited(exited) => {
                self.exit = Some(exited);
                self.rest = Some(Instant::now() + self.settings.patience.rest);
            }
            Next::Due => self.look_at_times(Instant::now()),
        }
    }

    fn say(&mut self, text: String, reply: oneshot::Sender<Result<Turn, Error>>) {
        let refused = match &self.turn {
            Some(turn) if turn.feed.is_abandoned() && self.held.is_none() => {
                self.held = Some((text, reply));
                self.look_at_reader();
                return;
            }
            Some(_) => Some(Refused::Busy),
            None if self.stopping.is_some() => Some(Refused::Closed),
            None => None,
        };
        let mut out = Out::default();
        let taken = match refused {
            Some(refused) => Err(refused),
            None => self.codec.command(Command::Say { text }, &mut out),
        };
        if let Err(refused) = taken {
            let _ = reply.send(Err(refused.into()));
            return;
        }
        let (feed, turn) = Turn::new();
        self.turn = Some(Open {
            feed,
            vigil: Vigil::new(Instant::now()),
            interrupted: None,
            let_go: false,
            held_up: false,
            unwritten: true,
        });
        // If nobody waits for it any more it is dropped, and so interrupted.
        let _ = reply.send(Ok(turn));
        self.apply(out, 0);
    }

    fn asked(&mut self, command: Command) -> Result<(), Error> {
        if command == Command::Interrupt {
            return Ok(self.interrupt()?);
        }
        let (request, call) = match &command {
            Command::Decide { request, .. } | Command::Answer { request, .. } => {
                (Some(request.clone()), None)
            }
            Command::Return { call, .. } => (None, Some(call.clone())),
            Command::Say { .. } | Command::Steer { .. } | Command::Interrupt | Command::Close => {
                (None, None)
            }
        };
        self.command(command)?;
        if let Some(turn) = &mut self.turn {
            turn.vigil.answered(request.as_ref(), call.as_ref(), Instant::now());
        }
        self.show_doing();
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<(), Refused> {
        let mut out = Out::default();
        self.codec.command(command, &mut out)?;
        self.apply(out, 0);
        Ok(())
    }

    fn line(&mut self, line: &Line) {
        let now = Instant::now();
        let mut out = Out::default();
        let bytes = match line {
            Line::Whole(bytes) => {
                self.settings.log.append(Stream::Stdout, bytes, false);
                self.codec.line(bytes, &mut out);
                bytes
            }
            Line::Cut(bytes) => {
                self.settings.log.append(Stream::Stdout, bytes, true);
                let why = format!("a line of more than {} bytes was passed over", bytes.len());
                out.tell(Event::Garbage { why });
                bytes
            }
        };
        if let Some((span, due)) = &mut self.quiet {
            *due = now + *span;
        }
        if let Some(turn) = &mut self.turn {
            turn.vigil.heard(&out.events, now);
        }
        self.apply(out, bytes.len());
    }

    fn error_line(&mut self, line: &Line) {
        let (Line::Whole(bytes) | Line::Cut(bytes)) = line;
        let entry = self.settings.log.append(Stream::Stderr, bytes, matches!(line, Line::Cut(_)));
        if self.last_words.len() == LAST_WORDS {
            self.last_words.pop_front();
        }
        self.last_words.push_back(entry);
    }

    /// Does what the codec wants done; it came of so many bytes.
    fn apply(&mut self, out: Out, bytes: usize) {
        let Out { write, events, quiet, signal, close } = out;
        if !write.is_empty() && !self.pipes.input.add(&write) {
            self.give_up(Fault::Other, "it does not read its input".to_owned());
        }
        if close {
            self.pipes.input.close();
        }
        if let Some(signal) = signal {
            self.warden.signal(signal);
        }
        if let Some(span) = quiet {
            self.quiet = Some((span, Instant::now() + span));
        }
        let mut bytes = bytes;
        for event in events {
            self.tell(event, std::mem::take(&mut bytes));
        }
        self.show_doing();
    }

    fn tell(&mut self, event: Event, bytes: usize) {
        match event {
            Event::Ready { version, model } => {
                self.ready_by = None;
                self.facts.send_modify(|facts| {
                    facts.stage = Stage::Ready;
                    (facts.version, facts.model) = (version, model);
                });
            }
            Event::Unfit { fault, why } => {
                self.verdict.get_or_insert((fault, self.settings.log.show(&why)));
                self.stop();
            }
            Event::Ended(outcome) => self.end_turn(outcome),
            Event::Session(ref session) => {
                self.facts.send_if_modified(|facts| {
                    let known = facts.session.as_ref() == Some(session);
                    facts.session = Some(session.clone());
                    !known
                });
                self.pass_on(event, bytes);
            }
            Event::Text(_)
            | Event::Thinking(_)
            | Event::ToolStarted { .. }
            | Event::ToolEnded { .. }
            | Event::Permission(_)
            | Event::Question { .. }
            | Event::Withdrawn(_)
            | Event::Call { .. }
            | Event::Usage(_)
            | Event::Retrying { .. }
            | Event::Garbage { .. } => self.pass_on(event, bytes),
        }
    }

    /// Outside of a turn there is nobody to tell; the lines are in the log.
    fn pass_on(&self, event: Event, bytes: usize) {
        if let Some(turn) = &self.turn {
            turn.feed.push(event, bytes);
        }
    }

    fn end_turn(&mut self, outcome: Outcome) {
        let Some(Open { feed, interrupted, .. }) = self.turn.take() else { return };
        let ours = interrupted.and_then(|(_, outcome)| outcome);
        let outcome = match (outcome, &self.verdict) {
            (Outcome::Completed { text }, _) if !self.failed() => Outcome::Completed { text },
            (_, Some((fault, why))) => Outcome::Failed { fault: *fault, why: why.clone() },
            (Outcome::Interrupted, None) => ours.unwrap_or(Outcome::Interrupted),
            (Outcome::Failed { fault: Fault::Died, .. } | Outcome::Completed { .. }, None) => {
                Outcome::Failed { fault: Fault::Died, why: self.why() }
            }
            (Outcome::Failed { fault, why }, None) => {
                Outcome::Failed { fault, why: self.settings.log.show(&why) }
            }
        };
        feed.push(Event::Ended(outcome), 0);
        drop(feed);
        if self.stopping.is_some_and(|(step, _)| step == Step::Turn) {
            self.stop_by_closing();
        }
        if let Some((text, reply)) = self.held.take() {
            self.say(text, reply);
        }
    }

    fn show_doing(&self) {
        let doing = self.turn.as_ref().map_or(Doing::Idle, |turn| turn.vigil.doing());
        self.facts.send_if_modified(|facts| std::mem::replace(&mut facts.doing, doing) != doing);
    }
}
