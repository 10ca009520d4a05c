//! Event streams: every listener of a project gets every event once, in order, from wherever it left off.
//!
//! The log in the database is the truth. A [`Feed`] is a window on its end, kept only while somebody listens: the
//! newest events, rendered once and shared by all. A listener pulls: what it is ready for comes out of the window,
//! or, if it is further behind, out of the database. So a slow one holds nobody up and costs no memory; it just
//! falls behind.
//!
//! Our own commits reach the window directly. Those of other nodes are announced by a bell that may be lost, so
//! with a shared database the end of the log is also looked up now and then.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use artel_domain::event::Signal;
use artel_domain::{Clock, ProjectId, SessionId, UserId};
use artel_storage::events::{self, Recorded};
use artel_storage::{Bus, Db, Scope, Storage};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{App, Caller, Error, Kind, Result};

mod bell;
mod frame;
mod inbox;
mod subscription;
mod window;

pub use frame::Frame;
pub use inbox::Inbox;
pub use subscription::{Batch, Subscription};
use window::Window;

/// How often the end of the log is looked up when other nodes may write to it.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Pieces of text kept for a listener that is a moment late.
const IN_FLIGHT: usize = 256;

/// The windows of all projects that somebody listens to.
#[derive(Clone)]
pub struct Feeds(Arc<Inner>);

struct Inner {
    db: Db,
    clock: Arc<dyn Clock>,
    open: Mutex<HashMap<ProjectId, Weak<Feed>>>,
    streams: Mutex<HashMap<UserId, Weak<Semaphore>>>,
    bell: bell::Bell,
    /// Other nodes write to the same log.
    shared: bool,
    /// How often something came to wait for somebody, or went, on this node.
    approvals: watch::Sender<u64>,
    closing: AtomicBool,
}

/// The end of one project's log.
pub(crate) struct Feed {
    project: ProjectId,
    window: Mutex<Window>,
    flight: Mutex<Flight>,
    /// The one thing that listeners wait for, so that waking one costs one registration and no more.
    pulse: watch::Sender<Pulse>,
}

/// How far things are.
#[derive(Debug, Clone, Copy, Default)]
struct Pulse {
    /// The number of the newest event.
    newest: u64,
    /// How many pieces have flown by.
    flown: u64,
    ended: Option<Ended>,
}

/// Why there will be nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The project is no more.
    Deleted,
    /// The server is stopping.
    Closing,
}

/// Text in flight: the last pieces, for listeners that are a moment late. One that cannot keep up misses some, and
/// gets the whole later.
#[derive(Debug, Default)]
struct Flight {
    pieces: VecDeque<Frame>,
    flown: u64,
}

impl Flight {
    fn add(&mut self, frame: Frame) -> u64 {
        if self.pieces.len() == IN_FLIGHT {
            self.pieces.pop_front();
        }
        self.pieces.push_back(frame);
        self.flown += 1;
        self.flown
    }

    /// What has flown by since, as far as it is still here, and how much that is in all.
    fn since(&self, heard: u64) -> (Vec<Frame>, u64) {
        let missed = usize::try_from(self.flown.saturating_sub(heard)).unwrap_or(usize::MAX);
        let skip = self.pieces.len().saturating_sub(missed);
        (self.pieces.iter().skip(skip).cloned().collect(), self.flown)
    }
}

impl Feeds {
    pub(crate) fn start(
        storage: &Storage,
        clock: Arc<dyn Clock>,
        node: &str,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let shared = storage.db.kind() != "sqlite";
        let bell = bell::Bell::new(shared.then_some(storage.bus.as_ref()), node);
        let feeds = Self(Arc::new(Inner {
            db: storage.db.clone(),
            clock,
            open: Mutex::default(),
            streams: Mutex::default(),
            bell,
            shared,
            approvals: watch::Sender::default(),
            closing: AtomicBool::new(false),
        }));
        let own = feeds.clone();
        storage.db.on_commit(move |recorded| own.publish(recorded));
        if shared {
            let bus: Arc<dyn Bus> = Arc::clone(&storage.bus);
            tracker.spawn(bell::fly(feeds.clone(), Arc::clone(&bus), stop.clone()));
            tracker.spawn(bell::ring(feeds.clone(), Arc::clone(&bus), stop.clone()));
            tracker.spawn(bell::hear(feeds.clone(), bus, stop.clone()));
            tracker.spawn(look_up(feeds.clone(), stop));
        }
        feeds
    }

