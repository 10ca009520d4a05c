//! How collections come to be, are named, move to another model, and go.
//!
//! A collection that is complete carries a sign, put there last: its alias or, under the shared roof, the agent's
//! line in the register. Without the sign, what an interrupted hand left is done again; every step may be repeated.
//! Entries of another model move over without their vectors, each first put there and then deleted here, and never
//! over one that is there already.

use std::collections::HashMap;

use artel_domain::memory::{Collection, Filter};
use artel_domain::{AgentId, InteractionId};
use qdrant_client::qdrant::alias_operations::Action;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::value::Kind as ValueKind;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    AliasOperations, BoolIndexParams, ChangeAliases, CreateAlias, CreateCollection,
    CreateFieldIndexCollection, DeleteAlias, DeleteCollection, DeletePoints, Distance, FieldType,
    GetCollectionInfoRequest, GetPoints, HnswConfigDiff, IntegerIndexParams, KeywordIndexParams,
    ListCollectionAliasesRequest, ListCollectionsRequest, PayloadIndexParams, PointStruct,
    PointsIdsList, PointsSelector, ScrollPoints, UpdateMode, UpsertPoints, VectorParams,
    VectorParamsMap, VectorsConfig,
};

use super::super::{Layout, Result};
use super::home::{self, Home};
use super::link::{Answer, Failure};
use super::names;
use super::{Qdrant, Wish};

/// How many entries move at a time.
const CARRIED: u32 = 256;

const MODEL: &str = "model";
const NAME: &str = "name";

/// Links of the graph within a tenant's part; Qdrant's usual number for a whole collection.
const LINKS: u64 = 16;

impl Qdrant {
    pub(super) fn home(&self, agent: AgentId) -> Home {
        match self.layout {
            Layout::PerAgent => {
                Home { collection: names::of_agent(agent, &self.mark), tenant: None }
            }
            Layout::Shared => Home { collection: names::of_all(&self.mark), tenant: Some(agent) },
        }
    }

    /// Brings the collection into the state that is wished for. Says whether it was missing, or nothing when it is
    /// missing still.
    pub(super) async fn arrange(&self, of: &Collection, wish: Wish) -> Result<Option<bool>> {
        match self.layout {
            Layout::PerAgent => Ok(self.arrange_own(of, wish).await?),
            Layout::Shared => Ok(self.arrange_shared(of, wish).await?),
        }
    }

    async fn arrange_own(&self, of: &Collection, wish: Wish) -> Answer<Option<bool>> {
        let home = self.home(of.agent);
        let aliases = self.aliases_of(&home.collection).await?;
        let complete = !aliases.is_empty();
        if complete && wish != Wish::Ensure {
            return Ok(Some(false));
        }
        let mut olds = Vec::new();
        let mut there = complete;
        if !complete {
            olds = self.collections(&names::prefix_of_agent(of.agent)).await?;
            there = olds.contains(&home.collection);
            olds.retain(|name| *name != home.collection);
            if !there && olds.is_empty() && wish == Wish::Look {
                return Ok(None);
            }
        }
        self.build(&home.collection).await?;
        for old in &olds {
            self.carry(&Home { collection: old.clone(), tenant: None }, &home).await?;
            self.drop_collection(old).await?;
        }
        // A collection without a name is no reason to take it from whoever has it now: they may be a newer agent.
        if wish == Wish::Ensure || !there || !olds.is_empty() {
            self.give_name(&home.collection, &aliases, &of.name).await?;
        }
        Ok(Some(!there && olds.is_empty()))
    }

    async fn arrange_shared(&self, of: &Collection, wish: Wish) -> Answer<Option<bool>> {
        let home = self.home(of.agent);
        let line = self.registered(of.agent).await?;
        let complete = line.as_ref().is_some_and(|line| line.model == self.mark);
        if complete && wish != Wish::Ensure {
            return Ok(Some(false));
        }
        let there = line.is_some() || self.has_any(&home).await?;
        if !there && wish == Wish::Look {
            return Ok(None);
        }
        self.build(&home.collection).await?;
        if !complete {
            let mut olds = self.collections(names::PREFIX_OF_SHARED).await?;
            olds.retain(|name| *name != home.collection);
            for old in olds {
                // Left standing when it is empty: others may still write there.
                self.carry(&Home { collection: old, tenant: home.tenant }, &home).await?;
            }
        }
        if !complete || line.as_ref().is_none_or(|line| line.name != of.name) {
            self.register(of.agent, &of.name).await?;
        }
        Ok(Some(!there))
    }

