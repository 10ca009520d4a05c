//! What agents remember, as their owner sees and manages it.
//!
//! An interaction is kept in the commit of the work that it tells of and brought to the agent's collection a moment
//! later ([`keeping`]); what a person adds goes there at once. Whoever looks at a collection sees everything that
//! was committed before: what is still on its way arrives first. Without a vector an interaction waits in its
//! collection and gets one later ([`upkeep`]); a failing embedding service loses nothing.

use std::sync::Arc;
use std::time::Duration;

use artel_agents::embed::Embedder;
use artel_domain::event::MemoryWarning;
use artel_domain::memory::{Collection, Filter, Interaction, Kind, Recollection, collection_name};
use artel_domain::{Agent, AgentId, InteractionId, ProjectId, Timestamp};
use artel_storage::vectors::{self, Entry, VectorIndex};
use artel_storage::{Lane, Scope, agents, events, memories};
use serde::Serialize;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use utoipa::ToSchema;

use crate::input::Checked;
use crate::{App, Caller, Error, IdempotencyKey, Kind as Fault, Result};

mod archive;
mod export;
mod figures;
mod import;
mod input;
pub(crate) mod keeping;
mod listing;
pub(crate) mod recall;
pub(crate) mod upkeep;

pub use archive::Archived;
pub use export::Export;
pub use figures::{MemoryStats, Period, PeriodStats, StatsRange};
pub use import::Imported;
pub use input::{AddContext, Narrow, PruneContext, SearchContext};
pub use listing::{Cursor, Listing};

/// Collections are many; there need only be enough of these that two rarely share one.
const TURNS: usize = 64;
/// How long who waits for an answer waits for vectors.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a space waits for the collections of its team.
const ENSURING: Duration = Duration::from_secs(2);
/// At this share of its limit the owner of a memory is warned.
const NEARLY_FULL: f64 = 0.8;

/// The engine's part of memory; the collections are in the storage.
#[derive(Debug)]
pub(crate) struct Memory {
    embedder: Arc<dyn Embedder>,
    /// Rung when something is to be brought to its collection.
    bell: Notify,
    /// Rung when something waits for the upkeep.
    chores: Notify,
    /// One at a time puts or deletes entries of an agent, so that what is on its way cannot come back after it was
    /// deleted.
    turns: [Semaphore; TURNS],
}

impl Memory {
    pub(crate) fn new(embedder: Arc<dyn Embedder>) -> Self {
        let turns = [const { Semaphore::const_new(1) }; TURNS];
        Self { embedder, bell: Notify::new(), chores: Notify::new(), turns }
    }

    async fn turn(&self, agent: AgentId) -> SemaphorePermit<'_> {
        // The last byte of an id is random.
        let turns = &self.turns[usize::from(agent.as_bytes()[15]) % TURNS];
        turns.acquire().await.expect("nobody closes it")
    }

    /// Something was committed that belongs into a collection.
    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Something waits for its vectors, or a collection to be removed.
    pub(crate) fn call(&self) {
        self.chores.notify_one();
    }
}

/// What came of adding an interaction.
#[derive(Debug, Serialize, ToSchema)]
pub struct Added {
    #[serde(flatten)]
    pub interaction: Interaction,
    /// False when the embedding service did not answer: it is kept, and found by search later.
    pub searchable: bool,
}

/// What a search found.
#[derive(Debug, Serialize, ToSchema)]
pub struct Found {
    /// Best first.
    pub results: Vec<Recollection>,
    /// True when some entries have no vector of the current model yet, and so were not searched.
    pub partial: bool,
    #[schema(example = "openai/text-embedding-3-small")]
    pub embedding_model: String,
}

/// How many entries are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Forgotten {
    pub deleted: u64,
}

