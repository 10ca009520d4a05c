//! Approvals: tools, plans and questions that wait for a person, who decides once, from wherever they are.
//!
//! An answer, what follows from it, and the events that tell of both are one commit; whoever comes second learns what
//! was decided.

use std::time::Duration;

use artel_domain::approval::{Approval, Decision, Kind as Asked};
use artel_domain::{ApprovalId, PlanId, ToolCallId, UserId};
use artel_storage::approvals::{self, Answer, Answered, Which};
use artel_storage::{Lane, Listed, Page, Scope, users};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::calls::flow;
use crate::input::{Checked, Input};
use crate::plans::asking;
use crate::{App, Caller, Error, IdempotencyKey, Result, idempotent};

/// A yes, or an answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// A word with it; to a question, the answer.
    #[schema(max_length = 10_000, example = "Go ahead")]
    pub comment: Option<String>,
}

/// A no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    /// Why; the agent is told.
    #[schema(max_length = 10_000, example = "Not on a Friday")]
    pub reason: Option<String>,
}

/// Either.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirm {
    pub decision: Decision,
    /// A word with it: the reason of a rejection, or the answer to a question.
    #[schema(max_length = 10_000, example = "Go ahead")]
    pub comment: Option<String>,
}

/// Several decisions at once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmMany {
    #[schema(min_items = 1, max_items = 100)]
    pub approval_ids: Vec<ApprovalId>,
    pub decision: Decision,
    #[schema(max_length = 10_000, example = "All of these")]
    pub comment: Option<String>,
}

/// What a user sets for themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Preferences {
    /// How long this user has to decide, in seconds; none: what the server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 10, maximum = 86_400, example = 600)]
    pub approval_timeout: Option<u32>,
}

impl Input for Approve {}
impl Input for Reject {}
impl Input for Confirm {}
impl Input for ConfirmMany {}
impl Input for Preferences {}

impl Preferences {
    /// What was stored; something that cannot be read counts as nothing set.
    pub(crate) fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    pub(crate) fn approval_timeout(&self, standard: Duration) -> Duration {
        self.approval_timeout.map_or(standard, |seconds| Duration::from_secs(seconds.into()))
    }
}

/// A decision, and from where it comes.
#[derive(Debug, Clone)]
pub struct Verdict {
    pub decision: Decision,
    pub comment: Option<String>,
    pub from: &'static str,
}

/// What came of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Decided {
    Now(Approval),
    /// Somebody, or the deadline, was quicker: this is what they decided.
    Before(Approval),
}

