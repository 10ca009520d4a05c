//! How a call moves from state to state. Each step is made inside a change of the caller's, with the event that tells
//! of it, and only from the state that it starts from: whoever comes second changes nothing.

use std::path::Path;
use std::time::Duration;

use artel_domain::approval::{self, Approval};
use artel_domain::event::{
    AgentAnswer, AgentQuestion, ToolApprovalRequest, ToolExecutionSignal, ToolResult,
};
use artel_domain::task;
use artel_domain::tool::{Client, Phase, Status, ToolCall};
use artel_domain::{Event, RiskLevel, TaskId, ToolCallId};
use artel_storage::calls::Place;
use artel_storage::{Conn, Result, Scope, approvals, calls, clients, events, tasks, users};
use artel_tools::{Request, binding, catalog};
use serde_json::{Value, json};

use super::allowances;
use super::draft::NO_CLIENT;
use super::input::{ToolOutcome, ToolPrepared};
use crate::approvals::Preferences;
use crate::tools::permission;

/// What a client's answer may take on its way, beyond what the call itself may.
const TRAVEL: Duration = Duration::from_secs(5);
/// Larger arguments are not sent with the signal: every reader of the stream would get them.
const LARGE: usize = 16 * 1024;

/// How a call comes into its next state.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    /// It is not stored yet.
    New(Option<Place>),
    From(Status),
}

/// What a person is asked.
pub(crate) struct Asking {
    pub(crate) kind: approval::Kind,
    pub(crate) risk: RiskLevel,
    pub(crate) payload: Value,
    pub(crate) told: Asked,
}

/// Which event tells of it, beside that of every approval.
pub(crate) enum Asked {
    Tool,
    Question { question: String, options: Vec<String> },
}

/// Writes the call's new state, unless it has moved on in between; its task waits for whoever is next.
pub(super) async fn enter(conn: &mut Conn, call: &ToolCall, entry: Entry) -> Result<bool> {
    let entered = match entry {
        Entry::New(place) => calls::add(conn, call, place).await.map(|()| true),
        Entry::From(status) => calls::change(conn, call, status).await,
    }?;
    if let (true, Some(task)) = (entered, call.task_id) {
        let waits = match call.status {
            Status::Preparing | Status::Running => task::Status::WaitingTool,
            Status::Pending => task::Status::WaitingApproval,
            Status::Succeeded
            | Status::Failed
            | Status::Rejected
            | Status::Timeout
            | Status::Cancelled
            | Status::OutcomeUnknown => task::Status::Running,
        };
        tasks::waits(conn, task, waits).await?;
    }
    Ok(entered)
}

/// Lets the call run when nobody need be asked; asks otherwise.
pub(super) async fn allow_or_ask(
    conn: &mut Conn,
    mut call: ToolCall,
    entry: Entry,
    client: &Client,
    request: &Request,
    standard: Duration,
) -> Result<ToolCall> {
    let (base, diff) = (call.base.as_deref(), call.diff.as_deref());
    call.digest =
        Some(binding::digest(&call.tool_name, &call.arguments, &client.workspace, base, diff));
    let scope = Scope { user: call.user_id, project: call.project_id };
    let allowed = match call.risk_level {
        RiskLevel::Low => Some("low"),
        RiskLevel::High => None,
        RiskLevel::Medium => {
            let all = allowances::of(conn, scope).await?;
            all.iter().any(|one| allowances::covers(one, request)).then_some("preference")
        }
    };
    if let Some(from) = allowed {
        return run(conn, call, entry, client, from.to_owned()).await;
    }
    let asking = Asking {
        kind: approval::Kind::Tool,
        risk: call.risk_level,
        payload: payload(&call, client),
        told: Asked::Tool,
    };
    ask(conn, call, entry, asking, standard).await
}

/// Everything that a person needs to decide.
fn payload(call: &ToolCall, client: &Client) -> Value {
    let mut arguments = call.arguments.clone();
    if call.diff.is_some() {
        // The diff shows them better.
        for long in ["content", "old", "new"] {
            arguments.remove(long);
        }
    }
    json!({
        "tool_id": call.id,
        "tool_name": call.tool_name,
        "arguments": arguments,
        "folder": client.workspace,
        "host": client.host,
        "sandbox": client.sandbox,
        "reason": call.reason,
        "diff": call.diff,
        "digest": call.digest,
        "timeout": call.timeout,
        "agent_id": call.agent_id,
        "task_id": call.task_id,
    })
}

