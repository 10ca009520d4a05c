//! A call on its way into the store: checked, judged, and sent on to whoever is next.

use std::path::Path;
use std::time::Duration;

use artel_domain::tool::{Client, Phase, Status, ToolCall};
use artel_domain::{RiskLevel, ToolCallId};
use artel_storage::calls::Place;
use artel_storage::{Conn, Scope, calls, clients, tasks};
use artel_tools::catalog::Spec;
use artel_tools::policy::Verdict;
use artel_tools::{Request, catalog, policy};

use super::flow::{self, Asking};
use super::{Wanted, Wisher};
use crate::App;
use crate::tools::{permission, question};

/// How long a client may take to look at what a call would change.
const PREPARING: Duration = Duration::from_secs(20);
pub(super) const NO_CLIENT: &str = "No client is connected to this project; start one in the workspace with `artel client` or `artel up`";

pub(super) struct Draft {
    pub(super) id: ToolCallId,
    scope: Scope,
    wanted: Wanted,
    approval_timeout: Duration,
}

/// What is to happen with a call.
enum Judged {
    Refused(String),
    Asked(Asking),
    Sent { tool: &'static Spec, client: Client, request: Request, risk: RiskLevel, reason: String },
}

impl Draft {
    pub(super) fn new(app: &App, scope: Scope, wanted: Wanted) -> Self {
        let id = ToolCallId::new(app.clock());
        Self { id, scope, wanted, approval_timeout: app.0.settings.approval_timeout }
    }

    /// Stores the call with whatever comes first: a signal to the client, a question to a person, or its end.
    pub(super) async fn store(self, conn: &mut Conn) -> artel_storage::Result<ToolCall> {
        let place = self.wanted.by.as_ref().map(|by| by.place);
        if let Some(Wisher { task, place, progress, .. }) = &self.wanted.by {
            if let Some(made) = calls::at(conn, *task, *place).await? {
                return Ok(made);
            }
            if let Some(progress) = progress {
                tasks::keep_progress(conn, *task, progress).await?;
            }
        }
        let judged = self.judge(conn).await?;
        let mut call = self.call(conn).await?;
        match judged {
            Judged::Refused(why) => {
                (call.status, call.error) = (Status::Failed, Some(why));
                calls::add(conn, &call, place).await?;
                flow::tell_end(conn, &call).await?;
                Ok(call)
            }
            Judged::Asked(asking) => {
                flow::ask(conn, call, flow::Entry::New(place), asking, self.approval_timeout).await
            }
            Judged::Sent { tool, client, request, risk, reason } => {
                (call.risk_level, call.reason, call.client_id) =
                    (risk, reason, Some(client.client_id));
                call.timeout = timeout(tool, &request);
                self.send(conn, call, tool, client, &request, place).await
            }
        }
    }

    async fn send(
        self,
        conn: &mut Conn,
        mut call: ToolCall,
        tool: &Spec,
        client: Client,
        request: &Request,
        place: Option<Place>,
    ) -> artel_storage::Result<ToolCall> {
        if !tool.previewed {
            let entry = flow::Entry::New(place);
            return flow::allow_or_ask(conn, call, entry, &client, request, self.approval_timeout)
                .await;
        }
        call.status = Status::Preparing;
        call.deadline = Some(call.created_at.plus(PREPARING));
        flow::enter(conn, &call, flow::Entry::New(place)).await?;
        flow::signal(conn, &call, Phase::Prepare).await?;
        Ok(call)
    }

    async fn judge(&self, conn: &mut Conn) -> artel_storage::Result<Judged> {
        let Wanted { tool: name, arguments, by } = &self.wanted;
        if name == question::NAME {
            let asked = by.as_ref().ok_or("Only an agent has questions".to_owned());
            let asking = asked.and_then(|by| question::asking(by.agent, arguments));
            return Ok(match asking {
                Ok(asking) => Judged::Asked(asking),
                Err(why) => Judged::Refused(why),
            });
        }
        if name == permission::NAME {
            return Ok(match by {
                Some(by) => Judged::Asked(permission::asking(by.agent, arguments)),
                None => Judged::Refused("Only a program asks this".to_owned()),
            });
        }
        let Some(tool) = catalog::find(name) else {
            let why = format!("There is no tool named {name:?} on the workspace");
            return Ok(Judged::Refused(why));
        };
        let Some(client) = clients::active(conn, self.scope).await? else {
            return Ok(Judged::Refused(NO_CLIENT.to_owned()));
        };
        let request = match catalog::read(name, arguments, Some(Path::new(&client.workspace))) {
            Ok(request) => request,
            Err(invalid) => return Ok(Judged::Refused(invalid.to_string())),
        };
        let Verdict { risk, why, .. } = policy::judge(&request);
        let Some(mut risk) = risk else {
            return Ok(Judged::Refused(format!("Refused: {why}")));
        };
        let mut reason = why;
        if matches!(request, Request::ExecuteCommand(_)) && !client.sandbox {
            risk = RiskLevel::High;
            reason = format!("{reason}; there is no sandbox on {}", client.host);
        }
        Ok(Judged::Sent { tool, client, request, risk, reason })
    }

    async fn call(&self, conn: &mut Conn) -> artel_storage::Result<ToolCall> {
        let now = conn.now().await?;
        let by = self.wanted.by.as_ref();
        Ok(ToolCall {
            id: self.id,
            user_id: self.scope.user,
            project_id: self.scope.project,
            task_id: by.map(|by| by.task),
            session_id: by.map(|by| by.session),
            agent_id: by.map(|by| by.agent),
            tool_name: self.wanted.tool.clone(),
            arguments: self.wanted.arguments.clone(),
            risk_level: RiskLevel::Low,
            reason: String::new(),
            status: Status::Preparing,
            approval_id: None,
            decided_from: None,
            client_id: None,
            diff: None,
            base: None,
            digest: None,
            timeout: 0,
            deadline: None,
            result: None,
            error: None,
            created_at: now,
            updated_at: now,
        })
    }
}

/// How long it may run, in seconds.
fn timeout(tool: &Spec, request: &Request) -> u32 {
    match request {
        Request::ExecuteCommand(command) => command.timeout,
        Request::ReadFile(_)
        | Request::WriteFile(_)
        | Request::EditFile(_)
        | Request::ListDirectory(_)
        | Request::SearchFiles(_) => u32::try_from(tool.longest.as_secs()).unwrap_or(u32::MAX),
    }
}
