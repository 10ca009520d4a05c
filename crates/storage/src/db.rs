//! One face for both databases.
//!
//! Reads run at once on a connection of a small pool. Changes wait in a bounded queue and are committed together:
//! whatever waits when the writer is free shares one transaction and one fsync, each change in a savepoint of its
//! own, so that one that fails takes no other with it. A change is acknowledged only after its commit is on disk,
//! and the events it appended are shown to others only then.
//!
//! SQLite has one writer, a thread. PostgreSQL has a few lanes; the changes of one project always take the same
//! one, so that two changes never wait for each other's row locks across a commit.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use artel_domain::{ProjectId, UserId};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::events::Recorded;
use crate::{Database, Error, Result};

mod checkpoint;
mod commit;
mod conn;
mod pool;
pub(crate) mod postgres;
pub(crate) mod sqlite;
mod steady;

pub use conn::Conn;
pub(crate) use conn::{Row, Step, Value, values};

use commit::{Change, Waiting};
use pool::Pool;

/// How many changes may wait in a lane before newcomers are told to come back later.
const QUEUE: usize = 4096;
/// How many changes share one commit at most; bounds how long the first of them waits for the last.
const TOGETHER: usize = 256;
const POSTGRES_LANES: usize = 4;
/// How long a caller waits for a free place or connection before it is told that the database is busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which changes must follow each other. Changes of different lanes may commit in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Project(ProjectId),
    User(UserId),
    /// Rows that belong to no one: accounts, leases.
    House,
}

/// A database, embedded or grown. Cheap to clone.
#[derive(Clone)]
pub struct Db(Arc<Inner>);

struct Inner {
    kind: &'static str,
    readers: Pool,
    lanes: Vec<mpsc::Sender<Box<dyn Change>>>,
    shared: Arc<Shared>,
}

type Hook = Box<dyn Fn(&[Recorded]) + Send + Sync>;

/// What the writers tell the rest of the house.
#[derive(Default)]
pub(crate) struct Shared {
    on_commit: OnceLock<Hook>,
    failing: AtomicBool,
}

impl Db {
    /// Opens the database and brings its schema up to date.
    pub async fn open(place: &Database) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (kind, source, lanes) = match place {
            Database::Sqlite(path) => {
                let source = pool::Source::Sqlite(path.clone());
                let mut writer = sqlite::open_writer(path)?;
                crate::migrate::run(&mut writer).await?;
                (
                    "sqlite",
                    source,
                    vec![sqlite::spawn_writer(writer, path.clone(), Arc::clone(&shared))?],
                )
            }
            Database::Postgres(url) => {
                let config = postgres::Config::parse(url)?;
                let mut first = config.connect().await?;
                crate::migrate::run(&mut first).await?;
                drop(first);
                let lanes = (0..POSTGRES_LANES)
                    .map(|_| postgres::spawn_lane(config.clone(), Arc::clone(&shared)));
                ("postgres", pool::Source::Postgres(Box::new(config.clone())), lanes.collect())
            }
        };
        Ok(Self(Arc::new(Inner { kind, readers: Pool::new(source), lanes, shared })))
    }

    /// `sqlite` or `postgres`, for `/health` and `doctor`.
    pub fn kind(&self) -> &'static str {
        self.0.kind
    }

    /// Calls `hook` with the events of each commit, in the order of their numbers within a project, as soon as
    /// they are on disk. It must be quick: it runs on the writer. Only the first hook is kept.
    pub fn on_commit(&self, hook: impl Fn(&[Recorded]) + Send + Sync + 'static) {
        let first = self.0.shared.on_commit.set(Box::new(hook));
        debug_assert!(first.is_ok(), "there is one listener to commits");
    }

    /// Runs queries that change nothing.
    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        self.0.readers.run(work).await
    }

    /// Runs a change and answers when it is on disk, or undone. On [`Error::Unavailable`] it may be either.
    pub async fn write<T, F>(&self, lane: Lane, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        self.hand_in(lane, work).await?.await
    }

    /// Gives a change its place, before all that comes into its lane later; what comes of it is told by the future that
    /// this gives, and it is made also when nobody waits for that.
    pub async fn hand_in<T, F>(
        &self,
        lane: Lane,
        work: F,
    ) -> Result<impl Future<Output = Result<T>> + Send + use<T, F>>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let change: Box<dyn Change> = Box::new(Waiting::new(lane, work, reply));
        let lanes = &self.0.lanes;
        let queue = &lanes[lane.index(lanes.len())];
        match queue.send_timeout(change, PATIENCE).await {
            Ok(()) => {}
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => return Err(Error::Busy),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => return Err(stopped()),
        }
        Ok(async move { answer.await.map_err(|_| stopped())? })
    }

    /// Whether the last commit failed: the disk is full, or the server is gone.
    pub fn failing(&self) -> bool {
        self.0.shared.failing.load(Ordering::Relaxed)
    }

    /// Answers when the database can be read now.
    pub async fn ping(&self) -> Result<()> {
        self.read(|conn| {
            Box::pin(async move { conn.first("select 1", &[], |_| Ok(())).await.map(|_| ()) })
        })
        .await
    }
}

fn stopped() -> Error {
    Error::Unavailable("the writer has stopped".to_owned())
}

impl Lane {
    fn index(self, lanes: usize) -> usize {
        if lanes == 1 {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        usize::try_from(hasher.finish() % lanes as u64).expect("there are few lanes")
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Db").field(&self.0.kind).finish()
    }
}
