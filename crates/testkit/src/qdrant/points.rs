//! Points: put, read, found, counted and deleted.

use std::collections::{BTreeMap, HashMap};

use qdrant_client::qdrant as q;
use qdrant_client::qdrant::facet_value::Variant;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::query::Variant as QueryVariant;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::vector::Vector as VectorKind;
use qdrant_client::qdrant::vector_input::Variant as InputVariant;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::with_payload_selector::SelectorOptions as PayloadOptions;
use qdrant_client::qdrant::with_vectors_selector::SelectorOptions as VectorOptions;
use tonic::Status;

use super::conditions::admits;
use super::state::{Point, Shelf, State, id, number};

/// What Qdrant gives when no limit is named.
const SCROLLED: usize = 10;

pub(super) fn upsert(
    state: &mut State,
    question: &q::UpsertPoints,
) -> Result<q::PointsOperationResponse, Status> {
    if question.update_filter.is_some() {
        return Err(Status::unimplemented("the stand-in knows no update filter"));
    }
    let shelf = state.shelf(&question.collection_name)?;
    let mode = question.update_mode.and_then(|mode| q::UpdateMode::try_from(mode).ok());
    // All are looked at before one is stored.
    let mut ready = Vec::new();
    for point in &question.points {
        let number = number(point.id.as_ref())?;
        let vectors = vectors(shelf, point.vectors.as_ref())?;
        ready.push((number, Point { payload: point.payload.clone(), vectors }));
    }
    for (number, point) in ready {
        let wanted = match mode {
            None | Some(q::UpdateMode::Upsert) => true,
            Some(q::UpdateMode::InsertOnly) => !shelf.points.contains_key(&number),
            Some(q::UpdateMode::UpdateOnly) => shelf.points.contains_key(&number),
        };
        if wanted {
            shelf.points.insert(number, point);
        }
    }
    Ok(acknowledged(question.wait))
}

pub(super) fn delete(
    state: &mut State,
    question: &q::DeletePoints,
) -> Result<q::PointsOperationResponse, Status> {
    let shelf = state.shelf(&question.collection_name)?;
    match question.points.as_ref().and_then(|points| points.points_selector_one_of.as_ref()) {
        Some(PointsSelectorOneOf::Points(list)) => {
            for id in &list.ids {
                shelf.points.remove(&number(Some(id))?);
            }
        }
        Some(PointsSelectorOneOf::Filter(filter)) => {
            for id in admitted(shelf, Some(filter))? {
                shelf.points.remove(&id);
            }
        }
        None => return Err(Status::invalid_argument("PointsSelector is missing")),
    }
    Ok(acknowledged(question.wait))
}

pub(super) fn get(state: &mut State, question: &q::GetPoints) -> Result<q::GetResponse, Status> {
    let shelf = state.shelf(&question.collection_name)?;
    let mut numbers =
        question.ids.iter().map(|id| number(Some(id))).collect::<Result<Vec<_>, _>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    let show = Show::new(question.with_payload.as_ref(), question.with_vectors.as_ref())?;
    let found = numbers.into_iter().filter_map(|id| Some((id, shelf.points.get(&id)?)));
    let result = found.map(|(id, point)| show.retrieved(id, point)).collect();
    Ok(q::GetResponse { result, ..Default::default() })
}