    /// Shows events that were just committed. Runs on the writer, so it only renders and wakes.
    fn publish(&self, recorded: &[Recorded]) {
        for events in recorded.chunk_by(|a, b| a.project == b.project) {
            let project = events[0].project;
            if let Some(feed) = self.listened_to(project) {
                feed.extend(events);
            }
            self.0.bell.note(project);
        }
        if recorded.iter().any(|event| event.kind.starts_with("approval_")) {
            self.0.approvals.send_modify(|moved| *moved += 1);
        }
    }

    fn listened_to(&self, project: ProjectId) -> Option<Arc<Feed>> {
        lock(&self.0.open).get(&project).and_then(Weak::upgrade)
    }

    /// The project's feed, opened when nobody listened yet.
    fn open(&self, project: ProjectId) -> Arc<Feed> {
        let mut open = lock(&self.0.open);
        if let Some(feed) = open.get(&project).and_then(Weak::upgrade) {
            return feed;
        }
        let feed = Arc::new(Feed {
            project,
            window: Mutex::default(),
            flight: Mutex::default(),
            pulse: watch::Sender::default(),
        });
        open.insert(project, Arc::downgrade(&feed));
        // Entries whose listeners have all gone are swept when the map would grow.
        if open.len() == open.capacity() {
            open.retain(|_, feed| feed.strong_count() > 0);
        }
        feed
    }

    /// Brings a window up to the end of the log after another node has written.
    async fn refresh(&self, feed: &Arc<Feed>) -> artel_storage::Result<()> {
        let project = feed.project;
        let latest = self.0.db.read(move |conn| Box::pin(events::latest(conn, project))).await?;
        match latest {
            None => feed.end(Ended::Deleted),
            Some(latest) => feed.reach(latest),
        }
        Ok(())
    }

    /// Shows something that has no number, and is not kept, to whoever listens now, on whichever node.
    pub(crate) fn whisper(&self, project: ProjectId, session: SessionId, signal: &Signal) {
        self.show(project, session, signal);
        self.0.bell.fly(project, session, signal);
    }

    fn show(&self, project: ProjectId, session: SessionId, signal: &Signal) {
        if let Some(feed) = self.listened_to(project) {
            let frame = Frame::of_signal(self.0.clock.now(), Some(session), signal);
            let flown = lock(&feed.flight).add(frame);
            feed.pulse.send_modify(|pulse| pulse.flown = pulse.flown.max(flown));
        }
    }

    /// The project is no more.
    pub(crate) fn deleted(&self, project: ProjectId) {
        if let Some(feed) = self.listened_to(project) {
            feed.end(Ended::Deleted);
        }
        self.0.bell.note(project);
    }

    /// Ends every stream, now and for good.
    pub(crate) fn close(&self) {
        self.0.closing.store(true, Ordering::SeqCst);
        let open: Vec<_> = lock(&self.0.open).values().filter_map(Weak::upgrade).collect();
        for feed in open {
            feed.end(Ended::Closing);
        }
        self.0.approvals.send_modify(|moved| *moved += 1);
    }
}

impl Feed {
    fn extend(&self, events: &[Recorded]) {
        let newest = lock(&self.window).extend(events);
        self.reach(newest);
    }

    /// Notes that the log goes up to `newest`, wherever those events are.
    fn reach(&self, newest: u64) {
        self.pulse.send_if_modified(|pulse| {
            let grown = newest > pulse.newest;
            pulse.newest = pulse.newest.max(newest);
            grown
        });
    }