/// Asks a person.
pub(super) async fn ask(
    conn: &mut Conn,
    mut call: ToolCall,
    entry: Entry,
    asking: Asking,
    standard: Duration,
) -> Result<ToolCall> {
    let now = conn.now().await?;
    let preferences = users::preferences(conn, call.user_id).await?;
    let wait = Preferences::read(&preferences).approval_timeout(standard);
    let whose = (call.user_id, call.project_id);
    let approval = Approval {
        session_id: call.session_id,
        task_id: call.task_id,
        ..Approval::pending(whose, asking.kind, asking.risk, asking.payload, now, wait)
    };
    (call.status, call.approval_id) = (Status::Pending, Some(approval.id));
    (call.deadline, call.updated_at) = (Some(approval.expires_at), now);
    if !enter(conn, &call, entry).await? {
        return Ok(call);
    }
    approvals::ask(conn, &approval).await?;
    let (approval_id, task_id) = (approval.id, call.task_id);
    let told: Event = match (asking.told, call.agent_id) {
        (Asked::Question { question, options }, Some(agent_id)) => {
            AgentQuestion { approval_id, agent_id, task_id, question, options }.into()
        }
        (Asked::Question { .. } | Asked::Tool, agent_id) => ToolApprovalRequest {
            tool_id: call.id,
            approval_id,
            tool_name: call.tool_name.clone(),
            risk_level: call.risk_level,
            reason: call.reason.clone(),
            task_id,
            agent_id,
            expires_at: approval.expires_at,
        }
        .into(),
    };
    events::append(conn, call.project_id, call.session_id, now, &told).await?;
    Ok(call)
}

/// Hands the call to the client.
async fn run(
    conn: &mut Conn,
    mut call: ToolCall,
    entry: Entry,
    client: &Client,
    decided_from: String,
) -> Result<ToolCall> {
    let now = conn.now().await?;
    let longest = Duration::from_secs(call.timeout.into()) + TRAVEL;
    (call.status, call.decided_from) = (Status::Running, Some(decided_from));
    (call.client_id, call.deadline) = (Some(client.client_id), Some(now.plus(longest)));
    call.updated_at = now;
    if enter(conn, &call, entry).await? {
        signal(conn, &call, Phase::Execute).await?;
    }
    Ok(call)
}

/// Tells the client what to do.
pub(super) async fn signal(conn: &mut Conn, call: &ToolCall, phase: Phase) -> Result<()> {
    let Some(client_id) = call.client_id else { return Ok(()) };
    let small = Value::Object(call.arguments.clone()).to_string().len() <= LARGE;
    let event = ToolExecutionSignal {
        tool_id: call.id,
        client_id,
        phase,
        tool_name: call.tool_name.clone(),
        user_id: call.user_id,
        timeout: call.timeout,
        arguments: small.then(|| call.arguments.clone()),
        base: call.base.clone(),
        digest: call.digest.clone(),
        decided_from: call.decided_from.clone(),
    };
    events::append(conn, call.project_id, call.session_id, call.updated_at, &event.into()).await?;
    Ok(())
}

/// Ends the call, unless it has moved on; says whether this did.
async fn end(
    conn: &mut Conn,
    mut call: ToolCall,
    status: Status,
    result: Option<Value>,
    error: Option<String>,
) -> Result<Option<ToolCall>> {
    let from = call.status;
    (call.status, call.result, call.error) = (status, result, error);
    (call.updated_at, call.deadline) = (conn.now().await?, None);
    if !enter(conn, &call, Entry::From(from)).await? {
        return Ok(None);
    }
    tell_end(conn, &call).await?;
    Ok(Some(call))
}

pub(super) async fn tell_end(conn: &mut Conn, call: &ToolCall) -> Result<()> {
    let event = ToolResult {
        tool_id: call.id,
        tool_name: call.tool_name.clone(),
        task_id: call.task_id,
        status: call.status,
        success: call.status == Status::Succeeded,
        error: call.error.clone(),
    };
    events::append(conn, call.project_id, call.session_id, call.updated_at, &event.into()).await?;
    Ok(())
}

