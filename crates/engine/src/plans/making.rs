//! A plan on its way into the store: drawn, priced, and begun if it may.

use std::time::Duration;

use artel_domain::event::{MessageCreated, PlanStatusChanged, PlannedTask, TaskPlanCreated};
use artel_domain::plan::estimate::{self, Estimate};
use artel_domain::plan::schedule::Schedule;
use artel_domain::plan::{Draft, DraftTask, Graph, Plan, Range, Status, Task, TaskStatus};
use artel_domain::session::{Message, Role, Session};
use artel_domain::{Agent, Clock, MessageId, PlanId, RiskLevel, SessionId, TaskId};
use artel_storage::{Conn, Error, Scope, agents, events, plans, projects, sessions};

use super::{PlanView, asking, course, view, words};
use crate::planner::{self, Planned, Team};
use crate::spaces::keeping::Hand;
use crate::{App, Result, estimator};

/// An agent of the plan is not what it was when it was planned with.
pub(super) const TEAM_CHANGED: &str = "team_changed";
/// Characters of a title.
const TITLE: usize = 80;

/// A plan that is not stored yet.
pub(super) struct Making {
    pub(super) scope: Scope,
    /// None: it begins a conversation of its own.
    session: Option<SessionId>,
    plan: Plan,
    tasks: Vec<Task>,
    /// Whether it begins at once.
    run: bool,
    /// How long a person has to decide.
    standard: Duration,
}

impl Making {
    /// Plans a request and prices the plan.
    pub(super) async fn draw(
        app: &App,
        scope: Scope,
        session: Option<SessionId>,
        request: &str,
        given: Option<Vec<DraftTask>>,
        run: bool,
    ) -> Result<Self> {
        let team = Team::of(app, scope).await?;
        let title = || words::start(request.lines().next().unwrap_or_default().trim(), TITLE);
        let planned = match given {
            Some(tasks) => planner::given(&team, Draft { title: title().to_owned(), tasks })?,
            None => match super::cache::find(app, scope, &team, request).await {
                Some(planned) => planned,
                None => planner::plan(app, &team, request).await?,
            },
        };
        let Planned { draft, planner, note, cost } = planned;
        let now = app.clock().now();
        let tasks = price(app, scope, &team, draft.tasks).await?;
        let named = words::start(draft.title.trim(), TITLE);
        let plan = Plan {
            id: PlanId::new(app.clock()),
            user_id: scope.user,
            project_id: scope.project,
            session_id: session.unwrap_or_else(|| SessionId::new(app.clock())),
            message_id: MessageId::new(app.clock()),
            title: if named.is_empty() { title() } else { named }.to_owned(),
            original_request: request.to_owned(),
            status: Status::Pending,
            note: None,
            planner,
            planner_note: note,
            total_estimated_cost: Range::default(),
            total_estimated_duration: Range::default(),
            unpriced: false,
            actual_cost: cost,
            actual_duration: None,
            requires_approval: true,
            high_cost: false,
            risk_level: RiskLevel::High,
            approval_id: None,
            answer_id: None,
            created_at: now,
            started_at: None,
            finished_at: None,
            task_count: 0,
            completed_count: 0,
        };
        let plan = total(plan, &tasks, &team, app.0.settings.plan_parallel);
        let standard = app.0.settings.approval_timeout;
        Ok(Self { scope, session, plan, tasks, run, standard })
    }

    pub(super) const fn id(&self) -> PlanId {
        self.plan.id
    }

    /// Stores the request as a message, the plan, and what begins with it.
    pub(super) async fn store(
        self,
        conn: &mut Conn,
        hand: &Hand,
    ) -> artel_storage::Result<PlanView> {
        let Self { scope, session, plan, tasks, run, standard } = self;
        let now = plan.created_at;
        projects::lock(conn, scope).await?;
        let team = agents::all(conn, scope).await?;
        let there = |task: &Task| {
            team.iter().any(|agent| Some(agent.id) == task.agent_id && agent.registered)
        };
        if !tasks.iter().all(there) {
            return Err(Error::Refused(TEAM_CHANGED));
        }
        if session.is_none() {
            let session = Session {
                id: plan.session_id,
                title: plan.title.clone(),
                pinned: false,
                message_count: 0,
                created_at: now,
                updated_at: now,
            };
            sessions::add(conn, scope, &session).await?;
        } else if sessions::get(conn, scope, plan.session_id).await?.title.is_empty() {
            sessions::rename(conn, scope, plan.session_id, &plan.title).await?;
        }
        let message = Message {
            id: plan.message_id,
            role: Role::User,
            content: plan.original_request.clone(),
            agent_id: None,
            task_id: None,
            timestamp: now,
            outcome: None,
        };
        sessions::say(conn, scope, plan.session_id, &message).await?;
        plans::add(conn, &plan, &tasks).await?;
        let told = [MessageCreated { message }.into(), created(&plan, &tasks).into()];
        events::append_all(conn, scope.project, Some(plan.session_id), now, &told).await?;
        if run {
            begin(conn, hand, &plan, standard).await?;
        }
        view(conn, scope, plan.id).await
    }
}

