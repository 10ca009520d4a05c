//! The server as its users meet it: the real binary, over HTTP and on the command line.
//!
//! What a deployment can switch is tested on both sides: every test given to [`on_both_sides`] runs once
//! embedded (SQLite, in process, files) and once grown (PostgreSQL, Redis and a stand-in for Qdrant), with the same
//! text (PF-7.2).

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on must fail"
)]

mod access;
mod agents;
mod chat;
mod conventions;
mod events;
mod memory;
mod models;
mod overview;
mod page;
mod plans;
mod plans_terminal;
mod programs;
mod projects;
mod remembering;
mod running;
mod spaces;
mod tokens;
mod tools;

use std::collections::BTreeMap;

use artel_testkit::client::{Answer, Client};
use artel_testkit::postgres::{self, Database};
use artel_testkit::qdrant::StandIn;
use artel_testkit::redis::{self, Redis};
use artel_testkit::server::{Artel, Builder};
use serde_json::{Value, json};

pub(crate) const ARTEL: &str = env!("CARGO_BIN_EXE_artel");

/// A server with what it stands on. Dropped from top to bottom: the server before its database.
pub(crate) struct World {
    pub(crate) artel: Artel,
    database: Option<Database>,
    redis: Option<Redis>,
    qdrant: Option<StandIn>,
}

/// Which side of the switches.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Embedded,
    Grown,
}

impl Side {
    pub(crate) fn start(self) -> World {
        self.start_with(&[])
    }

    pub(crate) fn start_with(self, environment: &[(&str, &str)]) -> World {
        let mut builder: Builder = Artel::new(ARTEL);
        let (mut database, mut redis, mut qdrant) = (None, None, None);
        if let Self::Grown = self {
            let (own, bus) = (postgres::database().unwrap(), redis::shared_or_own().unwrap());
            let vectors = StandIn::start().unwrap();
            builder = builder.database(own.url()).redis(&bus.url());
            builder = builder.env("ARTEL_QDRANT_URL", &vectors.url());
            (database, redis, qdrant) = (Some(own), Some(bus), Some(vectors));
        }
        for (name, value) in environment {
            builder = builder.env(name, value);
        }
        World { artel: builder.start().unwrap(), database, redis, qdrant }
    }
}

impl World {
    /// Changes the database behind the server's back.
    pub(crate) fn tamper(&self, sql: &str) {
        if let Some(database) = &self.database {
            return postgres::execute(database.url(), sql).unwrap();
        }
        let link = rusqlite::Connection::open(self.artel.data_dir().join("artel.db")).unwrap();
        link.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        link.execute_batch(sql).unwrap();
    }

    /// Whether Redis has the key; `None` without a Redis.
    pub(crate) fn shares(&self, key: &str) -> Option<bool> {
        let url = self.redis.as_ref()?.url();
        let asked =
            std::process::Command::new("redis-cli").args(["-u", &url, "exists", key]).output();
        Some(String::from_utf8(asked.unwrap().stdout).unwrap().trim() == "1")
    }

    /// How many seconds a key in Redis has to live; `None` without a Redis.
    pub(crate) fn lives(&self, key: &str) -> Option<i64> {
        let url = self.redis.as_ref()?.url();
        let asked = std::process::Command::new("redis-cli").args(["-u", &url, "ttl", key]).output();
        String::from_utf8(asked.unwrap().stdout).unwrap().trim().parse().ok()
    }

    /// Whether the collection of an agent is there, by the path of its memory.
    pub(crate) fn has_collection(&self, memory: &str) -> bool {
        let agent = memory.trim_end_matches("/context").rsplit('/').next().unwrap();
        if let Some(qdrant) = &self.qdrant {
            return qdrant.collections().iter().any(|name| name.contains(agent));
        }
        self.artel.data_dir().join(format!("memory/{agent}.db")).exists()
    }

    /// Removes every collection behind the server's back.
    pub(crate) fn lose_collections(&self) {
        if let Some(qdrant) = &self.qdrant {
            qdrant.collections().iter().for_each(|name| qdrant.lose(name));
            return;
        }
        std::fs::remove_dir_all(self.artel.data_dir().join("memory")).unwrap();
    }

    pub(crate) fn user(&self, name: &str) -> Client {
        self.artel.client(name).unwrap()
    }
}

/// A project without agents, and its path.
pub(crate) async fn empty_project(client: &Client) -> String {
    let body = json!({"name": "Empty", "starter_pack": "none"});
    let created = client.post("/my/projects/", &body).await.unwrap();
    assert_eq!(created.status, 201, "{}", created.body);
    format!("/my/projects/{}", created.id().unwrap())
}

/// An agent with nothing special about it; its id.
pub(crate) async fn add_agent(client: &Client, project: &str, name: &str) -> String {
    let body = json!({"name": name, "config": {"model": "gpt-4"}});
    let created = client.post(&format!("{project}/agents/"), &body).await.unwrap();
    assert_eq!(created.status, 201, "{}", created.body);
    created.id().unwrap().to_owned()
}

/// The messages of a validation error by field.
pub(crate) fn faults(answer: &Answer) -> BTreeMap<String, String> {
    assert_eq!(answer.status, 422, "{}", answer.body);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let errors = answer.body["errors"].as_array().unwrap();
    errors.iter().map(|error| (text(&error["field"]), text(&error["message"]))).collect()
}

/// Makes each test run on both sides of every switch.
macro_rules! on_both_sides {
    ($($(#[$doc:meta])* async fn $name:ident($side:ident) $body:block)*) => {
        $($(#[$doc])* async fn $name($side: $crate::Side) $body)*

        mod embedded {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::Side::Embedded).await;
            })*
        }
        mod grown {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::Side::Grown).await;
            })*
        }
    };
}
pub(crate) use on_both_sides;