pub(super) fn scroll(
    state: &mut State,
    question: &q::ScrollPoints,
) -> Result<q::ScrollResponse, Status> {
    let shelf = state.shelf(&question.collection_name)?;
    let limit = question.limit.map_or(SCROLLED, |limit| limit as usize);
    if limit == 0 {
        return Err(Status::invalid_argument(
            "Validation error in body: [limit: value 0 invalid, must be 1 or larger]",
        ));
    }
    let show = Show::new(question.with_payload.as_ref(), question.with_vectors.as_ref())?;
    let mut ids = admitted(shelf, question.filter.as_ref())?;
    let mut next = None;
    if let Some(order) = &question.order_by {
        if question.offset.is_some() {
            return Err(Status::invalid_argument(
                "Wrong input: Cannot use an `offset` when using `order_by`. The alternative for paging is to use `order_by.start_from` and a filter to exclude the IDs that you've already seen for the `order_by.start_from` value",
            ));
        }
        if order.start_from.is_some() {
            return Err(Status::unimplemented("the stand-in knows no start_from"));
        }
        if !shelf.is_ordered_by(&order.key) {
            return Err(Status::invalid_argument(format!(
                "Wrong input: No range index for `order_by` key: `{}`. Please create one to use `order_by`. Check https://qdrant.tech/documentation/concepts/indexing/#payload-index to see which payload schemas support Range conditions",
                order.key
            )));
        }
        let value = |id: &u128| match shelf.points[id].payload.get(&order.key)?.kind {
            Some(Kind::IntegerValue(value)) => Some(value),
            _ => None,
        };
        ids.retain(|id| value(id).is_some());
        // Nobody may rely on an order among equals: turned over first, it is not that of the ids.
        ids.reverse();
        ids.sort_by_key(value);
        if order.direction == Some(q::Direction::Desc.into()) {
            ids.reverse();
        }
        ids.truncate(limit);
    } else {
        if question.offset.is_some() {
            let first = number(question.offset.as_ref())?;
            ids.retain(|id| *id >= first);
        }
        next = ids.get(limit).copied().map(id);
        ids.truncate(limit);
    }
    let result = ids.iter().map(|id| show.retrieved(*id, &shelf.points[id])).collect();
    Ok(q::ScrollResponse { result, next_page_offset: next, ..Default::default() })
}

pub(super) fn query(
    state: &mut State,
    question: &q::QueryPoints,
) -> Result<q::QueryResponse, Status> {
    let shelf = state.shelf(&question.collection_name)?;
    let name = question.using.clone().unwrap_or_default();
    let size = *shelf.sizes.get(&name).ok_or_else(|| no_such_vector(&name))?;
    let Some(QueryVariant::Nearest(input)) =
        question.query.as_ref().and_then(|query| query.variant.as_ref())
    else {
        return Err(Status::unimplemented("the stand-in knows the nearest only"));
    };
    let Some(InputVariant::Dense(wanted)) = &input.variant else {
        return Err(Status::unimplemented("the stand-in knows dense vectors only"));
    };
    check_size(size, &wanted.data)?;
    let limit = question.limit.unwrap_or(10);
    if limit == 0 {
        return Err(Status::invalid_argument(
            "Validation error in body: [limit: value 0 invalid, must be 1 or larger]",
        ));
    }
    let show = Show::new(question.with_payload.as_ref(), question.with_vectors.as_ref())?;
    let mut hits = Vec::new();
    for id in admitted(shelf, question.filter.as_ref())? {
        if let Some(vector) = shelf.points[&id].vectors.get(&name) {
            let score: f32 = vector.iter().zip(&wanted.data).map(|(a, b)| a * b).sum();
            hits.push((score, id));
        }
    }
    hits.sort_by(|a, b| b.0.total_cmp(&a.0));
    hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let result = hits.into_iter().map(|(score, number)| q::ScoredPoint {
        id: Some(id(number)),
        score,
        payload: show.payload(&shelf.points[&number]),
        ..Default::default()
    });
    Ok(q::QueryResponse { result: result.collect(), ..Default::default() })
}

pub(super) fn count(
    state: &mut State,
    question: &q::CountPoints,
) -> Result<q::CountResponse, Status> {
    let shelf = state.shelf(&question.collection_name)?;
    let count = admitted(shelf, question.filter.as_ref())?.len() as u64;
    Ok(q::CountResponse { result: Some(q::CountResult { count }), ..Default::default() })
}

