//! Messages straight to an agent that is a program, in the conversation that it keeps anyway.

use std::time::Duration;

use artel_domain::event::MessageCreated;
use artel_domain::session::{Message, Role, Session};
use artel_domain::task::Task;
use artel_domain::{Agent, AgentId, ApprovalId, MessageId, SessionId};
use artel_programs::codec::Command;
use artel_storage::{Lane, Scope, events, processes, projects, sessions, tasks};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::approvals::{Decided, Verdict};
use crate::input::{Checked, Input};
use crate::{App, Caller, Error, IdempotencyKey, Kind, Result, SendMessage, Sent, Taken};

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TellAgent {
    #[schema(min_length = 1, max_length = 1_000_000, example = "Find the slowest test.")]
    pub message: String,
    /// The conversation that it belongs to; without one, that of the agent itself.
    pub session_id: Option<SessionId>,
    #[serde(default)]
    pub delivery: Delivery,
}

/// What becomes of a message while the agent works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// It waits its turn.
    #[default]
    Queue,
    /// It goes into the turn that runs, where the program can take it; otherwise it waits its turn.
    Steer,
    /// What runs is stopped, and this is next.
    Replace,
}

/// The answer to a question of an agent's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerQuestion {
    #[schema(min_length = 1, max_length = 10_000, example = "The blue one")]
    pub answer: String,
}

impl Input for TellAgent {}
impl Input for AnswerQuestion {}

/// What became of a message to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "delivered", rename_all = "lowercase")]
pub enum Told {
    /// It is a task of its own.
    Queued { session_id: SessionId, task: Box<Task>, message: Box<Message> },
    /// It went into the turn of this task.
    Steered { session_id: SessionId, task: Box<Task> },
}

impl App {
    /// Gives an agent a message, in the way that was asked for.
    pub async fn tell_agent(
        &self,
        caller: &Caller,
        id: AgentId,
        input: Checked<TellAgent>,
        key: Option<IdempotencyKey>,
    ) -> Result<Told> {
        let (scope, agent) = self.find_agent(caller, id).await?;
        let TellAgent { message, session_id, delivery } = input.into_inner();
        let running = self.running_task(scope, id).await?;
        match (delivery, running) {
            (Delivery::Steer, Some(task)) => {
                if let Some(program) = self.0.programs.find(id)
                    && program.abilities().steer
                    && program.command(Command::Steer { text: message.clone() }).await.is_ok()
                {
                    self.note_word(scope, &task, message).await?;
                    return Ok(Told::Steered { session_id: task.session_id, task: Box::new(task) });
                }
            }
            (Delivery::Replace, Some(task)) => {
                // Whether this ended it or it ended by itself: it no longer stands in the way.
                match self.cancel_task(caller, scope.project, task.id).await {
                    Ok(_) => {}
                    Err(error) if error.kind == Kind::Conflict => {}
                    Err(error) => return Err(error),
                }
            }
            (Delivery::Queue, _) | (Delivery::Steer | Delivery::Replace, None) => {}
        }
        let session = match session_id {
            Some(session) => session,
            None => self.own_session(scope, &agent).await?,
        };
        let wanted = self.schemas().check::<SendMessage>(json!({
            "content": message,
            "target_agent": id,
            "priority": if delivery == Delivery::Replace { "high" } else { "normal" },
        }))?;
        match self.send(caller, scope.project, session, wanted, key).await? {
            Taken::Direct(sent) => {
                let Sent { message, task } = *sent;
                let (task, message) = (Box::new(task), Box::new(message));
                Ok(Told::Queued { session_id: session, task, message })
            }
            Taken::Planned(_) => Err(Error::internal("a message to one agent was planned")),
        }
    }

    /// A word into a running turn stands in its conversation like any other.
    async fn note_word(&self, scope: Scope, task: &Task, content: String) -> Result<()> {
        let (session, now) = (task.session_id, self.clock().now());
        let message = Message {
            id: MessageId::new(self.clock()),
            role: Role::User,
            content,
            agent_id: Some(task.agent_id),
            task_id: Some(task.id),
            timestamp: now,
            outcome: None,
        };
        let noted = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                sessions::say(conn, scope, session, &message).await?;
                let event = MessageCreated { message };
                events::append(conn, scope.project, Some(session), now, &event.into()).await?;
                Ok(())
            })
        });
        Ok(noted.await?)
    }

    /// Waits for the answer to a message, so long.
    pub async fn await_told(
        &self,
        caller: &Caller,
        told: &Told,
        patience: Duration,
    ) -> Result<Option<Message>> {
        let task = match told {
            Told::Queued { task, .. } | Told::Steered { task, .. } => task,
        };
        match tokio::time::timeout(patience, self.outcome(caller, task)).await {
            Ok(answer) => answer.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Answers a question of the agent's.
    pub async fn answer_question(
        &self,
        caller: &Caller,
        id: AgentId,
        question: ApprovalId,
        input: Checked<AnswerQuestion>,
        from: &'static str,
    ) -> Result<Decided> {
        let (scope, _) = self.find_agent(caller, id).await?;
        let approval = self.approval(caller, question).await?;
        let of_agent = approval.payload.get("agent_id") == Some(&json!(id));
        if approval.project_id != scope.project
            || approval.kind != artel_domain::approval::Kind::Question
            || !of_agent
        {
            return Err(Error::not_found("question"));
        }
        let verdict = Verdict {
            decision: artel_domain::approval::Decision::Approve,
            comment: Some(input.into_inner().answer),
            from,
        };
        self.decide(caller, question, verdict, None).await
    }

    /// The task that an agent works on now.
    pub(super) async fn running_task(&self, scope: Scope, agent: AgentId) -> Result<Option<Task>> {
        let read = self.0.storage.db.read(move |conn| {
            Box::pin(async move { tasks::unfinished(conn, scope.project).await })
        });
        let running = |task: &Task| task.agent_id == agent && task.started_at.is_some();
        Ok(read.await?.into_iter().find(running))
    }

    /// The conversation of messages that name none.
    async fn own_session(&self, scope: Scope, agent: &Agent) -> Result<SessionId> {
        let (id, now) = (agent.id, self.clock().now());
        let session = Session {
            id: SessionId::new(self.clock()),
            title: agent.name.clone(),
            pinned: false,
            message_count: 0,
            created_at: now,
            updated_at: now,
        };
        let first = self.first_row(agent)?;
        let made = self.0.storage.db.write(Lane::Project(scope.project), move |conn| {
            Box::pin(async move {
                projects::lock(conn, scope).await?;
                let row = processes::get(conn, id).await?;
                if let Some(known) = row.as_ref().and_then(|row| row.session_id)
                    && sessions::get(conn, scope, known).await.is_ok()
                {
                    return Ok(known);
                }
                if row.is_none() {
                    processes::put(conn, scope, &first).await?;
                }
                sessions::add(conn, scope, &session).await?;
                processes::set_session(conn, id, session.id).await?;
                Ok(session.id)
            })
        });
        Ok(made.await?)
    }
}
