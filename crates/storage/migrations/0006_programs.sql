-- Agents that are programs: which kind each is, if it is one.
alter table agents add column runtime text;

-- The process of such an agent, so that it is found again after the server was killed.
create table processes (
    agent_id text primary key references agents (id) on delete cascade,
    user_id bigint not null,
    project_id text not null,
    state text not null,
    reason text,
    node text not null,
    sandbox text not null,
    mark text,
    conversation text,
    version text,
    model text,
    session_id text,
    restarts bigint not null,
    started_at bigint,
    updated_at bigint not null
) {clustered};
create index processes_of_node on processes (node);

-- What it gets to its model with, sealed with the server's key.
create table credentials (
    agent_id text primary key references agents (id) on delete cascade,
    sealed text not null,
    updated_at bigint not null
) {clustered};
