//! Typed ids: a `ProjectId` cannot be passed where an `AgentId` is meant.
//!
//! All but the user's are version 7 UUIDs, made from the clock that is passed in, so they sort by the time they
//! were made. A user's is a small integer (accounts of other systems are mapped to it).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::{Builder, Uuid};

use crate::Clock;

/// The text is not a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id")]
pub struct Malformed;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String, format = "uuid", example = "0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3")]
        pub struct $name(Uuid);

        impl $name {
            pub fn new(clock: &dyn Clock) -> Self {
                Self(version7(clock))
            }

            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = Malformed;

            fn from_str(text: &str) -> Result<Self, Malformed> {
                Uuid::try_parse(text).map(Self).map_err(|_| Malformed)
            }
        }
    )*};
}

ids! {
    /// A project, and so its worker space.
    ProjectId,
    /// An agent of a project.
    AgentId,
    /// A conversation.
    SessionId,
    /// A message in a session.
    MessageId,
    /// A piece of work on an agent's queue.
    TaskId,
    /// A task graph.
    PlanId,
    /// A question to a person.
    ApprovalId,
    /// Something that an agent remembers.
    InteractionId,
    /// A call of a tool on the user's machine.
    ToolCallId,
    /// A run of a client program.
    ClientId,
    /// Something that need not be asked.
    AllowanceId,
    /// Something that a server wants of a worker node.
    OrderId,
    /// A run of a server or a worker.
    RunId,
    /// An agent's stay on a worker node.
    LifeId,
    /// A turn of an agent on a worker node.
    TurnId,
}

/// A user of this server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = i64, example = 1)]
pub struct UserId(pub i64);

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn version7(clock: &dyn Clock) -> Uuid {
    let mut random = [0; 10];
    getrandom::fill(&mut random).expect("the operating system gives random bytes");
    let millis = u64::try_from(clock.now().as_micros() / 1000).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, Timestamp};

    #[test]
    fn ids_sort_by_time_and_round_trip() {
        let clock = ManualClock::new(Timestamp::from_micros(1_700_000_000_000_000));
        let first = ProjectId::new(&clock);
        clock.advance(std::time::Duration::from_millis(2));
        let second = ProjectId::new(&clock);
        assert!(first < second);
        assert_eq!(first.to_string().parse(), Ok(first));
        assert_eq!("../etc/passwd".parse::<ProjectId>(), Err(Malformed));
    }
}
