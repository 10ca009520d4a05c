//! Plans and their tasks, as OR-11 lays them out.
//!
//! Every change of state is one conditional update, so whoever comes second changes nothing.

use artel_domain::plan::estimate::Measured;
use artel_domain::plan::{Plan, Range, Status, Task, TaskStatus};
use artel_domain::session::Usage;
use artel_domain::{AgentId, ApprovalId, MessageId, PlanId, SessionId, TaskId, Timestamp, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Listed, Page, Result, Scope};

/// Measured tasks that an estimate looks back at.
const LOOKED_AT: u32 = 50;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, user_id, project_id, session_id, message_id, status, planner, least_cost, total_cost,
                    least_duration, total_duration, planning_cost, unpriced, requires_approval, risk_level,
                    approval_id, answer_id, created_at, started_at, finished_at, title, note, planner_note,
                    original_request,
                    (select coalesce(sum(actual_cost), 0.0) from task_plan_tasks where plan_id = task_plans.id),
                    (select count(*) from task_plan_tasks where plan_id = task_plans.id),
                    (select count(*) from task_plan_tasks where plan_id = task_plans.id and status = 'completed')
             from task_plans ",
            $rest
        )
    };
}

macro_rules! select_tasks {
    ($rest:literal) => {
        concat!(
            "select id, task_id, agent_id, agent_name, capability, least_cost, estimated_cost, least_duration,
                    estimated_duration, risk_level, status, attempts, attempt_id, actual_cost, created_at, started_at,
                    finished_at, dependencies, usage, error, description, result, estimated_calls, unpriced
             from task_plan_tasks ",
            $rest
        )
    };
}

/// Stores a plan with its tasks.
pub async fn add(conn: &mut Conn, plan: &Plan, tasks: &[Task]) -> Result<()> {
    conn.execute(
        "insert into task_plans (id, user_id, project_id, session_id, message_id, status, planner, least_cost,
                                 total_cost, least_duration, total_duration, planning_cost, unpriced,
                                 requires_approval, risk_level, approval_id, created_at, started_at, title, note,
                                 planner_note, original_request)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
        values![
            plan.id,
            plan.user_id,
            plan.project_id,
            plan.session_id,
            plan.message_id,
            plan.status.as_str(),
            plan.planner.as_str(),
            plan.total_estimated_cost.min,
            plan.total_estimated_cost.max,
            plan.total_estimated_duration.min,
            plan.total_estimated_duration.max,
            plan.actual_cost,
            plan.unpriced,
            plan.requires_approval,
            word(&plan.risk_level)?,
            plan.approval_id,
            plan.created_at,
            plan.started_at.map(Timestamp::as_micros),
            &plan.title,
            plan.note.as_deref(),
            plan.planner_note.as_deref(),
            &plan.original_request
        ],
    )
    .await?;
    add_tasks(conn, plan.id, tasks).await
}

async fn add_tasks(conn: &mut Conn, plan: PlanId, tasks: &[Task]) -> Result<()> {
    for (place, task) in (0_u64..).zip(tasks) {
        conn.execute(
            "insert into task_plan_tasks (id, plan_id, place, task_id, agent_id, agent_name, capability, least_cost,
                                          estimated_cost, least_duration, estimated_duration, risk_level, status,
                                          attempts, created_at, dependencies, description, estimated_calls, unpriced)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, ?14, ?15, ?16, ?17, ?18)",
            values![
                task.id,
                plan,
                place,
                &task.task_id,
                task.agent_id,
                &task.agent_name,
                task.capability.as_deref(),
                task.estimated_cost.min,
                task.estimated_cost.max,
                task.estimated_duration.min,
                task.estimated_duration.max,
                word(&task.risk_level)?,
                task.status.as_str(),
                task.created_at,
                word(&task.dependencies)?,
                &task.description,
                task.estimated_calls,
                task.unpriced
            ],
        )
        .await?;
    }
    Ok(())
}

/// Puts other tasks in the place of a plan's, with what they should take.
pub async fn revise(conn: &mut Conn, plan: &Plan, tasks: &[Task]) -> Result<()> {
    conn.execute(
        "update task_plans set least_cost = ?2, total_cost = ?3, least_duration = ?4, total_duration = ?5,
                unpriced = ?6, requires_approval = ?7, risk_level = ?8 where id = ?1",
        values![
            plan.id,
            plan.total_estimated_cost.min,
            plan.total_estimated_cost.max,
            plan.total_estimated_duration.min,
            plan.total_estimated_duration.max,
            plan.unpriced,
            plan.requires_approval,
            word(&plan.risk_level)?
        ],
    )
    .await?;
    conn.execute("delete from task_plan_tasks where plan_id = ?1", values![plan.id]).await?;
    add_tasks(conn, plan.id, tasks).await
}

