//! What the stand-in holds: collections with their points and indexes, and the aliases.

use std::collections::{BTreeMap, HashMap};

use qdrant_client::qdrant::PayloadSchemaInfo;
use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::{PayloadSchemaType, PointId, Value};
use tonic::Status;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) collections: BTreeMap<String, Shelf>,
    pub(super) aliases: BTreeMap<String, String>,
}

/// A collection.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// The size of each named vector.
    pub(super) sizes: HashMap<String, usize>,
    pub(super) indexes: HashMap<String, PayloadSchemaInfo>,
    /// By id, in the order in which Qdrant scrolls.
    pub(super) points: BTreeMap<u128, Point>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Point {
    pub(super) payload: HashMap<String, Value>,
    pub(super) vectors: HashMap<String, Vec<f32>>,
}

impl State {
    pub(super) fn names(&self) -> Vec<String> {
        self.collections.keys().cloned().collect()
    }

    pub(super) fn alias(&self, alias: &str) -> Option<String> {
        self.aliases.get(alias).cloned()
    }

    /// Says whether it was there. Its aliases go with it.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.aliases.retain(|_, target| target != name);
        self.collections.remove(name).is_some()
    }

    /// By its name or an alias.
    pub(super) fn shelf(&mut self, name: &str) -> Result<&mut Shelf, Status> {
        check_name(name, &['/', '\0'])?;
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.collections.get_mut(name).ok_or_else(|| missing(name))
    }
}

impl Shelf {
    /// Whether an index can put values in order.
    pub(super) fn is_ordered_by(&self, key: &str) -> bool {
        self.indexes.get(key).is_some_and(|index| match params(index) {
            Some(IndexParams::IntegerIndexParams(params)) => params.range.unwrap_or(true),
            _ => is_kind(
                index,
                &[
                    PayloadSchemaType::Integer,
                    PayloadSchemaType::Float,
                    PayloadSchemaType::Datetime,
                ],
            ),
        })
    }

    /// Whether an index can list values.
    pub(super) fn is_listed_by(&self, key: &str) -> bool {
        self.indexes.get(key).is_some_and(|index| match params(index) {
            Some(IndexParams::IntegerIndexParams(params)) => params.lookup.unwrap_or(true),
            _ => is_kind(
                index,
                &[
                    PayloadSchemaType::Keyword,
                    PayloadSchemaType::Integer,
                    PayloadSchemaType::Bool,
                    PayloadSchemaType::Uuid,
                ],
            ),
        })
    }
}

fn params(index: &PayloadSchemaInfo) -> Option<&IndexParams> {
    index.params.as_ref()?.index_params.as_ref()
}

fn is_kind(index: &PayloadSchemaInfo, kinds: &[PayloadSchemaType]) -> bool {
    kinds.iter().any(|kind| index.data_type == i32::from(*kind))
}

pub(super) fn missing(name: &str) -> Status {
    Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"))
}

pub(super) fn check_name(name: &str, forbidden: &[char]) -> Result<(), Status> {
    let wrong = |what: String| {
        Err(Status::invalid_argument(format!(
            "Validation error in body: [collection_name: {what}]"
        )))
    };
    if name.is_empty() || name.chars().count() > 255 {
        return wrong(format!("value \"{name}\" invalid, must be from 1 to 255 characters"));
    }
    match forbidden.iter().find(|character| name.contains(**character)) {
        Some(character) => {
            wrong(format!("value invalid, collection name cannot contain \"{character}\" char"))
        }
        None => Ok(()),
    }
}

/// We use UUIDs only.
pub(super) fn number(id: Option<&PointId>) -> Result<u128, Status> {
    let options = id.and_then(|id| id.point_id_options.as_ref());
    match options {
        Some(PointIdOptions::Uuid(text)) => {
            let wrong = || Status::invalid_argument(format!("Unable to parse UUID: {text}"));
            let digits: String = text.chars().filter(|character| *character != '-').collect();
            if digits.len() != 32 {
                return Err(wrong());
            }
            u128::from_str_radix(&digits, 16).map_err(|_| wrong())
        }
        Some(PointIdOptions::Num(_)) => {
            Err(Status::unimplemented("the stand-in knows no numbers for ids"))
        }
        None => Err(Status::invalid_argument("Empty ID is not allowed")),
    }
}

pub(super) fn id(number: u128) -> PointId {
    let digits = format!("{number:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    PointId::from(parts.join("-"))
}
