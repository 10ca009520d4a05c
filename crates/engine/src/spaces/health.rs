//! Whether a space is well, why not, and telling people when that changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use artel_domain::ProjectId;
use artel_domain::event::Alert;
use artel_domain::task::{Status, Task};
use artel_storage::{Lane, Scope, agents, events, leases, tasks};
use serde::Serialize;
use utoipa::ToSchema;

use super::Space;
use super::board::WAITING;
use crate::{App, Caller, Result};

/// A task that takes so much longer than it may is stuck.
const GRACE: Duration = Duration::from_secs(15);
/// Failures within this time count.
const RECENT: Duration = Duration::from_mins(10);
/// So many failures, and half of all, are too many.
const FAILURES: u64 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wellness {
    Healthy,
    /// It works, but not as it should.
    Degraded,
    /// Messages cannot be answered.
    Unhealthy,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Reason {
    #[schema(example = "stuck_task")]
    pub code: &'static str,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Health {
    pub status: Wellness,
    /// Why it is not healthy.
    pub reasons: Vec<Reason>,
}

/// What is wrong, by code.
type Troubles = BTreeMap<&'static str, (Wellness, String)>;

impl From<Troubles> for Health {
    fn from(troubles: Troubles) -> Self {
        let status = troubles.values().map(|trouble| trouble.0).max().unwrap_or(Wellness::Healthy);
        let reasons = troubles.into_iter().map(|(code, (_, detail))| Reason { code, detail });
        Self { status, reasons: reasons.collect() }
    }
}

impl App {
    /// Whether the project's space is well.
    pub async fn space_health(&self, caller: &Caller, project: ProjectId) -> Result<Health> {
        let space = self.0.spaces.get(self, Scope { user: caller.user, project }).await?;
        Ok(self.examine(&space).await?.into())
    }

    /// Everything that is wrong with a space now.
    pub(super) async fn examine(&self, space: &Space) -> Result<Troubles> {
        let scope = space.scope;
        let now = self.clock().now();
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                let team = agents::registered(conn, scope).await?;
                let unfinished = tasks::unfinished(conn, scope.project).await?;
                let results = tasks::results(conn, scope.project, now.minus(RECENT)).await?;
                Ok((team, unfinished, results))
            })
        });
        let (team, unfinished, (completed, failed)) = read.await?;
        let mut troubles = Troubles::new();
        if self.0.storage.db.failing() {
            let detail = "Changes cannot be stored: the disk may be full, or the database away";
            troubles.insert("database_failing", (Wellness::Unhealthy, detail.to_owned()));
        }
        if let Err(error) = self.0.storage.bus.ping().await {
            troubles.insert("bus_unreachable", (Wellness::Degraded, error.to_string()));
        }
        if let Err(error) = self.0.storage.vectors.ping().await {
            troubles.insert("memory_unreachable", (Wellness::Degraded, error.to_string()));
        }
        if team == 0 {
            let detail = "No agent is registered; add one, or register one again";
            troubles.insert("no_agents", (Wellness::Degraded, detail.to_owned()));
        }
        let stuck = |task: &&Task| {
            let since = match task.status {
                Status::Queued => Some(task.created_at).filter(|_| task.plan.is_none()),
                Status::Running => task.started_at,
                // Those that wait for a person or a machine have deadlines of their own.
                Status::WaitingApproval
                | Status::WaitingTool
                | Status::Completed
                | Status::Failed
                | Status::Cancelled => None,
            };
            since.is_some_and(|since| {
                let program = self.0.programs.holds(task.agent_id);
                now.since(since) > self.longest(task, program) + GRACE
            })
        };
        let count = unfinished.iter().filter(stuck).count();
        if let Some(first) = unfinished.iter().find(stuck) {
            let detail =
                format!("{count} tasks take longer than they may, the first is {}", first.id);
            troubles.insert("stuck_task", (Wellness::Degraded, detail));
        }
        let mut waiting = BTreeMap::new();
        for task in unfinished.iter().filter(|task| task.status == Status::Queued) {
            *waiting.entry(task.agent_id).or_insert(0) += 1;
        }
        if let Some((agent, _)) = waiting.iter().find(|(_, count)| **count >= WAITING) {
            let detail = format!("No more tasks can wait for agent {agent}");
            troubles.insert("queue_full", (Wellness::Degraded, detail));
        }
        if failed >= FAILURES && failed >= completed {
            let minutes = RECENT.as_secs() / 60;
            let all = completed + failed;
            let detail = format!("{failed} of {all} tasks of the last {minutes} minutes failed");
            troubles.insert("error_rate", (Wellness::Degraded, detail));
        }
        if space.is_crowded(self.0.cache.crowded_out()) {
            let detail = "More agents are in use than there is room for in the cache";
            troubles.insert("cache_overflow", (Wellness::Degraded, detail.to_owned()));
        }
        Ok(troubles)
    }

    /// Tells of what has become wrong with a space, or well again: an event, a line in the log, and a figure.
    pub(super) async fn alert(&self, space: &Arc<Space>) -> Result<()> {
        let crowded_out = self.0.cache.crowded_out();
        let troubles = self.examine(space).await?;
        space.saw_crowd(crowded_out);
        let Some(lease) = space.lease() else { return Ok(()) };
        let mut alerts = Vec::new();
        for (code, (_, detail)) in &troubles {
            if *code != "no_agents" && !space.alerted(code) {
                let alert =
                    Alert { code: (*code).to_owned(), detail: detail.clone(), resolved: false };
                alerts.push((*code, alert));
            }
        }
        for code in space.alerts().into_iter().filter(|code| !troubles.contains_key(code)) {
            let detail = "It is over".to_owned();
            alerts.push((code, Alert { code: code.to_owned(), detail, resolved: true }));
        }
        let (project, now) = (space.scope.project, self.clock().now());
        for (code, alert) in alerts {
            let (lease, event) = (lease.clone(), alert.clone().into());
            let write = self.0.storage.db.write(Lane::Project(project), move |conn| {
                Box::pin(async move {
                    leases::check(conn, &lease).await?;
                    events::append(conn, project, None, now, &event).await
                })
            });
            match write.await {
                Ok(_) => {}
                // Another node has the space, and tells of it.
                Err(artel_storage::Error::Fenced(_) | artel_storage::Error::Missing(_)) => {
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
            space.set_alert(code, !alert.resolved);
            if alert.resolved {
                tracing::info!(%project, code, "an alert is over");
            } else {
                metrics::counter!("artel_alerts_total", "code" => code).increment(1);
                tracing::warn!(%project, code, detail = alert.detail, "alert");
            }
        }
        Ok(())
    }
}
