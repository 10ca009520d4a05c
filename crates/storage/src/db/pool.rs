//! A few connections for reading, opened when needed and kept.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::{Conn, PATIENCE, postgres, sqlite};
use crate::{Error, Result};

/// Reading connections at most.
const READERS: usize = 8;

#[derive(Clone)]
pub(super) enum Source {
    Sqlite(PathBuf),
    Postgres(Box<postgres::Config>),
}

pub(super) struct Pool {
    source: Source,
    idle: Arc<Mutex<Vec<Conn>>>,
    places: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new(source: Source) -> Self {
        Self { source, idle: Arc::default(), places: Arc::new(Semaphore::new(READERS)) }
    }

    pub(super) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        let place = tokio::time::timeout(PATIENCE, Arc::clone(&self.places).acquire_owned())
            .await
            .map_err(|_| Error::Busy)?
            .map_err(Error::internal)?;
        let kept = lock(&self.idle).pop();
        match &self.source {
            Source::Sqlite(path) => {
                let (path, idle) = (path.clone(), Arc::clone(&self.idle));
                // A read may wait for the disk, so it does not run where requests are served.
                tokio::task::spawn_blocking(move || {
                    let _place = place;
                    let mut conn = match kept {
                        Some(conn) => conn,
                        None => sqlite::open_reader(&path)?,
                    };
                    let result = sqlite::without_waiting(work(&mut conn));
                    lock(&idle).push(conn);
                    result
                })
                .await
                .map_err(Error::internal)?
            }
            Source::Postgres(config) => {
                let mut conn = match kept.filter(|conn| !conn.is_broken()) {
                    Some(conn) => conn,
                    None => config.connect_reader().await?,
                };
                let result = work(&mut conn).await;
                if !conn.is_broken() {
                    lock(&self.idle).push(conn);
                }
                drop(place);
                result
            }
        }
    }
}

fn lock(idle: &Mutex<Vec<Conn>>) -> std::sync::MutexGuard<'_, Vec<Conn>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("idle", &lock(&self.idle).len()).finish_non_exhaustive()
    }
}
