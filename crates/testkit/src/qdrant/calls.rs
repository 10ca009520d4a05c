//! Which calls are served by what.
//!
//! The library has generated servers, too; they would bring every call that Qdrant knows, and with them a minute and
//! a half of compiling.

use std::any::Any;

use bytes::Bytes;
use prost::Message;
use qdrant_client::qdrant as q;
use tonic::Status;

use super::state::State;
use super::{Answer, collections, points};

/// One call, with its types put out of sight.
pub(super) struct Call {
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    pub(super) read: fn(Bytes) -> Answer<Box<dyn Any + Send>>,
    pub(super) work: fn(&mut State, &(dyn Any + Send)) -> Answer<Vec<u8>>,
}

macro_rules! calls {
    ($($path:literal $name:literal: $work:path, $question:ty;)+) => {
        pub(super) const CALLS: &[Call] = &[$(Call {
            path: $path,
            name: $name,
            read: read::<$question>,
            work: |state, question| {
                let question = question.downcast_ref::<$question>();
                let question = question.ok_or_else(|| Status::internal("another question"))?;
                $work(state, question).map(|answer| answer.encode_to_vec())
            },
        },)+];
    };
}

calls! {
    "/qdrant.Points/Upsert" "upsert": points::upsert, q::UpsertPoints;
    "/qdrant.Points/Delete" "delete": points::delete, q::DeletePoints;
    "/qdrant.Points/Get" "get": points::get, q::GetPoints;
    "/qdrant.Points/Scroll" "scroll": points::scroll, q::ScrollPoints;
    "/qdrant.Points/Query" "query": points::query, q::QueryPoints;
    "/qdrant.Points/Count" "count": points::count, q::CountPoints;
    "/qdrant.Points/Facet" "facet": points::facet, q::FacetCounts;
    "/qdrant.Points/CreateFieldIndex" "create_field_index": collections::index, q::CreateFieldIndexCollection;
    "/qdrant.Collections/Get" "describe": collections::describe, q::GetCollectionInfoRequest;
    "/qdrant.Collections/List" "list": collections::list, q::ListCollectionsRequest;
    "/qdrant.Collections/Create" "create": collections::create, q::CreateCollection;
    "/qdrant.Collections/Delete" "drop": collections::delete, q::DeleteCollection;
    "/qdrant.Collections/UpdateAliases" "change_aliases": collections::change_aliases, q::ChangeAliases;
    "/qdrant.Collections/ListCollectionAliases" "aliases": collections::aliases, q::ListCollectionAliasesRequest;
    "/qdrant.Collections/CollectionExists" "exists": collections::exists, q::CollectionExistsRequest;
}

fn read<Q: Message + Default + 'static>(bytes: Bytes) -> Answer<Box<dyn Any + Send>> {
    match Q::decode(bytes) {
        Ok(question) => Ok(Box::new(question)),
        Err(error) => Err(Status::internal(format!("failed to decode: {error}"))),
    }
}
