-- Whether the agent takes tasks. One that was deregistered stays so until it is registered again.
alter table agents add column registered bigint not null default 1;

-- A task's answer, without a look at all that was ever said in its session.
create index messages_of_task on messages (task_id);

-- A task changes its state twice, so no index is over all of it: what is unfinished is found by one that stays
-- small, and what has ended by one that it enters once.
drop index tasks_of_agent;
drop index tasks_by_status;
create index tasks_of_agent on tasks (agent_id, created_at);
create index tasks_of_session on tasks (session_id);
create index tasks_unfinished on tasks (project_id, agent_id) where finished_at is null;
create index tasks_ended on tasks (project_id, created_at) where finished_at is not null;
