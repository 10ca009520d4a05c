//! Conversations under kills: many users send messages at once, the server dies again and again, and in the end
//! every message is there once, with one answer, which is its own.
//!
//! Each talker has a session, and sends the next message when the last one is answered. A message that is not
//! answered, because the server died, is sent again under its key, until it is. Then `check` reads every history and
//! every event log through the API and compares.

mod check;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::crash::Store;
use crate::postgres;
use crate::process::raise_open_files;
use crate::race::{Outcome, per_second, percentile, runtime};
use crate::server::Artel;

/// What the agents say. A few words with pauses, so that kills find them at work.
const SCRIPT: &str = "[[rules]]\ntext = 'You said: {message}'\npause_ms = 3\n";
/// Agents of every project, with how many tasks each may run at a time.
pub(crate) const AGENTS: [(&str, u64); 2] = [("one", 1), ("two", 2)];
/// Sessions of every project; more than its agents may work on at once.
const SESSIONS: usize = 4;
/// Before a message is sent again.
const PAUSE: Range<u64> = 20..200;
/// How long a message may take, kills included.
const PATIENCE: Duration = Duration::from_mins(2);

/// Between kills, in milliseconds.
pub const EVERY_FEW_SECONDS: Range<u64> = 2_000..6_000;

#[derive(Debug, Clone)]
pub struct Options {
    pub artel: PathBuf,
    pub store: Store,
    pub users: usize,
    /// Of every user.
    pub projects: usize,
    pub time: Duration,
    /// Between kills, in milliseconds.
    pub kill_every: Range<u64>,
    pub seed: u64,
}

/// A project with the sessions in it, as its user sees it.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    pub(crate) client: Client,
    pub(crate) path: String,
    pub(crate) sessions: Vec<String>,
}

/// A message and the answer that its sender got.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) text: String,
    pub(crate) answer: Value,
    took: Duration,
}

/// What was said in one session, in order.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) room: usize,
    pub(crate) session: String,
    pub(crate) said: Vec<Exchange>,
}

pub fn run(options: &Options) -> Result<Outcome> {
    raise_open_files(16_384)?;
    let folder = tempfile::Builder::new().prefix("artel-talk-").tempdir()?;
    let database = match options.store {
        Store::Sqlite => None,
        Store::Postgres => Some(postgres::database()?),
    };
    let mut artel = start(options, folder.path(), database.as_ref())?;
    let runtime = runtime()?;
    let rooms = runtime.block_on(rooms(&artel, options))?;
    let begin = Instant::now();
    let end = begin + options.time;
    let mut talkers = JoinSet::new();
    for (number, room) in rooms.iter().enumerate() {
        for (place, session) in room.sessions.iter().enumerate() {
            let seed = options.seed.wrapping_mul(1_000_003) + (number * SESSIONS + place) as u64;
            let (room, session) = (room.clone(), session.clone());
            talkers
                .spawn_on(talk(room, number, session, Rng::with_seed(seed), end), runtime.handle());
        }
    }
    let (mut rng, mut kills) = (Rng::with_seed(options.seed), 0_u32);
    loop {
        let pause = Duration::from_millis(rng.u64(options.kill_every.clone()));
        if Instant::now() + pause >= end {
            break;
        }
        std::thread::sleep(pause);
        artel.restart()?;
        kills += 1;
    }
    let mut talks = Vec::new();
    runtime.block_on(async {
        while let Some(talk) = talkers.join_next().await {
            talks.push(talk??);
        }
        anyhow::Ok(())
    })?;
    let took = begin.elapsed();
    let memory = artel.memory()? / 1024 / 1024;
    let violations = runtime.block_on(check::check(&rooms, &talks))?;
    let messages = talks.iter().map(|talk| talk.said.len()).sum::<usize>();
    let interrupted = talks.iter().flat_map(|talk| &talk.said);
    let interrupted = interrupted.filter(|said| said.answer["error_type"] == "interrupted").count();
    let mut times: Vec<_> =
        talks.iter().flat_map(|talk| &talk.said).map(|said| said.took).collect();
    let figures = format!(
        "{} users × {} projects for {:.0} s, {kills} kills: {messages} messages ({}/s), {interrupted} interrupted, \
         p50 {} ms, p99 {} ms, {memory} MiB at the end",
        options.users,
        options.projects,
        options.time.as_secs_f64(),
        per_second(messages as u64, took),
        percentile(&mut times, 50).as_millis(),
        percentile(&mut times, 99).as_millis(),
    );
    Ok(Outcome { name: "talk", figures, violations })
}

