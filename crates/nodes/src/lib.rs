//! Programs that are agents on machines other than the server's.
//!
//! A [`server`] posts orders on streams, a [`worker`] takes them, does them on its own [`Host`](artel_programs::host::Host)
//! and reports; both sides beat, so that each knows when the other is gone. The law, checked by `tests/nodes.rs`:
//! - An order is acknowledged after its effect. Until it is answered it is posted again, and an order that is known is
//!   answered again and not done again; so none is lost, and none is done twice.
//! - Events of a turn are numbered and kept by the worker until the server has them: none is missed or doubled.
//! - An agent is open on one worker at a time. A worker that is not heard of is given up after a time; before that time
//!   is over it has ended its agents itself.
//! - While Redis is away nothing is decided: time in which nobody can be heard does not count.

pub mod logs;
pub mod sealing;
pub mod server;
pub mod wire;
pub mod worker;

use std::time::Duration;

/// Both sides say so often that they are there.
const BEAT: Duration = Duration::from_secs(1);
/// After a failure of the bus.
const PAUSE: Duration = Duration::from_millis(250);
