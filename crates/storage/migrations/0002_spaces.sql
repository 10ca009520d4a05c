-- Whether the agent takes tasks. One that was deregistered stays so until it is registered again.
alter table agents add column registered bigint not null default 1;

-- Messages where they are read, in the order of their session. What every message costs is the trees it enters.
create table messages_in_order (
    id text not null,
    session_id text not null references sessions (id) on delete cascade,
    place bigint not null,
    role text not null,
    content text not null,
    agent_id text,
    task_id text,
    outcome text,
    created_at bigint not null,
    primary key (session_id, place)
) {clustered};
insert into messages_in_order select id, session_id, place, role, content, agent_id, task_id, outcome, created_at from messages;
drop table messages;
alter table messages_in_order rename to messages;
create unique index messages_by_id on messages (id);

-- A task changes its state twice, so no index is over all of it: what is unfinished is found by one that stays small,
-- and what has ended by one that it enters once. Tasks go with their project, session and agent; that is said where
-- those are deleted, and needs no index of its own.
create table tasks_by_id (
    id text primary key,
    user_id bigint not null,
    project_id text not null,
    session_id text not null,
    agent_id text not null,
    message_id text not null,
    status text not null,
    priority text not null,
    error text,
    error_type text,
    created_at bigint not null,
    started_at bigint,
    finished_at bigint
) {clustered};
insert into tasks_by_id select id, user_id, project_id, session_id, agent_id, message_id, status, priority, error,
    error_type, created_at, started_at, finished_at from tasks;
drop table tasks;
alter table tasks_by_id rename to tasks;
create index tasks_unfinished on tasks (project_id, agent_id) where finished_at is null;
create index tasks_ended on tasks (project_id, created_at) where finished_at is not null;
