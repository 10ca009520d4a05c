//! Everything that outlives a request: rows, numbered events, leases, and what nodes share.
//!
//! The only crate that knows SQLite, PostgreSQL, Redis and Qdrant. Which of them is used is decided in
//! [`Storage::open`] and nowhere else; every query is written once, for both databases.

pub mod agents;
pub mod allowances;
pub mod approvals;
pub mod bus;
pub mod calls;
pub mod clients;
pub mod credentials;
pub mod db;
mod error;
pub mod events;
pub mod idempotency;
pub mod leases;
pub mod memories;
mod migrate;
pub mod plans;
pub mod processes;
pub mod projects;
pub mod sessions;
pub mod tasks;
pub mod users;
pub mod vectors;

use std::path::PathBuf;
use std::sync::Arc;

use artel_domain::{ProjectId, UserId};

pub use crate::bus::Bus;
pub use crate::db::{Conn, Db, Lane};
pub use crate::error::{Error, Result};
pub use crate::vectors::VectorIndex;

/// Where to keep things.
#[derive(Debug, Clone)]
pub struct Places {
    pub database: Database,
    /// A Redis server, when several nodes share the work.
    pub redis: Option<String>,
    pub vectors: vectors::Place,
}

#[derive(Debug, Clone)]
pub enum Database {
    Sqlite(PathBuf),
    /// A `postgres://` URL; it may hold a password and is never shown.
    Postgres(String),
}

/// The opened storage.
#[derive(Debug, Clone)]
pub struct Storage {
    pub db: Db,
    pub bus: Arc<dyn Bus>,
    pub vectors: Arc<dyn VectorIndex>,
}

impl Storage {
    /// Opens the database and the store of vectors, brings the schema up to date and connects the bus.
    ///
    /// `model` is what makes the vectors.
    pub async fn open(places: &Places, model: vectors::Model) -> Result<Self> {
        let db = Db::open(&places.database).await?;
        let bus: Arc<dyn Bus> = match &places.redis {
            None => Arc::new(bus::in_process::InProcess::new()),
            Some(url) => Arc::new(
                bus::redis::Redis::connect(url)
                    .map_err(|error| Error::Unavailable(format!("redis: {error}")))?,
            ),
        };
        let unusable = |error: vectors::Error| Error::Unavailable(error.to_string());
        let vectors: Arc<dyn VectorIndex> = match &places.vectors {
            vectors::Place::Embedded(folder) => Arc::new(
                vectors::embedded::Embedded::open(folder.clone(), model).map_err(unusable)?,
            ),
            vectors::Place::Qdrant(server) => {
                Arc::new(vectors::qdrant::Qdrant::connect(server, model).map_err(unusable)?)
            }
        };
        Ok(Self { db, bus, vectors })
    }
}

/// Whose project a query is about. Every query on a project's rows carries both, so that nobody reaches what is
/// not theirs, whatever the code above forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    pub user: UserId,
    pub project: ProjectId,
}

/// A piece of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub limit: u32,
    pub offset: u64,
}

/// The piece, and how many there are in all.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    pub items: Vec<T>,
    pub total: u64,
}