/// Lets a plan that has not begun run, or asks whether it may.
pub(super) async fn begin(
    conn: &mut Conn,
    hand: &Hand,
    plan: &Plan,
    standard: Duration,
) -> artel_storage::Result<()> {
    let (scope, id) = (Scope { user: plan.user_id, project: plan.project_id }, plan.id);
    let now = hand.clock().now();
    let asks = plan.requires_approval;
    let status = if asks { Status::WaitingApproval } else { Status::Executing };
    plans::turn(conn, id, plan.status, status, None, now).await?;
    let event = PlanStatusChanged { plan_id: id, status, note: None, message_id: None };
    events::append(conn, scope.project, Some(plan.session_id), now, &event.into()).await?;
    if asks {
        let tasks = plans::tasks(conn, id).await?;
        asking::ask(conn, plan, &tasks, standard).await?;
    } else if hand.take_over(conn).await? {
        course::advance(conn, hand, scope, id).await?;
    }
    Ok(())
}

/// What each task of a draft will take, by its agent.
pub(super) async fn price(
    app: &App,
    scope: Scope,
    team: &Team,
    draft: Vec<DraftTask>,
) -> Result<Vec<Task>> {
    let find = |task: DraftTask| team.find(&task.agent).cloned().map(|agent| (task, agent));
    let with_agents: Vec<(DraftTask, Agent)> = draft.into_iter().filter_map(find).collect();
    let app = app.clone();
    let db = app.0.storage.db.clone();
    let priced = db.read(move |conn| {
        Box::pin(async move {
            projects::get(conn, scope).await?;
            let mut priced = Vec::with_capacity(with_agents.len());
            let mut known: Vec<(_, Option<String>, usize, _)> = Vec::new();
            for (task, agent) in with_agents {
                // Tasks of one kind have one history; only their lengths differ, which is little.
                let same = known.iter().find(|(id, kind, needs, _)| {
                    *id == agent.id && *kind == task.capability && *needs == task.depends_on.len()
                });
                let estimate = if let Some((.., estimate)) = same {
                    *estimate
                } else {
                    let (providers, embedder) = (&app.0.providers, app.embedder());
                    estimator::estimate(conn, providers, embedder, &agent, &task).await?
                };
                known.push((agent.id, task.capability.clone(), task.depends_on.len(), estimate));
                priced.push(of(app.clock(), task, &agent, estimate));
            }
            Ok(priced)
        })
    });
    Ok(priced.await?)
}

fn of(clock: &dyn Clock, task: DraftTask, agent: &Agent, (it, calls): (Estimate, u32)) -> Task {
    let mut dependencies = Vec::with_capacity(task.depends_on.len());
    for name in task.depends_on {
        // Said twice is said once.
        if !dependencies.contains(&name) {
            dependencies.push(name);
        }
    }
    Task {
        id: TaskId::new(clock),
        task_id: task.name,
        description: task.description,
        agent_id: Some(agent.id),
        agent_name: agent.name.clone(),
        capability: task.capability,
        dependencies,
        estimated_cost: it.cost,
        estimated_duration: it.duration,
        estimated_calls: calls,
        unpriced: it.unpriced,
        risk_level: agent.config.metadata.risk_level,
        status: TaskStatus::Pending,
        attempts: 0,
        attempt_id: None,
        result: None,
        error: None,
        actual_cost: None,
        usage: None,
        created_at: clock.now(),
        started_at: None,
        finished_at: None,
    }
}

/// The plan with what all of its tasks take together.
pub(super) fn total(plan: Plan, tasks: &[Task], team: &Team, parallel: usize) -> Plan {
    let cost: Range = tasks.iter().map(|task| task.estimated_cost).sum();
    let unpriced = tasks.iter().any(|task| task.unpriced);
    let risk_level = estimate::risk(tasks.iter().map(|task| task.risk_level), cost.max);
    Plan {
        total_estimated_cost: cost,
        total_estimated_duration: span(tasks, team, parallel),
        unpriced,
        requires_approval: estimate::needs_approval(tasks.len(), cost.max, unpriced),
        high_cost: cost.max > estimate::HIGH_COST,
        risk_level,
        task_count: tasks.len() as u64,
        ..plan
    }
}

/// How long it takes when it is run as it will be.
fn span(tasks: &[Task], team: &Team, parallel: usize) -> Range {
    let names = tasks.iter().map(|task| (task.task_id.as_str(), task.dependencies.as_slice()));
    let Ok(graph) = Graph::new(names) else { return Range::default() };
    let place = |task: &Task| {
        let found = team.agents.iter().position(|agent| Some(agent.id) == task.agent_id);
        found.unwrap_or(team.agents.len())
    };
    let limits = team.agents.iter().map(|agent| agent.config.at_a_time());
    let limits: Vec<_> = limits.chain([1]).collect();
    let span = |of: fn(&Task) -> f64| {
        let durations: Vec<_> = tasks.iter().map(of).collect();
        let agents = tasks.iter().map(place).collect();
        Schedule::new(&graph, &durations, agents, limits.clone(), parallel).span(&durations)
    };
    Range::new(span(|task| task.estimated_duration.min), span(|task| task.estimated_duration.max))
}

fn created(plan: &Plan, tasks: &[Task]) -> TaskPlanCreated {
    let task = |task: &Task| PlannedTask {
        task: task.task_id.clone(),
        agent: task.agent_name.clone(),
        dependencies: task.dependencies.clone(),
    };
    TaskPlanCreated {
        plan_id: plan.id,
        title: plan.title.clone(),
        planner: plan.planner,
        tasks: tasks.iter().map(task).collect(),
        estimated_cost: plan.total_estimated_cost,
        estimated_duration: plan.total_estimated_duration,
        risk_level: plan.risk_level,
        requires_approval: plan.requires_approval,
    }
}
