//! A plan on its way.
//!
//! What a task gave, what follows from it for the others, the work that begins next, and in the end the answer: all of
//! it is written in the one commit that ends the task. Killed at any point, a plan stands before a step or behind it.

use artel_domain::event::{
    MessageCreated, PlanStatusChanged, TaskCancelled, TaskFailed, TaskStarted,
};
use artel_domain::plan::schedule::{self, Schedule};
use artel_domain::plan::{Graph, Place, Status, TaskStatus};
use artel_domain::session::{ErrorType, Message, Outcome, Role};
use artel_domain::task::{self, Priority, Task};
use artel_domain::tool;
use artel_domain::{Event, MessageId, PlanId, SystemClock, TaskId, Timestamp};
use artel_storage::plans::{Attempted, Head, Node};
use artel_storage::tasks::End;
use artel_storage::{Conn, Error, Result, Scope, calls, events, plans, sessions, tasks};

use super::{asking, words};
use crate::calls::flow::has_effects;
use crate::spaces::SPACE_CLOSED;
use crate::spaces::board::{Refused, Ticket};
use crate::spaces::keeping::{ATTEMPTS, Hand};
use crate::spaces::turn::Brief;

/// Starts what may start now, skips what never will, and ends the plan when all of it has ended. Only in a space that is
/// ours.
pub(crate) async fn advance(conn: &mut Conn, hand: &Hand, scope: Scope, id: PlanId) -> Result<()> {
    let head = match plans::head(conn, scope, id).await {
        // It went with its session.
        Err(Error::Missing(_)) => return Ok(()),
        head => head?,
    };
    if head.status != Status::Executing {
        return Ok(());
    }
    let course = Course { hand, scope, head, now: hand.clock().now() };
    while course.step(conn).await? {}
    Ok(())
}

struct Course<'a> {
    hand: &'a Hand,
    scope: Scope,
    head: Head,
    now: Timestamp,
}

impl Course<'_> {
    /// Says whether something came to nothing in it, so that more may follow.
    async fn step(&self, conn: &mut Conn) -> Result<bool> {
        let nodes = plans::nodes(conn, self.head.id).await?;
        let graph = graph_of(&nodes)?;
        let schedule = self.schedule(&graph, &nodes);
        let mut states: Vec<_> = nodes.iter().map(|node| node.status).collect();
        for at in schedule.skip(&states) {
            self.skip(conn, &nodes[at]).await?;
            states[at] = TaskStatus::Skipped;
        }
        if let Some(status) = schedule::verdict(&states) {
            self.end(conn, status).await?;
            return Ok(false);
        }
        let mut failed = false;
        for at in schedule.start(&states) {
            if let Some(why) = self.begin(conn, &nodes[at]).await? {
                self.fail(conn, &nodes[at], why).await?;
                failed = true;
            }
        }
        Ok(failed)
    }

    fn schedule<'g>(&self, graph: &'g Graph, nodes: &[Node]) -> Schedule<'g> {
        let mut known = Vec::new();
        let agents = nodes.iter().map(|node| {
            known.iter().position(|&agent| agent == node.agent).unwrap_or_else(|| {
                known.push(node.agent);
                known.len() - 1
            })
        });
        let agents: Vec<_> = agents.collect();
        // Tasks of an agent that takes none are tried all the same, and then it is said why they cannot start.
        let limit = |agent: Option<_>| agent.and_then(|agent| self.hand.limit(agent));
        let limits = known.into_iter().map(|agent| limit(agent).unwrap_or(1)).collect();
        let durations: Vec<_> = nodes.iter().map(|node| node.duration).collect();
        Schedule::new(graph, &durations, agents, limits, self.hand.plan_parallel())
    }

    /// Puts a task on its agent's queue, or lets it run at once; says why when that can never be.
    async fn begin(&self, conn: &mut Conn, node: &Node) -> Result<Option<String>> {
        let Self { hand, scope, head, now } = self;
        let Some(agent_id) = node.agent else {
            return Ok(Some(format!("The agent {:?} was deleted", node.agent_name)));
        };
        let mut task = Task {
            id: TaskId::new(hand.clock()),
            user_id: scope.user,
            project_id: scope.project,
            session_id: head.session,
            agent_id,
            message_id: head.message,
            plan: Some(self.place(node)),
            status: task::Status::Queued,
            priority: Priority::Normal,
            error: None,
            error_type: None,
            created_at: *now,
            started_at: None,
            finished_at: None,
        };
        match hand.push(agent_id, Ticket::of(&task)) {
            Ok(()) => {}
            // It has its turn when the queue is shorter: at the next end of a task, or of the reconciler's round.
            Err(Refused::Full) => return Ok(None),
            Err(Refused::Unregistered) => {
                let why = format!("The agent {:?} takes no tasks", node.agent_name);
                return Ok(Some(why));
            }
            Err(Refused::Shut) => return Err(Error::Refused(SPACE_CLOSED)),
        }
        let begun = hand.begin(task.id);
        if begun.is_some() {
            (task.status, task.started_at) = (task::Status::Running, Some(*now));
        }
        tasks::add(conn, &task).await?;
        plans::start_task(conn, node.id, task.id, *now).await?;
        if let Some(stop) = begun {
            let plan = task.plan.clone();
            self.tell(conn, TaskStarted { task_id: task.id, agent_id, plan }.into()).await?;
            let asked = words::asked_of(conn, head.id, &node.name, &node.dependencies).await?;
            hand.brief(Brief::read(conn, task, asked).await?, stop);
        }
        Ok(None)
    }

    async fn fail(&self, conn: &mut Conn, node: &Node, error: String) -> Result<()> {
        let (from, to) = (TaskStatus::Pending, TaskStatus::Failed);
        plans::turn_task(conn, node.id, from, to, Some(&error), self.now).await?;
        let Some(agent_id) = node.agent else { return Ok(()) };
        let (task_id, plan) = (node.id, Some(self.place(node)));
        let error_type = ErrorType::Execution;
        self.tell(conn, TaskFailed { task_id, agent_id, plan, error, error_type }.into()).await
    }

    async fn skip(&self, conn: &mut Conn, node: &Node) -> Result<()> {
        let why = "Something that it needs came to nothing";
        let (from, to) = (TaskStatus::Pending, TaskStatus::Skipped);
        plans::turn_task(conn, node.id, from, to, Some(why), self.now).await?;
        let Some(agent_id) = node.agent else { return Ok(()) };
        let (task_id, plan) = (node.id, Some(self.place(node)));
        self.tell(conn, TaskCancelled { task_id, agent_id, plan }.into()).await
    }

    fn place(&self, node: &Node) -> Place {
        Place { plan_id: self.head.id, task: node.name.clone() }
    }

    async fn end(&self, conn: &mut Conn, status: Status) -> Result<()> {
        let tasks = plans::tasks(conn, self.head.id).await?;
        let error = words::failures(&tasks);
        let error_type = error.is_some().then_some(ErrorType::Execution);
        let outcome = Outcome {
            success: error.is_none(),
            error,
            error_type,
            usage: words::usage(&tasks),
            context: Vec::new(),
            plan_id: Some(self.head.id),
        };
        let text = words::combined(&tasks);
        conclude(conn, self.scope, &self.head, status, text, outcome, self.now).await?;
        self.hand.plan_ended(self.head.id);
        Ok(())
    }

    async fn tell(&self, conn: &mut Conn, event: Event) -> Result<()> {
        let (project, session) = (self.scope.project, Some(self.head.session));
        events::append(conn, project, session, self.now, &event).await?;
        Ok(())
    }
}