impl App {
    /// Adds an interaction to an agent's memory; it is on disk when this returns.
    pub async fn add_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
        input: Checked<AddContext>,
        key: Option<IdempotencyKey>,
    ) -> Result<Added> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        // Under one key it has one id, so that asked for twice it is there once.
        let id = key.map_or_else(
            || InteractionId::new(self.clock()),
            |key| InteractionId::from_bytes(key.digest(caller)),
        );
        let interaction = input.into_inner().into_interaction(id, self.clock().now())?;
        let searchable = self.remember(scope, &agent, vec![interaction.clone()]).await?;
        Ok(Added { interaction, searchable })
    }

    /// Finds what is nearest in meaning, or nearest to a vector.
    pub async fn search_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
        input: Checked<SearchContext>,
    ) -> Result<Found> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        self.find(scope, &agent, input.into_inner()).await
    }

    /// Searches everything that was committed before.
    pub(crate) async fn find(
        &self,
        scope: Scope,
        agent: &Agent,
        input: SearchContext,
    ) -> Result<Found> {
        self.arrive(scope, agent.id).await?;
        let results = self.find_arrived(scope, agent, input).await?;
        let store = self.vectors();
        let partial = !store.waiting(&collection(scope, agent), 1).await?.is_empty();
        Ok(Found { results, partial, embedding_model: store.model().name.clone() })
    }

    /// Searches what is in the collection now.
    async fn find_arrived(
        &self,
        scope: Scope,
        agent: &Agent,
        input: SearchContext,
    ) -> Result<Vec<Recollection>> {
        let began = std::time::Instant::now();
        let (filter, top_k) = (input.filter()?, input.top_k());
        let vector = match input.into_looked_for()? {
            input::LookedFor::Text(text) => self.embed_one(text).await?,
            input::LookedFor::Vector(vector) => vector,
        };
        let of = collection(scope, agent);
        let hits = self.vectors().search(&of, &vector, &filter, top_k).await?;
        metrics::histogram!("artel_memory_search_seconds").record(began.elapsed());
        Ok(hits.into_iter().map(recollection).collect())
    }

    /// Deletes the part of an agent's memory that the request describes.
    pub async fn prune_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
        input: Checked<PruneContext>,
    ) -> Result<Forgotten> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        let which = input.into_inner().which(self.clock().now())?;
        self.arrive(scope, agent.id).await?;
        let of = collection(scope, &agent);
        let turn = self.0.memory.turn(agent.id).await;
        let deleted = match which {
            input::Which::Matching(filter) => self.vectors().forget(&of, &filter).await?,
            input::Which::OldestPercent(percent) => {
                let total = self.vectors().count(&of).await?;
                let goes = total.saturating_mul(percent.into()).div_ceil(100);
                self.vectors().trim(&of, total - goes).await?
            }
        };
        drop(turn);
        tracing::info!(agent = %agent.id, deleted, "memory pruned");
        Ok(Forgotten { deleted })
    }

    /// Deletes one interaction of an agent's.
    pub async fn forget_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
        interaction: InteractionId,
    ) -> Result<()> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        self.arrive(scope, agent.id).await?;
        let _turn = self.0.memory.turn(agent.id).await;
        match self.vectors().forget_ids(&collection(scope, &agent), &[interaction]).await? {
            0 => Err(Error::not_found("interaction")),
            _ => Ok(()),
        }
    }

    /// Deletes everything that an agent remembers; the collection stays and takes more.
    pub async fn clear_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
    ) -> Result<Forgotten> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        self.arrive(scope, agent.id).await?;
        let turn = self.0.memory.turn(agent.id).await;
        let deleted = self.vectors().forget(&collection(scope, &agent), &Filter::default()).await?;
        drop(turn);
        tracing::info!(agent = %agent.id, deleted, "memory cleared");
        Ok(Forgotten { deleted })
    }

    fn vectors(&self) -> &dyn VectorIndex {
        self.0.storage.vectors.as_ref()
    }

    /// What makes vectors, for `/health` and `doctor`.
    pub fn embedder(&self) -> &dyn Embedder {
        self.0.memory.embedder.as_ref()
    }

    async fn embed_one(&self, text: String) -> Result<Vec<f32>> {
        let made = self.0.memory.embedder.embed(std::slice::from_ref(&text));
        let made = tokio::time::timeout(PATIENCE, made).await.map_err(|_| {
            let message = format!("No vector could be made within {} s", PATIENCE.as_secs());
            Error::unavailable("embeddings_unavailable", message, PATIENCE)
        })?;
        let vector = made.map_err(|error| cannot_embed(&error))?.pop();
        vector.ok_or_else(|| Error::internal("the embedder gave no vector"))
    }

    /// Puts interactions into an agent's collection, and says whether they can be found at once.
    async fn remember(
        &self,
        scope: Scope,
        agent: &Agent,
        interactions: Vec<Interaction>,
    ) -> Result<bool> {
        let texts: Vec<_> = interactions.iter().map(Interaction::meaning).collect();
        // Somebody waits for this: what takes long is done later.
        let vectors = tokio::time::timeout(PATIENCE, self.try_embed(&texts)).await.unwrap_or(None);
        let searchable = vectors.is_some();
        let entries = entries(interactions, vectors);
        let added = entries.len();
        if !searchable {
            // Before they are put: what waits is never without somebody to look after it.
            self.look_again(scope, agent.id, self.clock().now()).await?;
        }
        let turn = self.0.memory.turn(agent.id).await;
        self.vectors().put(&collection(scope, agent), entries).await?;
        drop(turn);
        self.keep_in_bounds(scope, agent, added as u64).await?;
        Ok(searchable)
    }

    /// Vectors, if they can be had now.
    async fn try_embed(&self, texts: &[String]) -> Option<Vec<Vec<f32>>> {
        match self.0.memory.embedder.embed(texts).await {
            Ok(vectors) => Some(vectors),
            Err(error) => {
                metrics::counter!("artel_embedding_failures_total").increment(1);
                tracing::warn!(%error, texts = texts.len(), "no vectors now; they are made later");
                None
            }
        }
    }

    /// Notes that entries of the agent wait for their vectors, to be tried at `at`.
    async fn look_again(&self, scope: Scope, agent: AgentId, at: Timestamp) -> Result<()> {
        let noted = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move { memories::retry(conn, agent, Some(at)).await })
        });
        Ok(noted.await?)
    }

    /// After entries were added: the oldest go when there are too many, and the owner is warned in time.
    async fn keep_in_bounds(&self, scope: Scope, agent: &Agent, added: u64) -> Result<()> {
        let (of, limit) = (collection(scope, agent), u64::from(agent.config.max_vectors));
        let total = self.vectors().count(&of).await?;
        let mut deleted = 0;
        if total > limit {
            let _turn = self.0.memory.turn(agent.id).await;
            deleted = self.vectors().trim(&of, limit).await?;
            tracing::info!(agent = %agent.id, deleted, "the oldest memories made room");
        }
        let before = total.saturating_sub(added);
        if nearly_full(total, limit) && !nearly_full(before, limit) {
            self.warn_of_size(scope, agent, total - deleted, deleted).await?;
        }
        Ok(())
    }

    /// Tells the owner, once until there is room again.
    async fn warn_of_size(
        &self,
        scope: Scope,
        agent: &Agent,
        total_vectors: u64,
        deleted: u64,
    ) -> Result<()> {
        let (id, now) = (agent.id, self.clock().now());
        let warning = MemoryWarning {
            agent_id: id,
            name: agent.name.clone(),
            total_vectors,
            max_vectors: agent.config.max_vectors.into(),
            deleted,
        };
        tracing::warn!(agent = %id, total_vectors, deleted, "a memory is nearly full");
        let written = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                // What was deleted is told each time, fullness once.
                if memories::warned(conn, id, true).await? || deleted > 0 {
                    events::append(conn, scope.project, None, now, &warning.into()).await?;
                }
                Ok(())
            })
        });
        Ok(written.await?)
    }

    /// Makes sure that the collections of agents exist. What cannot be made now is made when it is first written: a
    /// team works also while its memory is away.
    pub(crate) async fn ensure_collections(&self, scope: Scope, team: &[Agent]) {
        let all = async {
            for agent in team {
                self.vectors().ensure(&collection(scope, agent)).await?;
            }
            Result::Ok(())
        };
        let ensured = tokio::time::timeout(ENSURING, all).await;
        match ensured {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, project = %scope.project, "memories cannot be reached");
            }
            Err(_) => tracing::warn!(project = %scope.project, "memories do not answer"),
        }
    }

    /// The agent as it is now, with its project, for work in the background; none when it is gone.
    async fn agent_now(&self, scope: Scope, id: AgentId) -> Result<Option<Agent>> {
        let found = self.0.storage.db.read(move |conn| Box::pin(agents::get(conn, scope, id)));
        match found.await {
            Ok(agent) => Ok(Some(agent)),
            Err(artel_storage::Error::Missing(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The collection of an agent.
pub(crate) fn collection(scope: Scope, agent: &Agent) -> Collection {
    Collection { agent: agent.id, name: collection_name(scope.user, scope.project, &agent.name) }
}

fn entries(interactions: Vec<Interaction>, vectors: Option<Vec<Vec<f32>>>) -> Vec<Entry> {
    let mut vectors = vectors.unwrap_or_default().into_iter();
    let entry = |interaction| Entry { interaction, vector: vectors.next() };
    interactions.into_iter().map(entry).collect()
}

fn recollection(hit: vectors::Hit) -> Recollection {
    let vectors::Hit { interaction: Interaction { id, text, metadata }, score } = hit;
    Recollection { id, text, score, metadata }
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no more precision than that")]
fn nearly_full(total: u64, limit: u64) -> bool {
    total as f64 >= limit as f64 * NEARLY_FULL
}

fn cannot_embed(error: &artel_agents::embed::Error) -> Error {
    let message = format!("The embedding service does not answer: {error}");
    Error::unavailable("embeddings_unavailable", message, Duration::from_secs(5))
}

impl From<vectors::Error> for Error {
    fn from(error: vectors::Error) -> Self {
        match error {
            vectors::Error::Invalid(message) => Self::invalid_field("vector", message),
            vectors::Error::Unavailable(_) => {
                let message = "The store of memories cannot be reached; try again";
                Self::unavailable("memory_unavailable", message, Duration::from_secs(2))
                    .because(error)
            }
            vectors::Error::Refused(_) => {
                Self::new(Fault::Internal, "memory_refused", error.to_string()).because(error)
            }
            vectors::Error::Damaged { .. } => {
                let message = format!("{error}; restore its file from a backup, or delete it");
                Self::new(Fault::Internal, "memory_damaged", message).because(error)
            }
        }
    }
}

/// The kinds of interactions that help with later work. What was asked stands in what was answered.
fn is_useful(kind: Kind) -> bool {
    match kind {
        Kind::TaskExecution | Kind::ToolCall | Kind::AgentResponse => true,
        Kind::UserMessage => false,
    }
}