    /// Another node may have removed the agent's line while a third still wrote.
    async fn has_any(&self, home: &Home) -> Answer<bool> {
        let all = home::all_of(home.admitted(&Filter::default()));
        match self.count_at(home, all).await {
            Ok(count) => Ok(count > 0),
            Err(Failure::Missing(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    pub(super) async fn rename_at(&self, home: &Home, name: &str) -> Answer<()> {
        if let Some(agent) = home.tenant {
            return self.register(agent, name).await;
        }
        let aliases = self.aliases_of(&home.collection).await?;
        self.give_name(&home.collection, &aliases, name).await
    }

    pub(super) async fn remove_all(&self, agent: AgentId) -> Answer<()> {
        match self.layout {
            Layout::PerAgent => {
                for name in self.collections(&names::prefix_of_agent(agent)).await? {
                    self.drop_collection(&name).await?;
                }
            }
            Layout::Shared => {
                for collection in self.collections(names::PREFIX_OF_SHARED).await? {
                    let home = Home { collection, tenant: Some(agent) };
                    let all = home::all_of(home.admitted(&Filter::default()));
                    unless_missing(self.delete(&home, PointsSelectorOneOf::Filter(all)).await)?;
                }
                let register = Home { collection: names::REGISTER.to_owned(), tenant: None };
                let line = PointsIdsList { ids: vec![line_of(agent)] };
                unless_missing(self.delete(&register, PointsSelectorOneOf::Points(line)).await)?;
            }
        }
        Ok(())
    }

    pub(super) async fn delete(&self, home: &Home, which: PointsSelectorOneOf) -> Answer<()> {
        let question = DeletePoints {
            collection_name: home.collection.clone(),
            wait: Some(true),
            points: Some(PointsSelector { points_selector_one_of: Some(which) }),
            ..Default::default()
        };
        self.link.delete(question).await.map(drop)
    }

    /// Makes the collection and its indexes, as far as they are missing.
    async fn build(&self, collection: &str) -> Answer<()> {
        let question = GetCollectionInfoRequest { collection_name: collection.to_owned() };
        let indexed = match self.link.describe(question).await {
            Ok(answer) => answer.result.map(|info| info.payload_schema).unwrap_or_default(),
            Err(Failure::Missing(_)) => {
                self.create(self.recipe(collection)).await?;
                HashMap::new()
            }
            Err(failure) => return Err(failure),
        };
        for (key, kind, params) in indexes(self.layout) {
            if !indexed.contains_key(key) {
                let question = CreateFieldIndexCollection {
                    collection_name: collection.to_owned(),
                    wait: Some(true),
                    field_name: key.to_owned(),
                    field_type: Some(kind.into()),
                    field_index_params: Some(PayloadIndexParams { index_params: Some(params) }),
                    ..Default::default()
                };
                self.link.index(question).await?;
            }
        }
        Ok(())
    }

    async fn create(&self, recipe: CreateCollection) -> Answer<()> {
        match self.link.create(recipe).await {
            // Another node was faster, or our own first attempt was heard after all.
            Ok(_) | Err(Failure::Exists(_)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    #[expect(deprecated, reason = "servers before 1.20 know no other word for on_disk")]
    fn recipe(&self, collection: &str) -> CreateCollection {
        let vector = VectorParams {
            size: self.model.dimensions as u64,
            // Of unit vectors, the inner product is the cosine, and they come back as they were put.
            distance: Distance::Dot.into(),
            // An agent's memory is much larger than what is asked of it at a time.
            on_disk: Some(true),
            ..Default::default()
        };
        let graph = match self.layout {
            Layout::PerAgent => None,
            // No search spans tenants, so there is no graph that does.
            Layout::Shared => {
                Some(HnswConfigDiff { m: Some(0), payload_m: Some(LINKS), ..Default::default() })
            }
        };
        CreateCollection {
            collection_name: collection.to_owned(),
            vectors_config: Some(vectors([(names::VECTOR.to_owned(), vector)])),
            hnsw_config: graph,
            ..Default::default()
        }
    }

    /// Moves what waits at `from`. It starts over each time, so that it also finds what is put there meanwhile.
    async fn carry(&self, from: &Home, to: &Home) -> Answer<()> {
        loop {
            let question = ScrollPoints {
                collection_name: from.collection.clone(),
                filter: Some(home::all_of(from.admitted(&Filter::default()))),
                limit: Some(CARRIED),
                with_payload: Some(true.into()),
                with_vectors: Some(false.into()),
                ..Default::default()
            };
            let points = match self.link.scroll(question).await {
                Ok(answer) => answer.result,
                // Another node has moved it all.
                Err(Failure::Missing(_)) => return Ok(()),
                Err(failure) => return Err(failure),
            };
            if points.is_empty() {
                return Ok(());
            }
            let ids = points.iter().filter_map(|point| point.id.clone()).collect();
            let carried = points.into_iter().map(|point| PointStruct {
                id: point.id,
                payload: point.payload,
                vectors: Some(home::without_vector()),
            });
            let put = UpsertPoints {
                collection_name: to.collection.clone(),
                wait: Some(true),
                points: carried.collect(),
                update_mode: Some(UpdateMode::InsertOnly.into()),
                ..Default::default()
            };
            self.link.upsert(put).await?;
            let moved = PointsSelectorOneOf::Points(PointsIdsList { ids });
            unless_missing(self.delete(from, moved).await)?;
        }
    }

    /// Names of collections that begin so.
    async fn collections(&self, prefix: &str) -> Answer<Vec<String>> {
        let all = self.link.list(ListCollectionsRequest {}).await?.collections;
        let names = all.into_iter().map(|collection| collection.name);
        Ok(names.filter(|name| name.starts_with(prefix)).collect())
    }

    async fn drop_collection(&self, name: &str) -> Answer<()> {
        let question = DeleteCollection { collection_name: name.to_owned(), timeout: None };
        unless_missing(self.link.drop_collection(question).await.map(drop))
    }

    /// None for a collection that is not there.
    async fn aliases_of(&self, collection: &str) -> Answer<Vec<String>> {
        let question = ListCollectionAliasesRequest { collection_name: collection.to_owned() };
        match self.link.aliases(question).await {
            Ok(answer) => Ok(answer.aliases.into_iter().map(|alias| alias.alias_name).collect()),
            Err(Failure::Missing(_)) => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }

    /// The new name comes and the old ones go in one step. Whoever else had the name loses it.
    async fn give_name(&self, collection: &str, aliases: &[String], name: &str) -> Answer<()> {
        let name = names::alias(name);
        if aliases == [name.as_str()] {
            return Ok(());
        }
        let old = aliases.iter().filter(|alias| **alias != name);
        let go = old.map(|alias| Action::DeleteAlias(DeleteAlias { alias_name: alias.clone() }));
        let come = Action::CreateAlias(CreateAlias {
            collection_name: collection.to_owned(),
            alias_name: name.clone(),
        });
        let actions = go.chain([come]).map(|action| AliasOperations { action: Some(action) });
        let question = ChangeAliases { actions: actions.collect(), timeout: None };
        self.link.change_aliases(question).await.map(drop)
    }

    async fn registered(&self, agent: AgentId) -> Answer<Option<Line>> {
        let question = GetPoints {
            collection_name: names::REGISTER.to_owned(),
            ids: vec![line_of(agent)],
            with_payload: Some(true.into()),
            ..Default::default()
        };
        let found = match self.link.get(question).await {
            Ok(answer) => answer.result.into_iter().next(),
            Err(Failure::Missing(_)) => None,
            Err(failure) => return Err(failure),
        };
        Ok(found.map(|mut point| {
            let mut word = |key| match point.payload.remove(key).and_then(|value| value.kind) {
                Some(ValueKind::StringValue(text)) => text,
                _ => String::new(),
            };
            Line { model: word(MODEL), name: word(NAME) }
        }))
    }

    async fn register(&self, agent: AgentId, name: &str) -> Answer<()> {
        let payload = HashMap::from([
            (NAME.to_owned(), name.into()),
            (MODEL.to_owned(), self.mark.as_str().into()),
        ]);
        let line = PointStruct {
            id: Some(line_of(agent)),
            payload,
            vectors: Some(home::without_vector()),
        };
        let put = UpsertPoints {
            collection_name: names::REGISTER.to_owned(),
            wait: Some(true),
            points: vec![line],
            ..Default::default()
        };
        match self.link.upsert(put.clone()).await {
            Err(Failure::Missing(_)) => {
                let recipe = CreateCollection {
                    collection_name: names::REGISTER.to_owned(),
                    vectors_config: Some(vectors([])),
                    ..Default::default()
                };
                self.create(recipe).await?;
                self.link.upsert(put).await.map(drop)
            }
            answer => answer.map(drop),
        }
    }
}

/// What the register says of an agent.
struct Line {
    model: String,
    name: String,
}

fn line_of(agent: AgentId) -> qdrant_client::qdrant::PointId {
    InteractionId::from_bytes(*agent.as_bytes()).to_string().into()
}

fn vectors<const N: usize>(map: [(String, VectorParams); N]) -> VectorsConfig {
    VectorsConfig { config: Some(Config::ParamsMap(VectorParamsMap { map: HashMap::from(map) })) }
}

/// CS-1.3, and what the figures count by.
fn indexes(layout: Layout) -> Vec<(&'static str, FieldType, IndexParams)> {
    let keyword = |tenant: bool| {
        let is_tenant = tenant.then_some(true);
        let params = KeywordIndexParams { is_tenant, ..Default::default() };
        (FieldType::Keyword, IndexParams::KeywordIndexParams(params))
    };
    // Moments are compared, days are looked up.
    let integer = |lookup: bool| {
        let (lookup, range) = (Some(lookup), Some(!lookup));
        let params = IntegerIndexParams { lookup, range, ..Default::default() };
        (FieldType::Integer, IndexParams::IntegerIndexParams(params))
    };
    let boolean = (FieldType::Bool, IndexParams::BoolIndexParams(BoolIndexParams::default()));
    let mut indexes = vec![
        (home::TASK, keyword(false)),
        (home::TIMESTAMP, integer(false)),
        (home::SUCCESS, boolean),
        (home::KIND, keyword(false)),
        (home::DAY, integer(true)),
    ];
    if layout == Layout::Shared {
        indexes.push((home::AGENT, keyword(true)));
    }
    indexes.into_iter().map(|(key, (kind, params))| (key, kind, params)).collect()
}

/// What is not there need not be deleted.
fn unless_missing(answer: Answer<()>) -> Answer<()> {
    match answer {
        Err(Failure::Missing(_)) => Ok(()),
        answer => answer,
    }
}
