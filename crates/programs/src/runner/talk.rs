//! The task of one process: everything that comes, goes or is due, one thing after the other.

use std::collections::VecDeque;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::feed::Feed;
use super::pipes::Pipes;
use super::vigil::Vigil;
use super::warden::{Exited, Warden};
use super::{Ask, Doing, End, Error, Facts, Limits, Settings, Stage, Turn};
use crate::codec::{Codec, Command, Event, Fault, Out, Outcome, Refused};
use crate::lines::Line;
use crate::log::Stream;
use crate::sandbox::Exit;

/// So many lines of standard error are told when a process has died, …
const LAST_WORDS: usize = 10;
/// … each up to so many characters.
const WORDS: usize = 300;

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
    /// Why we ended it, when it did nothing that could be answered with a stop.
    verdict: Option<(Fault, String)>,
    exit: Option<Exited>,
    /// Until when what it left in its pipes is waited for.
    rest: Option<Instant>,
    last_words: VecDeque<String>,
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

    async fn next(&mut self, asks: &mut mpsc::Receiver<Ask>) -> Next {
        let full = self.turn.as_ref().is_some_and(|turn| turn.feed.is_full());
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
                while !self.turn.as_ref().is_some_and(|turn| turn.feed.is_full())
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

    /// The next moment at which something is to be done if nothing happens.
    fn due(&self) -> Option<Instant> {
        let patience = &self.settings.patience;
        if self.exit.is_some() {
            return self.rest;
        }
        let turn = self.turn.as_ref().and_then(|turn| match &turn.interrupted {
            Some((until, _)) => Some(*until),
            // It is not the process that is slow.
            None => (!turn.held_up).then(|| turn.vigil.due(patience)),
        });
        let quiet = self.quiet.map(|(_, due)| due);
        let stopping = self.stopping.filter(|(step, _)| *step != Step::Kill);
        let input = self.pipes.input.due(patience.input);
        let all = [self.ready_by, self.rest, quiet, turn, input, stopping.map(|(_, due)| due)];
        all.into_iter().flatten().min()
    }

    fn look_at_times(&mut self, now: Instant) {
        let patience = self.settings.patience;
        if self.ready_by.is_some_and(|due| now >= due) {
            let why = format!("it was not ready within {} s", self.limits.ready_within.as_secs());
            self.unfit(Fault::Other, &why);
            self.give_up(Fault::Other, why);
        }
        if self.exit.is_none() && self.rest.take_if(|due| now >= *due).is_some() {
            self.give_up(Fault::Died, "it closed its pipes without ending".to_owned());
        }
        if self.quiet.take_if(|(_, due)| now >= *due).is_some() {
            let mut out = Out::default();
            self.codec.quiet(&mut out);
            self.apply(out, 0);
        }
        if self.pipes.input.due(patience.input).is_some_and(|due| now >= due) {
            let limit = patience.input.as_secs();
            self.give_up(Fault::Other, format!("it did not read its input for {limit} s"));
        }
        self.look_at_turn(now);
        match self.stopping.filter(|(_, due)| now >= *due) {
            Some((Step::Turn, _)) => self.stop_by_closing(),
            Some((Step::Close, _)) => {
                self.warden.signal(self.limits.stop);
                self.stopping = Some((Step::Signal, now + patience.stop_signal));
            }
            Some((Step::Signal, _)) => {
                self.warden.kill();
                self.stopping = Some((Step::Kill, now));
            }
            Some((Step::Kill, _)) | None => (),
        }
    }

    fn look_at_turn(&mut self, now: Instant) {
        let patience = self.settings.patience;
        let Some(turn) = &mut self.turn else { return };
        if let Some((until, outcome)) = &turn.interrupted {
            if now >= *until {
                let (fault, why) = match outcome {
                    Some(Outcome::Failed { fault, why }) => (*fault, why.clone()),
                    Some(Outcome::Completed { .. } | Outcome::Interrupted) | None => {
                        (Fault::Other, "it did not end its turn when interrupted".to_owned())
                    }
                };
                self.give_up(fault, why);
            }
        } else if !turn.held_up && now >= turn.vigil.due(&patience) {
            let outcome = turn.vigil.verdict(&patience, now);
            // It is over now, whatever the codec says to that.
            turn.interrupted = Some((now, Some(outcome.clone())));
            if self.command(Command::Interrupt).is_ok()
                && let Some(turn) = &mut self.turn
            {
                turn.interrupted = Some((now + patience.interrupted, Some(outcome)));
            }
        }
    }

    fn look_at_reader(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        if turn.feed.is_abandoned() && !turn.let_go {
            turn.let_go = true;
            // One that cannot be interrupted goes on unseen, as long as any other may.
            self.interrupt();
        }
    }

    fn interrupt(&mut self) -> bool {
        let until = Instant::now() + self.settings.patience.interrupted;
        let taken = self.command(Command::Interrupt).is_ok();
        if let Some(turn) = self.turn.as_mut().filter(|_| taken) {
            turn.interrupted.get_or_insert((until, None));
        }
        taken
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
            let taken = self.turn.is_some() && self.interrupt();
            return if taken { Ok(()) } else { Ok(self.command(command)?) };
        }
        let told = command.clone();
        self.command(command)?;
        if let Some(turn) = &mut self.turn {
            let now = Instant::now();
            match told {
                Command::Decide { request, .. } | Command::Answer { request, .. } => {
                    turn.vigil.answered(&request, now);
                }
                Command::Return { call, .. } => turn.vigil.returned(&call, now),
                Command::Say { .. }
                | Command::Steer { .. }
                | Command::Interrupt
                | Command::Close => turn.vigil.resume(now),
            }
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
        self.last_words.push_back(entry.line.chars().take(WORDS).collect());
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
                self.unfit(fault, &why);
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

    /// Whether it ended, and not as a program does that has done what it should.
    fn failed(&self) -> bool {
        self.exit.is_some_and(|Exited(exit)| exit != Some(Exit::Code(0)))
    }

    fn show_doing(&self) {
        let doing = self.turn.as_ref().map_or(Doing::Idle, |turn| turn.vigil.doing());
        self.facts.send_if_modified(|facts| std::mem::replace(&mut facts.doing, doing) != doing);
    }

    fn unfit(&mut self, fault: Fault, why: &str) {
        self.ready_by = None;
        let why = self.settings.log.show(why);
        self.facts.send_modify(|facts| facts.stage = Stage::Unfit { fault, why });
    }

    /// Nothing more is to be had from it.
    fn give_up(&mut self, fault: Fault, why: String) {
        self.verdict.get_or_insert((fault, why));
        self.stopping = Some((Step::Kill, Instant::now()));
        self.warden.kill();
    }

    /// It can no longer be spoken to, and should be about to end.
    fn await_end(&mut self) {
        let until = Instant::now() + self.settings.patience.rest;
        self.rest.get_or_insert(until);
    }

    fn stop(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        self.ready_by = None;
        self.stopping = Some((Step::Turn, Instant::now() + self.settings.patience.stop_turn));
        // Without a turn there is nothing to wait for; with one its end goes on from here.
        if self.turn.is_none() || self.command(Command::Interrupt).is_err() {
            self.stop_by_closing();
        }
    }

    fn stop_by_closing(&mut self) {
        self.stopping = Some((Step::Close, Instant::now() + self.settings.patience.stop_close));
        // A codec that is not ready for it has nothing to say; the end of its input says it.
        let _ = self.command(Command::Close);
        self.pipes.input.close();
    }

    fn finish(mut self) {
        let why = self.why();
        // Whoever waits to say something hears that it has ended.
        self.held = None;
        let mut out = Out::default();
        self.codec.ended(&mut out);
        self.apply(out, 0);
        self.end_turn(Outcome::Failed { fault: Fault::Died, why: why.clone() });
        let exit = self.exit.and_then(|Exited(exit)| exit);
        tracing::info!(agent = self.settings.name, why, "process_stopped");
        self.facts.send_modify(|facts| {
            facts.doing = Doing::Idle;
            facts.stage = Stage::Ended(End { exit, why });
        });
    }

    /// Why it has ended.
    fn why(&self) -> String {
        if let Some((_, why)) = &self.verdict {
            return why.clone();
        }
        let mut why = match self.exit.and_then(|Exited(exit)| exit) {
            Some(Exit::Code(code)) => format!("it ended with exit code {code}"),
            Some(Exit::Signal(signal)) => format!("it was ended by signal {signal}"),
            Some(Exit::Memory) => "it used more memory than it may".to_owned(),
            None => "it has ended".to_owned(),
        };
        if !self.last_words.is_empty() {
            why.push_str("; its last words: ");
            let words: Vec<_> = self.last_words.iter().map(String::as_str).collect();
            why.push_str(&words.join("\n"));
        }
        why
    }
}
