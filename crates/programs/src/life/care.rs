//! The task that looks after one agent.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::restarts::Restarts;
use super::state::{State, Step};
use super::{Parts, Status, Warning};
use crate::codec::{Codec, Fault, Refused};
use crate::kind::Launch;
use crate::runner::{Doing, End, Error, Facts, Handle, Runner, Stage, Turn};
use crate::sandbox::{Started, Uses};

mod limits;
mod opening;
mod waiting;

use waiting::Waiter;

/// What is wanted of the task.
pub(super) enum Message {
    Up { text: String, reply: oneshot::Sender<Result<Up, Error>> },
    Start { reply: oneshot::Sender<Result<(), Error>> },
    Stop { reason: String, reply: oneshot::Sender<()> },
    Kill { reply: oneshot::Sender<()> },
    Forget { why: String, reply: oneshot::Sender<()> },
}

/// Something that takes a message.
pub(super) enum Up {
    Process(Handle),
    /// Of a process for this message alone.
    Turn(Turn),
}

pub(super) struct Care {
    parts: Parts,
    status: watch::Sender<Status>,
    shown: watch::Sender<Option<Handle>>,
    process: Process,
    waiting: Vec<Waiter>,
    /// Those who wait for the end of the process.
    ending: Vec<oneshot::Sender<()>>,
    restarts: Restarts,
    /// When it is started again.
    again: Option<Instant>,
    /// It is started again as soon as its process has ended.
    then_start: bool,
    /// Since when there is a conversation that could be taken up.
    conversing: Option<Instant>,
    measuring: Option<BoxFuture<'static, Option<Uses>>>,
    measure_at: Option<Instant>,
    /// More than it may use.
    too_much: Option<u64>,
}

enum Process {
    None,
    Starting(Opening),
    Up(Box<Kept>),
}

/// A process that is being started.
struct Opening {
    started: BoxFuture<'static, io::Result<Started>>,
    codec: Box<dyn Codec>,
    launch: Arc<Launch>,
    /// The conversation that it is to take up.
    resumes: Option<String>,
    /// Who gets the turn of a process for one message.
    alone: Option<(String, oneshot::Sender<Result<Up, Error>>)>,
}

/// A process that was started.
struct Kept {
    runner: Runner,
    facts: watch::Receiver<Facts>,
    resumes: Option<String>,
    since: Instant,
    /// Since when it has nothing to do.
    idle: Instant,
    warned: bool,
}

enum Next {
    Message(Message),
    Started(io::Result<Started>),
    Facts,
    /// The task of its process is gone, which no process can bring about.
    Lost,
    Measured(Option<Uses>),
    Due,
}

impl Care {
    pub(super) fn new(
        parts: Parts,
    ) -> (Self, watch::Receiver<Status>, watch::Receiver<Option<Handle>>) {
        let status = watch::Sender::new(Status {
            state: State::Init,
            since: parts.clock.now(),
            mark: None,
            session: parts.wish.resume.clone(),
            version: None,
            model: None,
            reason: None,
            single: false,
            node: None,
        });
        let shown = watch::Sender::new(None);
        let (told, process) = (status.subscribe(), shown.subscribe());
        let care = Self {
            restarts: Restarts::new(parts.policy.backoff),
            parts,
            status,
            shown,
            process: Process::None,
            waiting: Vec::new(),
            ending: Vec::new(),
            again: None,
            then_start: false,
            conversing: None,
            measuring: None,
            measure_at: None,
            too_much: None,
        };
        (care, told, process)
    }

    pub(super) async fn run(mut self, mut messages: mpsc::Receiver<Message>) {
        loop {
            let due = self.due();
            let Self { process, measuring, .. } = &mut self;
            let step = async {
                match process {
                    Process::None => std::future::pending().await,
                    Process::Starting(opening) => Next::Started((&mut opening.started).await),
                    Process::Up(kept) => match kept.facts.changed().await {
                        Ok(()) => Next::Facts,
                        Err(_) => Next::Lost,
                    },
                }
            };
            let measured = async {
                match measuring {
                    Some(measuring) => measuring.await,
                    None => std::future::pending().await,
                }
            };
            let next = tokio::select! {
                message = messages.recv() => match message {
                    Some(message) => Next::Message(message),
                    None => return,
                },
                next = step => next,
                uses = measured => Next::Measured(uses),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Next::Due,
            };
            self.take(next).await;
        }
    }

