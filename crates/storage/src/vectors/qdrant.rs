//! Vectors on a Qdrant server (1.17 or later), over gRPC.
//!
//! Nothing here needs the server at the start, and nothing hangs when it is gone: see [`link`]. Who asks first for
//! an agent in this process has its collection looked at and, after a change of the model, moved; see [`making`].
//! A collection that vanishes behind our back is empty when it is read, and made again when it is written to.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use artel_domain::memory::{Collection, Filter, Interaction};
use artel_domain::{AgentId, InteractionId};
use async_trait::async_trait;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::{
    self, CollectionExistsRequest, Condition, CountPoints, GetPoints, PointId, PointStruct,
    PointsIdsList, Query, QueryPoints, RetrievedPoint, ScrollPoints, UpsertPoints, VectorInput,
};
use tokio::sync::Semaphore;

use self::home::Home;
use self::link::{Answer, Failure, Link};
use super::{
    Entry, Error, Figures, Hit, LARGEST_PAGE, Layout, MOST_HITS, Model, Result, Server, Spot,
    VectorIndex, check_vector,
};

mod home;
mod link;
mod making;
mod names;
mod sums;
mod times;

/// How many agents may have their collections made or moved at the same time.
const DOORS: usize = 16;
/// Agents that are remembered as settled; more are forgotten.
const MOST_SETTLED: usize = 100_000;
/// How many points go over the line in one call.
const LARGEST_LOAD: usize = 1_000;

/// Share it in an `Arc`.
pub struct Qdrant {
    link: Link,
    layout: Layout,
    model: Model,
    mark: String,
    /// Agents whose collections were found complete by this process.
    settled: Mutex<HashSet<AgentId>>,
    /// An agent always goes through the same one, so that two callers do not move its entries at once.
    doors: [Semaphore; DOORS],
}

/// What a caller wants of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// To see it when it is there.
    Look,
    /// To write to it, whether it was there or not.
    Write,
    /// That it is there with all that belongs to it.
    Ensure,
}

impl Qdrant {
    /// Only the address and the key are checked. The server need not be up, and is dialed when it is first needed.
    pub fn connect(server: &Server, model: Model) -> Result<Self> {
        Ok(Self {
            link: Link::new(server)?,
            layout: server.layout,
            mark: names::mark(&model),
            model,
            settled: Mutex::default(),
            doors: [const { Semaphore::const_new(1) }; DOORS],
        })
    }

    /// None when nobody made the collection and the wish is to look.
    async fn settle(&self, of: &Collection, wish: Wish) -> Result<Option<bool>> {
        if wish != Wish::Ensure && self.is_settled(of.agent) {
            return Ok(Some(false));
        }
        let _door = self.door(of.agent).await?;
        if wish != Wish::Ensure && self.is_settled(of.agent) {
            return Ok(Some(false));
        }
        let missing = self.arrange(of, wish).await?;
        if missing.is_some() {
            self.settled.lock().unwrap_or_else(PoisonError::into_inner).insert(of.agent);
        }
        Ok(missing)
    }

    async fn door(&self, agent: AgentId) -> Result<tokio::sync::SemaphorePermit<'_>> {
        let door = usize::from(agent.as_bytes()[15]) % DOORS;
        // Nobody closes it.
        self.doors[door].acquire().await.map_err(|error| Error::Unavailable(error.to_string()))
    }

    fn is_settled(&self, agent: AgentId) -> bool {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).contains(&agent)
    }

    fn unsettle(&self, agent: AgentId) {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).remove(&agent);
    }

    /// Works on what is there, if anything is.
    async fn look<T, F>(&self, of: &Collection, work: impl Fn(Home) -> F) -> Result<Option<T>>
    where
        F: Future<Output = Answer<T>>,
    {
        // It may have gone since it was settled, and a collection of another model be there instead.
        for _ in 0..2 {
            if self.settle(of, Wish::Look).await?.is_none() {
                return Ok(None);
            }
            match work(self.home(of.agent)).await {
                Err(Failure::Missing(_)) => self.unsettle(of.agent),
                answer => return Ok(Some(answer?)),
            }
        }
        Ok(None)
    }

    async fn count_at(&self, home: &Home, filter: qdrant::Filter) -> Answer<u64> {
        let question = CountPoints {
            collection_name: home.collection.clone(),
            filter: Some(filter),
            exact: Some(true),
            ..Default::default()
        };
        Ok(self.link.count(question).await?.result.map_or(0, |counted| counted.count))
    }

    /// Points from `start` on, in the order of their ids, and where the next ones begin.
    async fn scroll_at(
        &self,
        home: &Home,
        filter: qdrant::Filter,
        start: Option<PointId>,
        limit: usize,
        vectors: bool,
    ) -> Answer<(Vec<RetrievedPoint>, Option<PointId>)> {
        let question = ScrollPoints {
            collection_name: home.collection.clone(),
            filter: Some(filter),
            offset: start,
            limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
            with_payload: Some(true.into()),
            with_vectors: Some(vectors.into()),
            ..Default::default()
        };
        let answer = self.link.scroll(question).await?;
        Ok((answer.result, answer.next_page_offset))
    }

    async fn page_at(
        &self,
        home: &Home,
        must: Vec<Condition>,
        after: Option<InteractionId>,
        limit: usize,
        vectors: bool,
    ) -> Answer<Vec<Entry>> {
        // Of the shared points only the leading bytes are in the order of the ids. So all that lead like the last
        // one of the page are read before it is cut, and all that lead like `after` once more.
        let leading = if home.tenant.is_some() { names::LEADING } else { 16 };
        let leads = |entry: &Entry| {
            let mut lead = [0; 16];
            lead[..leading].copy_from_slice(&entry.interaction.id.as_bytes()[..leading]);
            lead
        };
        let mut start = after.map(|after| {
            let mut start = [0; 16];
            start[..leading].copy_from_slice(&after.as_bytes()[..leading]);
            PointId::from(InteractionId::from_bytes(start).to_string())
        });
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            // `after` itself comes first again, and one more shows that the page is whole.
            let filter = home::all_of(must.clone());
            let (points, next) = self.scroll_at(home, filter, start, limit + 2, vectors).await?;
            for point in points {
                let entry = home.entry(point).map_err(Failure::Other)?;
                if after.is_none_or(|after| after < entry.interaction.id) {
                    entries.push(entry);
                }
            }
            let whole = entries.len() > limit
                && entries.last().map(leads) != entries.get(limit - 1).map(leads);
            if whole || next.is_none() {
                break;
            }
            start = next;
        }
        entries.sort_by_key(|entry| entry.interaction.id);
        entries.truncate(limit);
        Ok(entries)
    }
}