/// The plan, if it is the user's.
pub async fn get(conn: &mut Conn, scope: Scope, id: PlanId) -> Result<Plan> {
    conn.first(
        select!("where id = ?1 and project_id = ?2 and user_id = ?3"),
        values![id, scope.project, scope.user],
        read,
    )
    .await?
    .ok_or(Error::Missing("plan"))
}

/// A plan's tasks, in their order.
pub async fn tasks(conn: &mut Conn, plan: PlanId) -> Result<Vec<Task>> {
    let sql = select_tasks!("where plan_id = ?1 order by place");
    conn.query(sql, values![plan], read_task).await
}

/// One task of a plan, by its name.
pub async fn task(conn: &mut Conn, plan: PlanId, name: &str) -> Result<Task> {
    let sql = select_tasks!("where plan_id = ?1 and task_id = ?2");
    conn.first(sql, values![plan, name], read_task).await?.ok_or(Error::Missing("task"))
}

/// Which plans to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which {
    pub status: Option<Status>,
    pub session: Option<SessionId>,
}

/// A project's plans, newest first.
pub async fn list(conn: &mut Conn, scope: Scope, which: Which, page: Page) -> Result<Listed<Plan>> {
    let status = which.status.map(Status::as_str);
    let total = conn
        .first(
            "select count(*) from task_plans where project_id = ?1 and user_id = ?2
             and (status = ?3 or ?3 is null) and (session_id = ?4 or ?4 is null)",
            values![scope.project, scope.user, status, which.session],
            |row| row.count(0),
        )
        .await?;
    let items = conn
        .query(
            select!(
                "where project_id = ?1 and user_id = ?2 and (status = ?3 or ?3 is null)
                 and (session_id = ?4 or ?4 is null) order by created_at desc, id desc limit ?5 offset ?6"
            ),
            values![scope.project, scope.user, status, which.session, page.limit, page.offset],
            read,
        )
        .await?;
    Ok(Listed { items, total: total.unwrap_or(0) })
}

/// What a plan is, as much as a step of it needs.
#[derive(Debug, Clone)]
pub struct Head {
    pub id: PlanId,
    pub status: Status,
    pub session: SessionId,
    pub message: MessageId,
}

/// The same of a task.
#[derive(Debug, Clone)]
pub struct Node {
    pub id: TaskId,
    pub name: String,
    pub agent: Option<AgentId>,
    pub agent_name: String,
    pub duration: f64,
    pub status: TaskStatus,
    pub attempt: Option<TaskId>,
    pub dependencies: Vec<String>,
}

pub async fn head(conn: &mut Conn, scope: Scope, id: PlanId) -> Result<Head> {
    conn.first(
        "select id, status, session_id, message_id from task_plans
         where id = ?1 and project_id = ?2 and user_id = ?3",
        values![id, scope.project, scope.user],
        read_head,
    )
    .await?
    .ok_or(Error::Missing("plan"))
}

fn read_head(row: &Row<'_>) -> Result<Head> {
    Ok(Head {
        id: row.parse(0, PLANS)?,
        status: row.parse(1, PLANS)?,
        session: row.parse(2, PLANS)?,
        message: row.parse(3, PLANS)?,
    })
}

/// Where the tasks of a plan stand, in their order.
pub async fn nodes(conn: &mut Conn, plan: PlanId) -> Result<Vec<Node>> {
    conn.query(
        "select id, task_id, agent_id, agent_name, estimated_duration, status, attempt_id, dependencies
         from task_plan_tasks where plan_id = ?1 order by place",
        values![plan],
        |row| {
            Ok(Node {
                id: row.parse(0, TASKS)?,
                name: row.text(1)?,
                agent: row.optional_parse(2, TASKS)?,
                agent_name: row.text(3)?,
                duration: row.real(4)?,
                status: row.parse(5, TASKS)?,
                attempt: row.optional_parse(6, TASKS)?,
                dependencies: row.json(7, TASKS)?,
            })
        },
    )
    .await
}

/// Brings a plan from one state to the next; says whether this did it.
pub async fn turn(
    conn: &mut Conn,
    id: PlanId,
    from: Status,
    to: Status,
    note: Option<&str>,
    at: Timestamp,
) -> Result<bool> {
    let begins = to == Status::Executing;
    let turned = conn
        .execute(
            "update task_plans set status = ?3, note = ?4,
                    started_at = case when cast(?5 as bigint) = 1 then coalesce(started_at, ?7) else started_at end,
                    finished_at = case when cast(?6 as bigint) = 1 then cast(?7 as bigint) else null end
             where id = ?1 and status = ?2",
            values![id, from.as_str(), to.as_str(), note, begins, to.is_final(), at],
        )
        .await?;
    Ok(turned == 1)
}

