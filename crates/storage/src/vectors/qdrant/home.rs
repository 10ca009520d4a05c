//! Where an agent's entries are, how an interaction is written in a point, and how a filter is put to Qdrant.
//!
//! The keys of the payload that are filtered, ordered or counted by stand beside the facts, which are kept whole as
//! JSON: they come back as they were, whatever Qdrant makes of numbers. What a user added to them is kept apart, for
//! it may be called like one of ours.

use std::collections::HashMap;

use artel_domain::memory::{Facts, Filter, Interaction};
use artel_domain::{AgentId, InteractionId, Timestamp};
use qdrant_client::qdrant::value::Kind as ValueKind;
use qdrant_client::qdrant::vector_output::Vector as VectorKind;
use qdrant_client::qdrant::vectors_output::VectorsOptions as VectorsRead;
use qdrant_client::qdrant::{
    self, Condition, NamedVectors, PointId, PointStruct, Range, RetrievedPoint, Value, Vector,
    Vectors, VectorsOutput,
};
use serde::Serialize;
use serde_json::Map;

use super::super::{Entry, Error, Result};
use super::names::{self, VECTOR};

pub(super) const AGENT: &str = "agent";
pub(super) const DAY: &str = "day";
pub(super) const ID: &str = "id";
pub(super) const KIND: &str = "interaction_type";
pub(super) const SUCCESS: &str = "success";
pub(super) const TASK: &str = "task_id";
pub(super) const TEXT: &str = "text";
pub(super) const TIMESTAMP: &str = "timestamp";
const FACTS: &str = "facts";
const OTHER: &str = "other";

const MICROS_OF_DAY: i64 = 86_400_000_000;

pub(super) type Payload = HashMap<String, Value>;

/// A collection, or the part of it that is one agent's.
#[derive(Debug, Clone)]
pub(super) struct Home {
    pub(super) collection: String,
    /// Whose part, when the collection is shared.
    pub(super) tenant: Option<AgentId>,
}

impl Home {
    pub(super) fn point_id(&self, of: InteractionId) -> PointId {
        let id = match self.tenant {
            None => of,
            Some(agent) => InteractionId::from_bytes(names::shared_point(agent, of)),
        };
        id.to_string().into()
    }

    pub(super) fn point(&self, entry: &Entry) -> Result<PointStruct> {
        let Interaction { id, text, metadata } = &entry.interaction;
        let ours = Facts {
            other: Map::new(),
            error_details: metadata.error_details.clone(),
            request: metadata.request.clone(),
            ..*metadata
        };
        let time = metadata.timestamp.as_micros();
        let mut payload: Payload = HashMap::from([
            (ID.to_owned(), id.to_string().into()),
            (TEXT.to_owned(), text.as_str().into()),
            (KIND.to_owned(), metadata.kind.as_str().into()),
            (TIMESTAMP.to_owned(), time.into()),
            (DAY.to_owned(), time.div_euclid(MICROS_OF_DAY).into()),
            (SUCCESS.to_owned(), metadata.success.into()),
            (FACTS.to_owned(), json(&ours)?.into()),
        ]);
        if !metadata.other.is_empty() {
            payload.insert(OTHER.to_owned(), json(&metadata.other)?.into());
        }
        if let Some(task) = metadata.task_id {
            payload.insert(TASK.to_owned(), task.to_string().into());
        }
        if let Some(agent) = self.tenant {
            payload.insert(AGENT.to_owned(), agent.to_string().into());
        }
        let vectors = match &entry.vector {
            None => without_vector(),
            Some(vector) => named([(VECTOR.to_owned(), Vector::new_dense(vector.clone()))]),
        };
        Ok(PointStruct { id: Some(self.point_id(*id)), payload, vectors: Some(vectors) })
    }

    /// What every point has to fulfil. Under a shared roof that begins with whose it is.
    pub(super) fn admitted(&self, filter: &Filter) -> Vec<Condition> {
        let Filter { kind, success, from, to, task } = filter;
        let mut must = Vec::new();
        must.extend(self.tenant.map(|agent| Condition::matches(AGENT, agent.to_string())));
        must.extend(kind.map(|kind| Condition::matches(KIND, kind.as_str().to_owned())));
        must.extend(success.map(|success| Condition::matches(SUCCESS, success)));
        must.extend(task.map(|task| Condition::matches(TASK, task.to_string())));
        if from.is_some() || to.is_some() {
            must.push(between(*from, *to));
        }
        must
    }

    pub(super) fn entry(&self, point: RetrievedPoint) -> Result<Entry> {
        let interaction = self.interaction(point.payload)?;
        Ok(Entry { interaction, vector: point.vectors.and_then(dense) })
    }

    pub(super) fn interaction(&self, mut payload: Payload) -> Result<Interaction> {
        let mut word = |key: &str| match payload.remove(key).and_then(|value| value.kind) {
            Some(ValueKind::StringValue(text)) => Some(text),
            _ => None,
        };
        let lacking = |key: &str| self.damaged(format!("a point without {key}"));
        let unread = |error| self.damaged(format!("facts that cannot be read: {error}"));
        let id = word(ID).and_then(|id| id.parse().ok()).ok_or_else(|| lacking(ID))?;
        let text = word(TEXT).ok_or_else(|| lacking(TEXT))?;
        let facts = word(FACTS).ok_or_else(|| lacking(FACTS))?;
        let mut metadata: Facts = serde_json::from_str(&facts).map_err(unread)?;
        if let Some(other) = word(OTHER) {
            metadata.other = serde_json::from_str(&other).map_err(unread)?;
        }
        Ok(Interaction { id, text, metadata })
    }

    pub(super) fn damaged(&self, detail: String) -> Error {
        Error::Damaged { collection: self.collection.clone(), detail }
    }
}

fn json(facts: &impl Serialize) -> Result<String> {
    serde_json::to_string(facts)
        .map_err(|error| Error::Invalid(format!("the facts cannot be written: {error}")))
}

pub(super) fn all_of(must: Vec<Condition>) -> qdrant::Filter {
    qdrant::Filter { must, ..Default::default() }
}

/// Those of them that have no vector yet.
pub(super) fn waiting_of(must: Vec<Condition>) -> qdrant::Filter {
    qdrant::Filter { must, must_not: vec![Condition::has_vector(VECTOR)], ..Default::default() }
}

/// Both ends included.
pub(super) fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> Condition {
    Condition::range(
        TIMESTAMP,
        Range { gte: from.map(micros), lte: to.map(micros), ..Default::default() },
    )
}

/// Bounds are floating numbers on the wire.
#[expect(clippy::cast_precision_loss, reason = "exact until the year 2255")]
fn micros(moment: Timestamp) -> f64 {
    moment.as_micros() as f64
}

/// Qdrant takes a point without a vector, but not one that does not say so.
pub(super) fn without_vector() -> Vectors {
    named([])
}

fn named<const N: usize>(vectors: [(String, Vector); N]) -> Vectors {
    NamedVectors { vectors: HashMap::from(vectors) }.into()
}

fn dense(vectors: VectorsOutput) -> Option<Vec<f32>> {
    let Some(VectorsRead::Vectors(mut named)) = vectors.vectors_options else { return None };
    match named.vectors.remove(VECTOR)?.into_vector() {
        VectorKind::Dense(vector) => Some(vector.data),
        VectorKind::Sparse(_) | VectorKind::MultiDense(_) => None,
    }
}
