//! Doing what is asked: each call once, checked by this program's own rules.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use artel_domain::event::ToolExecutionSignal;
use artel_domain::tool::Phase;
use artel_domain::{ClientId, RiskLevel, ToolCallId, UserId};
use artel_tools::files::Workspace;
use artel_tools::shell::{Reach, Shell};
use artel_tools::{Outcome, Request, binding, catalog, policy};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::stream::{Fault, checked};
use super::{Approve, Terminal};
use crate::cli::connection::Connection;

/// Calls at a time; more wait.
const AT_A_TIME: usize = 8;
/// Calls that are under way or wait for their turn; a server that sends more is out of its mind.
const MOST: usize = 1000;
/// Calls that are remembered, so that none is done twice.
const REMEMBERED: usize = 4096;
/// How long a result is offered to a server that does not answer.
const OFFERED: Duration = Duration::from_mins(5);

/// What calls are carried out with.
pub(super) struct Tools {
    pub(super) connection: Arc<Connection>,
    pub(super) path: String,
    pub(super) id: ClientId,
    pub(super) user: UserId,
    pub(super) workspace: Workspace,
    pub(super) shell: Shell,
    pub(super) approve: Approve,
    pub(super) terminal: Terminal,
}

pub(super) struct Hands {
    tools: Arc<Tools>,
    busy: Arc<Semaphore>,
    tracker: TaskTracker,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Default)]
struct Memory {
    /// In the order they came.
    seen: VecDeque<(ToolCallId, Phase)>,
    under_way: HashMap<(ToolCallId, Phase), CancellationToken>,
}

impl Hands {
    pub(super) fn new(tools: Tools) -> Self {
        Self {
            tools: Arc::new(tools),
            busy: Arc::new(Semaphore::new(AT_A_TIME)),
            tracker: TaskTracker::new(),
            memory: Arc::default(),
        }
    }

    /// A call, for this client or another.
    pub(super) fn signal(&self, payload: Value) {
        let Ok(signal) = serde_json::from_value::<ToolExecutionSignal>(payload) else {
            self.tools.terminal.say("The server sent a call that cannot be understood.");
            return;
        };
        if signal.client_id != self.tools.id {
            return;
        }
        let (call, stop) = ((signal.tool_id, signal.phase), CancellationToken::new());
        let mut memory = lock(&self.memory);
        if memory.seen.contains(&call) {
            return;
        }
        if memory.under_way.len() >= MOST {
            drop(memory);
            return self.tools.terminal.say("A call is left out: too many are under way.");
        }
        memory.seen.push_back(call);
        if memory.seen.len() > REMEMBERED {
            memory.seen.pop_front();
        }
        memory.under_way.insert(call, stop.clone());
        drop(memory);
        let (tools, busy) = (Arc::clone(&self.tools), Arc::clone(&self.busy));
        let memory = Arc::clone(&self.memory);
        self.tracker.spawn(async move {
            let work = async {
                let _turn = busy.acquire().await;
                tools.attend(signal).await;
            };
            tokio::select! { () = work => {}, () = stop.cancelled() => {} }
            lock(&memory).under_way.remove(&call);
        });
    }

    /// The server says that a call has ended: nobody wants it any more.
    pub(super) fn ended(&self, payload: &Value) {
        let id = serde_json::from_value::<ToolCallId>(payload["tool_id"].clone());
        if let (Ok(id), Some("cancelled" | "timeout")) = (id, payload["status"].as_str()) {
            let memory = lock(&self.memory);
            for phase in [Phase::Prepare, Phase::Execute] {
                if let Some(stop) = memory.under_way.get(&(id, phase)) {
                    stop.cancel();
                }
            }
        }
    }

    /// Ends everything that is under way.
    pub(super) async fn stop(&self) {
        for stop in lock(&self.memory).under_way.values() {
            stop.cancel();
        }
        self.tracker.close();
        self.tracker.wait().await;
        self.tools.shell.close().await;
    }
}

impl Tools {
    async fn attend(self: &Arc<Self>, mut signal: ToolExecutionSignal) {
        let arguments = match signal.arguments.take() {
            Some(arguments) => Ok(arguments),
            None => self.fetch(signal.tool_id).await,
        };
        match signal.phase {
            Phase::Prepare => {
                let preview = match arguments {
                    Ok(arguments) => self.prepare(&signal, &arguments).await,
                    Err(why) => Err(why),
                };
                let body = match preview {
                    Ok(preview) => json!({
                        "client_id": self.id, "success": true, "diff": preview.diff, "base": preview.base,
                    }),
                    Err(why) => json!({ "client_id": self.id, "success": false, "error": why }),
                };
                self.post(signal.tool_id, "prepared", &body).await;
            }
            Phase::Execute => {
                let (arguments, outcome) = match arguments {
                    Ok(arguments) => {
                        let outcome = self.execute(&signal, &arguments).await;
                        (arguments, outcome)
                    }
                    Err(why) => (Map::new(), Outcome::failed(why)),
                };
                self.terminal.done(&signal.tool_name, &arguments, &outcome);
                let body = json!({
                    "client_id": self.id, "success": outcome.success, "result": outcome.fields,
                    "error": outcome.error,
                });
                self.post(signal.tool_id, "result", &without_nul(body)).await;
            }
        }
    }