fn start(options: &Options, folder: &Path, database: Option<&postgres::Database>) -> Result<Artel> {
    std::fs::create_dir(folder.join("scripts"))?;
    std::fs::write(folder.join("scripts/echo.toml"), SCRIPT)?;
    let mut builder = Artel::new(&options.artel).stable_port()?.data_dir(folder);
    builder = builder.env("ARTEL_RECONCILE_EVERY", "1s").env("ARTEL_LOG_LEVEL", "warn");
    if let Some(database) = database {
        builder = builder.database(database.url());
    }
    builder.start()
}

/// Everybody's projects, with their agents and sessions; made while nothing is killed.
async fn rooms(artel: &Artel, options: &Options) -> Result<Vec<Room>> {
    let (mut makers, mut all) = (JoinSet::new(), Vec::new());
    for user in 0..options.users {
        // A few at a time: this is not what is tried.
        if makers.len() == 32
            && let Some(made) = makers.join_next().await
        {
            all.extend(made??);
        }
        makers.spawn(make(artel.client(&format!("user{user}"))?, options.projects));
    }
    while let Some(made) = makers.join_next().await {
        all.extend(made??);
    }
    Ok(all)
}

async fn make(client: Client, projects: usize) -> Result<Vec<Room>> {
    let mut rooms = Vec::new();
    for number in 0..projects {
        rooms.push(room(&client, number).await?);
    }
    Ok(rooms)
}

async fn room(client: &Client, number: usize) -> Result<Room> {
    let body = json!({ "name": format!("project {number}"), "starter_pack": "none" });
    let path = format!("/my/projects/{}", client.post("/my/projects/", &body).await?.id()?);
    for (name, limit) in AGENTS {
        let agent = json!({ "name": name, "model": "scripted/echo", "concurrency_limit": limit });
        client.post(&format!("{path}/agents/"), &agent).await?.success()?;
    }
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let made = client.post(&format!("{path}/chat/sessions/"), &json!({})).await?;
        sessions.push(made.id()?.to_owned());
    }
    Ok(Room { client: client.apart()?, path, sessions })
}

/// Sends messages until the end, each when the last one was answered.
async fn talk(
    room: Room,
    number: usize,
    session: String,
    mut rng: Rng,
    end: Instant,
) -> Result<Talk> {
    let mut said = Vec::new();
    let path = format!("{}/chat/{session}/message/", room.path);
    while Instant::now() < end {
        let (agent, _) = AGENTS[rng.usize(0..AGENTS.len())];
        let text = format!("{session} {} {:x}", said.len(), rng.u64(..));
        let body = json!({ "content": text, "target_agent": agent });
        let begin = Instant::now();
        let answer = loop {
            ensure!(begin.elapsed() < PATIENCE, "no answer to {text:?}");
            match room.client.post_once(&path, &text, &body).await {
                Ok(answer) if answer.status == 200 => break answer.body,
                // Killed, or just started, or full: the same again under the same key.
                Ok(answer) if answer.status == 503 => {}
                Ok(answer) => anyhow::bail!("{text:?}: {} {}", answer.status, answer.body),
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(rng.u64(PAUSE))).await;
        };
        said.push(Exchange { text, answer, took: begin.elapsed() });
    }
    Ok(Talk { room: number, session, said })
}

/// Everything that was said in a session.
pub(crate) async fn messages(room: &Room, session: &str) -> Result<Vec<Value>> {
    let path = format!("{}/chat/sessions/{session}/messages/", room.path);
    room.client.list(&path, "messages").await.with_context(|| path.clone())
}
