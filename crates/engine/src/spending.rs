//! What a project's work has taken, by day and by agent.
//!
//! It is added up from the events that are kept, which outlive the conversations they tell of.

use std::collections::BTreeMap;
use std::time::Duration;

use artel_domain::event::TaskCompleted;
use artel_domain::session::Usage;
use artel_domain::{AgentId, ProjectId, Timestamp};
use artel_storage::{Scope, events, projects};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{App, Caller, Error, Result};

/// The longest time that can be asked for, in days.
const MOST_DAYS: u32 = 366;
/// Events that are read at a time, so that nobody waits long for the connection.
const TOGETHER: u32 = 2000;
const DAY: Duration = Duration::from_hours(24);

/// What was spent, and on what.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Spending {
    /// Nothing before this is counted.
    pub since: Timestamp,
    pub total: Spent,
    /// Days on which something was spent, oldest first, in UTC.
    pub days: Vec<DaySpent>,
    /// Agents that spent something, the most expensive first; those that are gone, too.
    pub agents: Vec<AgentSpent>,
}

/// What tasks took.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct Spent {
    /// In US dollars, of all tasks whose price is known.
    pub cost: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub tasks: u64,
    /// Tasks of models that have no known price.
    pub unpriced: u64,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DaySpent {
    #[schema(example = "2026-03-14")]
    pub day: String,
    #[serde(flatten)]
    pub spent: Spent,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AgentSpent {
    pub agent_id: AgentId,
    #[serde(flatten)]
    pub spent: Spent,
}

impl Spent {
    fn add(&mut self, usage: &Usage) {
        self.cost += usage.cost.unwrap_or_default();
        self.input_tokens += usage.input_tokens;
        self.output_tokens += usage.output_tokens;
        self.tasks += 1;
        self.unpriced += u64::from(usage.cost.is_none());
    }
}

impl App {
    /// What the project's tasks took in the last `days`, today included.
    pub async fn spending(
        &self,
        caller: &Caller,
        project: ProjectId,
        days: u32,
    ) -> Result<Spending> {
        if !(1..=MOST_DAYS).contains(&days) {
            return Err(Error::invalid_field("days", format!("must be 1 to {MOST_DAYS}")));
        }
        let scope = Scope { user: caller.user, project };
        let since = first_moment(self.clock().now(), days);
        let db = &self.0.storage.db;
        db.read(move |conn| Box::pin(projects::get(conn, scope))).await?;
        let (mut total, mut after) = (Spent::default(), 0);
        let (mut by_day, mut by_agent) = (BTreeMap::new(), BTreeMap::new());
        loop {
            let read = db.read(move |conn| {
                Box::pin(events::of_kind(conn, project, "task_completed", since, after, TOGETHER))
            });
            let events = read.await?;
            for event in &events {
                after = event.seq;
                // What an older version wrote otherwise has no usage that could be counted.
                let Ok(TaskCompleted { agent_id, usage: Some(usage), .. }) =
                    serde_json::from_str(&event.payload)
                else {
                    continue;
                };
                total.add(&usage);
                by_day.entry(day(event.at)).or_insert_with(Spent::default).add(&usage);
                by_agent.entry(agent_id).or_insert_with(Spent::default).add(&usage);
            }
            if events.len() < TOGETHER as usize {
                break;
            }
        }
        let days = by_day.into_iter().map(|(day, spent)| DaySpent { day, spent }).collect();
        let mut agents: Vec<_> =
            by_agent.into_iter().map(|(agent_id, spent)| AgentSpent { agent_id, spent }).collect();
        agents.sort_by(|a, b| b.spent.cost.total_cmp(&a.spent.cost));
        Ok(Spending { since, total, days, agents })
    }
}

/// When the first of so many days began, the last of which is today.
fn first_moment(now: Timestamp, days: u32) -> Timestamp {
    let today = now.since(Timestamp::from_micros(0)).as_secs() % DAY.as_secs();
    let midnight = Timestamp::from_micros((now.as_seconds()) * 1_000_000);
    midnight.minus(Duration::from_secs(today) + DAY * (days - 1))
}

/// Its date in UTC, as it is written.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take_while(|letter| *letter != 'T').collect()
}