    fn end(&self, why: Ended) {
        self.pulse.send_modify(|pulse| pulse.ended = Some(why));
    }
}

impl App {
    /// Opens a stream of a project's events, from after `after`, or from now on.
    pub async fn subscribe(
        &self,
        caller: &Caller,
        project: ProjectId,
        session: Option<SessionId>,
        after: Option<u64>,
    ) -> Result<Subscription> {
        let feeds = &self.0.feeds;
        let place = feeds.place(caller.user, self.0.limits.streams_per_user())?;
        // The feed is opened before the end of the log is read: what is committed in between is in the window.
        let feed = feeds.open(project);
        // Asked after it was opened: either the end is seen here, or `close` sees the feed.
        if feeds.0.closing.load(Ordering::SeqCst) {
            return Err(Error::new(
                Kind::Unavailable,
                "stopping",
                "The server is stopping; try again",
            ));
        }
        let scope = Scope { user: caller.user, project };
        let head = feeds.0.db.read(move |conn| Box::pin(events::head(conn, scope))).await?;
        feed.reach(head);
        Ok(Subscription::new(feeds.clone(), feed, session, after.unwrap_or(head), head, place))
    }

    /// How many projects are being listened to.
    pub fn open_feeds(&self) -> usize {
        lock(&self.0.feeds.0.open).values().filter(|feed| feed.strong_count() > 0).count()
    }
}

impl Feeds {
    /// A place among the user's streams.
    fn place(&self, user: UserId, limit: usize) -> Result<tokio::sync::OwnedSemaphorePermit> {
        let mut streams = lock(&self.0.streams);
        let places = streams.get(&user).and_then(Weak::upgrade).unwrap_or_else(|| {
            let places = Arc::new(Semaphore::new(limit));
            if streams.len() == streams.capacity() {
                streams.retain(|_, places| places.strong_count() > 0);
            }
            streams.insert(user, Arc::downgrade(&places));
            places
        });
        places.try_acquire_owned().map_err(|_| {
            let message =
                format!("You have {limit} event streams open, which is the limit; close one first");
            Error::busy("too_many_streams", message, Duration::from_secs(5))
        })
    }
}

async fn look_up(feeds: Feeds, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_UP) => {}
            () = stop.cancelled() => return,
        }
        let open: Vec<_> = lock(&feeds.0.open).values().filter_map(Weak::upgrade).collect();
        for feed in open {
            if let Err(error) = feeds.refresh(&feed).await {
                tracing::debug!(%error, "looking up the end of the log failed");
                break;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A signal as a frame, stamped with the time.
fn signal(clock: &dyn Clock, signal: &Signal) -> Frame {
    Frame::of_signal(clock.now(), None, signal)
}

impl fmt::Debug for Feeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Feeds({})", lock(&self.0.open).len())
    }
}

#[cfg(test)]
mod tests {
    use artel_domain::SystemClock;
    use artel_domain::event::Heartbeat;

    use super::*;

    /// PF-4.1: a piece that flies by while another is taken is taken once.
    #[test]
    fn a_piece_in_flight_is_heard_once() {
        let piece = || signal(&SystemClock, &Heartbeat { timestamp: SystemClock.now() }.into());
        let mut flight = Flight::default();
        flight.add(piece());
        // The listener was told of one, and there are two by the time that it looks.
        flight.add(piece());
        let (taken, heard) = flight.since(0);
        assert_eq!((taken.len(), heard), (2, 2));
        assert!(flight.since(heard).0.is_empty());
        flight.add(piece());
        assert_eq!(flight.since(heard).0.len(), 1);
        for _ in 0..2 * IN_FLIGHT {
            flight.add(piece());
        }
        assert_eq!(flight.since(heard).0.len(), IN_FLIGHT);
    }
}
