//! Sessions, and messages to agents.
//!
//! Sending is one commit: the message, the task it asks for, and the events that tell of both. From then on nothing
//! is lost, whoever waits for the answer and however the server ends. Sent again with the same key it is the same
//! message, and has the same answer.

use std::sync::Arc;
use std::time::Duration;

use artel_domain::event::{DirectAgentCall, MessageCreated, TaskStarted};
use artel_domain::session::{Message, Role, Session};
use artel_domain::task::{Priority, Status, Task};
use artel_domain::{AgentId, Event, MessageId, ProjectId, SessionId, TaskId};
use artel_storage::sessions::Which;
use artel_storage::{
    Conn, Lane, Listed, Page, Scope, agents, events, plans as running, projects, sessions, tasks,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::calls::flow;
use crate::input::{Checked, Input};
use crate::spaces::board::{Refused, Ticket, WAITING};
use crate::spaces::keeping::{self, Hand};
use crate::spaces::turn::Brief;
use crate::spaces::{SPACE_CLOSED, Space, ending};
use crate::{App, Caller, Error, IdempotencyKey, Kind, PlanView, Result, idempotent, plans};

/// A conversation to begin.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// Without one, the first message gives it.
    #[schema(max_length = 200, example = "Why is the build slow?")]
    pub title: Option<String>,
}

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    #[schema(min_length = 1, max_length = 1_000_000, example = "Find the slowest test.")]
    pub content: String,
    /// The agent's name or id. Without it the request is planned, and whoever fits works on it.
    #[schema(min_length = 1, max_length = 100, example = "agent_coder")]
    pub target_agent: Option<String>,
    /// `high` goes ahead of what waits for the agent.
    #[serde(default)]
    pub priority: Priority,
}

/// What is to change about a conversation; what is not named stays.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSession {
    #[schema(min_length = 1, max_length = 200, example = "The slow build")]
    pub title: Option<String>,
    /// Whether its owner wants it at hand.
    pub pinned: Option<bool>,
}

impl Input for CreateSession {}
impl Input for ChangeSession {}
impl Input for SendMessage {}

/// A message that was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    pub message: Message,
    pub task: Task,
}

/// What became of a message that was taken.
#[derive(Debug, Clone)]
pub enum Taken {
    /// It went straight to an agent.
    Direct(Box<Sent>),
    /// It became a plan.
    Planned(Box<PlanView>),
}

/// How long a title from a first message may be.
const TITLE: usize = 80;
/// How many letters may be looked for.
const WANTED: usize = 200;
/// How often the row of a task on another node is looked at.
const LOOK: Duration = Duration::from_millis(100);
const QUEUE_FULL: &str = "queue_full";
const NOT_REGISTERED: &str = "not_registered";