/// The answer that a plan came to.
pub async fn answered(conn: &mut Conn, id: PlanId, answer: MessageId) -> Result<()> {
    let sql = "update task_plans set answer_id = ?2 where id = ?1";
    conn.execute(sql, values![id, answer]).await?;
    Ok(())
}

/// The approval that a plan waits for.
pub async fn asked(conn: &mut Conn, id: PlanId, approval: ApprovalId) -> Result<()> {
    let sql = "update task_plans set approval_id = ?2 where id = ?1";
    conn.execute(sql, values![id, approval]).await?;
    Ok(())
}

/// A task begins, with a new attempt; says whether it could.
pub async fn start_task(
    conn: &mut Conn,
    id: TaskId,
    attempt: TaskId,
    at: Timestamp,
) -> Result<bool> {
    let started = conn
        .execute(
            "update task_plan_tasks set status = 'executing', attempts = attempts + 1, attempt_id = ?2,
                    started_at = ?3, finished_at = null, error = null
             where id = ?1 and status = 'pending'",
            values![id, attempt, at],
        )
        .await?;
    Ok(started == 1)
}

/// What came of an attempt.
#[derive(Debug, Clone)]
pub struct Attempted<'a> {
    pub plan: PlanId,
    pub name: &'a str,
    pub attempt: TaskId,
    pub status: TaskStatus,
    pub result: Option<&'a str>,
    pub error: Option<&'a str>,
    pub usage: Option<&'a Usage>,
    pub at: Timestamp,
}

/// An attempt has ended; says whether anybody still waited for it. What it cost is added to what earlier ones did.
pub async fn end_attempt(conn: &mut Conn, it: &Attempted<'_>) -> Result<bool> {
    let usage = it.usage.map(serde_json::to_string).transpose().map_err(Error::internal)?;
    let cost = it.usage.and_then(|usage| usage.cost);
    let finished = it.status.is_final().then(|| it.at.as_micros());
    let ended = conn
        .execute(
            "update task_plan_tasks set status = ?4, result = ?5, error = ?6, usage = coalesce(?7, usage),
                    actual_cost = case when cast(?8 as bigint) = 1 then coalesce(actual_cost, 0.0) + ?9 else actual_cost end,
                    finished_at = ?10
             where plan_id = ?1 and task_id = ?2 and attempt_id = ?3 and status = 'executing'",
            values![
                it.plan,
                it.name,
                it.attempt,
                it.status.as_str(),
                it.result,
                it.error,
                usage.as_deref(),
                cost.is_some(),
                cost.unwrap_or(0.0),
                finished
            ],
        )
        .await?;
    Ok(ended == 1)
}

/// Brings a task from one state to another outside of an attempt; says whether this did it.
pub async fn turn_task(
    conn: &mut Conn,
    id: TaskId,
    from: TaskStatus,
    to: TaskStatus,
    error: Option<&str>,
    at: Timestamp,
) -> Result<bool> {
    let finished = to.is_final().then(|| at.as_micros());
    let turned = conn
        .execute(
            "update task_plan_tasks set status = ?3, error = ?4, finished_at = ?5 where id = ?1 and status = ?2",
            values![id, from.as_str(), to.as_str(), error, finished],
        )
        .await?;
    Ok(turned == 1)
}

/// Lets a task that has ended be done again, by this agent; what it gave is forgotten, what it cost is not.
pub async fn renew_task(
    conn: &mut Conn,
    id: TaskId,
    agent: Option<AgentId>,
    agent_name: &str,
) -> Result<()> {
    conn.execute(
        "update task_plan_tasks set status = 'pending', agent_id = ?2, agent_name = ?3, attempts = 0, result = null,
                error = null, started_at = null, finished_at = null
         where id = ?1",
        values![id, agent, agent_name],
    )
    .await?;
    Ok(())
}

/// Plans that should go on and of which nothing is under way.
pub async fn resting(conn: &mut Conn, limit: u32) -> Result<Vec<(Scope, PlanId)>> {
    conn.query(
        "select project_id, user_id, id from task_plans where status = 'executing' and not exists
         (select 1 from task_plan_tasks where plan_id = task_plans.id and status in ('executing', 'outcome_unknown'))
         order by created_at limit ?1",
        values![limit],
        |row| {
            let scope = Scope { project: row.parse(0, PLANS)?, user: UserId(row.int(1)?) };
            Ok((scope, row.parse(2, PLANS)?))
        },
    )
    .await
}

/// Plans of a project that have not ended.
pub async fn unfinished(conn: &mut Conn, scope: Scope) -> Result<Vec<Head>> {
    conn.query(
        "select id, status, session_id, message_id from task_plans
         where project_id = ?1 and user_id = ?2 and finished_at is null order by created_at",
        values![scope.project, scope.user],
        read_head,
    )
    .await
}

