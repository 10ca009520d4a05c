//! Orders: taken from the streams, done, acknowledged.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use artel_domain::{AgentId, LifeId};
use artel_programs::host::{Ears, Opening, Refusal};
use artel_storage::bus::{Consumer, Entry};
use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::known::{Outcome, Seen};
use super::residents::{Eye, Resident};
use super::{STRIPES, Shared, turns};
use crate::PAUSE;
use crate::logs::StreamLog;
use crate::wire::{COMMANDS, Done, Failure, GROUP, News, Order, Want, commands_of};

/// Orders that are at work at a time. Each agent has one turn, so few ever wait for long.
const AT_WORK: usize = 4096;
/// Orders that are taken at a time.
const SOME: usize = 64;
const WAIT: Duration = Duration::from_secs(2);
/// A full worker lets the others take what comes, for so long.
const MODESTY: Duration = Duration::from_millis(500);
/// What another has taken and not done for so long is done here.
const LEFT: Duration = Duration::from_secs(15);
/// An order that was handed out so often and never done ends those who take it.
const TRIES: u64 = 5;
/// Agents that live on one worker, running or not.
const RESIDENTS: usize = 10_000;

/// Orders for this worker alone. What it took in an earlier run and did not finish comes first.
pub(super) async fn take_own(shared: Arc<Shared>, stop: CancellationToken) {
    let stream = commands_of(&shared.me.name);
    let (at_work, mut began) = (Arc::new(Semaphore::new(AT_WORK)), false);
    while !stop.is_cancelled() {
        let consumer = Consumer { stream: &stream, group: GROUP, name: &shared.me.name };
        let bus = shared.line.bus();
        let taken = async {
            if began {
                bus.take(consumer, SOME, WAIT).await
            } else {
                bus.claim(consumer, Duration::ZERO, SOME).await
            }
        };
        // What is given up here stays pending, and is found by the next run.
        let taken = tokio::select! {
            taken = taken => taken,
            () = stop.cancelled() => return,
        };
        match taken {
            Ok(taken) => {
                began |= taken.is_empty();
                spread(&shared, &stream, taken, &at_work).await;
            }
            Err(error) => {
                tracing::debug!(%error, "orders cannot be taken now");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Orders that any worker may take: of new ones whatever comes, and what a dead one left.
pub(super) async fn take_any(shared: Arc<Shared>, stop: CancellationToken) {
    let consumer = Consumer { stream: COMMANDS, group: GROUP, name: &shared.me.name };
    let (at_work, mut claimed) = (Arc::new(Semaphore::new(AT_WORK)), Instant::now());
    while !stop.is_cancelled() {
        if shared.host.is_full() {
            sleep(MODESTY).await;
        }
        let bus = shared.line.bus();
        let taken = async {
            if claimed.elapsed() > LEFT {
                claimed = Instant::now();
                bus.claim(consumer, LEFT, SOME).await
            } else {
                // One at a time, so that many workers share what comes.
                bus.take(consumer, 1, WAIT).await
            }
        };
        // What is given up here is taken over by another.
        let taken = tokio::select! {
            taken = taken => taken,
            () = stop.cancelled() => return,
        };
        match taken {
            Ok(taken) => spread(&shared, COMMANDS, taken, &at_work).await,
            Err(error) => {
                tracing::debug!(%error, "orders cannot be taken now");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Each order is done by itself: one that waits holds up no other. Servers wait where the order of two matters.
async fn spread(shared: &Arc<Shared>, stream: &str, taken: Vec<Entry>, at_work: &Arc<Semaphore>) {
    for entry in taken {
        let Ok(place) = Arc::clone(at_work).acquire_owned().await else { return };
        let (worker, stream) = (Arc::clone(shared), stream.to_owned());
        shared.tracker.spawn(async move {
            handle(&worker, &stream, &entry).await;
            drop(place);
        });
    }
}

async fn handle(shared: &Arc<Shared>, stream: &str, entry: &Entry) {
    let order = match shared.line.order(entry) {
        Ok(order) if entry.deliveries < TRIES => order,
        Ok(order) => {
            let why = format!("it was taken {} times and never done", entry.deliveries);
            bury(shared, stream, entry, &why).await;
            let outcome = Err(Failure::Refused(Refusal::Broken(why)));
            answer(shared, &order, outcome).await;
            return;
        }
        Err(unreadable) => return bury(shared, stream, entry, &unreadable.to_string()).await,
    };
    if let Want::Heard { life, turn, number, again } = order.want {
        match shared.living(order.agent, life).and_then(|it| it.course(turn)) {
            Some(course) => course.heard(number, again),
            // Who waits for more of it learns that nothing comes.
            None if again => answer(shared, &order, Err(Failure::Unknown)).await,
            None => {}
        }
        return acknowledge(shared, stream, entry).await;
    }
    let seen = shared.known().take(order.id);
    let outcome = match seen {
        Seen::New => {
            let done = AssertUnwindSafe(perform(shared, &order)).catch_unwind().await;
            let outcome = done.unwrap_or_else(|_| {
                let why = "the worker broke off by a fault of its own".to_owned();
                Err(Failure::Refused(Refusal::Broken(why)))
            });
            shared.known().done(order.id, outcome.clone());
            outcome
        }
        Seen::Done(outcome) => outcome,
        // Whoever is at it answers. The same entry stays until then; another that says the same is not needed.
        Seen::AtWork if entry.deliveries > 0 => return,
        Seen::AtWork => return acknowledge(shared, stream, entry).await,
    };
    answer(shared, &order, outcome).await;
    acknowledge(shared, stream, entry).await;
}

async fn answer(shared: &Shared, order: &Order, result: Outcome) {
    let news = News::Answer { order: order.id, result };
    // It fails only when the worker has ended.
    let _ = shared.outbox.send(shared.about(&order.server, order.agent, news)).await;
}

async fn bury(shared: &Shared, stream: &str, entry: &Entry, why: &str) {
    tracing::warn!(stream, entry = entry.id, why, "an order is put aside");
    if let Err(error) = shared.line.bury(stream, entry, why).await {
        tracing::warn!(%error, "an order could not be put aside");
        return;
    }
    acknowledge(shared, stream, entry).await;
}

/// Not acknowledged it comes again, and is known.
async fn acknowledge(shared: &Shared, stream: &str, entry: &Entry) {
    let done = shared.line.bus().acknowledge(stream, GROUP, std::slice::from_ref(&entry.id));
    if let Err(error) = done.await {
        tracing::debug!(%error, entry = entry.id, "an order could not be acknowledged");
    }
}

async fn perform(shared: &Arc<Shared>, order: &Order) -> Outcome {
    let agent = order.agent;
    let living = |life: &LifeId| shared.living(agent, *life).ok_or(Failure::Unknown);
    match &order.want {
        Want::Create { life, opening } => {
            create(shared, order, *life, Opening::clone(opening)).await?;
            return Ok(Done::Living(*life));
        }
        Want::SendMessage { life, turn, text } => {
            return turns::begin(shared, &living(life)?, *turn, text.clone()).await;
        }
        Want::Command { life, command } => living(life)?.member.command(command.clone()).await?,
        Want::Abandon { life, turn } => {
            if let Some(course) = living(life)?.course(*turn) {
                course.abandoned.cancel();
            }
        }
        Want::Start { life } => living(life)?.member.start().await?,
        Want::Stop { life, why } => living(life)?.member.stop(why).await,
        Want::Forget { life, why } => living(life)?.member.forget(why).await?,
        Want::Status { life } => {
            let resident = living(life)?;
            shared.note(&resident.server, agent, resident.status());
            let uses = resident.member.uses().await;
            return Ok(Done::Seen { uses, waiting: shared.host.waiting(agent) });
        }
        Want::Close { life, why } => shared.close(&*living(life)?, why, false).await,
        Want::Delete => {
            if let Some(resident) = shared.resident(agent) {
                shared.close(&resident, "The agent was deleted", false).await;
            }
            shared.host.forget(agent).await;
        }
        // Handled before: it is neither remembered nor answered.
        Want::Heard { .. } => {}
    }
    Ok(Done::Yes)
}

/// The agent lives here from now on; an earlier stay of it ends.
async fn create(
    shared: &Arc<Shared>,
    order: &Order,
    life: LifeId,
    opening: Opening,
) -> Result<(), Failure> {
    let agent = order.agent;
    let _opening = stripe(shared, agent).acquire().await.map_err(|_| Failure::Unknown)?;
    if let Some(earlier) = shared.resident(agent) {
        if earlier.life == life {
            return Ok(());
        }
        shared.close(&earlier, "It is opened anew", false).await;
    }
    if shared.residents().len() >= RESIDENTS {
        let why = format!("{RESIDENTS} agents live on {}, and no more may", shared.me.name);
        return Err(Refusal::Broken(why).into());
    }
    let eye = Arc::new(Eye {
        worker: Arc::downgrade(shared),
        server: order.server.clone(),
        agent,
        life,
        statuses: Arc::new(AtomicU64::new(0)),
    });
    let ears = Ears {
        watcher: Arc::clone(&eye) as _,
        log: Arc::new(StreamLog::new(shared.line.share(), agent)),
        clock: Arc::clone(&shared.clock),
    };
    let opened = shared.host.open(opening, ears).await;
    let member = opened.map_err(|refusal| refusal.on(&shared.me.name))?;
    let resident = Arc::new(Resident::new(&eye, member));
    shared.residents().insert(agent, resident);
    tracing::info!(%agent, server = order.server.name, "an agent lives here now");
    Ok(())
}

fn stripe(shared: &Shared, agent: AgentId) -> &Semaphore {
    let mut hasher = DefaultHasher::new();
    agent.hash(&mut hasher);
    let at = usize::try_from(hasher.finish() % STRIPES as u64).unwrap_or(0);
    &shared.opening[at]
}