#[async_trait]
impl VectorIndex for Qdrant {
    fn kind(&self) -> &'static str {
        "qdrant"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    async fn ping(&self) -> Result<()> {
        let collection_name = names::REGISTER.to_owned();
        self.link.ping(CollectionExistsRequest { collection_name }).await?;
        Ok(())
    }

    async fn tidy(&self) -> Result<()> {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if settled.len() > MOST_SETTLED {
            // They are looked at again when somebody asks for them.
            settled.clear();
        }
        Ok(())
    }

    async fn ensure(&self, of: &Collection) -> Result<bool> {
        Ok(self.settle(of, Wish::Ensure).await?.unwrap_or(false))
    }

    async fn rename(&self, of: &Collection, name: &str) -> Result<()> {
        // Without a collection there is nothing to name.
        self.look(of, |home| async move { self.rename_at(&home, name).await }).await?;
        Ok(())
    }

    async fn remove(&self, of: &Collection) -> Result<()> {
        let _door = self.door(of.agent).await?;
        self.unsettle(of.agent);
        Ok(self.remove_all(of.agent).await?)
    }

    async fn put(&self, of: &Collection, entries: Vec<Entry>) -> Result<()> {
        let home = self.home(of.agent);
        // Of two with the same id the later one counts; what Qdrant would make of both is its own affair.
        let mut latest = BTreeMap::new();
        for entry in &entries {
            if let Some(vector) = &entry.vector {
                check_vector(&self.model, vector)?;
            }
            latest.insert(entry.interaction.id, home.point(entry)?);
        }
        drop(entries);
        let mut points: Vec<PointStruct> = latest.into_values().collect();
        self.settle(of, Wish::Write).await?;
        while !points.is_empty() {
            let rest = points.split_off(points.len().min(LARGEST_LOAD));
            let load = UpsertPoints {
                collection_name: home.collection.clone(),
                wait: Some(true),
                points,
                ..Default::default()
            };
            if let Err(failure) = self.link.upsert(load.clone()).await {
                let Failure::Missing(_) = failure else { return Err(failure.into()) };
                self.unsettle(of.agent);
                self.settle(of, Wish::Ensure).await?;
                self.link.upsert(load).await?;
            }
            points = rest;
        }
        Ok(())
    }

    async fn search(
        &self,
        of: &Collection,
        vector: &[f32],
        filter: &Filter,
        top_k: usize,
    ) -> Result<Vec<Hit>> {
        check_vector(&self.model, vector)?;
        if top_k == 0 {
            return Ok(Vec::new());
        }
        let hits = self.look(of, |home| async move {
            let question = QueryPoints {
                collection_name: home.collection.clone(),
                query: Some(Query::new_nearest(VectorInput::new_dense(vector.to_vec()))),
                using: Some(names::VECTOR.to_owned()),
                filter: Some(home::all_of(home.admitted(filter))),
                limit: Some(top_k.min(MOST_HITS) as u64),
                with_payload: Some(true.into()),
                with_vectors: Some(false.into()),
                ..Default::default()
            };
            let found = self.link.query(question).await?.result.into_iter();
            let hits = found.map(|point| {
                Ok(Hit { interaction: home.interaction(point.payload)?, score: point.score })
            });
            hits.collect::<Result<_>>().map_err(Failure::Other)
        });
        Ok(hits.await?.unwrap_or_default())
    }