pub(super) fn facet(
    state: &mut State,
    question: &q::FacetCounts,
) -> Result<q::FacetResponse, Status> {
    let shelf = state.shelf(&question.collection_name)?;
    if !shelf.is_listed_by(&question.key) {
        return Err(Status::invalid_argument(format!(
            "Wrong input: No appropriate index for faceting: `{}`. Please create one to facet on this field. Check https://qdrant.tech/documentation/concepts/indexing/#payload-index to see which payload schemas support Match conditions",
            question.key
        )));
    }
    let mut counts: BTreeMap<(Option<i64>, String), (Variant, u64)> = BTreeMap::new();
    for id in admitted(shelf, question.filter.as_ref())? {
        let value = shelf.points[&id].payload.get(&question.key);
        let (place, variant) = match value.and_then(|value| value.kind.as_ref()) {
            Some(Kind::StringValue(text)) => {
                ((None, text.clone()), Variant::StringValue(text.clone()))
            }
            Some(Kind::IntegerValue(number)) => {
                ((Some(*number), String::new()), Variant::IntegerValue(*number))
            }
            Some(Kind::BoolValue(value)) => {
                ((Some(i64::from(*value)), String::new()), Variant::BoolValue(*value))
            }
            _ => continue,
        };
        counts.entry(place).or_insert((variant, 0)).1 += 1;
    }
    let mut counts: Vec<(Variant, u64)> = counts.into_values().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(usize::try_from(question.limit.unwrap_or(10)).unwrap_or(usize::MAX));
    let hits = counts.into_iter().map(|(variant, count)| q::FacetHit {
        value: Some(q::FacetValue { variant: Some(variant) }),
        count,
    });
    Ok(q::FacetResponse { hits: hits.collect(), ..Default::default() })
}

/// Without `wait` Qdrant says only that it has heard.
pub(super) fn acknowledged(wait: Option<bool>) -> q::PointsOperationResponse {
    let status =
        if wait == Some(true) { q::UpdateStatus::Completed } else { q::UpdateStatus::Acknowledged };
    let result = q::UpdateResult { operation_id: Some(0), status: status.into() };
    q::PointsOperationResponse { result: Some(result), ..Default::default() }
}

/// In the order of their ids.
fn admitted(shelf: &Shelf, filter: Option<&q::Filter>) -> Result<Vec<u128>, Status> {
    let mut ids = Vec::new();
    for (id, point) in &shelf.points {
        if admits(filter, *id, point)? {
            ids.push(*id);
        }
    }
    Ok(ids)
}

fn vectors(shelf: &Shelf, given: Option<&q::Vectors>) -> Result<HashMap<String, Vec<f32>>, Status> {
    let given = given.ok_or_else(|| Status::invalid_argument("Expected some vectors"))?;
    let Some(VectorsOptions::Vectors(named)) = &given.vectors_options else {
        return Err(no_such_vector(""));
    };
    let mut vectors = HashMap::new();
    for (name, vector) in &named.vectors {
        let size = *shelf.sizes.get(name).ok_or_else(|| no_such_vector(name))?;
        let Some(VectorKind::Dense(dense)) = &vector.vector else {
            return Err(Status::unimplemented("the stand-in knows dense vectors only"));
        };
        check_size(size, &dense.data)?;
        vectors.insert(name.clone(), dense.data.clone());
    }
    Ok(vectors)
}

fn no_such_vector(name: &str) -> Status {
    Status::invalid_argument(format!("Wrong input: Not existing vector name error: {name}"))
}

fn check_size(size: usize, vector: &[f32]) -> Result<(), Status> {
    if vector.len() == size {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "Wrong input: Vector dimension error: expected dim: {size}, got {}",
        vector.len()
    )))
}

/// What of a point is asked for.
struct Show {
    /// None for nothing, no keys for all.
    keys: Option<Vec<String>>,
    vectors: bool,
}

impl Show {
    fn new(
        payload: Option<&q::WithPayloadSelector>,
        vectors: Option<&q::WithVectorsSelector>,
    ) -> Result<Self, Status> {
        let keys = match payload.and_then(|selector| selector.selector_options.as_ref()) {
            Some(PayloadOptions::Enable(true)) => Some(Vec::new()),
            Some(PayloadOptions::Enable(false)) | None => None,
            Some(PayloadOptions::Include(list)) => Some(list.fields.clone()),
            Some(PayloadOptions::Exclude(_)) => {
                return Err(Status::unimplemented("the stand-in leaves nothing out"));
            }
        };
        let vectors = match vectors.and_then(|selector| selector.selector_options.as_ref()) {
            Some(VectorOptions::Enable(vectors)) => *vectors,
            Some(VectorOptions::Include(_)) => {
                return Err(Status::unimplemented("the stand-in gives all vectors or none"));
            }
            None => false,
        };
        Ok(Self { keys, vectors })
    }

