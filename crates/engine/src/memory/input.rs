//! What can be asked of a memory.

use std::time::Duration;

use artel_domain::memory::{Facts, Filter, Interaction, Kind};
use artel_domain::{InteractionId, TaskId, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::input::Input;
use crate::{Error, Result};

/// The most that the keys of the user's own may take, as JSON.
const METADATA: usize = 16 * 1024;
pub(super) const LONGEST_TEXT: usize = 65_536;
const TOP_K: usize = 10;
const DAY: Duration = Duration::from_hours(24);
/// What [`Facts`] has by itself.
const OURS: [&str; 6] =
    ["interaction_type", "timestamp", "success", "task_id", "error_details", "request"];

/// Something to remember.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddContext {
    #[schema(min_length = 1, max_length = 65_536, example = "The tests need Redis on port 6390.")]
    pub text: String,
    #[serde(default = "task_execution")]
    #[schema(default = "task_execution")]
    pub interaction_type: Kind,
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub success: bool,
    pub task_id: Option<TaskId>,
    /// When it happened; now, unless it is said.
    pub timestamp: Option<Timestamp>,
    #[schema(max_length = 8192)]
    pub error_details: Option<String>,
    /// Keys of your own.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

const fn task_execution() -> Kind {
    Kind::TaskExecution
}

const fn yes() -> bool {
    true
}

impl Input for AddContext {}

impl AddContext {
    pub(super) fn into_interaction(self, id: InteractionId, now: Timestamp) -> Result<Interaction> {
        let facts = Facts {
            kind: self.interaction_type,
            timestamp: self.timestamp.unwrap_or(now),
            success: self.success,
            task_id: self.task_id,
            error_details: self.error_details,
            request: None,
            other: self.metadata,
        };
        check_own_keys(&facts.other)?;
        Ok(Interaction { id, text: self.text, metadata: facts })
    }
}

/// Refuses keys that would be mistaken for ours, and too much of them.
pub(super) fn check_own_keys(own: &Map<String, Value>) -> Result<()> {
    if let Some(key) = OURS.into_iter().find(|key| own.contains_key(*key)) {
        let message = "is a field of its own, and stands beside metadata";
        return Err(Error::invalid_field(&format!("metadata.{key}"), message));
    }
    let size = serde_json::to_vec(own).map_or(usize::MAX, |json| json.len());
    if size > METADATA {
        let message = format!("takes {size} bytes, more than {METADATA}");
        return Err(Error::invalid_field("metadata", message));
    }
    Ok(())
}

/// What to look for. Either `query` or `vector` is given.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchContext {
    #[schema(min_length = 1, max_length = 65_536, example = "which port does redis have?")]
    pub query: Option<String>,
    /// A vector of the embedding model, instead of a text.
    #[schema(min_items = 1, max_items = 16_384)]
    pub vector: Option<Vec<f32>>,
    #[schema(minimum = 1, maximum = 100, default = 10)]
    pub top_k: Option<usize>,
    pub interaction_type: Option<Kind>,
    pub success: Option<bool>,
    /// The first moment that counts.
    pub from: Option<Timestamp>,
    /// The last moment that counts.
    pub to: Option<Timestamp>,
    pub task_id: Option<TaskId>,
}

impl Input for SearchContext {}

pub(super) enum LookedFor {
    Text(String),
    Vector(Vec<f32>),
}

impl SearchContext {
    /// What is nearest to a text, of everything.
    pub(crate) fn of_text(query: String, top_k: usize) -> Self {
        Self {
            query: Some(query),
            vector: None,
            top_k: Some(top_k),
            interaction_type: None,
            success: None,
            from: None,
            to: None,
            task_id: None,
        }
    }

    pub(super) fn filter(&self) -> Result<Filter> {
        let Self { interaction_type: kind, success, from, to, task_id: task, .. } = *self;
        checked(Filter { kind, success, from, to, task })
    }

    pub(super) fn top_k(&self) -> usize {
        self.top_k.unwrap_or(TOP_K)
    }

    pub(super) fn into_looked_for(self) -> Result<LookedFor> {
        match (self.query, self.vector) {
            (Some(text), None) if text.trim().is_empty() => {
                Err(Error::invalid_field("query", "is empty"))
            }
            (Some(text), None) => Ok(LookedFor::Text(text)),
            (None, Some(mut vector)) => {
                let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
                if !length.is_normal() {
                    return Err(Error::invalid_field("vector", "has no direction"));
                }
                for component in &mut vector {
                    *component /= length;
                }
                Ok(LookedFor::Vector(vector))
            }
            (Some(_), Some(_)) => {
                Err(Error::invalid_field("vector", "stands instead of query, not beside it"))
            }
            (None, None) => Err(Error::invalid_field("query", "is required")),
        }
    }
}

/// Which part of a memory, in the parameters of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Narrow {
    pub kind: Option<Kind>,
    pub success: Option<bool>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

impl Narrow {
    pub(super) fn filter(self) -> Result<Filter> {
        let Self { kind, success, from, to } = self;
        checked(Filter { kind, success, from, to, task: None })
    }
}

fn checked(filter: Filter) -> Result<Filter> {
    match (filter.from, filter.to) {
        (Some(from), Some(to)) if from > to => {
            Err(Error::invalid_field("from", "is later than to"))
        }
        _ => Ok(filter),
    }
}

/// What to forget: what all of the given fields describe, or the oldest part.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneContext {
    /// What is older than so many days.
    #[schema(minimum = 0, maximum = 36_500, example = 30)]
    pub days: Option<u32>,
    pub interaction_type: Option<Kind>,
    pub success: Option<bool>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// The oldest so many of a hundred, whatever they are; stands alone.
    #[schema(minimum = 1, maximum = 100, example = 20)]
    pub oldest_percent: Option<u8>,
}

impl Input for PruneContext {}

pub(super) enum Which {
    Matching(Filter),
    OldestPercent(u8),
}

impl PruneContext {
    pub(super) fn which(self, now: Timestamp) -> Result<Which> {
        let Self { days, interaction_type: kind, success, from, to, oldest_percent } = self;
        // Older than the day counts: what is exactly that old stays.
        let aged = days.map(|days| {
            Timestamp::from_micros(now.minus(DAY * days).as_micros().saturating_sub(1))
        });
        let to = match (aged, to) {
            (Some(aged), Some(to)) => Some(aged.min(to)),
            (aged, to) => aged.or(to),
        };
        let filter = Filter { kind, success, from, to, task: None };
        match oldest_percent {
            Some(percent) if filter == Filter::default() => Ok(Which::OldestPercent(percent)),
            Some(_) => Err(Error::invalid_field("oldest_percent", "stands alone")),
            None if filter == Filter::default() => {
                let message = "Say what to forget: days, interaction_type, success, from, to or \
                               oldest_percent. DELETE of the memory forgets everything";
                Err(Error::invalid_field("", message))
            }
            None => checked(filter).map(Which::Matching),
        }
    }
}