async fn fail(conn: &mut Conn, call: ToolCall, status: Status, why: String) -> Result<ToolCall> {
    let (scope, id) = (Scope { user: call.user_id, project: call.project_id }, call.id);
    match end(conn, call, status, None, Some(why)).await? {
        Some(call) => Ok(call),
        None => calls::get(conn, scope, id).await,
    }
}

/// The client has looked at what the call would change.
pub(super) async fn prepared(
    conn: &mut Conn,
    scope: Scope,
    id: ToolCallId,
    input: ToolPrepared,
    standard: Duration,
) -> Result<ToolCall> {
    let mut call = calls::get(conn, scope, id).await?;
    if call.status != Status::Preparing || call.client_id != Some(input.client_id) {
        return Ok(call);
    }
    if !input.success {
        let why =
            input.error.unwrap_or_else(|| "The client refused, and did not say why".to_owned());
        return fail(conn, call, Status::Failed, why).await;
    }
    let Some(client) = clients::active(conn, scope).await? else {
        return fail(conn, call, Status::Failed, NO_CLIENT.to_owned()).await;
    };
    let workspace = Path::new(&client.workspace);
    let request = match catalog::read(&call.tool_name, &call.arguments, Some(workspace)) {
        Ok(request) => request,
        Err(invalid) => return fail(conn, call, Status::Failed, invalid.to_string()).await,
    };
    (call.diff, call.base) = (input.diff, input.base);
    allow_or_ask(conn, call, Entry::From(Status::Preparing), &client, &request, standard).await
}

/// The client has done it, or could not.
pub(super) async fn result(
    conn: &mut Conn,
    scope: Scope,
    id: ToolCallId,
    input: ToolOutcome,
) -> Result<ToolCall> {
    let call = calls::get(conn, scope, id).await?;
    if call.status != Status::Running || call.client_id != Some(input.client_id) {
        return Ok(call);
    }
    let status = if input.success { Status::Succeeded } else { Status::Failed };
    let error = match (input.success, input.error) {
        (true, _) => None,
        (false, None) => Some("The client did not say why it failed".to_owned()),
        (false, error) => error,
    };
    match end(conn, call, status, Some(Value::Object(input.result)), error).await? {
        Some(call) => Ok(call),
        None => calls::get(conn, scope, id).await,
    }
}

/// An approval was decided, one way or the other: what waited for it goes on. Gives the call, if it was about one.
pub(crate) async fn resolved(conn: &mut Conn, approval: &Approval) -> Result<Option<ToolCallId>> {
    let found = calls::of_approval(conn, approval.project_id, approval.id).await?;
    let Some(mut call) = found.filter(|call| call.status == Status::Pending) else {
        return Ok(None);
    };
    let id = call.id;
    if approval.kind == approval::Kind::Question {
        let answer = approval.comment.clone().filter(|_| is_approved(approval));
        let event = AgentAnswer { approval_id: approval.id, answer };
        let at = approval.resolved_at.unwrap_or(call.updated_at);
        events::append(conn, call.project_id, call.session_id, at, &event.into()).await?;
    }
    call.decided_from.clone_from(&approval.decided_from);
    match approval.status {
        approval::Status::Pending => {}
        approval::Status::Rejected => {
            let why = match &approval.comment {
                Some(comment) => format!("Rejected by the user: {comment}"),
                None => "Rejected by the user".to_owned(),
            };
            end(conn, call, Status::Rejected, None, Some(why)).await?;
        }
        approval::Status::Timeout => {
            let why = "Rejected: nobody decided in time".to_owned();
            end(conn, call, Status::Timeout, None, Some(why)).await?;
        }
        approval::Status::Approved if approval.kind == approval::Kind::Question => {
            let answer = json!({ "answer": approval.comment });
            end(conn, call, Status::Succeeded, Some(answer), None).await?;
        }
        approval::Status::Approved if call.tool_name == permission::NAME => {
            end(conn, call, Status::Succeeded, None, None).await?;
        }
        approval::Status::Approved => send_approved(conn, call).await?,
    }
    Ok(Some(id))
}

