//! The laws of the vector store on Qdrant, and what only a server has: names that people see, indexes, absence.
//!
//! Each law of `vectors/laws.rs` appears here for both layouts, on the stand-in of the testkit and, when
//! `ARTEL_TEST_QDRANT_URL` names the gRPC side of one, on a real server; those tests say so when they have none. Every
//! test uses agents of its own, so they can share a server.

#![expect(clippy::unwrap_used, reason = "laws and helpers are called by tests and fail as they do")]

use artel_storage::vectors::qdrant::Qdrant;
use artel_storage::vectors::{Layout, Model, Server};
use artel_testkit::qdrant::StandIn;

#[path = "vectors/kit.rs"]
mod kit;
#[path = "vectors/laws.rs"]
mod laws;
#[path = "qdrant/model.rs"]
mod model;
#[path = "qdrant/naming.rs"]
mod naming;
#[path = "qdrant/order.rs"]
mod order;
#[path = "qdrant/outage.rs"]
mod outage;

const DIMENSIONS: usize = 64;

/// A server, and where it is.
struct Side {
    layout: Layout,
    url: String,
    /// None when it is a real one.
    stand_in: Option<StandIn>,
}

impl Side {
    fn stand_in(layout: Layout) -> Self {
        let stand_in = StandIn::start().unwrap();
        Self { layout, url: stand_in.url(), stand_in: Some(stand_in) }
    }

    /// None without one, and then it says so.
    #[expect(clippy::print_stderr, reason = "a test that does nothing should say so")]
    fn real(layout: Layout) -> Option<Self> {
        let url = artel_testkit::qdrant::real();
        if url.is_none() {
            eprintln!("not run: {} names no server", artel_testkit::qdrant::REAL);
        }
        Some(Self { layout, url: url?, stand_in: None })
    }

    /// A node of its own, as after a restart.
    fn node(&self) -> Qdrant {
        self.node_with("test")
    }

    fn node_with(&self, model: &str) -> Qdrant {
        let server = Server { url: self.url.clone(), api_key: None, layout: self.layout };
        Qdrant::connect(&server, Model { name: model.to_owned(), dimensions: DIMENSIONS }).unwrap()
    }
}

/// Runs each of the functions on every side: those that take a node, and those that take the whole side.
macro_rules! on_every_side {
    (laws { $($law:ident)+ } more { $($more:path: $test:ident;)+ }) => {
        on_every_side! { @stand_in stand_in_per_agent PerAgent { $($law)+ } { $($more: $test;)+ } }
        on_every_side! { @stand_in stand_in_shared Shared { $($law)+ } { $($more: $test;)+ } }
        on_every_side! { @real real_per_agent PerAgent { $($law)+ } { $($more: $test;)+ } }
        on_every_side! { @real real_shared Shared { $($law)+ } { $($more: $test;)+ } }
    };
    (@stand_in $side:ident $layout:ident { $($law:ident)+ } { $($more:path: $test:ident;)+ }) => {
        mod $side {
            use artel_storage::vectors::Layout;

            $(#[tokio::test]
            async fn $law() {
                let side = crate::Side::stand_in(Layout::$layout);
                crate::laws::$law(&side.node()).await;
            })+

            $(#[tokio::test]
            async fn $test() {
                $more(&crate::Side::stand_in(Layout::$layout)).await;
            })+
        }
    };
    (@real $side:ident $layout:ident { $($law:ident)+ } { $($more:path: $test:ident;)+ }) => {
        mod $side {
            use artel_storage::vectors::Layout;

            $(#[tokio::test]
            async fn $law() {
                if let Some(side) = crate::Side::real(Layout::$layout) {
                    crate::laws::$law(&side.node()).await;
                }
            })+

            $(#[tokio::test]
            async fn $test() {
                if let Some(side) = crate::Side::real(Layout::$layout) {
                    $more(&side).await;
                }
            })+
        }
    };
}

on_every_side! {
    laws {
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
    more {
        crate::model::entries_wait_when_the_model_changes: entries_wait_when_the_model_changes;
        crate::model::a_model_may_change_before_anybody_writes: a_model_may_change_before_anybody_writes;
        crate::model::what_another_node_removed_is_made_again: what_another_node_removed_is_made_again;
        crate::order::pages_are_in_order_among_ids_that_begin_alike: pages_are_in_order_among_ids_that_begin_alike;
        crate::order::entries_of_one_moment_are_trimmed_exactly: entries_of_one_moment_are_trimmed_exactly;
        crate::order::many_entries_are_trimmed_in_slices: many_entries_are_trimmed_in_slices;
        crate::naming::odd_names_are_taken: odd_names_are_taken;
    }
}
