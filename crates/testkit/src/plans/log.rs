//! A project's event log, as far as it tells of plans.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::client::{Client, Frame};
use crate::race::LIMIT;

/// The project's name once nothing more happens in it.
const LAST: &str = "all plans have ended";

/// Something that happened to a plan.
#[derive(Debug, Clone)]
pub(super) struct Happened {
    /// Of the event.
    pub(super) number: u64,
    pub(super) plan: String,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    /// The plan stands so now.
    Turned(String),
    Started(Attempt),
    Ended(Attempt, How),
}

/// Somebody's work on a task; for one that was never begun, the task itself.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) task: String,
    pub(super) id: String,
    pub(super) agent: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Completed,
    Failed,
    /// The server died in the middle of it.
    Interrupted,
    /// It was cancelled, or it was skipped because something that it needs came to nothing.
    Stopped,
}

/// Everything that has happened, in order, without a gap. Nothing may happen any more.
pub(super) async fn read(client: &Client, project: &str) -> Result<Vec<Happened>> {
    // One event more, so that the end can be told from a pause.
    client.put(project, &json!({ "name": LAST })).await?.success()?;
    let mut events = client.events(&format!("{project}/events"), Some(0)).await?;
    let (mut log, mut last) = (Vec::new(), 0);
    loop {
        let next = tokio::time::timeout(LIMIT, events.numbered()).await;
        let next = next.with_context(|| format!("nothing comes after event {last}"))??;
        let (number, frame) = next.with_context(|| format!("the log ends with event {last}"))?;
        ensure!(number == last + 1, "event {number} came after {last}");
        last = number;
        if frame.event == "project_updated" && frame.payload()["name"] == LAST {
            return Ok(log);
        }
        log.extend(happened(number, &frame));
    }
}

/// What an event tells of a plan, if it does.
fn happened(number: u64, frame: &Frame) -> Option<Happened> {
    let payload = frame.payload();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if frame.event == "plan_status_changed" {
        let (plan, what) = (text(&payload["plan_id"])?, What::Turned(text(&payload["status"])?));
        return Some(Happened { number, plan, what });
    }
    let place = &payload["plan"];
    let plan = text(&place["plan_id"])?;
    let attempt = Attempt {
        task: text(&place["task"])?,
        id: text(&payload["task_id"])?,
        agent: text(&payload["agent_id"])?,
    };
    let what = match frame.event.as_str() {
        "task_started" => What::Started(attempt),
        "task_completed" => What::Ended(attempt, How::Completed),
        "task_failed" if payload["error_type"] == "interrupted" => {
            What::Ended(attempt, How::Interrupted)
        }
        "task_failed" => What::Ended(attempt, How::Failed),
        "task_cancelled" => What::Ended(attempt, How::Stopped),
        _ => return None,
    };
    Some(Happened { number, plan, what })
}
