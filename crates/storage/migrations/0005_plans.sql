-- Plans with what they should take and what came of them. Nothing was ever kept in the first tables of these names.
drop table task_plan_tasks;
drop table task_plans;
create table task_plans (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    session_id text not null,
    message_id text not null,
    status text not null,
    planner text not null,
    least_cost double precision not null,
    total_cost double precision not null,
    least_duration double precision not null,
    total_duration double precision not null,
    planning_cost double precision not null,
    unpriced bigint not null,
    requires_approval bigint not null,
    risk_level text not null,
    approval_id text,
    answer_id text,
    created_at bigint not null,
    started_at bigint,
    finished_at bigint,
    title text not null,
    note text,
    planner_note text,
    original_request text not null
);
create index task_plans_of_session on task_plans (user_id, session_id);
create index task_plans_by_status on task_plans (status, created_at);
create index task_plans_of_project on task_plans (project_id, created_at);

-- Long texts stand last, so that who wants to know where the tasks stand need not read past them.
create table task_plan_tasks (
    id text primary key,
    plan_id text not null references task_plans (id) on delete cascade,
    place bigint not null,
    task_id text not null,
    agent_id text references agents (id) on delete set null,
    agent_name text not null,
    capability text,
    least_cost double precision not null,
    estimated_cost double precision not null,
    least_duration double precision not null,
    estimated_duration double precision not null,
    estimated_calls bigint not null,
    unpriced bigint not null,
    risk_level text not null,
    status text not null,
    attempts bigint not null,
    attempt_id text,
    actual_cost double precision,
    created_at bigint not null,
    started_at bigint,
    finished_at bigint,
    dependencies text not null,
    usage text,
    error text,
    description text not null,
    result text,
    unique (plan_id, task_id)
);
create index task_plan_tasks_of_plan on task_plan_tasks (plan_id, place);
create index task_plan_tasks_of_agent on task_plan_tasks (agent_id, id);

-- The task of a plan that a task works on, if it is for one.
alter table tasks add column plan_id text;
alter table tasks add column plan_task text;
