-- What happened to an agent, from the commit of its work until it is in the store of vectors. The node that wrote it
-- brings it there; when that has died, another.
create table memory_outbox (
    agent_id text not null,
    id text not null,
    user_id bigint not null,
    project_id text not null,
    interaction text not null,
    node text not null,
    created_at bigint not null,
    primary key (agent_id, id)
) {clustered};

-- Collections whose agents are gone, until they are removed.
create table memory_removals (
    agent_id text primary key,
    name text not null
) {clustered};

-- What the house was last run with, one value a name.
create table house (
    name text primary key,
    value text not null
) {clustered};

-- When entries of the agent's memory that wait for their vectors are tried next, if there are any; when its size was
-- looked at, and whether the owner was warned of it.
alter table agents add column memory_retry_at bigint;
alter table agents add column memory_checked_at bigint not null default 0;
alter table agents add column memory_warned bigint not null default 0;
create index agents_memory_retry on agents (memory_retry_at) where memory_retry_at is not null;
create index agents_memory_checked on agents (memory_checked_at);