impl App {
    pub async fn create_session(
        &self,
        caller: &Caller,
        project: ProjectId,
        input: Checked<CreateSession>,
        key: Option<IdempotencyKey>,
    ) -> Result<Session> {
        let scope = Scope { user: caller.user, project };
        let now = self.clock().now();
        let session = Session {
            id: SessionId::new(self.clock()),
            title: input.into_inner().title.unwrap_or_default(),
            pinned: false,
            message_count: 0,
            created_at: now,
            updated_at: now,
        };
        let db = &self.0.storage.db;
        idempotent::once(db, self.clock(), Lane::Project(project), caller, key, move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                sessions::add(conn, scope, &session).await?;
                Ok(session)
            })
        })
        .await
    }

    /// The project's conversations, newest first; only those where these words stand, if there are any.
    pub async fn list_sessions(
        &self,
        caller: &Caller,
        project: ProjectId,
        wanted: Option<String>,
        page: Page,
    ) -> Result<Listed<Session>> {
        let scope = Scope { user: caller.user, project };
        let wanted = wanted.map(|words| words.trim().to_owned()).filter(|words| !words.is_empty());
        if wanted.as_ref().is_some_and(|words| words.chars().count() > WANTED) {
            let why = format!("must be at most {WANTED} characters");
            return Err(Error::invalid_field("search", why));
        }
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                projects::get(conn, scope).await?;
                sessions::list(conn, scope, wanted.as_deref(), page).await
            })
        });
        Ok(read.await?)
    }

    pub async fn session(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: SessionId,
    ) -> Result<Session> {
        let scope = Scope { user: caller.user, project };
        Ok(self.0.storage.db.read(move |conn| Box::pin(sessions::get(conn, scope, id))).await?)
    }

    /// Deletes the session with its messages. What it had under way is stopped; with the last one the project's
    /// space is cleaned up.
    pub async fn delete_session(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: SessionId,
    ) -> Result<()> {
        let scope = Scope { user: caller.user, project };
        let scribe = self.scribe();
        let deleted = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let mut unfinished = tasks::unfinished(conn, project).await?;
                unfinished.retain(|task| task.session_id == id);
                // Nobody is asked about what is no more.
                for plan in running::unfinished(conn, scope).await? {
                    if plan.session == id {
                        plans::stop(conn, &scribe, scope, plan.id, "The session was deleted")
                            .await?;
                    }
                }
                for task in &unfinished {
                    flow::cancel_of_task(conn, task.id).await?;
                }
                sessions::delete(conn, scope, id).await?;
                Ok((unfinished, !sessions::any(conn, scope).await?))
            })
        });
        let (unfinished, last) = deleted.await?;
        for task in &unfinished {
            self.task_ended(scope, task).await;
        }
        if last {
            self.clean_up(scope).await?;
        }
        Ok(())
    }

    /// Gives a session another title, or pins it.
    pub async fn change_session(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: SessionId,
        input: Checked<ChangeSession>,
    ) -> Result<Session> {
        let scope = Scope { user: caller.user, project };
        let ChangeSession { title, pinned } = input.into_inner();
        let changed = self.0.storage.db.write(Lane::Project(project), move |conn| {
            Box::pin(async move {
                if let Some(title) = title {
                    sessions::rename(conn, scope, id, &title).await?;
                }
                if let Some(pinned) = pinned {
                    sessions::pin(conn, scope, id, pinned).await?;
                }
                sessions::get(conn, scope, id).await
            })
        });
        Ok(changed.await?)
    }

    /// What was said, oldest first.
    pub async fn list_messages(
        &self,
        caller: &Caller,
        project: ProjectId,
        session: SessionId,
        which: Which,
        page: Page,
    ) -> Result<Listed<Message>> {
        let scope = Scope { user: caller.user, project };
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move {
                sessions::get(conn, scope, session).await?;
                sessions::messages(conn, session, which, page).await
            })
        });
        Ok(read.await?)
    }

    /// Takes a message. When this returns it is on disk, and will be answered: by the agent that it names, or by
    /// whoever the orchestrator plans with.
    pub async fn send(
        &self,
        caller: &Caller,
        project: ProjectId,
        session: SessionId,
        input: Checked<SendMessage>,
        key: Option<IdempotencyKey>,
    ) -> Result<Taken> {
        if input.target_agent.is_none() {
            let SendMessage { content, priority, .. } = input.into_inner();
            if priority != Priority::Normal {
                let remedy = "is of a message to one agent; name it in target_agent";
                return Err(Error::invalid_field("priority", remedy));
            }
            let plan = self.orchestrate(caller, project, session, content, key).await?;
            return Ok(Taken::Planned(Box::new(plan)));
        }
        // On a task of its own: who goes away in the middle must not leave a ticket that nobody confirms.
        let (app, caller) = (self.clone(), caller.clone());
        let taken = self
            .0
            .tracker
            .spawn(async move { app.take(&caller, project, session, input, key).await });
        let sent = taken.await.map_err(Error::internal)??;
        Ok(Taken::Direct(Box::new(sent)))
    }

    async fn take(
        &self,
        caller: &Caller,
        project: ProjectId,
        session: SessionId,
        input: Checked<SendMessage>,
        key: Option<IdempotencyKey>,
    ) -> Result<Sent> {
        let scope = Scope { user: caller.user, project };
        let input = input.into_inner();
        loop {
            let sent = self.store(caller, scope, session, input.clone(), key.clone()).await;
            match sent {
                // It was closed in between: there is a new one for who asks.
                Err(error) if error.code == SPACE_CLOSED => {}
                sent => return sent,
            }
        }
    }

    /// Stores the message by way of the space that is open now.
    async fn store(
        &self,
        caller: &Caller,
        scope: Scope,
        session: SessionId,
        input: SendMessage,
        key: Option<IdempotencyKey>,
    ) -> Result<Sent> {
        let SendMessage { content, target_agent, priority } = input;
        let target = target_agent.ok_or_else(|| {
            Error::invalid_field("target_agent", "is required: name the agent that should answer")
        })?;
        let space = self.0.spaces.get(self, scope).await?;
        let hand = Hand::new(self, &space);
        let draft = Draft {
            scope,
            session,
            content,
            target,
            priority,
            task: TaskId::new(self.clock()),
            message: MessageId::new(self.clock()),
            now: self.clock().now(),
            space,
            hand: Arc::clone(&hand),
        };
        let (db, lane) = (&self.0.storage.db, Lane::Project(scope.project));
        let sent = idempotent::once(db, self.clock(), lane, caller, key, move |conn| {
            Box::pin(async move { draft.store(conn).await })
        })
        .await;
        hand.play(self, sent.is_ok());
        sent.map_err(|error| match error.code {
            QUEUE_FULL => {
                Error::unavailable(QUEUE_FULL, "Agent queue is full", Duration::from_secs(1))
            }
            NOT_REGISTERED => {
                let message = "Agent not registered; register it again, or choose another";
                Error::new(Kind::Conflict, NOT_REGISTERED, message)
            }
            _ => error,
        })
    }

    /// Waits until the task has ended, and gives its answer.
    pub async fn outcome(&self, caller: &Caller, task: &Task) -> Result<Message> {
        let scope = Scope { user: caller.user, project: task.project_id };
        let (id, mut looked) = (task.id, false);
        loop {
            if let Some(space) = self.0.spaces.find(scope.project)
                && let Some(answer) = space.desk.ended(id).await
            {
                return Ok(Arc::unwrap_or_clone(answer));
            }
            let read = self.0.storage.db.read(move |conn| {
                Box::pin(async move {
                    let task = tasks::get(conn, scope, id).await?;
                    let answer = if task.status.is_final() {
                        sessions::answer(conn, &task).await?
                    } else {
                        None
                    };
                    Ok(answer)
                })
            });
            if let Some(answer) = read.await? {
                return Ok(answer);
            }
            // Another node has it, or had it and died: then it is not left to wait for its turn of the reconciler.
            if !std::mem::replace(&mut looked, true) {
                keeping::pick_up(self, scope).await?;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    pub async fn task(&self, caller: &Caller, project: ProjectId, id: TaskId) -> Result<Task> {
        let scope = Scope { user: caller.user, project };
        Ok(self.0.storage.db.read(move |conn| Box::pin(tasks::get(conn, scope, id))).await?)
    }

    /// Cancels a task that has not ended; 409 when it has.
    pub async fn cancel_task(
        &self,
        caller: &Caller,
        project: ProjectId,
        id: TaskId,
    ) -> Result<Task> {
        let scope = Scope { user: caller.user, project };
        let task = self.task(caller, project, id).await?;
        if ending::cancel(self, scope, &task).await? {
            return self.task(caller, project, id).await;
        }
        let status = self.task(caller, project, id).await?.status;
        let message = format!("The task has ended already: {}", status.as_str());
        Err(Error::new(Kind::Conflict, "task_ended", message))
    }
}

/// A message on its way into the store.
struct Draft {
    scope: Scope,
    session: SessionId,
    content: String,
    target: String,
    priority: Priority,
    task: TaskId,
    message: MessageId,
    now: artel_domain::Timestamp,
    space: Arc<Space>,
    /// What it puts on the board of this node.
    hand: Arc<Hand>,
}

impl Draft {
    async fn store(self, conn: &mut Conn) -> artel_storage::Result<Sent> {
        let Self { scope, session, now, .. } = self;
        projects::lock(conn, scope).await?;
        let conversation = sessions::get(conn, scope, session).await?;
        let agent = match self.target.parse::<AgentId>() {
            Ok(id) => agents::get(conn, scope, id).await?,
            Err(_) => agents::by_name(conn, scope, &self.target).await?,
        };
        if !agent.registered {
            return Err(artel_storage::Error::Refused(NOT_REGISTERED));
        }
        if tasks::waiting(conn, scope.project, agent.id).await? >= WAITING as u64 {
            return Err(artel_storage::Error::Refused(QUEUE_FULL));
        }
        let mut begun = None;
        if self.hand.take_over(conn).await? {
            // Here, so that the board's order is that of the commits.
            let ticket = Ticket { task: self.task, session, priority: self.priority };
            self.space.seat(&agent);
            self.hand.push(agent.id, ticket).map_err(|refused| match refused {
                Refused::Full => artel_storage::Error::Refused(QUEUE_FULL),
                Refused::Unregistered => artel_storage::Error::Refused(NOT_REGISTERED),
                Refused::Shut => artel_storage::Error::Refused(SPACE_CLOSED),
            })?;
            begun = self.hand.begin(self.task);
        }
        let message = Message {
            id: self.message,
            role: Role::User,
            content: self.content,
            agent_id: Some(agent.id),
            task_id: Some(self.task),
            timestamp: now,
            outcome: None,
        };
        if conversation.title.is_empty() {
            let title: String =
                message.content.lines().next().unwrap_or_default().chars().take(TITLE).collect();
            sessions::rename(conn, scope, session, title.trim()).await?;
        }
        sessions::say(conn, scope, session, &message).await?;
        let task = Task {
            id: self.task,
            user_id: scope.user,
            project_id: scope.project,
            session_id: session,
            agent_id: agent.id,
            message_id: message.id,
            plan: None,
            status: if begun.is_some() { Status::Running } else { Status::Queued },
            priority: self.priority,
            error: None,
            error_type: None,
            created_at: now,
            started_at: begun.is_some().then_some(now),
            finished_at: None,
        };
        tasks::add(conn, &task).await?;
        let call = DirectAgentCall { task_id: task.id, agent_id: agent.id, agent_name: agent.name };
        let mut told: Vec<Event> =
            vec![MessageCreated { message: message.clone() }.into(), call.into()];
        if begun.is_some() {
            // The agent is free: the task starts with this commit, instead of one of its own.
            told.push(TaskStarted { task_id: task.id, agent_id: task.agent_id, plan: None }.into());
        }
        events::append_all(conn, scope.project, Some(session), now, &told).await?;
        if let Some(stop) = begun {
            let brief = Brief::read(conn, task.clone(), message.content.clone()).await?;
            self.hand.brief(brief, stop);
        }
        Ok(Sent { message, task })
    }
}
