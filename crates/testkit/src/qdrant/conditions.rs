//! Which points a filter admits.

use qdrant_client::qdrant as q;
use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::value::Kind;
use tonic::Status;

use super::state::{Point, number};

pub(super) fn admits(filter: Option<&q::Filter>, id: u128, point: &Point) -> Result<bool, Status> {
    let Some(filter) = filter else { return Ok(true) };
    if filter.min_should.is_some() {
        return Err(unknown());
    }
    for condition in &filter.must {
        if !holds(condition, id, point)? {
            return Ok(false);
        }
    }
    for condition in &filter.must_not {
        if holds(condition, id, point)? {
            return Ok(false);
        }
    }
    let mut any = filter.should.is_empty();
    for condition in &filter.should {
        any |= holds(condition, id, point)?;
    }
    Ok(any)
}

fn holds(condition: &q::Condition, id: u128, point: &Point) -> Result<bool, Status> {
    match &condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) => field_holds(field, point),
        Some(ConditionOneOf::HasId(ids)) => {
            for wanted in &ids.has_id {
                if number(Some(wanted))? == id {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Some(ConditionOneOf::HasVector(name)) => Ok(point.vectors.contains_key(&name.has_vector)),
        Some(ConditionOneOf::Filter(filter)) => admits(Some(filter), id, point),
        Some(
            ConditionOneOf::IsEmpty(_)
            | ConditionOneOf::IsNull(_)
            | ConditionOneOf::Nested(_)
            | ConditionOneOf::Slice(_),
        )
        | None => Err(unknown()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "Qdrant compares so, too")]
fn field_holds(field: &q::FieldCondition, point: &Point) -> Result<bool, Status> {
    let value = point.payload.get(&field.key).and_then(|value| value.kind.as_ref());
    if let Some(wanted) = &field.r#match {
        return match (&wanted.match_value, value) {
            (Some(MatchValue::Keyword(wanted)), Some(Kind::StringValue(value))) => {
                Ok(wanted == value)
            }
            (Some(MatchValue::Integer(wanted)), Some(Kind::IntegerValue(value))) => {
                Ok(wanted == value)
            }
            (Some(MatchValue::Boolean(wanted)), Some(Kind::BoolValue(value))) => {
                Ok(wanted == value)
            }
            (Some(MatchValue::Keyword(_) | MatchValue::Integer(_) | MatchValue::Boolean(_)), _) => {
                Ok(false)
            }
            _ => Err(unknown()),
        };
    }
    let Some(range) = &field.range else { return Err(unknown()) };
    let Some(Kind::IntegerValue(value)) = value else { return Ok(false) };
    let value = *value as f64;
    Ok(range.gte.is_none_or(|bound| value >= bound)
        && range.gt.is_none_or(|bound| value > bound)
        && range.lte.is_none_or(|bound| value <= bound)
        && range.lt.is_none_or(|bound| value < bound))
}

fn unknown() -> Status {
    Status::unimplemented("the stand-in does not know this condition")
}