    async fn waiting(&self, of: &Collection, limit: usize) -> Result<Vec<Interaction>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let waiting = self.look(of, |home| async move {
            let filter = home::waiting_of(home.admitted(&Filter::default()));
            let limit = limit.min(LARGEST_PAGE);
            let (points, _) = self.scroll_at(&home, filter, None, limit, false).await?;
            let read = points.into_iter().map(|point| home.interaction(point.payload));
            read.collect::<Result<_>>().map_err(Failure::Other)
        });
        Ok(waiting.await?.unwrap_or_default())
    }

    async fn give_vectors(
        &self,
        of: &Collection,
        vectors: Vec<(InteractionId, Vec<f32>)>,
    ) -> Result<()> {
        for load in vectors.chunks(LARGEST_LOAD) {
            let ids: Vec<_> = load.iter().map(|(id, _)| *id).collect();
            let ids = &ids;
            let there = self.look(of, |home| async move { self.get_at(&home, ids).await }).await?;
            let entries = there.unwrap_or_default().into_iter().map(|interaction| {
                let given = load.iter().find(|(id, _)| *id == interaction.id);
                Entry { interaction, vector: given.map(|(_, vector)| vector.clone()) }
            });
            self.put(of, entries.collect()).await?;
        }
        Ok(())
    }

    async fn page(
        &self,
        of: &Collection,
        filter: &Filter,
        after: Option<InteractionId>,
        limit: usize,
        vectors: bool,
    ) -> Result<Vec<Entry>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let limit = limit.min(LARGEST_PAGE);
        let page = self.look(of, |home| async move {
            self.page_at(&home, home.admitted(filter), after, limit, vectors).await
        });
        Ok(page.await?.unwrap_or_default())
    }

    async fn newest(
        &self,
        of: &Collection,
        filter: &Filter,
        before: Option<Spot>,
        limit: usize,
    ) -> Result<Vec<Interaction>> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let limit = limit.min(LARGEST_PAGE);
        let newest =
            self.look(of, |home| async move { self.newest_at(&home, filter, before, limit).await });
        Ok(newest.await?.unwrap_or_default())
    }

    async fn figures(&self, of: &Collection, filter: &Filter) -> Result<Figures> {
        // Many questions side by side make a large future.
        let figures =
            self.look(of, |home| async move { Box::pin(self.figures_at(&home, filter)).await });
        Ok(figures.await?.unwrap_or_default())
    }

    async fn count(&self, of: &Collection) -> Result<u64> {
        let count = self.look(of, |home| async move {
            let all = home::all_of(home.admitted(&Filter::default()));
            self.count_at(&home, all).await
        });
        Ok(count.await?.unwrap_or(0))
    }

    async fn forget(&self, of: &Collection, filter: &Filter) -> Result<u64> {
        let forgotten = self.look(of, |home| async move {
            let which = home::all_of(home.admitted(filter));
            let count = self.count_at(&home, which.clone()).await?;
            if count > 0 {
                self.delete(&home, PointsSelectorOneOf::Filter(which)).await?;
            }
            Ok(count)
        });
        Ok(forgotten.await?.unwrap_or(0))
    }

    async fn forget_ids(&self, of: &Collection, ids: &[InteractionId]) -> Result<u64> {
        let forgotten = self.look(of, |home| async move {
            let mut count = 0;
            for load in ids.chunks(LARGEST_LOAD) {
                count += self.forget_at(&home, load).await?;
            }
            Ok(count)
        });
        Ok(forgotten.await?.unwrap_or(0))
    }

    async fn trim(&self, of: &Collection, keep: u64) -> Result<u64> {
        let trimmed = self.look(of, |home| async move { self.trim_at(&home, keep).await }).await?;
        Ok(trimmed.unwrap_or(0))
    }
}

impl Qdrant {
    /// Those of them that are there.
    async fn get_at(&self, home: &Home, ids: &[InteractionId]) -> Answer<Vec<Interaction>> {
        let question = GetPoints {
            collection_name: home.collection.clone(),
            ids: ids.iter().map(|id| home.point_id(*id)).collect(),
            with_payload: Some(true.into()),
            with_vectors: Some(false.into()),
            ..Default::default()
        };
        let found = self.link.get(question).await?.result.into_iter();
        let read = found.map(|point| home.interaction(point.payload));
        read.collect::<Result<_>>().map_err(Failure::Other)
    }

    /// Says how many of them there were.
    async fn forget_at(&self, home: &Home, ids: &[InteractionId]) -> Answer<u64> {
        let ids: Vec<PointId> = ids.iter().map(|id| home.point_id(*id)).collect();
        let question = GetPoints {
            collection_name: home.collection.clone(),
            ids: ids.clone(),
            with_payload: Some(false.into()),
            with_vectors: Some(false.into()),
            ..Default::default()
        };
        let found: HashSet<String> = (self.link.get(question).await?.result.into_iter())
            .filter_map(|point| point.id)
            .map(|id| format!("{id:?}"))
            .collect();
        if !found.is_empty() {
            self.delete(home, PointsSelectorOneOf::Points(PointsIdsList { ids })).await?;
        }
        Ok(found.len() as u64)
    }
}

/// Says where the server is, and never with which key.
impl fmt::Debug for Qdrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Qdrant")
            .field("link", &self.link)
            .field("layout", &self.layout)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