    async fn take(&mut self, next: Next) {
        if let Next::Message(_) = next {
            self.see_its_end().await;
        }
        match next {
            Next::Message(Message::Up { text, reply }) => self.wanted(text, reply).await,
            Next::Message(Message::Start { reply }) => {
                if let State::Running(_) = self.state() {
                    let _ = reply.send(Ok(()));
                    return;
                }
                self.restarts.forget();
                self.wait(Waiter::Start(reply)).await;
            }
            Next::Message(Message::Stop { reason, reply }) => {
                self.turn_away(&Error::Ended("it was stopped".to_owned()));
                self.stop(&reason).await;
                self.when_ended(reply);
            }
            Next::Message(Message::Kill { reply }) => {
                self.kill().await;
                self.when_ended(reply);
            }
            Next::Message(Message::Forget { why, reply }) => {
                let status = self.tell(|status| status.session = None);
                self.parts.watcher.changed(&status).await;
                self.parts.watcher.warned(Warning::Forgotten { why }).await;
                let _ = reply.send(());
            }
            Next::Started(started) => self.started(started).await,
            Next::Facts => self.learn().await,
            Next::Lost => {
                self.ended(End::lost("its conversation was lost by a fault of ours")).await;
            }
            Next::Measured(uses) => {
                self.measuring = None;
                let limit = self.parts.policy.memory.unwrap_or(u64::MAX);
                self.too_much = uses.map(|uses| uses.memory).filter(|used| *used > limit);
            }
            Next::Due => self.look_at_times().await,
        }
        self.between_turns().await;
    }

    fn state(&self) -> State {
        self.status.borrow().state
    }

    fn is_single(&self) -> bool {
        self.status.borrow().single
    }

    /// Takes a step, if it means something here, and tells it.
    async fn step(&mut self, step: Step, reason: Option<String>) -> bool {
        let Some(next) = self.state().after(step) else { return false };
        let since = self.parts.clock.now();
        let status = self.tell(|status| {
            if std::mem::discriminant(&status.state) != std::mem::discriminant(&next) {
                status.since = since;
            }
            status.state = next;
            if !matches!(step, Step::Does(_) | Step::Ended) {
                status.reason = reason;
            }
        });
        self.parts.watcher.changed(&status).await;
        true
    }

    fn tell(&self, change: impl FnOnce(&mut Status)) -> Status {
        self.status.send_modify(change);
        self.status.borrow().clone()
    }

    /// The process's task has told something.
    async fn learn(&mut self) {
        let Process::Up(kept) = &mut self.process else { return };
        let facts = kept.facts.borrow_and_update().clone();
        let resumes = kept.resumes.clone();
        self.learn_names(&facts, resumes).await;
        let Process::Up(kept) = &mut self.process else { return };
        match facts.stage {
            Stage::Starting => (),
            Stage::Ready => {
                if facts.doing == Doing::Idle {
                    kept.idle = Instant::now();
                }
                if self.state() == State::Starting {
                    self.step(Step::Ready, None).await;
                    self.serve_waiting();
                }
                if self.state() != State::Running(facts.doing) {
                    self.step(Step::Does(facts.doing), None).await;
                }
            }
            Stage::Ended(end) => self.ended(end).await,
        }
    }

    /// Who asks for something may know of the process's end before it was looked at here; what has ended is given to
    /// nobody.
    async fn see_its_end(&mut self) {
        let Process::Up(kept) = &self.process else { return };
        let ended = matches!(kept.facts.borrow().stage, Stage::Ended(_));
        if ended {
            self.learn().await;
        }
    }

    async fn learn_names(&mut self, facts: &Facts, resumes: Option<String>) {
        let known = self.status.borrow().clone();
        let session = facts.session.clone().or_else(|| known.session.clone());
        let version = facts.version.clone().or_else(|| known.version.clone());
        let model = facts.model.clone().or_else(|| known.model.clone());
        if (&session, &version, &model) == (&known.session, &known.version, &known.model) {
            return;
        }
        if session != known.session {
            self.conversing = Some(Instant::now());
            if let Some(lost) = resumes.filter(|lost| known.session.as_ref() == Some(lost)) {
                let why = format!("the program no longer knows {lost}");
                self.parts.watcher.warned(Warning::Forgotten { why }).await;
            }
        }
        let status = self.tell(|status| {
            (status.session, status.version, status.model) = (session, version, model);
        });
        self.parts.watcher.changed(&status).await;
    }

