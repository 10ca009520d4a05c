-- Calls of tools on users' machines. Nothing was ever kept in the first table of this name.
drop table tool_calls;
create table tool_calls (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    task_id text,
    session_id text,
    agent_id text,
    -- Which call of which step of its task it is, so that a task that is resumed finds its own again.
    step bigint,
    place bigint,
    tool text not null,
    arguments text not null,
    risk_level text not null,
    reason text not null,
    status text not null,
    approval_id text,
    decided_from text,
    client_id text,
    diff text,
    base text,
    digest text,
    timeout bigint not null,
    deadline bigint,
    result text,
    error text,
    created_at bigint not null,
    updated_at bigint not null,
    ended_at bigint
) {clustered};
create index tool_calls_of_project on tool_calls (project_id, created_at);
create index tool_calls_of_task on tool_calls (task_id, step, place) where task_id is not null;
create index tool_calls_open on tool_calls (project_id, created_at) where ended_at is null;

-- The one client of a project that is active, or was last.
create table clients (
    project_id text primary key references projects (id) on delete cascade,
    client_id text not null,
    user_id bigint not null,
    workspace text not null,
    host text not null,
    version text not null,
    sandbox bigint not null,
    expires_at bigint not null
) {clustered};

-- What a user lets a project's agents do without being asked.
create table allowances (
    id text primary key,
    user_id bigint not null,
    project_id text not null references projects (id) on delete cascade,
    tool text not null,
    pattern text,
    created_at bigint not null
) {clustered};
create index allowances_of_project on allowances (project_id, created_at);

-- How far a task has come, while it waits for others: what its model has said so far, and what that took.
alter table tasks add column progress text;
alter table tasks add column attempts bigint not null default 1;

alter table users add column preferences text not null default '{}';

-- Pending ones and old ones alike are listed newest first.
create index approvals_in_order on approvals (user_id, created_at, id);
alter table approvals add column task_id text;
alter table approvals add column session_id text;
