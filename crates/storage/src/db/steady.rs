//! The time of a database that runs in this process: that of the wall when the process started, and from then on what
//! really has passed. Setting the wall's clock by an hour ends no deadline and prolongs none; sleep of the machine counts.

use std::sync::LazyLock;
use std::time::Duration;

use artel_domain::{Clock, SystemClock, Timestamp};
use rustix::time::{ClockId, clock_gettime};

static START: LazyLock<(Timestamp, Duration)> = LazyLock::new(|| (SystemClock.now(), running()));

pub(super) fn now() -> Timestamp {
    let (start, then) = *START;
    start.plus(running().saturating_sub(then))
}

/// How long the machine has been up.
fn running() -> Duration {
    let since = clock_gettime(ClockId::Boottime);
    Duration::new(
        u64::try_from(since.tv_sec).unwrap_or(0),
        u32::try_from(since.tv_nsec).unwrap_or(0),
    )
}
