//! A memory as a list: the newest first, a page at a time.

use std::fmt;
use std::str::FromStr;

use artel_domain::memory::Interaction;
use artel_domain::{AgentId, ProjectId, Timestamp};
use artel_storage::Scope;
use artel_storage::vectors::Spot;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Narrow, collection};
use crate::{App, Caller, Error, Result};

/// A page of a memory.
#[derive(Debug, Serialize, ToSchema)]
pub struct Listing {
    /// Newest first.
    pub interactions: Vec<Interaction>,
    /// Where the next page begins; none when this was the last.
    #[schema(value_type = Option<String>)]
    pub next_cursor: Option<Cursor>,
}

/// Where a page ended. It holds whatever is added or forgotten in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Cursor(Spot);

impl App {
    /// What an agent remembers of what the request admits, the newest first.
    pub async fn list_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
        narrow: Narrow,
        (after, limit): (Option<Cursor>, usize),
    ) -> Result<Listing> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        let filter = narrow.filter()?;
        self.arrive(scope, agent.id).await?;
        let before = after.map(|Cursor(spot)| spot);
        // One more shows whether there is another page.
        let found =
            self.vectors().newest(&collection(scope, &agent), &filter, before, limit + 1).await;
        let mut interactions = found?;
        let more = interactions.len() > limit;
        interactions.truncate(limit);
        let last = interactions.last().filter(|_| more);
        Ok(Listing { next_cursor: last.map(|last| Cursor(Spot::of(last))), interactions })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Spot { moment, id }) = self;
        write!(f, "{}.{id}", moment.as_micros())
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.to_string()
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let (moment, id) = text.split_once('.')?;
            let moment = Timestamp::from_micros(moment.parse().ok()?);
            Some(Self(Spot { moment, id: id.parse().ok()? }))
        };
        read().ok_or_else(|| {
            Error::invalid_field("cursor", "is not one that a list gave; leave it out to begin")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a list gives is taken again, and nothing else is.
    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let moment = Timestamp::from_micros(-12);
        let spot = Spot { moment, id: artel_domain::InteractionId::from_bytes([7; 16]) };
        let written = Cursor(spot).to_string();
        assert_eq!(written.parse::<Cursor>().unwrap(), Cursor(spot));
        for odd in ["", ".", "1", "1.", "x.y", "99999999999999999999.0", &written[1..3]] {
            assert!(odd.parse::<Cursor>().is_err(), "{odd:?}");
        }
    }
}