/// Ends a plan with what is said about it in the conversation; says whether this did it.
pub(super) async fn conclude(
    conn: &mut Conn,
    scope: Scope,
    head: &Head,
    status: Status,
    text: String,
    outcome: Outcome,
    now: Timestamp,
) -> Result<bool> {
    let note = outcome.error.clone();
    if !plans::turn(conn, head.id, head.status, status, note.as_deref(), now).await? {
        return Ok(false);
    }
    let message = Message {
        id: MessageId::new(&SystemClock),
        role: Role::Assistant,
        content: text,
        agent_id: None,
        task_id: None,
        timestamp: now,
        outcome: Some(outcome),
    };
    let message_id = Some(message.id);
    plans::answered(conn, head.id, message.id).await?;
    sessions::say(conn, scope, head.session, &message).await?;
    let ended = PlanStatusChanged { plan_id: head.id, status, note, message_id };
    let told = [MessageCreated { message }.into(), ended.into()];
    events::append_all(conn, scope.project, Some(head.session), now, &told).await?;
    Ok(true)
}

/// Writes down what came of an attempt at a task of a plan.
pub(crate) async fn settle(
    conn: &mut Conn,
    scope: Scope,
    task: &Task,
    place: &Place,
    end: &End,
    answer: &Message,
) -> Result<()> {
    let (status, error) = match end {
        End::Completed => (TaskStatus::Completed, None),
        End::Cancelled => (TaskStatus::Cancelled, Some("Cancelled")),
        End::Failed { error, error_type } => {
            (after_failure(conn, task, place, *error_type).await?, Some(error.as_str()))
        }
    };
    let attempted = Attempted {
        plan: place.plan_id,
        name: &place.task,
        attempt: task.id,
        status,
        result: (status == TaskStatus::Completed).then_some(answer.content.as_str()),
        error,
        usage: answer.outcome.as_ref().and_then(|outcome| outcome.usage.as_ref()),
        at: answer.timestamp,
    };
    if plans::end_attempt(conn, &attempted).await? && status == TaskStatus::OutcomeUnknown {
        asking::ask_about_task(conn, scope, task, place, error.unwrap_or_default()).await?;
    }
    Ok(())
}

/// What becomes of a task whose attempt failed: where nothing outside was touched, one that was cut off by its node's
/// death is tried anew; where something may have been, a person decides.
async fn after_failure(
    conn: &mut Conn,
    task: &Task,
    place: &Place,
    error_type: ErrorType,
) -> Result<TaskStatus> {
    let (mut touched, mut unknown) = (false, false);
    for (tool, status) in calls::made_by(conn, task.id).await? {
        if !has_effects(&tool) {
            continue;
        }
        touched |= status == tool::Status::Succeeded;
        unknown |= match status {
            tool::Status::Running | tool::Status::OutcomeUnknown | tool::Status::Timeout => true,
            tool::Status::Preparing
            | tool::Status::Pending
            | tool::Status::Succeeded
            | tool::Status::Failed
            | tool::Status::Rejected
            | tool::Status::Cancelled => false,
        };
    }
    let interrupted = error_type == ErrorType::Interrupted;
    if unknown || (interrupted && touched) {
        return Ok(TaskStatus::OutcomeUnknown);
    }
    let attempts = plans::task(conn, place.plan_id, &place.task).await?.attempts;
    Ok(if interrupted && attempts < ATTEMPTS { TaskStatus::Pending } else { TaskStatus::Failed })
}

pub(super) fn graph_of(nodes: &[Node]) -> Result<Graph> {
    let names = nodes.iter().map(|node| (node.name.as_str(), node.dependencies.as_slice()));
    Graph::new(names)
        .map_err(|flaw| Error::Damaged { table: "task_plan_tasks", detail: flaw.to_string() })
}
