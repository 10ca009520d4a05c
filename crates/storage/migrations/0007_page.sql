-- Conversations that their owner wants at hand.
alter table sessions add column pinned bigint not null default 0;
