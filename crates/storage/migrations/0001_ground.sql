-- One text for SQLite and PostgreSQL: ids and JSON are text, times are microseconds, truth values are 0 and 1.
-- {clustered} stores a table by its key where the database can (SQLite: without rowid).

create table counters (
    name text primary key,
    value bigint not null
);
insert into counters (name, value) values ('user', 0);

create table users (
    id bigint primary key,
    issuer text not null,
    subject text not null,
    role text not null,
    disabled bigint not null default 0,
    password_hash text,
    created_at bigint not null,
    unique (issuer, subject)
);

create table projects (
    id text primary key,
    user_id bigint not null references users (id) on delete cascade,
    name text not null,
    workspace_path text,
    last_seq bigint not null default 0,
    created_at bigint not null,
    updated_at bigint not null
);
create index projects_of_user on projects (user_id, created_at, id);

create table agents (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    name text not null,
    status text not null,
    config text not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (project_id, name)
);
create index agents_in_order on agents (project_id, created_at, id);

create table events (
    project_id text not null references projects (id) on delete cascade,
    seq bigint not null,
    at bigint not null,
    session_id text,
    kind text not null,
    payload text not null,
    primary key (project_id, seq)
) {clustered};
create index events_by_age on events (at);

create table sessions (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    title text not null,
    message_count bigint not null default 0,
    created_at bigint not null,
    updated_at bigint not null
);
create index sessions_of_project on sessions (project_id, created_at, id);

create table messages (
    id text primary key,
    session_id text not null references sessions (id) on delete cascade,
    place bigint not null,
    role text not null,
    content text not null,
    agent_id text,
    task_id text,
    outcome text,
    created_at bigint not null,
    unique (session_id, place)
);

create table tasks (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    session_id text not null references sessions (id) on delete cascade,
    agent_id text not null references agents (id) on delete cascade,
    message_id text not null,
    status text not null,
    priority text not null,
    error text,
    error_type text,
    created_at bigint not null,
    started_at bigint,
    finished_at bigint
);
create index tasks_of_agent on tasks (agent_id, status, created_at);
create index tasks_by_status on tasks (status, project_id, created_at);

create table task_plans (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    session_id text,
    original_request text not null,
    status text not null,
    total_cost double precision not null,
    total_duration double precision not null,
    requires_approval bigint not null,
    created_at bigint not null
);
create index task_plans_of_session on task_plans (user_id, session_id);
create index task_plans_by_status on task_plans (status, created_at);

create table task_plan_tasks (
    id text primary key,
    plan_id text not null references task_plans (id) on delete cascade,
    task_id text not null,
    description text not null,
    agent_id text,
    dependencies text not null,
    estimated_cost double precision not null,
    estimated_duration double precision not null,
    risk_level text not null,
    status text not null,
    result text,
    created_at bigint not null,
    unique (plan_id, task_id)
);
create index task_plan_tasks_of_plan on task_plan_tasks (plan_id);

create table approvals (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    kind text not null,
    payload text not null,
    risk_level text not null,
    status text not null,
    warned bigint not null default 0,
    created_at bigint not null,
    expires_at bigint not null,
    resolved_at bigint,
    comment text,
    decided_by bigint,
    decided_from text
);
create index approvals_of_user on approvals (user_id, status, created_at);
create index approvals_by_deadline on approvals (status, expires_at);

create table tool_calls (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    task_id text,
    approval_id text,
    tool text not null,
    arguments text not null,
    risk_level text not null,
    status text not null,
    result text,
    deadline bigint,
    created_at bigint not null,
    updated_at bigint not null
);
create index tool_calls_of_project on tool_calls (project_id, status, created_at);

create table leases (
    name text primary key,
    owner text not null,
    epoch bigint not null,
    expires_at bigint not null
);

create table idempotency_keys (
    user_id bigint not null,
    key text not null,
    fingerprint text not null,
    response text not null,
    created_at bigint not null,
    primary key (user_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
