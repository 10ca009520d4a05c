//! Calls of tools on users' machines, from the wish to the result.
//!
//! A call is a row with a state, and every change of it one commit with its event ([`flow`]); nothing of it lives in
//! memory but whoever waits. So it goes on whatever happens to the server: an approval that comes after a restart
//! still sends it to the client, and a result is taken by whichever node it reaches.

use std::time::Duration;

use artel_domain::tool::ToolCall;
use artel_domain::{AgentId, ProjectId, SessionId, TaskId, Timestamp, ToolCallId};
use artel_storage::calls::{self, Place, Which};
use artel_storage::{Lane, Listed, Page, Scope, projects};
use serde_json::{Map, Value};

use crate::input::Checked;
use crate::spaces::word::Word;
use crate::waiting::Waiter;
use crate::{App, Caller, IdempotencyKey, Result, idempotent};

pub(crate) mod allowances;
pub(crate) mod clients;
mod draft;
pub(crate) mod flow;
mod input;

pub use input::{AllowTool, AnnounceClient, ExecuteTool, ToolOutcome, ToolPrepared};

use draft::Draft;

/// How often the row of a call is looked at while nobody rings.
const LOOK: Duration = Duration::from_secs(1);

/// A call that somebody wants made.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    /// None: a person wants it.
    pub(crate) by: Option<Wisher>,
}

/// The agent at work that wants a call.
#[derive(Debug, Clone)]
pub(crate) struct Wisher {
    pub(crate) task: TaskId,
    pub(crate) session: SessionId,
    pub(crate) agent: AgentId,
    pub(crate) place: Place,
    /// How far the task has come, to be kept with the call.
    pub(crate) progress: Option<String>,
}

