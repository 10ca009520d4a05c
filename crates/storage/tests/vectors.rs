//! The laws of the vector store, one suite for both sides, and what only the embedded side can do.
//!
//! Each law of `vectors/laws.rs` appears here as a test of its own for each side.

#![expect(clippy::unwrap_used, reason = "laws and helpers are called by tests and fail as they do")]

use artel_storage::vectors::Model;
use artel_storage::vectors::embedded::Embedded;
use tempfile::TempDir;

#[path = "vectors/file.rs"]
mod file;
#[path = "vectors/kit.rs"]
mod kit;
#[path = "vectors/laws.rs"]
mod laws;

fn model(dimensions: usize) -> Model {
    Model { name: "test-model".to_owned(), dimensions }
}

/// An engine in a folder of its own, which goes with it.
fn embedded() -> (Embedded, TempDir) {
    let folder = TempDir::new().unwrap();
    (Embedded::open(folder.path().join("vectors"), model(48)).unwrap(), folder)
}

macro_rules! laws {
    ($($law:ident)+) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() {
                let (index, _folder) = crate::embedded();
                crate::laws::$law(&index).await;
            })+
        }
    };
}

laws! {
    it_can_be_used
    the_nearest_are_found_best_first
    putting_again_replaces
    a_filter_by_kind_holds
    a_filter_by_success_holds
    a_filter_by_time_holds
    a_filter_by_task_holds
    filters_hold_together
    an_entry_without_a_vector_waits
    vectors_can_be_given_later
    pages_are_in_the_order_of_ids
    the_newest_come_first
    figures_add_up
    what_a_filter_admits_is_forgotten
    everything_is_forgotten
    ids_are_forgotten
    trimming_keeps_the_newest
    collections_are_apart
    a_renamed_collection_keeps_its_entries
    what_was_removed_starts_afresh
    a_collection_is_made_once
    a_collection_that_nobody_made_is_empty
    a_vector_that_does_not_fit_is_refused
    answers_are_bounded
    what_many_put_at_once_is_all_found
    many_collections_are_used_at_once
    odd_texts_and_facts_come_back
}