/// Hands an approved call to the client that is there now, if it is what was approved.
async fn send_approved(conn: &mut Conn, call: ToolCall) -> Result<()> {
    let scope = Scope { user: call.user_id, project: call.project_id };
    let Some(client) = clients::active(conn, scope).await? else {
        end(conn, call, Status::Failed, None, Some(NO_CLIENT.to_owned())).await?;
        return Ok(());
    };
    let (base, diff) = (call.base.as_deref(), call.diff.as_deref());
    let now = binding::digest(&call.tool_name, &call.arguments, &client.workspace, base, diff);
    if call.digest.as_ref() != Some(&now) {
        let why = "Another client is connected now, with another folder; ask again".to_owned();
        end(conn, call, Status::Failed, None, Some(why)).await?;
        return Ok(());
    }
    let from = call.decided_from.clone().unwrap_or_default();
    run(conn, call, Entry::From(Status::Pending), &client, from).await?;
    Ok(())
}

fn is_approved(approval: &Approval) -> bool {
    approval.status == approval::Status::Approved
}

/// Ends a call whose time is over or whose client is gone, if so it is.
pub(super) async fn give_up(conn: &mut Conn, scope: Scope, id: ToolCallId) -> Result<()> {
    let call = calls::get(conn, scope, id).await?;
    let now = conn.now().await?;
    let late = call.deadline.is_some_and(|deadline| deadline <= now);
    let client = clients::active(conn, scope).await?;
    let gone = client.is_none_or(|client| Some(client.client_id) != call.client_id);
    match call.status {
        Status::Pending if late => {
            let Some(approval) = call.approval_id else { return Ok(()) };
            if let Some(approval) = approvals::expire(conn, approval).await? {
                resolved(conn, &approval).await?;
            }
        }
        Status::Preparing | Status::Running if gone => {
            let (status, why) = lost(&call);
            end(conn, call, status, None, Some(why)).await?;
        }
        Status::Preparing | Status::Running if late => {
            let why = format!("No result within {} s", now.since(call.updated_at).as_secs());
            let why = if call.status == Status::Running && has_effects(&call.tool_name) {
                format!("{why}; it may have been carried out all the same")
            } else {
                why
            };
            end(conn, call, Status::Timeout, None, Some(why)).await?;
        }
        Status::Preparing
        | Status::Pending
        | Status::Running
        | Status::Succeeded
        | Status::Failed
        | Status::Rejected
        | Status::Timeout
        | Status::Cancelled
        | Status::OutcomeUnknown => {}
    }
    Ok(())
}

/// What becomes of a call whose client is gone.
fn lost(call: &ToolCall) -> (Status, String) {
    if call.status == Status::Running && has_effects(&call.tool_name) {
        let why = "The client went away in the middle; whether it was done is not known";
        return (Status::OutcomeUnknown, why.to_owned());
    }
    (Status::Failed, "The client went away in the middle; nothing was changed".to_owned())
}

/// Whether a tool can change anything; one that is not known may.
pub(crate) fn has_effects(tool: &str) -> bool {
    catalog::find(tool).is_none_or(|spec| spec.effects)
}

/// Ends the calls that another client has: it is gone. Gives them, so that whoever waits can be woken.
pub(super) async fn drop_of_others(
    conn: &mut Conn,
    scope: Scope,
    client: Option<artel_domain::ClientId>,
) -> Result<Vec<ToolCallId>> {
    let mut dropped = Vec::new();
    for call in calls::of_other_clients(conn, scope.project, client).await? {
        let (status, why) = lost(&call);
        dropped.push(call.id);
        end(conn, call, status, None, Some(why)).await?;
    }
    Ok(dropped)
}

/// Nobody wants the calls of this step any more; gives those that had not ended.
pub(super) async fn withdraw(conn: &mut Conn, task: TaskId, step: u32) -> Result<Vec<ToolCallId>> {
    let mut withdrawn = Vec::new();
    for call in calls::open_of_step(conn, task, step).await? {
        withdrawn.push(call.id);
        cancel(conn, call, "It is no longer asked for").await?;
    }
    Ok(withdrawn)
}

async fn cancel(conn: &mut Conn, call: ToolCall, why: &str) -> Result<()> {
    let (user, approval) = (call.user_id, call.approval_id);
    if end(conn, call, Status::Cancelled, None, Some(why.to_owned())).await?.is_some()
        && let Some(approval) = approval
    {
        approvals::withdraw(conn, user, approval, why).await?;
    }
    Ok(())
}

/// The task has ended: nobody wants its calls any more.
pub(crate) async fn cancel_of_task(conn: &mut Conn, task: TaskId) -> Result<()> {
    for call in calls::open_of_task(conn, task).await? {
        cancel(conn, call, "The task that wanted it has ended").await?;
    }
    Ok(())
}
