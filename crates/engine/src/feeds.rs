//! Event streams: every listener of a project gets every event once, in order, from wherever it left off.
//!
//! The log in the database is the truth. A [`Feed`] is a window on its end, kept only while somebody listens: the
//! newest events, rendered once and shared by all. A listener pulls: what it is ready for comes out of the window,
//! or, if it is further behind, out of the database. So a slow one holds nobody up and costs no memory; it just
//! falls behind.
//!
//! Our own commits reach the window directly. Those of other nodes are announced by a bell that may be lost, so
//! with a shared database the end of the log is also looked up now and then.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use artel_domain::event::Signal;
use artel_domain::{Clock, ProjectId, SessionId, UserId};
use artel_storage::events::{self, Recorded};
use artel_storage::{Bus, Db, Scope, Storage};
use tokio::sync::{Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{App, Caller, Error, Kind, Result};

mod bell;
mod frame;
mod subscription;
mod window;

pub use frame::Frame;
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
    closing: CancellationToken,
}

/// The end of one project's log.
pub(crate) struct Feed {
    project: ProjectId,
    window: Mutex<Window>,
    /// The number of the newest event, to wake listeners by.
    newest: watch::Sender<u64>,
    /// Text in flight; a listener that cannot keep up misses some, and gets the whole later.
    flight: broadcast::Sender<Frame>,
    /// Cancelled when the project is deleted.
    gone: CancellationToken,
}

impl Feeds {
    pub(crate) fn start(
        storage: &Storage,
        clock: Arc<dyn Clock>,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let shared = storage.db.kind() != "sqlite";
        let bell = bell::Bell::new(shared.then(|| Arc::clone(&storage.bus)));
        let feeds = Self(Arc::new(Inner {
            db: storage.db.clone(),
            clock,
            open: Mutex::default(),
            streams: Mutex::default(),
            bell,
            closing: CancellationToken::new(),
        }));
        let own = feeds.clone();
        storage.db.on_commit(move |recorded| own.publish(recorded));
        if shared {
            let bus: Arc<dyn Bus> = Arc::clone(&storage.bus);
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
            newest: watch::Sender::new(0),
            flight: broadcast::Sender::new(IN_FLIGHT),
            gone: CancellationToken::new(),
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
            None => feed.gone.cancel(),
            Some(latest) => feed.reach(latest),
        }
        Ok(())
    }

    /// Shows something that has no number, and is not kept, to whoever listens now.
    pub(crate) fn whisper(&self, project: ProjectId, session: SessionId, signal: &Signal) {
        if let Some(feed) = self.listened_to(project) {
            let frame = Frame::of_signal(self.0.clock.now(), Some(session), signal);
            // Nobody there to hear it is fine.
            drop(feed.flight.send(frame));
        }
    }

    /// The project is no more.
    pub(crate) fn deleted(&self, project: ProjectId) {
        if let Some(feed) = self.listened_to(project) {
            feed.gone.cancel();
        }
        self.0.bell.note(project);
    }

    /// Ends every stream, now and for good.
    pub(crate) fn close(&self) {
        self.0.closing.cancel();
    }
}

impl Feed {
    fn extend(&self, events: &[Recorded]) {
        let newest = lock(&self.window).extend(events);
        self.newest.send_if_modified(|seen| std::mem::replace(seen, newest.max(*seen)) < newest);
    }

    /// Notes that the log goes up to `latest`, wherever those events are.
    fn reach(&self, latest: u64) {
        self.newest.send_if_modified(|seen| std::mem::replace(seen, latest.max(*seen)) < latest);
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
        if feeds.0.closing.is_cancelled() {
            return Err(Error::new(
                Kind::Unavailable,
                "stopping",
                "The server is stopping; try again",
            ));
        }
        let place = feeds.place(caller.user, self.0.limits.streams_per_user())?;
        // The feed is opened before the end of the log is read: what is committed in between is in the window.
        let feed = feeds.open(project);
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
