//! Connections for commands.
//!
//! [`Line`] is the one connection that all quick commands share. [`Seats`] are connections of their own for reads
//! that wait, since those would hold up everybody else. Both answer or fail within [`PATIENCE`] (a waiting read:
//! after its time), dial again when a connection is gone, and need no server to be made.
//!
//! The library's `ConnectionManager` is not used: it keeps a connection that has stopped answering, never dials
//! again after a handshake that failed for another reason than I/O, and hands out one old error after an outage.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, PushInfo, PushKind, RedisError,
    RedisResult, ServerErrorKind,
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

/// How long Redis may take over anything that need not wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// How many reads may wait at the same time.
const MOST_SEATS: usize = 64;
/// How many connections are kept for the next such reads.
const MOST_IDLE: usize = 8;

/// The connection that quick commands share.
pub(super) struct Line {
    client: Client,
    current: Mutex<Option<Link>>,
    /// One caller dials, the others wait for what comes of it.
    dialing: Semaphore,
}

/// A place to wait in.
pub(super) struct Seats {
    client: Client,
    idle: Mutex<Vec<Link>>,
    free: Semaphore,
}

pub(super) struct Seat<'a> {
    seats: &'a Seats,
    _permit: SemaphorePermit<'a>,
}

/// One connection, and whether it is known to be gone.
#[derive(Clone)]
struct Link {
    connection: MultiplexedConnection,
    gone: Arc<AtomicBool>,
}

impl Line {
    pub(super) fn new(client: Client) -> Self {
        Self { client, current: Mutex::default(), dialing: Semaphore::new(1) }
    }

    pub(super) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<T> {
        let until = Instant::now() + PATIENCE;
        let link = timeout_at(until, self.link()).await.map_err(|_| timed_out())??;
        link.ask(command, until).await
    }

    async fn link(&self) -> RedisResult<Link> {
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let _dialing = self.dialing.acquire().await.map_err(|_| timed_out())?;
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let link = Link::dial(&self.client).await?;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(link.clone());
        Ok(link)
    }

    fn current(&self) -> Option<Link> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|link| link.is_gone());
        current.clone()
    }
}

impl Seats {
    pub(super) fn new(client: Client) -> Self {
        Self { client, idle: Mutex::default(), free: Semaphore::new(MOST_SEATS) }
    }

    /// None when all are taken until then: who cannot wait here looks once over the [`Line`].
    pub(super) async fn sit(&self, until: Instant) -> Option<Seat<'_>> {
        if until <= Instant::now() {
            return None;
        }
        let permit = timeout_at(until, self.free.acquire()).await.ok()?.ok()?;
        Some(Seat { seats: self, _permit: permit })
    }
}

impl Seat<'_> {
    /// Asks on a connection of its own. Given up, the connection is closed and Redis forgets that somebody waited.
    pub(super) async fn ask<T: FromRedisValue>(
        self,
        command: &Cmd,
        wait: Duration,
    ) -> RedisResult<T> {
        let link = if let Some(link) = self.idle() {
            link
        } else {
            let until = Instant::now() + PATIENCE;
            let dialed = timeout_at(until, Link::dial(&self.seats.client)).await;
            dialed.map_err(|_| timed_out())??
        };
        let answer = link.ask(command, Instant::now() + wait + PATIENCE).await;
        if !link.is_gone() {
            let mut idle = self.seats.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < MOST_IDLE {
                idle.push(link);
            }
        }
        answer
    }

    fn idle(&self) -> Option<Link> {
        let mut idle = self.seats.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|link| !link.is_gone());
        idle.pop()
    }
}

impl Link {
    async fn dial(client: &Client) -> RedisResult<Self> {
        let gone = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&gone);
        // The library tells of a lost connection in this way only; without it the first command after an outage
        // would fail, sent over the old connection.
        let on_push = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                told.store(true, Ordering::Relaxed);
            }
            Ok::<(), Infallible>(())
        };
        // Callers bound the time of every call from outside.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_push_sender(on_push);
        let connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(Self { connection, gone })
    }

    async fn ask<T: FromRedisValue>(&self, command: &Cmd, until: Instant) -> RedisResult<T> {
        let mut connection = self.connection.clone();
        let answer = timeout_at(until, command.query_async(&mut connection))
            .await
            .unwrap_or_else(|_| Err(timed_out()));
        if let Err(error) = &answer
            && spoils_connection(error)
        {
            self.gone.store(true, Ordering::Relaxed);
        }
        answer
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

fn timed_out() -> RedisError {
    io::Error::new(io::ErrorKind::TimedOut, "no answer in time").into()
}

/// A read-only server was demoted: the name may lead to another one now.
fn spoils_connection(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_unrecoverable_error()
        || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
}