impl App {
    /// A user's approvals, newest first.
    pub async fn list_approvals(
        &self,
        caller: &Caller,
        which: Which,
        page: Page,
    ) -> Result<Listed<Approval>> {
        let user = caller.user;
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move { approvals::list(conn, user, which, page).await })
        });
        Ok(read.await?)
    }

    pub async fn approval(&self, caller: &Caller, id: ApprovalId) -> Result<Approval> {
        let user = caller.user;
        Ok(self.0.storage.db.read(move |conn| Box::pin(approvals::get(conn, user, id))).await?)
    }

    /// Decides, if nobody has; under one key the same answer is given again.
    pub async fn decide(
        &self,
        caller: &Caller,
        id: ApprovalId,
        verdict: Verdict,
        key: Option<IdempotencyKey>,
    ) -> Result<Decided> {
        let approval = self.approval(caller, id).await?;
        let unanswered = verdict.comment.as_deref().is_none_or(|answer| answer.trim().is_empty());
        if approval.kind == Asked::Question && verdict.decision == Decision::Approve && unanswered {
            return Err(Error::invalid_field("comment", "is required: it is the answer"));
        }
        let (user, project) = (caller.user, approval.project_id);
        let (db, lane) = (&self.0.storage.db, Lane::Project(project));
        let decided = idempotent::once(db, self.clock(), lane, caller, key, move |conn| {
            Box::pin(async move { decide(conn, user, id, verdict).await })
        });
        let (decided, moved) = decided.await?;
        self.go_on(Scope { user, project }, moved).await?;
        Ok(decided)
    }

    /// What waited for a decision goes on.
    async fn go_on(&self, scope: Scope, moved: Moved) -> Result<()> {
        match moved {
            Moved::Nothing => Ok(()),
            Moved::Call(call) => {
                self.call_moved(scope, call).await;
                Ok(())
            }
            Moved::Plan(plan) => self.advance_plan(scope, plan).await,
        }
    }

    /// Decides several, each for itself: what one finds decided keeps no other from it.
    pub async fn decide_many(
        &self,
        caller: &Caller,
        input: Checked<ConfirmMany>,
        from: &'static str,
    ) -> Result<Vec<(ApprovalId, Result<Decided>)>> {
        let ConfirmMany { mut approval_ids, decision, comment } = input.into_inner();
        approval_ids.sort_unstable();
        approval_ids.dedup();
        let mut all = Vec::with_capacity(approval_ids.len());
        for id in approval_ids {
            let verdict = Verdict { decision, comment: comment.clone(), from };
            all.push((id, self.decide(caller, id, verdict, None).await));
        }
        Ok(all)
    }

    /// Rejects an approval whose time is over, and lets what waited for it know.
    pub(crate) async fn expire_approval(&self, scope: Scope, id: ApprovalId) -> Result<()> {
        let expired = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                match approvals::expire(conn, id).await? {
                    Some(approval) => follow(conn, &approval).await,
                    None => Ok(Moved::Nothing),
                }
            })
        });
        let moved = expired.await?;
        self.go_on(scope, moved).await
    }

    pub async fn preferences(&self, caller: &Caller) -> Result<Preferences> {
        let user = caller.user;
        let read = self.0.storage.db.read(move |conn| Box::pin(users::preferences(conn, user)));
        Ok(Preferences::read(&read.await?))
    }

    pub async fn set_preferences(
        &self,
        caller: &Caller,
        input: Checked<Preferences>,
    ) -> Result<Preferences> {
        let (user, preferences) = (caller.user, input.into_inner());
        let json = serde_json::to_string(&preferences).map_err(Error::internal)?;
        let written = self.0.storage.db.write(Lane::House, move |conn| {
            Box::pin(async move { users::set_preferences(conn, user, &json).await })
        });
        written.await?;
        Ok(preferences)
    }
}

/// What waited for a decision.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Moved {
    Nothing,
    Call(ToolCallId),
    Plan(PlanId),
}

/// What follows from a decision, in the same change.
async fn follow(
    conn: &mut artel_storage::Conn,
    approval: &Approval,
) -> artel_storage::Result<Moved> {
    if approval.kind == Asked::Plan {
        return Ok(asking::resolved(conn, approval).await?.map_or(Moved::Nothing, Moved::Plan));
    }
    Ok(flow::resolved(conn, approval).await?.map_or(Moved::Nothing, Moved::Call))
}

type Outcome = (Decided, Moved);

async fn decide(
    conn: &mut artel_storage::Conn,
    user: UserId,
    id: ApprovalId,
    verdict: Verdict,
) -> artel_storage::Result<Outcome> {
    let Verdict { decision, comment, from } = verdict;
    let answer = Answer { decision, comment, by: user, from };
    Ok(match approvals::decide(conn, user, id, &answer).await? {
        Answered::Decided(approval) => {
            let moved = follow(conn, &approval).await?;
            (Decided::Now(approval), moved)
        }
        // Its time is over and the reconciler has not come by yet: it does not look open to anyone.
        Answered::Already(_) if let Some(late) = approvals::expire(conn, id).await? => {
            let moved = follow(conn, &late).await?;
            (Decided::Before(late), moved)
        }
        Answered::Already(approval) => (Decided::Before(approval), Moved::Nothing),
    })
}