impl App {
    /// Makes a call and waits for its end. A task that was resumed finds the call that it had made.
    pub(crate) async fn call_tool(&self, scope: Scope, wanted: Wanted) -> Result<ToolCall> {
        let draft = Draft::new(self, scope, wanted);
        let waiter = self.0.calls.join(draft.id);
        let made = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move { draft.store(conn).await })
        });
        self.call_ended(scope, made.await?, waiter).await
    }

    /// Makes a call for a person, and gives it once it has ended, or as it is when the time is over.
    pub async fn execute_tool(
        &self,
        caller: &Caller,
        project: ProjectId,
        input: Checked<ExecuteTool>,
        key: Option<IdempotencyKey>,
        patience: Duration,
    ) -> Result<ToolCall> {
        let scope = Scope { user: caller.user, project };
        let ExecuteTool { tool_name, tool_params } = input.into_inner();
        let wanted = Wanted { tool: tool_name, arguments: tool_params, by: None };
        let draft = Draft::new(self, scope, wanted);
        let waiter = self.0.calls.join(draft.id);
        let (db, lane) = (&self.0.storage.db, Lane::Project(project));
        let made = idempotent::once(db, self.clock(), lane, caller, key, move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                draft.store(conn).await
            })
        });
        let call = made.await?;
        if patience.is_zero() {
            return Ok(call);
        }
        let id = call.id;
        match tokio::time::timeout(patience, self.call_ended(scope, call, waiter)).await {
            Ok(ended) => ended,
            Err(_) => self.tool_call(caller, project, id).await,
        }
    }

    pub async fn tool_call(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: ToolCallId,
    ) -> Result<ToolCall> {
        let scope = Scope { user: caller.user, project };
        Ok(self.0.storage.db.read(move |conn| Box::pin(calls::get(conn, scope, id))).await?)
    }

    /// The calls of a project, newest first.
    pub async fn list_tool_calls(
        &self,
        caller: &Caller,
        project: ProjectId,
        which: Which,
        page: Page,
    ) -> Result<Listed<ToolCall>> {
        let scope = Scope { user: caller.user, project };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                calls::list(conn, scope, which, page).await
            })
        });
        Ok(read.await?)
    }

    /// What a client found out about a call that it was to prepare.
    pub async fn tool_prepared(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: ToolCallId,
        input: Checked<ToolPrepared>,
    ) -> Result<ToolCall> {
        let (scope, input) = (Scope { user: caller.user, project }, input.into_inner());
        let standard = self.0.settings.approval_timeout;
        let moved = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move { flow::prepared(conn, scope, id, input, standard).await })
        });
        let call = moved.await?;
        if call.status.is_final() {
            self.0.calls.hand_over(id, || call.clone());
        }
        self.call_moved(scope, id).await;
        Ok(call)
    }

    /// A client's result. One that comes twice, too late or from another client changes nothing.
    pub async fn tool_result(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: ToolCallId,
        input: Checked<ToolOutcome>,
    ) -> Result<ToolCall> {
        let (scope, input) = (Scope { user: caller.user, project }, input.into_inner());
        let moved = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move { flow::result(conn, scope, id, input).await })
        });
        let call = moved.await?;
        if call.status.is_final() {
            self.0.calls.hand_over(id, || call.clone());
        }
        self.call_moved(scope, id).await;
        Ok(call)
    }

    /// Waits until a call has ended. Who waits also sees to it that it does in time. `waiter` has joined before the call
    /// was made; if it was made earlier, it is waited for in its own name.
    async fn call_ended(
        &self,
        scope: Scope,
        call: ToolCall,
        waiter: Waiter<'_, ToolCallId, ToolCall>,
    ) -> Result<ToolCall> {
        let id = call.id;
        // What was made just now need not be read.
        let (waiter, mut made) =
            if waiter.key == id { (waiter, Some(call)) } else { (self.0.calls.join(id), None) };
        loop {
            // Before anything is looked at, so that nothing that happens after is missed.
            let rung = waiter.bell.rung.notified();
            if let Some(ended) = waiter.bell.ended.get() {
                return Ok(ended.clone());
            }
            let (call, now) = match made.take() {
                Some(call) => {
                    let now = call.updated_at;
                    (call, now)
                }
                None => self.call_now(scope, id).await?,
            };
            if call.status.is_final() {
                return Ok(call);
            }
            let left = call.deadline.map_or(LOOK, |deadline| left(now, deadline));
            if left.is_zero() {
                self.give_up_call(scope, id).await?;
                continue;
            }
            tokio::select! {
                () = rung => {}
                () = tokio::time::sleep(left.min(LOOK)) => {}
            }
        }
    }

    /// The call as it is, and when that is, as deadlines go.
    async fn call_now(&self, scope: Scope, id: ToolCallId) -> Result<(ToolCall, Timestamp)> {
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move { Ok((calls::get(conn, scope, id).await?, conn.now().await?)) })
        });
        Ok(read.await?)
    }

    /// Ends a call that should have moved on by now, if so it is.
    pub(crate) async fn give_up_call(&self, scope: Scope, id: ToolCallId) -> Result<()> {
        let given_up = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move { flow::give_up(conn, scope, id).await })
        });
        given_up.await?;
        self.call_moved(scope, id).await;
        Ok(())
    }

    /// Ends all calls of a task that have not ended.
    pub(crate) async fn withdraw_all(&self, scope: Scope, task: TaskId) -> Result<()> {
        let cancelled = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move { flow::cancel_of_task(conn, task).await })
        });
        Ok(cancelled.await?)
    }

    /// Ends the calls of a step that a task no longer wants, and that have not ended.
    pub(crate) async fn withdraw_calls(&self, scope: Scope, task: TaskId, step: u32) -> Result<()> {
        let withdrawn = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move { flow::withdraw(conn, task, step).await })
        });
        for id in withdrawn.await? {
            self.call_moved(scope, id).await;
        }
        Ok(())
    }

    /// Wakes whoever waits for it, on every node.
    pub(crate) async fn call_moved(&self, scope: Scope, id: ToolCallId) {
        self.0.calls.ring(id);
        self.tell(scope, Word::CallMoved(id)).await;
    }
}

fn left(now: Timestamp, deadline: Timestamp) -> Duration {
    if deadline > now { deadline.since(now) } else { Duration::ZERO }
}