    /// Large arguments do not come with the signal.
    async fn fetch(&self, id: ToolCallId) -> Result<Map<String, Value>, String> {
        let call = self.connection.get(&format!("{}/tools/{id}", self.path)).await;
        match call.map(|mut call| call["arguments"].take()) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(_) => Err("The server gave no arguments".to_owned()),
            Err(error) => {
                Err(format!("The arguments could not be read from the server: {error:#}"))
            }
        }
    }

    fn read(
        &self,
        signal: &ToolExecutionSignal,
        arguments: &Map<String, Value>,
    ) -> Result<Request, String> {
        if signal.user_id != self.user {
            return Err(format!("User {} is not authorized to access this path", signal.user_id));
        }
        catalog::read(&signal.tool_name, arguments, Some(self.workspace.path()))
            .map_err(|invalid| invalid.to_string())
    }

    async fn prepare(
        self: &Arc<Self>,
        signal: &ToolExecutionSignal,
        arguments: &Map<String, Value>,
    ) -> Result<artel_tools::request::Preview, String> {
        let request = self.read(signal, arguments)?;
        let tools = Arc::clone(self);
        let preview = blocking(move || tools.workspace.prepare(&request)).await?;
        preview.map_err(|refused| refused.to_string())
    }

    async fn execute(
        self: &Arc<Self>,
        signal: &ToolExecutionSignal,
        arguments: &Map<String, Value>,
    ) -> Outcome {
        match self.allowed(signal, arguments).await {
            Ok((request, risk)) => self.carry_out(signal, request, risk).await,
            Err(why) => Outcome::failed(why),
        }
    }

    /// Whether this is what somebody approved, or harmless by our own rules.
    async fn allowed(
        self: &Arc<Self>,
        signal: &ToolExecutionSignal,
        arguments: &Map<String, Value>,
    ) -> Result<(Request, RiskLevel), String> {
        let request = self.read(signal, arguments)?;
        let verdict = policy::judge(&request);
        let risk = verdict.risk.ok_or_else(|| format!("Refused by the client: {}", verdict.why))?;
        let from = signal.decided_from.as_deref().unwrap_or("low");
        let unattended = matches!(from, "low" | "preference");
        if risk > RiskLevel::Low && self.approve == Approve::Low {
            return Err(format!("This client does only what is harmless, and {}", verdict.why));
        }
        if risk > RiskLevel::Low && from == "low" {
            return Err(format!("The client was not told who approved this, and {}", verdict.why));
        }
        if risk == RiskLevel::High && unattended {
            return Err(format!("A person must approve this: {}", verdict.why));
        }
        let shown = self.shown(&request).await?;
        let (base, diff) = shown
            .as_ref()
            .map_or((None, None), |shown| (Some(shown.base.as_str()), Some(shown.diff.as_str())));
        if shown.is_some() && base != signal.base.as_deref() {
            return Err("The file has changed since it was shown; look again".to_owned());
        }
        let folder = self.workspace.path().to_string_lossy();
        let digest = binding::digest(&signal.tool_name, arguments, &folder, base, diff);
        if signal.digest.as_ref() != Some(&digest) {
            return Err("This is not what was approved".to_owned());
        }
        if matches!(request, Request::ExecuteCommand(_)) && unattended {
            self.shell.may_run_unattended()?;
        }
        Ok((request, risk))
    }

    /// What a write would change, as the file is now.
    async fn shown(
        self: &Arc<Self>,
        request: &Request,
    ) -> Result<Option<artel_tools::request::Preview>, String> {
        if !matches!(request, Request::WriteFile(_) | Request::EditFile(_)) {
            return Ok(None);
        }
        let (tools, request) = (Arc::clone(self), request.clone());
        let preview = blocking(move || tools.workspace.prepare(&request)).await?;
        preview.map(Some).map_err(|refused| refused.to_string())
    }

    async fn carry_out(
        self: &Arc<Self>,
        signal: &ToolExecutionSignal,
        request: Request,
        risk: RiskLevel,
    ) -> Outcome {
        if let Request::ExecuteCommand(command) = &request {
            if let Err(refused) = self.workspace.stands() {
                return Outcome::failed(refused.to_string());
            }
            // What nobody was asked about cannot change a thing, even if the rules should be wrong about it.
            let reach = if risk == RiskLevel::Low { Reach::Read } else { Reach::Write };
            return self.shell.run(command, reach).await;
        }
        let (tools, base) = (Arc::clone(self), signal.base.clone());
        let longest = Duration::from_secs(signal.timeout.into());
        let until = std::time::Instant::now() + longest;
        let late = move || std::time::Instant::now() >= until;
        let done =
            blocking(move || tools.workspace.run_until(&request, base.as_deref(), &late)).await;
        done.unwrap_or_else(Outcome::failed)
    }

    /// Posts what came of it, again and again while the server cannot be reached.
    async fn post(&self, id: ToolCallId, what: &str, body: &Value) {
        let path = format!("{}/tools/{id}/{what}", self.path);
        let until = tokio::time::Instant::now() + OFFERED;
        let mut pause = super::PAUSES.0;
        loop {
            let request = self.connection.request(reqwest::Method::POST, &path).json(body);
            match checked(request).await {
                Ok(_) => return,
                Err(Fault::Refused(error)) => {
                    return self
                        .terminal
                        .say(&format!("The server does not take a result: {error:#}"));
                }
                Err(Fault::Cut(_) | Fault::Another(_)) if tokio::time::Instant::now() < until => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(super::PAUSES.1);
                }
                Err(fault) => {
                    return self.terminal.say(&format!("A result could not be delivered: {fault}"));
                }
            }
        }
    }
}

/// Files are waited for on a thread of their own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| "The client failed in the middle of it; see its terminal".to_owned())
}

/// Not every database keeps a NUL.
fn without_nul(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains('\0') => Value::String(text.replace('\0', "\u{2400}")),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nul).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name.replace('\0', "\u{2400}"), without_nul(value)))
                .collect(),
        ),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
