//! Plans and their tasks, as OR-11 lays them out.

use artel_domain::event::TaskPlanCreated;
use artel_domain::plan::{Plan, Task};
use artel_domain::{PlanId, UserId};

use crate::db::{Row, values};
use crate::{Conn, Error, Result, Scope, events};

/// Stores a plan with its tasks and tells of it.
pub async fn add(conn: &mut Conn, plan: &Plan) -> Result<()> {
    conn.execute(
        "insert into task_plans (id, user_id, project_id, session_id, original_request, status, total_cost,
                                 total_duration, requires_approval, created_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        values![
            plan.id,
            plan.user_id,
            plan.project_id,
            plan.session_id,
            &plan.original_request,
            plan.status.as_str(),
            plan.total_cost,
            plan.total_duration,
            plan.requires_approval,
            plan.created_at
        ],
    )
    .await?;
    for task in &plan.tasks {
        add_task(conn, plan.id, task).await?;
    }
    let event = TaskPlanCreated {
        plan_id: plan.id,
        original_request: plan.original_request.clone(),
        tasks: plan.tasks.len(),
        requires_approval: plan.requires_approval,
    };
    events::append(conn, plan.project_id, plan.session_id, plan.created_at, &event.into()).await?;
    Ok(())
}

async fn add_task(conn: &mut Conn, plan: PlanId, task: &Task) -> Result<()> {
    conn.execute(
        "insert into task_plan_tasks (id, plan_id, task_id, description, agent_id, dependencies, estimated_cost,
                                      estimated_duration, risk_level, status, result, created_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        values![
            task.id,
            plan,
            &task.task_id,
            &task.description,
            task.agent_id,
            serde_json::to_string(&task.dependencies).map_err(Error::internal)?,
            task.estimated_cost,
            task.estimated_duration,
            serde_json::to_string(&task.risk_level).map_err(Error::internal)?,
            task.status.as_str(),
            task.result.as_deref(),
            task.created_at
        ],
    )
    .await?;
    Ok(())
}

/// The plan with its tasks, if it is the user's.
pub async fn get(conn: &mut Conn, scope: Scope, id: PlanId) -> Result<Plan> {
    let plan = conn
        .first(
            "select id, user_id, project_id, session_id, original_request, status, total_cost, total_duration,
                    requires_approval, created_at
             from task_plans where id = ?1 and project_id = ?2 and user_id = ?3",
            values![id, scope.project, scope.user],
            read,
        )
        .await?
        .ok_or(Error::Missing("plan"))?;
    let tasks = conn
        .query(
            "select id, task_id, description, agent_id, dependencies, estimated_cost, estimated_duration, risk_level,
                    status, result, created_at
             from task_plan_tasks where plan_id = ?1 order by created_at, task_id",
            values![id],
            read_task,
        )
        .await?;
    Ok(Plan { tasks, ..plan })
}

fn read(row: &Row<'_>) -> Result<Plan> {
    let table = "task_plans";
    Ok(Plan {
        id: row.parse(0, table)?,
        user_id: UserId(row.int(1)?),
        project_id: row.parse(2, table)?,
        session_id: row.optional_parse(3, table)?,
        original_request: row.text(4)?,
        status: row.parse(5, table)?,
        total_cost: row.real(6)?,
        total_duration: row.real(7)?,
        requires_approval: row.truth(8)?,
        created_at: row.time(9)?,
        tasks: Vec::new(),
    })
}

fn read_task(row: &Row<'_>) -> Result<Task> {
    let table = "task_plan_tasks";
    Ok(Task {
        id: row.parse(0, table)?,
        task_id: row.text(1)?,
        description: row.text(2)?,
        agent_id: row.optional_parse(3, table)?,
        dependencies: row.json(4, table)?,
        estimated_cost: row.real(5)?,
        estimated_duration: row.real(6)?,
        risk_level: row.json(7, table)?,
        status: row.parse(8, table)?,
        result: row.optional_text(9)?,
        created_at: row.time(10)?,
    })
}