    /// The process is gone.
    async fn ended(&mut self, end: End) {
        let process = std::mem::replace(&mut self.process, Process::None);
        self.shown.send_replace(None);
        (self.measuring, self.measure_at) = (None, None);
        self.tell(|status| status.mark = None);
        let Process::Up(kept) = process else { return };
        // Both may have happened since it was looked at.
        if end.was_ready && self.state() == State::Starting {
            self.step(Step::Ready, None).await;
        }
        match self.state() {
            State::Starting => {
                let resumed = kept.resumes.is_some();
                if resumed {
                    self.forget(end.why).await;
                } else {
                    self.not_started(end.why, end.fault == Some(Fault::Login)).await;
                }
            }
            State::Running(_) if self.is_single() => {
                self.step(Step::Does(Doing::Idle), None).await;
            }
            State::Running(_) => self.crashed(end.why).await,
            State::Stopping => _ = self.step(Step::Ended, None).await,
            // Who was killed has told so already; but it is known only now that nothing is left.
            State::Killed | State::Init | State::Stopped | State::Failed | State::Crashed => {
                let status = self.status.borrow().clone();
                self.parts.watcher.changed(&status).await;
            }
        }
        for waiter in self.ending.drain(..) {
            let _ = waiter.send(());
        }
        if std::mem::take(&mut self.then_start) && matches!(self.process, Process::None) {
            self.start().await;
        }
    }

    /// A conversation that cannot be taken up is not worth another try.
    async fn forget(&mut self, why: String) {
        self.step(Step::NotStarted, Some(why.clone())).await;
        self.tell(|status| status.session = None);
        self.parts.watcher.warned(Warning::Forgotten { why }).await;
        self.start().await;
    }

    async fn not_started(&mut self, why: String, lasting: bool) {
        self.step(Step::NotStarted, Some(why.clone())).await;
        if lasting {
            self.give_up(why, true).await;
        } else {
            self.try_again(why).await;
        }
    }

    async fn crashed(&mut self, why: String) {
        self.step(Step::Died, Some(why.clone())).await;
        self.try_again(why).await;
    }

    async fn try_again(&mut self, why: String) {
        let now = Instant::now();
        if let Some(pause) = self.restarts.pause(now, fastrand::f64()) {
            self.again = Some(now + pause);
        } else {
            let why = format!("{}: {why}", self.restarts.told());
            self.give_up(why, false).await;
        }
    }

    /// It is not tried again, but for single messages if the kind can do that and it could help.
    async fn give_up(&mut self, why: String, lasting: bool) {
        if self.state() == State::Crashed {
            self.step(Step::GiveUp, Some(why.clone())).await;
        } else {
            let status = self.tell(|status| status.reason = Some(why.clone()));
            self.parts.watcher.changed(&status).await;
        }
        let able =
            !lasting && self.parts.kind.single(&self.parts.wish, &self.place(), "").is_some();
        if !able {
            self.turn_away(&Error::Failed(why.clone()));
            self.parts.watcher.warned(Warning::GivenUp { why }).await;
            return;
        }
        self.tell(|status| status.single = true);
        self.step(Step::FallBack, Some(why.clone())).await;
        self.parts.watcher.warned(Warning::Single { why }).await;
        for waiter in std::mem::take(&mut self.waiting) {
            match waiter {
                Waiter::Start(reply) => _ = reply.send(Ok(())),
                Waiter::Message { text, reply } if matches!(self.process, Process::None) => {
                    self.open_alone(text, reply).await;
                }
                waiter @ Waiter::Message { .. } => waiter.turn_away(Refused::Busy.into()),
            }
        }
    }

    async fn stop(&mut self, reason: &str) {
        (self.again, self.then_start) = (None, false);
        self.step(Step::Stop, Some(reason.to_owned())).await;
        match &self.process {
            Process::Up(kept) => kept.runner.handle().begin_close().await,
            // Nothing was said yet that could be lost.
            Process::Starting(_) | Process::None => {
                self.process = Process::None;
                self.step(Step::Ended, None).await;
            }
        }
    }

    async fn kill(&mut self) {
        (self.again, self.then_start) = (None, false);
        match &self.process {
            Process::Up(kept) => kept.runner.handle().kill(),
            Process::Starting(_) | Process::None => self.process = Process::None,
        }
        self.turn_away(&Error::Ended("it was killed".to_owned()));
        self.step(Step::Kill, Some("it was killed".to_owned())).await;
    }
}
