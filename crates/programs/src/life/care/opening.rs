//! Starting a process: one that is to be kept, or one for a single message.

use std::io;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::{Care, Kept, Opening, Process, Up};
use crate::codec::{Codec, Refused};
use crate::kind::{Launch, Place, Unusable, Wish};
use crate::life::alone::Alone;
use crate::life::state::Step;
use crate::runner::{Doing, Error, Patience, Runner, Settings};
use crate::sandbox::Started;

impl Care {
    /// Starts a process that is to be kept.
    pub(super) async fn start(&mut self) {
        let now = Instant::now();
        let abilities = self.parts.kind.abilities();
        let resumes = self.status.borrow().session.clone().filter(|_| abilities.resume);
        let soonest = self.conversing.map(|since| since + abilities.resume_after);
        if let Some(soonest) = soonest.filter(|soonest| resumes.is_some() && *soonest > now) {
            self.again = Some(soonest);
            return;
        }
        self.again = None;
        self.tell(|status| status.single = false);
        self.step(Step::Start, None).await;
        let wish = Wish { resume: resumes.clone(), ..self.parts.wish.clone() };
        let place = self.place();
        let kind = &self.parts.kind;
        let ready = kind.launch(&wish, &place);
        match ready.and_then(|launch| Ok((launch, kind.codec(&wish, &place)?))) {
            Ok((launch, codec)) => self.open(launch, codec, resumes, None),
            Err(Unusable(why)) => self.not_started(why, true).await,
        }
    }

    pub(super) fn open(
        &mut self,
        launch: Launch,
        codec: Box<dyn Codec>,
        resumes: Option<String>,
        alone: Option<(String, oneshot::Sender<Result<Up, Error>>)>,
    ) {
        let launch = Arc::new(launch);
        let (starter, room) = (Arc::clone(&self.parts.starter), self.parts.room.clone());
        let what = Arc::clone(&launch);
        let (place, within) = (self.place(), self.parts.policy.start_within);
        let started = Box::pin(async move {
            let started = timeout(within, starter.start(&room, &place, &what)).await;
            started.unwrap_or_else(|_| {
                let why = format!("its process was not there within {} s", within.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, why))
            })
        });
        self.process = Process::Starting(Opening { started, codec, launch, resumes, alone });
    }

    /// Starts a process for one message.
    pub(super) async fn open_alone(
        &mut self,
        text: String,
        reply: oneshot::Sender<Result<Up, Error>>,
    ) {
        let session = self.status.borrow().session.clone();
        let wish = Wish { resume: session, ..self.parts.wish.clone() };
        if let Some(launch) = self.parts.kind.single(&wish, &self.place(), &text) {
            self.step(Step::Does(Doing::Working), None).await;
            self.open(launch, Box::new(Alone::default()), None, Some((text, reply)));
        } else {
            let _ = reply.send(Err(Refused::Unsupported.into()));
        }
    }

    pub(super) async fn started(&mut self, started: io::Result<Started>) {
        let Process::Starting(opening) = std::mem::replace(&mut self.process, Process::None) else {
            return;
        };
        let Opening { codec, launch, resumes, alone, started: _ } = opening;
        let started = match (started, alone) {
            (Ok(started), None) => {
                let patience = self.parts.policy.patience;
                Ok(Runner::new(started, codec, &launch, self.settings(patience)))
            }
            (Ok(started), Some((text, reply))) => {
                let patience = self.parts.policy.patience;
                // It may well say nothing before it is done.
                let patience = Patience { silence: patience.turn, ..patience };
                let settings = self.settings(patience);
                match Runner::for_one(started, codec, &launch, settings, text) {
                    Ok((runner, turn)) => {
                        let _ = reply.send(Ok(Up::Turn(turn)));
                        Ok(runner)
                    }
                    Err(error) => Err((error.to_string(), Some(reply))),
                }
            }
            (Err(error), alone) => {
                let why = self.parts.log.show(&error.to_string());
                Err((why, alone.map(|(_, reply)| reply)))
            }
        };
        match started {
            Ok(runner) => self.keep(runner, resumes).await,
            Err((why, Some(reply))) => {
                let _ = reply.send(Err(Error::Failed(why)));
                self.step(Step::Does(Doing::Idle), None).await;
            }
            Err((why, None)) => self.not_started(why, false).await,
        }
    }

    pub(super) async fn keep(&mut self, runner: Runner, resumes: Option<String>) {
        let now = Instant::now();
        let mut facts = runner.handle().facts();
        facts.mark_changed();
        let handle = runner.handle().clone();
        let mark = handle.mark().clone();
        self.shown.send_replace(Some(handle));
        self.process = Process::Up(Box::new(Kept {
            runner,
            facts,
            resumes,
            since: now,
            idle: now,
            warned: false,
        }));
        self.too_much = None;
        self.measure_at = self.parts.policy.memory.map(|_| now + self.parts.policy.look_every);
        let status = self.tell(|status| status.mark = Some(mark));
        self.parts.watcher.changed(&status).await;
    }

    pub(super) fn place(&self) -> Place {
        self.parts.starter.place(&self.parts.room)
    }

    pub(super) fn settings(&self, patience: Patience) -> Settings {
        let (name, log) = (self.parts.room.name.clone(), self.parts.log.clone());
        Settings { name, log, patience }
    }
}