/// What an agent's tasks took so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Record {
    /// In US dollars.
    pub cost: Measured,
    /// In seconds.
    pub duration: Measured,
}

/// What the last tasks of an agent took that were completed: those of one capability, or all.
pub async fn record(conn: &mut Conn, agent: AgentId, capability: Option<&str>) -> Result<Record> {
    let record = conn
        .first(
            "select count(actual_cost), coalesce(avg(actual_cost), 0.0), coalesce(min(actual_cost), 0.0),
                    coalesce(max(actual_cost), 0.0), count(*), coalesce(cast(avg(took) as double precision), 0.0) / 1000000.0,
                    coalesce(cast(min(took) as double precision), 0.0) / 1000000.0,
                    coalesce(cast(max(took) as double precision), 0.0) / 1000000.0
             from (select actual_cost, finished_at - started_at as took from task_plan_tasks
                   where agent_id = ?1 and status = 'completed' and (capability = ?2 or ?2 is null)
                   order by id desc limit ?3) as latest",
            values![agent, capability, LOOKED_AT],
            |row| {
                let measured = |at: usize| -> Result<Measured> {
                    Ok(Measured {
                        count: row.count(at)?,
                        mean: row.real(at + 1)?,
                        least: row.real(at + 2)?,
                        most: row.real(at + 3)?,
                    })
                };
                Ok(Record { cost: measured(0)?, duration: measured(4)? })
            },
        )
        .await?;
    Ok(record.unwrap_or_default())
}

const PLANS: &str = "task_plans";
const TASKS: &str = "task_plan_tasks";

fn word<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(Error::internal)
}

fn read(row: &Row<'_>) -> Result<Plan> {
    let time = |at| Ok::<_, Error>(row.optional_int(at)?.map(Timestamp::from_micros));
    let (started_at, finished_at) = (time(18)?, time(19)?);
    let total_estimated_cost = Range::new(row.real(7)?, row.real(8)?);
    let took = started_at.zip(finished_at).map(|(from, to)| to.since(from).as_secs_f64());
    Ok(Plan {
        id: row.parse(0, PLANS)?,
        user_id: UserId(row.int(1)?),
        project_id: row.parse(2, PLANS)?,
        session_id: row.parse(3, PLANS)?,
        message_id: row.parse(4, PLANS)?,
        title: row.text(20)?,
        original_request: row.text(23)?,
        status: row.parse(5, PLANS)?,
        note: row.optional_text(21)?,
        planner: row.parse(6, PLANS)?,
        planner_note: row.optional_text(22)?,
        total_estimated_cost,
        total_estimated_duration: Range::new(row.real(9)?, row.real(10)?),
        unpriced: row.truth(12)?,
        actual_cost: row.real(11)? + row.real(24)?,
        actual_duration: took,
        requires_approval: row.truth(13)?,
        high_cost: total_estimated_cost.max > artel_domain::plan::estimate::HIGH_COST,
        risk_level: row.json(14, PLANS)?,
        approval_id: row.optional_parse(15, PLANS)?,
        answer_id: row.optional_parse(16, PLANS)?,
        task_count: row.count(25)?,
        completed_count: row.count(26)?,
        created_at: row.time(17)?,
        started_at,
        finished_at,
    })
}

fn read_task(row: &Row<'_>) -> Result<Task> {
    let usage = row.optional_text(18)?.map(|json| serde_json::from_str(&json)).transpose();
    Ok(Task {
        id: row.parse(0, TASKS)?,
        task_id: row.text(1)?,
        description: row.text(20)?,
        agent_id: row.optional_parse(2, TASKS)?,
        agent_name: row.text(3)?,
        capability: row.optional_text(4)?,
        dependencies: row.json(17, TASKS)?,
        estimated_cost: Range::new(row.real(5)?, row.real(6)?),
        estimated_duration: Range::new(row.real(7)?, row.real(8)?),
        estimated_calls: u32::try_from(row.count(22)?).unwrap_or(u32::MAX),
        unpriced: row.truth(23)?,
        risk_level: row.json(9, TASKS)?,
        status: row.parse(10, TASKS)?,
        attempts: u32::try_from(row.count(11)?).unwrap_or(u32::MAX),
        attempt_id: row.optional_parse(12, TASKS)?,
        result: row.optional_text(21)?,
        error: row.optional_text(19)?,
        actual_cost: row.optional_real(13)?,
        usage: usage.map_err(|error| Error::Damaged { table: TASKS, detail: error.to_string() })?,
        created_at: row.time(14)?,
        started_at: row.optional_int(15)?.map(Timestamp::from_micros),
        finished_at: row.optional_int(16)?.map(Timestamp::from_micros),
    })
}
