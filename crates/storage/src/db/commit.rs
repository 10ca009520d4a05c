//! Group commit: what waits together is committed together.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::{Conn, Lane, Shared, Step, TOGETHER};
use crate::{Error, Result};

/// A change that waits for its commit, and the caller that waits for it.
#[async_trait]
pub(super) trait Change: Send {
    fn lane(&self) -> Lane;
    /// Makes the change in the open transaction and keeps its outcome.
    async fn make(&mut self, conn: &mut Conn) -> Made;
    /// Tells the caller: its own outcome, or why the commit failed.
    fn settle(self: Box<Self>, commit: Result<()>);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    Keep,
    Undo,
}

pub(super) struct Waiting<T, F> {
    lane: Lane,
    work: Option<F>,
    outcome: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Waiting<T, F> {
    pub(super) fn new(lane: Lane, work: F, reply: oneshot::Sender<Result<T>>) -> Self {
        Self { lane, work: Some(work), outcome: None, reply }
    }
}

#[async_trait]
impl<T, F> Change for Waiting<T, F>
where
    T: Send,
    F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T>> + Send,
{
    fn lane(&self) -> Lane {
        self.lane
    }

    async fn make(&mut self, conn: &mut Conn) -> Made {
        let Some(work) = self.work.take() else { return Made::Undo };
        // A panic must not take the writer with it: everybody else's changes go through here.
        let outcome = AssertUnwindSafe(async { work(conn).await })
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(Error::internal("a change panicked")));
        let made = if outcome.is_ok() { Made::Keep } else { Made::Undo };
        self.outcome = Some(outcome);
        made
    }

    fn settle(self: Box<Self>, commit: Result<()>) {
        let outcome = match (self.outcome, commit) {
            // What failed by itself keeps its own reason: it was undone whatever became of the rest.
            (Some(Err(own)), _) => Err(own),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(error)) => Err(error),
            (None, Ok(())) => Err(Error::internal("a change was not made")),
        };
        // The caller may have gone away; the change stands all the same.
        drop(self.reply.send(outcome));
    }
}

/// Fills `batch` with what waits already, after its first change arrived.
pub(super) fn gather(
    batch: &mut Vec<Box<dyn Change>>,
    queue: &mut mpsc::Receiver<Box<dyn Change>>,
) {
    while batch.len() < TOGETHER
        && let Ok(change) = queue.try_recv()
    {
        batch.push(change);
    }
}

/// Commits the changes in one transaction, shows their events, and answers their callers.
pub(super) async fn together(conn: &mut Conn, mut batch: Vec<Box<dyn Change>>, shared: &Shared) {
    let result = make_all(conn, &mut batch).await;
    shared.failing.store(matches!(result, Err(Error::Unavailable(_))), Ordering::Relaxed);
    let recorded = conn.take_recorded();
    match &result {
        Ok(()) => {
            if !recorded.is_empty()
                && let Some(show) = shared.on_commit.get()
            {
                show(&recorded);
            }
        }
        Err(error) => {
            tracing::error!(%error, changes = batch.len(), "commit failed");
            conn.rollback().await;
        }
    }
    for change in batch {
        change.settle(result.clone());
    }
}

async fn make_all(conn: &mut Conn, batch: &mut [Box<dyn Change>]) -> Result<()> {
    conn.step(Step::Begin).await?;
    if let [only] = batch {
        if only.make(conn).await == Made::Undo {
            conn.forget_recorded(0);
            return conn.step(Step::Rollback).await;
        }
    } else {
        for change in batch {
            let recorded = conn.recorded_len();
            conn.step(Step::BeginChange).await?;
            if change.make(conn).await == Made::Undo {
                conn.forget_recorded(recorded);
                conn.step(Step::UndoChange).await?;
            }
            conn.step(Step::KeepChange).await?;
        }
    }
    conn.step(Step::Commit).await
}
