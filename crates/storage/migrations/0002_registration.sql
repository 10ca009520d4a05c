-- Whether the agent takes tasks. One that was deregistered stays so until it is registered again.
alter table agents add column registered bigint not null default 1;

-- The state of a project's tasks, and the newest that ended, without a look at all it ever did.
create index tasks_of_project on tasks (project_id, status, created_at);
