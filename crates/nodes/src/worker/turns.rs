//! A turn on a worker: its events are numbered, sent, and kept until the server has them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use artel_domain::TurnId;
use artel_programs::codec::{Event, Fault, Outcome};
use artel_programs::member::Turn;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::residents::Resident;
use super::{Shared, known};
use crate::wire::{Failure, News};

/// What the server has not heard yet; beyond it the program is left waiting.
const UNHEARD: usize = 512;
const UNHEARD_BYTES: usize = 8 * 1024 * 1024;

/// One turn, from the order that begins it until the server has heard its end.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) turn: TurnId,
    /// Nobody follows it any more.
    pub(super) abandoned: CancellationToken,
    /// The worker has lost touch with the server, and ends it.
    pub(super) lost: CancellationToken,
    sent: Mutex<Sent>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Sent {
    unheard: VecDeque<(u64, Event, usize)>,
    bytes: usize,
    last: u64,
    /// What is unheard is to be sent once more.
    again: bool,
}

impl Course {
    pub(super) fn new(turn: TurnId) -> Self {
        Self {
            turn,
            abandoned: CancellationToken::new(),
            lost: CancellationToken::new(),
            sent: Mutex::default(),
            bell: Notify::new(),
        }
    }

    /// The server has everything up to this.
    pub(super) fn heard(&self, number: u64, again: bool) {
        let mut sent = self.lock();
        while sent.unheard.front().is_some_and(|(first, ..)| *first <= number) {
            if let Some((_, _, size)) = sent.unheard.pop_front() {
                sent.bytes -= size;
            }
        }
        sent.again |= again;
        drop(sent);
        self.bell.notify_one();
    }

    /// Sends the turn's events until the server has heard its end, or nobody wants them any more.
    pub(super) async fn follow(&self, shared: &Shared, resident: &Resident, turn: Turn) {
        let mut turn = Some(turn);
        loop {
            for (number, event) in self.to_send_again() {
                self.send(shared, resident, number, event).await;
            }
            let (room, heard) = self.state();
            if turn.is_none() && heard {
                return;
            }
            let running = turn.is_some();
            let next = async {
                match &mut turn {
                    Some(turn) if room => turn.next().await,
                    Some(_) | None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                () = self.abandoned.cancelled() => return,
                () = self.lost.cancelled(), if running => Some(ended(Fault::Lost)),
                () = self.bell.notified() => continue,
                event = next => event,
            };
            let event = event.unwrap_or_else(|| ended(Fault::Died));
            if matches!(event, Event::Ended(_)) {
                // Before it is told: the next turn may come at once.
                turn = None;
            }
            let number = self.keep(&event);
            self.send(shared, resident, number, event).await;
        }
    }

    async fn send(&self, shared: &Shared, resident: &Resident, number: u64, event: Event) {
        shared.tell(resident, News::Event { turn: self.turn, number, event }).await;
    }

    fn keep(&self, event: &Event) -> u64 {
        let size = size(event);
        let mut sent = self.lock();
        sent.last += 1;
        let number = sent.last;
        sent.bytes += size;
        sent.unheard.push_back((number, event.clone(), size));
        number
    }

    fn to_send_again(&self) -> Vec<(u64, Event)> {
        let mut sent = self.lock();
        if !std::mem::take(&mut sent.again) {
            return Vec::new();
        }
        sent.unheard.iter().map(|(number, event, _)| (*number, event.clone())).collect()
    }

    /// Whether more may be sent, and whether everything was heard.
    fn state(&self) -> (bool, bool) {
        let sent = self.lock();
        let room = sent.unheard.len() < UNHEARD && sent.bytes < UNHEARD_BYTES;
        (room, sent.unheard.is_empty())
    }

    fn lock(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the agent a message and follows what comes of it, unless it is given up before it begins.
pub(super) async fn begin(
    shared: &Arc<Shared>,
    resident: &Arc<Resident>,
    turn: TurnId,
    text: String,
) -> known::Outcome {
    // Known before it begins: it can be given up while its process is being started.
    let course = resident.begins(turn);
    let begun = tokio::select! {
        () = course.abandoned.cancelled() => Err(Failure::NotBegun),
        () = course.lost.cancelled() => Err(Failure::NotBegun),
        begun = resident.member.turn(text) => begun.map_err(Failure::from),
    };
    let begun = match begun {
        Ok(begun) => begun,
        Err(failure) => {
            resident.ends(turn);
            return Err(failure);
        }
    };
    let (shared, resident) = (Arc::clone(shared), Arc::clone(resident));
    shared.tracker.clone().spawn(async move {
        course.follow(&shared, &resident, begun).await;
        resident.ends(turn);
    });
    Ok(crate::wire::Done::Yes)
}

fn ended(fault: Fault) -> Event {
    let why = match fault {
        Fault::Lost => "Its worker lost touch with the server and stopped it",
        Fault::Login
        | Fault::Refused
        | Fault::Quota
        | Fault::Unreachable
        | Fault::Died
        | Fault::Other => "The program ended",
    };
    Event::Ended(Outcome::Failed { fault, why: why.to_owned() })
}

/// About what it takes to keep.
fn size(event: &Event) -> usize {
    serde_json::to_string(event).map_or(1024, |text| text.len())
}
