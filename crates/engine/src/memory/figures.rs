//! Statistics of a memory.

use std::collections::BTreeMap;

use artel_domain::{AgentId, ProjectId, Timestamp};
use artel_storage::Scope;
use artel_storage::vectors::Tally;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Narrow, collection};
use crate::{App, Caller, Result};

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// How finely statistics are split over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    Day,
    /// From Monday to Sunday.
    Week,
}

/// What statistics are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatsRange {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub period: Option<Period>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MemoryStats {
    pub agent_id: AgentId,
    /// The name of the agent's collection.
    #[schema(example = "user1_project0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3_agent_coder_context")]
    pub collection: String,
    #[schema(example = "lexical-1")]
    pub embedding_model: String,
    pub vector_size: usize,
    pub total_vectors: u64,
    /// How many of them have no vector of this model yet.
    pub waiting: u64,
    pub max_vectors: u64,
    pub collection_size_mb: f64,
    pub oldest_interaction: Option<Timestamp>,
    pub newest_interaction: Option<Timestamp>,
    /// How many there are of each type.
    pub by_type: BTreeMap<&'static str, u64>,
    /// The share that went well, from 0 to 1; absent when there is nothing.
    pub success_rate: Option<f64>,
    /// Oldest first; periods without any are left out. Only when they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub periods: Option<Vec<PeriodStats>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PeriodStats {
    /// When it begins, in UTC.
    pub start: Timestamp,
    pub total: u64,
    pub successes: u64,
    pub success_rate: Option<f64>,
}

impl App {
    /// Figures of an agent's memory.
    pub async fn context_stats(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
        range: StatsRange,
    ) -> Result<MemoryStats> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        let narrow = Narrow { from: range.from, to: range.to, ..Narrow::default() };
        self.arrive(scope, agent.id).await?;
        let (of, store) = (collection(scope, &agent), self.vectors());
        let figures = store.figures(&of, &narrow.filter()?).await?;
        let by_type = figures.by_kind.iter().map(|(kind, tally)| (kind.as_str(), tally.total));
        #[expect(clippy::cast_precision_loss, reason = "megabytes for people")]
        let megabytes = figures.bytes as f64 / 1024.0 / 1024.0;
        Ok(MemoryStats {
            agent_id: agent.id,
            collection: of.name,
            embedding_model: store.model().name.clone(),
            vector_size: store.model().dimensions,
            total_vectors: figures.tally.total,
            waiting: figures.waiting,
            max_vectors: agent.config.max_vectors.into(),
            collection_size_mb: megabytes,
            oldest_interaction: figures.oldest,
            newest_interaction: figures.newest,
            by_type: by_type.collect(),
            success_rate: rate(figures.tally),
            periods: range.period.map(|period| split(&figures.by_day, period)),
        })
    }
}

fn split(by_day: &BTreeMap<i64, Tally>, period: Period) -> Vec<PeriodStats> {
    let mut periods: BTreeMap<i64, Tally> = BTreeMap::new();
    for (day, tally) in by_day {
        let first = match period {
            Period::Day => *day,
            // 1970-01-01 was a Thursday.
            Period::Week => day - (day + 3).rem_euclid(7),
        };
        let all = periods.entry(first).or_default();
        all.total += tally.total;
        all.successes += tally.successes;
    }
    let one = |(day, tally): (i64, Tally)| PeriodStats {
        start: Timestamp::from_micros(day.saturating_mul(DAY)),
        total: tally.total,
        successes: tally.successes,
        success_rate: rate(tally),
    };
    periods.into_iter().map(one).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(tally: Tally) -> Option<f64> {
    (tally.total > 0).then(|| tally.successes as f64 / tally.total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CS-6.4
    #[test]
    fn days_make_weeks_from_monday() {
        // Sunday 2026-11-15 and Monday 2026-11-16.
        let sunday = 20_772;
        let tally = |total| Tally { total, successes: 1 };
        let by_day =
            BTreeMap::from([(sunday - 1, tally(2)), (sunday, tally(3)), (sunday + 1, tally(4))]);
        let weeks = split(&by_day, Period::Week);
        assert_eq!(weeks.iter().map(|week| week.total).collect::<Vec<_>>(), [5, 4]);
        assert_eq!(weeks[1].start.to_string(), "2026-11-16T00:00:00.000000Z");
        assert_eq!(split(&by_day, Period::Day).len(), 3);
    }
}
