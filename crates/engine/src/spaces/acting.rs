//! An agent in the middle of a task, whatever it is: what it says flies by, what it does is told, and the tools that it
//! calls are run for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use artel_agents::llm::chat::{ToolCall, ToolSpec};
use artel_domain::event::{ContextRetrieved, MessageDelta, Retrieved, TaskProgress};
use artel_domain::memory::{Kind, Recollection};
use artel_domain::task::Task;
use artel_domain::{Agent, Event};
use artel_storage::calls::Place;
use artel_storage::{Lane, Scope, events};

use super::patience::Patience;
use super::turn::Brief;
use crate::App;
use crate::calls::{Wanted, Wisher};
use crate::memory::keeping::Happened;
use crate::memory::recall::{self, MemorySearch};
use crate::plans::words;
use crate::tools::{Done, waits_for_others};

/// How long an event waits for a commit to go with.
const SOON: Duration = Duration::from_millis(50);

pub(super) struct Acting<'a> {
    pub(super) app: &'a App,
    pub(super) scope: Scope,
    pub(super) brief: &'a Brief,
    pub(super) agent: &'a Agent,
    pub(super) patience: &'a Patience,
    /// What is told with the end, if that comes soon.
    noted: Later,
}

/// An event that waits a moment for a commit to go with.
#[derive(Debug, Clone, Default)]
struct Later(Arc<Mutex<Option<Event>>>);

impl Later {
    fn put(&self, event: Event) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(event);
    }

    fn take(&self) -> Option<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<'a> Acting<'a> {
    pub(super) fn new(
        app: &'a App,
        scope: Scope,
        brief: &'a Brief,
        agent: &'a Agent,
        patience: &'a Patience,
    ) -> Self {
        Self { app, scope, brief, agent, patience, noted: Later::default() }
    }

    /// What is still to be told.
    pub(super) fn noted(&self) -> Option<Event> {
        self.noted.take()
    }

    /// What the agent's memory has for the task. Without a memory it works all the same, and people are told why.
    pub(super) async fn recall(&self) -> Vec<Recollection> {
        let Brief { task, asked, before, .. } = self.brief;
        let known: Vec<_> = before.iter().filter_map(|message| message.task_id).collect();
        let about = if task.plan.is_some() { words::own(asked) } else { asked };
        let found = recall::recall(self.app, self.scope, self.agent, about, &known).await;
        let (task_id, agent_id) = (task.id, task.agent_id);
        match found {
            Ok(context) if context.is_empty() => context,
            Ok(context) => {
                let retrieved = |it: &Recollection| Retrieved {
                    id: it.id,
                    interaction_type: it.metadata.kind,
                    score: it.score,
                };
                let items = context.iter().map(retrieved).collect();
                self.note(ContextRetrieved { task_id, agent_id, items }.into());
                context
            }
            Err(error) => {
                tracing::warn!(task = %task_id, %error, "a task goes on without its memory");
                self.progress(format!("Without memory: {error}")).await;
                Vec::new()
            }
        }
    }

    /// Text as it is written.
    pub(super) fn say(&self, text: String) {
        let task = &self.brief.task;
        let (task_id, agent_id, plan) = (task.id, task.agent_id, task.plan.clone());
        let delta = MessageDelta { task_id, agent_id, plan, text };
        self.app.0.feeds.whisper(self.scope.project, task.session_id, &delta.into());
    }

    /// A step of the work is done.
    pub(super) async fn progress(&self, detail: String) {
        let task = &self.brief.task;
        let (task_id, agent_id, plan) = (task.id, task.agent_id, task.plan.clone());
        self.tell(TaskProgress { task_id, agent_id, plan, detail }.into()).await;
    }

    /// Runs a tool and tells of it. Before it waits for others, how far the task has come is kept with the call.
    pub(super) async fn call(
        &self,
        call: &ToolCall,
        offered: &[ToolSpec],
        place: Place,
        progress: impl FnOnce() -> Option<String>,
    ) -> Done {
        let known = offered.iter().any(|tool| tool.name == call.name);
        let done = if known && waits_for_others(&call.name) {
            self.call_elsewhere(call, place, progress()).await
        } else {
            self.app.0.tools.call(self.app, self.scope, self.agent, offered, call).await
        };
        let how = if done.failed { "failed" } else { "used" };
        self.progress(format!("Tool {how}: {}", call.name)).await;
        done
    }

    /// Has a call made by others and waits for its end, which takes nothing of the task's own time.
    pub(super) async fn call_elsewhere(
        &self,
        call: &ToolCall,
        place: Place,
        progress: Option<String>,
    ) -> Done {
        let _pause = self.patience.pause();
        let task = &self.brief.task;
        let by = Wisher {
            task: task.id,
            session: task.session_id,
            agent: task.agent_id,
            place,
            progress,
        };
        let (tool, arguments) = (call.name.clone(), call.arguments.clone());
        let wanted = Wanted { tool, arguments, by: Some(by) };
        match self.app.call_tool(self.scope, wanted).await {
            Ok(call) => Done::from(call),
            Err(error) => Done { content: error.to_string(), failed: true },
        }
    }

    /// Tells of a step, before everything that comes later. The work goes on meanwhile, and even if that fails.
    pub(super) async fn tell(&self, event: Event) {
        if let Some(noted) = self.noted.take() {
            tell(self.app, &self.brief.task, noted).await;
        }
        tell(self.app, &self.brief.task, event).await;
    }

    /// Tells of something with the next step, or with the end, or by itself when neither comes soon: most tasks of a
    /// quick model then take one commit less.
    fn note(&self, event: Event) {
        self.noted.put(event);
        let (app, task, noted) = (self.app.clone(), self.brief.task.clone(), self.noted.clone());
        self.app.0.tracker.spawn(async move {
            tokio::time::sleep(SOON).await;
            if let Some(event) = noted.take() {
                tell(&app, &task, event).await;
            }
        });
    }
}

/// A call as the agent remembers it. What a search of the memory gave is in the memory as it is.
pub(super) fn remembered(call: ToolCall, done: &Done) -> Option<Happened> {
    let ToolCall { name, arguments, .. } = call;
    if name == MemorySearch::NAME {
        return None;
    }
    let used = format!("{name} {}", serde_json::Value::Object(arguments));
    let (text, error) = if done.failed {
        (used, Some(done.content.clone()))
    } else {
        (format!("{used}\n{}", done.content), None)
    };
    Some(Happened { kind: Kind::ToolCall, text, request: None, error })
}

/// Gives an event of a task its place in the log.
async fn tell(app: &App, task: &Task, event: Event) {
    let (id, project, session) = (task.id, task.project_id, task.session_id);
    let now = app.clock().now();
    let handed_in = app.0.storage.db.hand_in(Lane::Project(project), move |conn| {
        Box::pin(async move { events::append(conn, project, Some(session), now, &event).await })
    });
    let failed = move |error| tracing::warn!(task = %id, %error, "a step could not be told");
    match handed_in.await {
        Ok(told) => {
            app.0.tracker.spawn(async move { told.await.map_or_else(failed, drop) });
        }
        Err(error) => failed(error),
    }
}
