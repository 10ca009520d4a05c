//! The laws of the bus, one suite for both sides (PF-7.2), and what only Redis can do: go away and come back.
//!
//! Each law of `bus/laws.rs` appears here as a test of its own for each side. The embedded side runs with a stopped
//! clock that jumps over every pause. A Redis side uses `ARTEL_TEST_REDIS_URL` when it is set, under names of its
//! own, and starts a server otherwise; tests that stop or empty the server always start theirs.

#![expect(clippy::unwrap_used, reason = "laws and helpers are called by tests and fail as they do")]

use std::sync::Arc;
use std::time::Duration;

use artel_storage::Bus;
use artel_storage::bus::in_process::InProcess;
use artel_storage::bus::redis::Redis;
use artel_storage::bus::{Heard, Listener};
use artel_testkit::redis::shared_or_own;
use tokio::time::timeout;

#[path = "bus/laws.rs"]
mod laws;
#[path = "bus/outage.rs"]
mod outage;

/// One side of the switch, and the server that it needs.
struct Side {
    bus: Arc<dyn Bus>,
    /// A second node on the same bus; embedded there is but one.
    other: Arc<dyn Bus>,
    mark: String,
    _server: Option<artel_testkit::redis::Redis>,
}

impl Side {
    fn in_process() -> Self {
        let bus: Arc<dyn Bus> = Arc::new(InProcess::new());
        Self { other: Arc::clone(&bus), bus, mark: mark(), _server: None }
    }

    fn redis() -> Self {
        let server = shared_or_own().unwrap();
        let node = || Arc::new(Redis::connect(&server.url()).unwrap());
        Self { bus: node(), other: node(), mark: mark(), _server: Some(server) }
    }

    /// A name that no other test uses, with the characters that Redis's patterns would stumble over.
    fn name(&self, name: &str) -> String {
        format!("test:[{}]*:{name}", self.mark)
    }
}

fn mark() -> String {
    format!("{:016x}", getrandom::u64().unwrap())
}

/// The next thing heard, or a failure when nothing comes.
async fn hear(listener: &mut Box<dyn Listener>) -> Option<Heard> {
    timeout(Duration::from_secs(15), listener.next()).await.expect("nothing was heard")
}

fn ring(channel: &str, payload: &'static str) -> Heard {
    Heard::Ring { channel: channel.to_owned(), payload: payload.into() }
}

macro_rules! laws {
    ($($law:ident)+) => {
        mod in_process {
            $(#[tokio::test(start_paused = true)]
            async fn $law() {
                crate::laws::$law(crate::Side::in_process()).await;
            })+
        }

        mod redis {
            $(#[tokio::test]
            async fn $law() {
                crate::laws::$law(crate::Side::redis()).await;
            })+
        }
    };
}

laws! {
    a_ring_is_heard_by_all_who_listen_to_its_channel
    a_listener_that_falls_behind_hears_that_it_lost_something
    a_dropped_bus_ends_its_listeners
    a_value_lives_for_its_time
    a_forgotten_value_is_gone_on_every_node
    a_prefix_is_forgotten_and_nothing_else
    many_keys_are_forgotten_by_prefix
    entries_are_read_in_order
    a_waiting_read_wakes_up
    a_read_waits_for_its_time_and_no_longer
    waiting_reads_hold_up_nobody
    a_stream_keeps_about_its_last_entries
    an_entry_goes_to_one_of_a_group
    each_group_has_its_own_place
    a_waiting_consumer_wakes_up
    work_that_was_not_acknowledged_is_claimed
    what_is_idle_is_found_behind_what_is_not
    what_the_stream_forgot_is_not_claimed
    a_take_that_is_given_up_loses_nothing
    a_group_that_is_not_there_has_nothing_to_claim
    a_call_that_makes_no_sense_is_invalid
    a_limit_of_nothing_is_nothing
}