    fn payload(&self, point: &Point) -> HashMap<String, q::Value> {
        let Some(keys) = &self.keys else { return HashMap::new() };
        let mut payload = point.payload.clone();
        payload.retain(|key, _| keys.is_empty() || keys.contains(key));
        payload
    }

    fn retrieved(&self, number: u128, point: &Point) -> q::RetrievedPoint {
        let vectors = self.vectors.then(|| {
            let named = point.vectors.iter().map(|(name, vector)| {
                let dense = q::DenseVector { data: vector.clone() };
                let output = q::VectorOutput {
                    vector: Some(q::vector_output::Vector::Dense(dense)),
                    ..Default::default()
                };
                (name.clone(), output)
            });
            let named = q::NamedVectorsOutput { vectors: named.collect() };
            q::VectorsOutput {
                vectors_options: Some(q::vectors_output::VectorsOptions::Vectors(named)),
            }
        });
        q::RetrievedPoint {
            id: Some(id(number)),
            payload: self.payload(point),
            vectors,
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use qdrant_client::qdrant::{Distance, NamedVectors, Vector, VectorParamsMap, VectorsConfig};
    use tonic::Code;

    use super::super::collections;
    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000001";

    fn made() -> State {
        let params =
            q::VectorParams { size: 2, distance: Distance::Dot.into(), ..Default::default() };
        let map = HashMap::from([("text".to_owned(), params)]);
        let config = q::vectors_config::Config::ParamsMap(VectorParamsMap { map });
        let question = q::CreateCollection {
            collection_name: "c".to_owned(),
            vectors_config: Some(VectorsConfig { config: Some(config) }),
            ..Default::default()
        };
        let mut state = State::default();
        collections::create(&mut state, &question).unwrap();
        state
    }

    fn put(collection: &str, name: &str, vector: Vec<f32>) -> q::UpsertPoints {
        let named = NamedVectors { vectors: [(name.to_owned(), Vector::new_dense(vector))].into() };
        let point = q::PointStruct {
            id: Some(ID.into()),
            vectors: Some(named.into()),
            ..Default::default()
        };
        let collection_name = collection.to_owned();
        q::UpsertPoints { collection_name, points: vec![point], ..Default::default() }
    }

    #[test]
    fn it_says_no_where_qdrant_does() {
        let mut state = made();
        upsert(&mut state, &put("c", "text", vec![1.0, 0.0])).unwrap();
        let refused = |answer: Result<q::PointsOperationResponse, Status>| {
            let status = answer.unwrap_err();
            (status.code(), status.message().to_owned())
        };
        let invalid = |message: &str| (Code::InvalidArgument, message.to_owned());
        let missing = (Code::NotFound, "Not found: Collection `d` doesn't exist!".to_owned());
        assert_eq!(refused(upsert(&mut state, &put("d", "text", vec![1.0, 0.0]))), missing);
        assert_eq!(
            refused(upsert(&mut state, &put("c", "text", vec![1.0]))),
            invalid("Wrong input: Vector dimension error: expected dim: 2, got 1")
        );
        assert_eq!(
            refused(upsert(&mut state, &put("c", "other", vec![1.0, 0.0]))),
            invalid("Wrong input: Not existing vector name error: other")
        );
        let mut bare = put("c", "text", vec![1.0, 0.0]);
        bare.points[0].vectors = None;
        assert_eq!(refused(upsert(&mut state, &bare)), invalid("Expected some vectors"));

        let collection_name = "c".to_owned();
        let order = q::OrderBy { key: "timestamp".to_owned(), ..Default::default() };
        let ordered = q::ScrollPoints {
            collection_name: collection_name.clone(),
            order_by: Some(order),
            ..Default::default()
        };
        assert_eq!(scroll(&mut state, &ordered).unwrap_err().code(), Code::InvalidArgument);
        let key = "day".to_owned();
        let counted = q::FacetCounts { collection_name, key, ..Default::default() };
        assert_eq!(facet(&mut state, &counted).unwrap_err().code(), Code::InvalidArgument);
        for name in ["", "a/b", "a:b", "c"] {
            let question =
                q::CreateCollection { collection_name: name.to_owned(), ..Default::default() };
            assert!(collections::create(&mut state, &question).is_err(), "{name:?}");
        }
    }
}
