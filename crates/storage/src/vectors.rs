//! What agents remember: one collection of interactions per agent, found by the nearness of their vectors.
//!
//! The law, kept by both sides and checked by one suite (`tests/vectors.rs`):
//! - What `put` has acknowledged is on disk, and the next search finds it. Putting the same id again replaces it.
//! - What `forget` and `trim` have acknowledged is gone: no search, page or figure shows it again.
//! - A search sees the collection it was asked of, and nothing else; a filter holds for every hit.
//! - An entry without a vector of the current model waits: it is read, counted and forgotten like any other, and
//!   searched once it was put again with its vector. A change of the model makes every entry wait.
//! - A collection that nobody made is empty. `put` makes it.
//! - Vectors are unit vectors; the score of a hit is the inner product, 1 for the same direction.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use artel_domain::memory::{Collection, Filter, Interaction, Kind};
use artel_domain::{InteractionId, Timestamp};
use async_trait::async_trait;

pub mod embedded;
pub mod qdrant;

/// No search gives more, whatever it asks for.
pub const MOST_HITS: usize = 1_000;
/// No page holds more.
pub const LARGEST_PAGE: usize = 1_000;

/// Where vectors are kept.
#[derive(Debug, Clone)]
pub enum Place {
    /// A folder, with a file for each collection.
    Embedded(PathBuf),
    Qdrant(Server),
}

/// A Qdrant server.
#[derive(Clone)]
pub struct Server {
    /// Of its gRPC side.
    pub url: String,
    pub api_key: Option<String>,
    pub layout: Layout,
}

/// Never shows the key; a URL may hold a password, too.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// How agents share a Qdrant server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A collection for each agent.
    PerAgent,
    /// One collection for all, with the agent as the tenant: for thousands of agents.
    Shared,
}

/// What makes the vectors of this server. Vectors of different models cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub name: String,
    pub dimensions: usize,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The store cannot be reached or cannot write now; whether the change took place is unknown.
    #[error("the vector store is unavailable: {0}")]
    Unavailable(String),
    /// The store answered that it will not.
    #[error("the vector store refused: {0}")]
    Refused(String),
    /// The caller's mistake, the same on both sides.
    #[error("{0}")]
    Invalid(String),
    /// What is stored is not what we wrote.
    #[error("the collection {collection} is damaged: {detail}")]
    Damaged { collection: String, detail: String },
}

pub type Result<T> = std::result::Result<T, Error>;

/// An interaction and, once it was made, its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub interaction: Interaction,
    /// Of the current model.
    pub vector: Option<Vec<f32>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub interaction: Interaction,
    pub score: f32,
}

/// Where an interaction stands in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub moment: Timestamp,
    /// Among those of one moment.
    pub id: InteractionId,
}

impl Spot {
    pub fn of(interaction: &Interaction) -> Self {
        Self { moment: interaction.metadata.timestamp, id: interaction.id }
    }
}

/// How many, and how many of them went well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub total: u64,
    pub successes: u64,
}

/// Figures of what a filter admits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    pub tally: Tally,
    /// How many have no vector of the current model yet.
    pub waiting: u64,
    pub oldest: Option<Timestamp>,
    pub newest: Option<Timestamp>,
    pub by_kind: BTreeMap<Kind, Tally>,
    /// By day in UTC, as the number of days since 1970-01-01; days without any are left out.
    pub by_day: BTreeMap<i64, Tally>,
    /// What the whole collection takes in the store.
    pub bytes: u64,
}

/// The store of vectors, opened for one [`Model`].
#[async_trait]
pub trait VectorIndex: Send + Sync + fmt::Debug {
    /// `embedded` or `qdrant`, for `/health` and `doctor`.
    fn kind(&self) -> &'static str;
    fn model(&self) -> &Model;
    /// Answers when the store can be used now.
    async fn ping(&self) -> Result<()>;

    /// Lets go of what nobody has used for a while. To be called from time to time.
    async fn tidy(&self) -> Result<()>;

    /// Makes the collection when it is missing, and says whether it was. Existing entries whose vectors are of
    /// another model begin to wait.
    async fn ensure(&self, of: &Collection) -> Result<bool>;
    /// Gives the collection another name; its entries stay.
    async fn rename(&self, of: &Collection, name: &str) -> Result<()>;
    /// Removes the collection with all that is in it.
    async fn remove(&self, of: &Collection) -> Result<()>;

    /// All or nothing of them is stored on an error of ours; after [`Error::Unavailable`] put them again.
    async fn put(&self, of: &Collection, entries: Vec<Entry>) -> Result<()>;
    /// The nearest, best first.
    async fn search(
        &self,
        of: &Collection,
        vector: &[f32],
        filter: &Filter,
        top_k: usize,
    ) -> Result<Vec<Hit>>;
    /// Up to `limit` entries that wait for their vectors.
    async fn waiting(&self, of: &Collection, limit: usize) -> Result<Vec<Interaction>>;
    /// Gives entries their vectors. What was forgotten meanwhile stays forgotten.
    async fn give_vectors(
        &self,
        of: &Collection,
        vectors: Vec<(InteractionId, Vec<f32>)>,
    ) -> Result<()>;
    /// The entries after `after`, in the order of their ids; the vectors too when asked for.
    async fn page(
        &self,
        of: &Collection,
        filter: &Filter,
        after: Option<InteractionId>,
        limit: usize,
        vectors: bool,
    ) -> Result<Vec<Entry>>;
    /// Up to `limit` of what came before this place in time, the newest first; of one moment the higher ids.
    async fn newest(
        &self,
        of: &Collection,
        filter: &Filter,
        before: Option<Spot>,
        limit: usize,
    ) -> Result<Vec<Interaction>>;
    async fn figures(&self, of: &Collection, filter: &Filter) -> Result<Figures>;
    /// How many there are, waiting ones included.
    async fn count(&self, of: &Collection) -> Result<u64>;

    /// Deletes what the filter admits, and says how many.
    async fn forget(&self, of: &Collection, filter: &Filter) -> Result<u64>;
    async fn forget_ids(&self, of: &Collection, ids: &[InteractionId]) -> Result<u64>;
    /// Deletes all but the newest `keep`, and says how many.
    async fn trim(&self, of: &Collection, keep: u64) -> Result<u64>;
}

/// What both sides refuse alike.
fn check_vector(model: &Model, vector: &[f32]) -> Result<()> {
    if vector.len() != model.dimensions {
        return Err(Error::Invalid(format!(
            "the vector has {} dimensions, {} has {}",
            vector.len(),
            model.name,
            model.dimensions
        )));
    }
    if vector.iter().any(|component| !component.is_finite()) {
        return Err(Error::Invalid("a component of the vector is not a number".to_owned()));
    }
    Ok(())
}
