//! Readers of event streams: one that lives through every restart, one that reads a whole log.
//!
//! Both keep each numbered event as it came, in the order of arrival, and check nothing. A log ends
//! with its marker, an agent made when all else is done; without it nobody could tell a stream
//! that has said everything from one that has lost its end.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::workload::events;
use crate::client::{Client, Frame};

/// The agent whose creation ends every project's log.
pub const MARKER: &str = "the-end";

const PAUSE: Duration = Duration::from_millis(5);

/// One numbered event as a reader saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub number: u64,
    pub event: String,
    pub agent: String,
    pub name: String,
    pub change: String,
}

impl Seen {
    pub fn new(number: u64, frame: &Frame) -> Self {
        let text = |field: &str| frame.payload()[field].as_str().unwrap_or_default().to_owned();
        let event = frame.event.clone();
        Self { number, event, agent: text("agent_id"), name: text("name"), change: text("change") }
    }

    pub fn is_marker(&self) -> bool {
        self.name == MARKER && self.change == "created"
    }
}

/// Everything a reader saw of one project, in the order of arrival.
#[derive(Debug)]
pub struct Followed {
    pub project: String,
    pub seen: Vec<Seen>,
    pub connections: u64,
}

/// Follows a project from its first event to its marker, over all restarts.
pub async fn follow(client: Client, project: String) -> Result<Followed> {
    let (mut seen, mut connections) = (Vec::<Seen>::new(), 0);
    loop {
        let after = seen.last().map_or(0, |last| last.number);
        if let Ok(mut stream) = client.events(&events(&project), Some(after)).await {
            connections += 1;
            // Any break, orderly or not, is answered by coming back with the last number.
            while let Ok(Some(frame)) = stream.next().await {
                if frame.event == "resync" {
                    bail!("{project}: told to resync after {after}");
                }
                let Some(number) = frame.id else { continue };
                seen.push(Seen::new(number, &frame));
                if seen.last().is_some_and(Seen::is_marker) {
                    return Ok(Followed { project, seen, connections });
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The whole log of a project, from the first event to the marker.
pub async fn log(client: &Client, project: &str) -> Result<Vec<Seen>> {
    const LIMIT: Duration = Duration::from_mins(2);
    let mut seen = Vec::new();
    let mut stream = client.events(&events(project), Some(0)).await?;
    let whole = async {
        while let Some((number, frame)) = stream.numbered().await? {
            seen.push(Seen::new(number, &frame));
            if seen.last().is_some_and(Seen::is_marker) {
                return Ok(());
            }
        }
        bail!("{project}: the stream ended without being asked to")
    };
    tokio::time::timeout(LIMIT, whole)
        .await
        .with_context(|| format!("{project}: the end of the log did not come"))??;
    Ok(seen)
}
