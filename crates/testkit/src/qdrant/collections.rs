//! Collections, their aliases and indexes.

use qdrant_client::qdrant as q;
use qdrant_client::qdrant::alias_operations::Action;
use qdrant_client::qdrant::vectors_config::Config;
use tonic::Status;

use super::state::{Shelf, State, check_name, missing};

const FORBIDDEN: [char; 11] = ['<', '>', ':', '"', '/', '\\', '|', '?', '*', '\0', '\u{1F}'];

pub(super) fn create(
    state: &mut State,
    question: &q::CreateCollection,
) -> Result<q::CollectionOperationResponse, Status> {
    let name = question.collection_name.clone();
    check_name(&name, &FORBIDDEN)?;
    check_free(state, &name)?;
    if state.aliases.contains_key(&name) {
        return Err(Status::invalid_argument(format!(
            "Wrong input: Can't create collection with name {name}. Alias with the same name already exists"
        )));
    }
    let config = question.vectors_config.as_ref().and_then(|config| config.config.as_ref());
    let Some(Config::ParamsMap(vectors)) = config else {
        return Err(Status::unimplemented("the stand-in knows named vectors only"));
    };
    let mut shelf = Shelf::default();
    for (vector, params) in &vectors.map {
        if params.distance != i32::from(q::Distance::Dot) {
            return Err(Status::unimplemented("the stand-in measures by the inner product only"));
        }
        let size = usize::try_from(params.size).ok().filter(|size| (1..=65_536).contains(size));
        let size = size.ok_or_else(|| {
            Status::invalid_argument("Validation error in body: [vectors_config.size: invalid]")
        })?;
        shelf.sizes.insert(vector.clone(), size);
    }
    state.collections.insert(name, shelf);
    Ok(done(true))
}

pub(super) fn delete(
    state: &mut State,
    question: &q::DeleteCollection,
) -> Result<q::CollectionOperationResponse, Status> {
    check_name(&question.collection_name, &['/', '\0'])?;
    Ok(done(state.remove(&question.collection_name)))
}

pub(super) fn describe(
    state: &mut State,
    question: &q::GetCollectionInfoRequest,
) -> Result<q::GetCollectionInfoResponse, Status> {
    let shelf = state.shelf(&question.collection_name)?;
    let info = q::CollectionInfo {
        status: q::CollectionStatus::Green.into(),
        points_count: Some(shelf.points.len() as u64),
        payload_schema: shelf.indexes.clone(),
        ..Default::default()
    };
    Ok(q::GetCollectionInfoResponse { result: Some(info), time: 0.0 })
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_wraps,
    reason = "all calls look alike"
)]
pub(super) fn list(
    state: &mut State,
    _question: &q::ListCollectionsRequest,
) -> Result<q::ListCollectionsResponse, Status> {
    let names = state.collections.keys().cloned();
    let collections = names.map(|name| q::CollectionDescription { name }).collect();
    Ok(q::ListCollectionsResponse { collections, time: 0.0 })
}

pub(super) fn exists(
    state: &mut State,
    question: &q::CollectionExistsRequest,
) -> Result<q::CollectionExistsResponse, Status> {
    let exists = match state.shelf(&question.collection_name) {
        Ok(_) => true,
        Err(status) if status.code() == tonic::Code::NotFound => false,
        Err(status) => return Err(status),
    };
    let result = Some(q::CollectionExists { exists });
    Ok(q::CollectionExistsResponse { result, time: 0.0 })
}

pub(super) fn aliases(
    state: &mut State,
    question: &q::ListCollectionAliasesRequest,
) -> Result<q::ListAliasesResponse, Status> {
    check_name(&question.collection_name, &['/', '\0'])?;
    let aliases = state.aliases.iter().filter(|(_, target)| **target == question.collection_name);
    let aliases = aliases.map(|(alias, collection)| q::AliasDescription {
        alias_name: alias.clone(),
        collection_name: collection.clone(),
    });
    Ok(q::ListAliasesResponse { aliases: aliases.collect(), time: 0.0 })
}

pub(super) fn change_aliases(
    state: &mut State,
    question: &q::ChangeAliases,
) -> Result<q::CollectionOperationResponse, Status> {
    for operation in question.actions.clone() {
        match operation.action {
            Some(Action::CreateAlias(q::CreateAlias { collection_name, alias_name })) => {
                if !state.collections.contains_key(&collection_name) {
                    return Err(missing(&collection_name));
                }
                check_free(state, &alias_name)?;
                state.aliases.insert(alias_name, collection_name);
            }
            Some(Action::DeleteAlias(q::DeleteAlias { alias_name })) => {
                state.aliases.remove(&alias_name);
            }
            Some(Action::RenameAlias(q::RenameAlias { old_alias_name, new_alias_name })) => {
                let target = state.aliases.remove(&old_alias_name).ok_or_else(|| {
                    Status::not_found(format!("Not found: Alias {old_alias_name} does not exists!"))
                })?;
                state.aliases.insert(new_alias_name, target);
            }
            None => return Err(Status::invalid_argument("Malformed AliasOperation type")),
        }
    }
    Ok(done(true))
}

pub(super) fn index(
    state: &mut State,
    question: &q::CreateFieldIndexCollection,
) -> Result<q::PointsOperationResponse, Status> {
    let kind = question.field_type.and_then(|kind| q::FieldType::try_from(kind).ok());
    let data_type = match kind {
        Some(q::FieldType::Keyword) => q::PayloadSchemaType::Keyword,
        Some(q::FieldType::Integer) => q::PayloadSchemaType::Integer,
        Some(q::FieldType::Bool) => q::PayloadSchemaType::Bool,
        Some(
            q::FieldType::Float
            | q::FieldType::Geo
            | q::FieldType::Text
            | q::FieldType::Datetime
            | q::FieldType::Uuid,
        )
        | None => return Err(Status::unimplemented("the stand-in has no such index")),
    };
    let shelf = state.shelf(&question.collection_name)?;
    let params = question.field_index_params.clone();
    let schema = q::PayloadSchemaInfo { data_type: data_type.into(), params, points: None };
    shelf.indexes.insert(question.field_name.clone(), schema);
    Ok(super::points::acknowledged(question.wait))
}

fn check_free(state: &State, name: &str) -> Result<(), Status> {
    if state.collections.contains_key(name) {
        return Err(Status::already_exists(format!(
            "Wrong input: Collection `{name}` already exists!"
        )));
    }
    Ok(())
}

fn done(result: bool) -> q::CollectionOperationResponse {
    q::CollectionOperationResponse { result, time: 0.0 }
}
