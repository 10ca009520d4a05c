//! A turn on a worker, followed from here: its events come in order, each once.

use std::time::Duration;

use artel_domain::{LifeId, TurnId};
use artel_programs::codec::{Event, Fault, Outcome};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::far::Far;
use crate::wire::{Failure, Peer, Want};

/// More than a worker sends before it is told that something was heard.
const WAITING: usize = 1024;
/// So often a worker is told what was heard, …
const TOLD: u64 = 128;
/// … and asked for what may have been lost on the way.
const ASKED: Duration = Duration::from_secs(5);

/// Where the events of a turn come in.
#[derive(Debug)]
pub(super) struct Course {
    worker: Peer,
    /// The number of the last one.
    last: u64,
    events: mpsc::Sender<(u64, Event)>,
    /// Beside the others, so that there is always room for it.
    end: mpsc::Sender<Event>,
}

impl Course {
    pub(super) fn worker(&self) -> &Peer {
        &self.worker
    }

    /// What came before is passed over. What comes too early is too: it is sent again, with all that is missing.
    pub(super) fn take(&mut self, number: u64, event: Event) {
        if number == self.last + 1 && self.events.try_send((number, event)).is_ok() {
            self.last = number;
        }
    }

    /// Its worker is gone.
    pub(super) fn end(&self, event: Event) {
        // Full: it has ended already.
        let _ = self.end.try_send(event);
    }
}

/// A turn of an agent on a worker. Dropped before its end, it is given up there.
#[derive(Debug)]
pub struct Turn {
    far: Far,
    life: LifeId,
    id: TurnId,
    worker: Peer,
    events: mpsc::Receiver<(u64, Event)>,
    end: mpsc::Receiver<Event>,
    heard: u64,
    told: u64,
    tick: Interval,
    over: bool,
}

impl Turn {
    pub(super) fn new(far: &Far, life: LifeId, id: TurnId, worker: Peer) -> (Course, Self) {
        let (events, came) = mpsc::channel(WAITING);
        let (end, ends) = mpsc::channel(1);
        let mut tick = interval(ASKED);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tick.reset();
        let course = Course { worker: worker.clone(), last: 0, events, end };
        let far = far.clone();
        let turn = Self {
            far,
            life,
            id,
            worker,
            events: came,
            end: ends,
            heard: 0,
            told: 0,
            tick,
            over: false,
        };
        (course, turn)
    }

    /// What happens next; none when the turn is over. Nothing is lost when this is dropped.
    pub async fn next(&mut self) -> Option<Event> {
        if self.over {
            return None;
        }
        let Self { far, worker, events, end, tick, .. } = self;
        let (life, turn, number) = (self.life, self.id, self.heard);
        let event = tokio::select! {
            biased;
            Some((number, event)) = events.recv() => {
                self.heard = number;
                event
            }
            Some(event) = end.recv() => event,
            () = silence(far, worker, tick, || Want::Heard { life, turn, number, again: true }) => lost(),
        };
        self.over = matches!(event, Event::Ended(_));
        if self.over || self.heard >= self.told + TOLD {
            self.told = self.heard;
            self.far.heard(&self.worker, life, turn, self.heard);
        }
        Some(event)
    }

    /// There is nothing to be given up.
    pub(super) fn never_began(mut self) {
        self.over = true;
    }
}

/// Asks for what may have been lost, again and again; returns when nothing comes any more.
async fn silence(far: &Far, worker: &Peer, tick: &mut Interval, heard: impl Fn() -> Want) {
    loop {
        tick.tick().await;
        // It is answered only where nothing is known of the turn.
        let asked = tokio::time::timeout(ASKED, far.ask(worker, heard())).await;
        if matches!(asked, Ok(Err(Failure::Unknown | Failure::Lost))) {
            return;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.far.leave(self.id);
        if !self.over {
            self.far.abandon(&self.worker, self.life, self.id);
        }
    }
}

fn lost() -> Event {
    let why = "The worker that it ran on knows nothing of it any more".to_owned();
    Event::Ended(Outcome::Failed { fault: Fault::Lost, why })
}
