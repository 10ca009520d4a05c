//! Which calls are served by what. What we do not call is answered with "unimplemented".

use qdrant_client::qdrant as q;
use qdrant_client::qdrant::collections_server::Collections;
use qdrant_client::qdrant::points_server::Points;
use tonic::{Request, Response, Status};

use super::{Desk, collections, points};

/// The whole implementation comes out of the macro: what `async_trait` rewrites has to be written out before.
macro_rules! service {
    (
        $service:ident
        serves { $($served:ident($question:ty) -> $answer:ty: $work:path;)+ }
        lacks { $($lacked:ident($other:ty) -> $never:ty;)+ }
    ) => {
        #[tonic::async_trait]
        impl $service for Desk {
            $(async fn $served(
                &self,
                request: Request<$question>,
            ) -> Result<Response<$answer>, Status> {
                self.serve(stringify!($served), request, $work).await
            })+

            $(async fn $lacked(&self, _: Request<$other>) -> Result<Response<$never>, Status> {
                Err(Status::unimplemented(concat!("the stand-in has no ", stringify!($lacked))))
            })+
        }
    };
}

service! {
    Points
    serves {
        upsert(q::UpsertPoints) -> q::PointsOperationResponse: points::upsert;
        delete(q::DeletePoints) -> q::PointsOperationResponse: points::delete;
        get(q::GetPoints) -> q::GetResponse: points::get;
        scroll(q::ScrollPoints) -> q::ScrollResponse: points::scroll;
        query(q::QueryPoints) -> q::QueryResponse: points::query;
        count(q::CountPoints) -> q::CountResponse: points::count;
        facet(q::FacetCounts) -> q::FacetResponse: points::facet;
        create_field_index(q::CreateFieldIndexCollection) -> q::PointsOperationResponse: collections::index;
    }
    lacks {
        update_vectors(q::UpdatePointVectors) -> q::PointsOperationResponse;
        delete_vectors(q::DeletePointVectors) -> q::PointsOperationResponse;
        set_payload(q::SetPayloadPoints) -> q::PointsOperationResponse;
        overwrite_payload(q::SetPayloadPoints) -> q::PointsOperationResponse;
        delete_payload(q::DeletePayloadPoints) -> q::PointsOperationResponse;
        clear_payload(q::ClearPayloadPoints) -> q::PointsOperationResponse;
        delete_field_index(q::DeleteFieldIndexCollection) -> q::PointsOperationResponse;
        create_vector_name(q::CreateVectorNameRequest) -> q::PointsOperationResponse;
        delete_vector_name(q::DeleteVectorNameRequest) -> q::PointsOperationResponse;
        search(q::SearchPoints) -> q::SearchResponse;
        search_batch(q::SearchBatchPoints) -> q::SearchBatchResponse;
        search_groups(q::SearchPointGroups) -> q::SearchGroupsResponse;
        recommend(q::RecommendPoints) -> q::RecommendResponse;
        recommend_batch(q::RecommendBatchPoints) -> q::RecommendBatchResponse;
        recommend_groups(q::RecommendPointGroups) -> q::RecommendGroupsResponse;
        discover(q::DiscoverPoints) -> q::DiscoverResponse;
        discover_batch(q::DiscoverBatchPoints) -> q::DiscoverBatchResponse;
        update_batch(q::UpdateBatchPoints) -> q::UpdateBatchResponse;
        query_batch(q::QueryBatchPoints) -> q::QueryBatchResponse;
        query_groups(q::QueryPointGroups) -> q::QueryGroupsResponse;
        search_matrix_pairs(q::SearchMatrixPoints) -> q::SearchMatrixPairsResponse;
        search_matrix_offsets(q::SearchMatrixPoints) -> q::SearchMatrixOffsetsResponse;
    }
}

service! {
    Collections
    serves {
        get(q::GetCollectionInfoRequest) -> q::GetCollectionInfoResponse: collections::describe;
        list(q::ListCollectionsRequest) -> q::ListCollectionsResponse: collections::list;
        create(q::CreateCollection) -> q::CollectionOperationResponse: collections::create;
        delete(q::DeleteCollection) -> q::CollectionOperationResponse: collections::delete;
        update_aliases(q::ChangeAliases) -> q::CollectionOperationResponse: collections::change_aliases;
        list_collection_aliases(q::ListCollectionAliasesRequest) -> q::ListAliasesResponse: collections::aliases;
        collection_exists(q::CollectionExistsRequest) -> q::CollectionExistsResponse: collections::exists;
    }
    lacks {
        update(q::UpdateCollection) -> q::CollectionOperationResponse;
        list_aliases(q::ListAliasesRequest) -> q::ListAliasesResponse;
        collection_cluster_info(q::CollectionClusterInfoRequest) -> q::CollectionClusterInfoResponse;
        update_collection_cluster_setup(q::UpdateCollectionClusterSetupRequest) -> q::UpdateCollectionClusterSetupResponse;
        create_shard_key(q::CreateShardKeyRequest) -> q::CreateShardKeyResponse;
        delete_shard_key(q::DeleteShardKeyRequest) -> q::DeleteShardKeyResponse;
        list_shard_keys(q::ListShardKeysRequest) -> q::ListShardKeysResponse;
    }
}
