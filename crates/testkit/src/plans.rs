//! Plans under kills: random graphs of tasks are run, stopped and tried again while the server dies again and again,
//! and in the end each came to what it comes to when nobody dies.
//!
//! Each plan has an owner who sees it through ([`owner`]). In some of them ([`graphs`]) tasks fail, some are stopped,
//! and some are tried again. When all have ended and the server was killed once more, every project's event log is
//! played through ([`replay`]), and every plan is compared with it and with what its graph foretells ([`judge`]).

mod graphs;
mod judge;
mod log;
mod owner;
mod replay;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::crash::Store;
use crate::postgres;
use crate::race::{Outcome, project, runtime};
use crate::server::Artel;
use graphs::Draft;
use judge::Found;
use owner::Life;

/// What the agents say: their task again, unless it is one that fails. What a dependency gave has none of these words.
const HANDS: &str = "
[[rules]]
when = 'FAIL'
fault = 'panic'

[[rules]]
when = 'SLOW'
text = 'done: {message}'
pause_ms = 5

[[rules]]
text = 'done: {message}'
";
/// The same of one for whom nothing fails.
const STEADY_HANDS: &str = "[[rules]]\ntext = 'done: {message}'\npause_ms = 1\n";

/// Agents of every project that plans are made for, with how many tasks each may run at a time.
const AGENTS: [(&str, usize); 4] = [("one", 1), ("two", 2), ("three", 3), ("four", 4)];
/// The agent that is given what others failed at, and its limit.
const STEADY: (&str, usize) = ("steady", 2);
const USERS: usize = 2;
/// Of every user.
const PROJECTS: usize = 2;
/// Plans of a project that are under way at a time; they share its agents.
const AT_ONCE: usize = 3;
/// How long a server lives that dies again before it has found its feet, in milliseconds.
const STUMBLE: Range<u64> = 1..300;
/// The most that is said of what went wrong.
const MOST: usize = 50;

#[derive(Debug, Clone)]
pub struct Options {
    pub artel: PathBuf,
    pub store: Store,
    pub plans: usize,
    /// Tasks of the largest plans, at most 500.
    pub most_tasks: usize,
    /// Between kills, in milliseconds.
    pub kill_every: Range<u64>,
    pub seed: u64,
}

/// A project with its agents, as its user sees it.
#[derive(Debug, Clone)]
struct Room {
    client: Client,
    path: String,
    /// How many tasks each agent may run at a time, by its id.
    limits: HashMap<String, usize>,
}

/// What all plans came to.
#[derive(Debug, Default)]
struct Tally {
    tasks: usize,
    /// Plans that ended so.
    ended: HashMap<String, usize>,
    interrupted: usize,
    retries: u32,
    cancellations: u32,
    violations: Vec<String>,
}

pub fn run(options: &Options) -> Result<Outcome> {
    let folder = tempfile::Builder::new().prefix("artel-plans-").tempdir()?;
    let database = match options.store {
        Store::Sqlite => None,
        Store::Postgres => Some(postgres::database()?),
    };
    let mut artel = start(options, folder.path(), database.as_ref())?;
    // The server is killed and started on this thread, while those of the runtime go on.
    runtime()?.block_on(async {
        let rooms = rooms(&artel).await?;
        let begin = Instant::now();
        let owners = owners(&rooms, options);
        let (mut lives, kills) = under_kills(&mut artel, owners, options).await?;
        let took = begin.elapsed();
        artel.restart()?;
        let mut tally = Tally::default();
        for (number, room) in rooms.iter().enumerate() {
            let own = lives.extract_if(.., |life| life.draft.number % rooms.len() == number);
            let own: Vec<_> = own.collect();
            tally.look(room, &own).await?;
        }
        Ok(tally.outcome(options, kills + 1, took))
    })
}

fn start(options: &Options, folder: &Path, database: Option<&postgres::Database>) -> Result<Artel> {
    std::fs::create_dir(folder.join("scripts"))?;
    std::fs::write(folder.join("scripts/hands.toml"), HANDS)?;
    std::fs::write(folder.join("scripts/steady.toml"), STEADY_HANDS)?;
    let mut builder = Artel::new(&options.artel).stable_port()?.data_dir(folder);
    builder = builder.env("ARTEL_RECONCILE_EVERY", "200ms").env("ARTEL_LOG_LEVEL", "warn");
    if let Some(database) = database {
        builder = builder.database(database.url());
    }
    builder.start()
}

/// Everybody's projects, with their agents; made while nothing is killed.
async fn rooms(artel: &Artel) -> Result<Vec<Room>> {
    let mut rooms = Vec::new();
    for user in 0..USERS {
        let client = artel.client(&format!("user{user}"))?;
        for number in 0..PROJECTS {
            rooms.push(room(&client, number).await?);
        }
    }
    Ok(rooms)
}

async fn room(client: &Client, number: usize) -> Result<Room> {
    let path = format!("/my/projects/{}", project(client, &format!("plans {number}")).await?);
    let mut limits = HashMap::new();
    let steady = [(STEADY, "scripted/steady")];
    for ((name, limit), model) in
        AGENTS.map(|agent| (agent, "scripted/hands")).into_iter().chain(steady)
    {
        let body = json!({ "name": name, "model": model, "concurrency_limit": limit });
        let made = client.post(&format!("{path}/agents/"), &body).await?;
        limits.insert(made.id()?.to_owned(), limit);
    }
    Ok(Room { client: client.apart()?, path, limits })
}

/// Lets somebody see every plan through, as many at a time as may be; which project it is in follows from its number.
fn owners(rooms: &[Room], options: &Options) -> JoinSet<Result<Vec<Life>>> {
    let all = rooms.len() * AT_ONCE;
    let mut owners = JoinSet::new();
    for first in 0..all {
        let (room, options) = (rooms[first % rooms.len()].clone(), options.clone());
        owners.spawn(async move {
            let mut lives = Vec::new();
            for number in (first..options.plans).step_by(all) {
                let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
                let mut rng = Rng::with_seed(seed);
                let draft = Draft::random(&mut rng, number, options.most_tasks);
                let life = owner::see_through(&room, draft, rng).await;
                lives.push(life.with_context(|| format!("plan {number}"))?);
            }
            Ok(lives)
        });
    }
    owners
}

/// Kills the server until all plans have ended; says how often.
async fn under_kills(
    artel: &mut Artel,
    mut owners: JoinSet<Result<Vec<Life>>>,
    options: &Options,
) -> Result<(Vec<Life>, u32)> {
    let (mut rng, mut lives, mut kills) = (Rng::with_seed(options.seed), Vec::new(), 0);
    loop {
        let pause = Duration::from_millis(rng.u64(options.kill_every.clone()));
        let next = tokio::time::Instant::now() + pause;
        while let Ok(seen) = tokio::time::timeout_at(next, owners.join_next()).await {
            let Some(seen) = seen else { return Ok((lives, kills)) };
            lives.extend(seen?.with_context(|| artel.log_tail())?);
        }
        kills += kill(artel, &mut rng)?;
    }
}

/// Kills the server and starts it again; some die once more while they take up what was left.
fn kill(artel: &mut Artel, rng: &mut Rng) -> Result<u32> {
    let stumbles = rng.u8(0..4) == 0;
    if stumbles {
        artel.stumble(Duration::from_millis(rng.u64(STUMBLE)))?;
    }
    artel.restart()?;
    Ok(1 + u32::from(stumbles))
}

impl Tally {
    /// Reads everything of a project and judges it.
    async fn look(&mut self, room: &Room, lives: &[Life]) -> Result<()> {
        let Room { client, path, limits } = room;
        let listed = client.list(&format!("{path}/plans"), "plans").await?;
        self.violations.extend(judge::listed(lives, &listed));
        let log = log::read(client, path).await.with_context(|| path.clone())?;
        let drafts = lives.iter().map(|life| (life.id.as_str(), &life.draft)).collect();
        let replay = replay::replay(&log, &drafts, limits);
        self.violations.extend(replay.violations);
        for life in lives {
            let number = life.draft.number;
            self.tasks += life.draft.tasks.len();
            let Some(found) = found(room, life).await? else {
                self.violations.push(format!("plan {number} is lost"));
                continue;
            };
            let Some(course) = replay.courses.get(&life.id) else {
                self.violations.push(format!("plan {number} is in no log"));
                continue;
            };
            *self.ended.entry(course.status.clone()).or_default() += 1;
            self.interrupted += course.interrupted;
            self.retries += course.retries;
            self.cancellations += course.cancellations;
            let named = |what: String| format!("plan {number}, {}: {what}", life.id);
            self.violations.extend(judge::judge(life, &found, course).into_iter().map(named));
        }
        Ok(())
    }

    fn outcome(mut self, options: &Options, kills: u32, took: Duration) -> Outcome {
        let ended = |status: &str| self.ended.get(status).copied().unwrap_or(0);
        let figures = format!(
            "{} plans with {} tasks in {:.0} s, {kills} kills: {} completed, {} in part, {} failed, {} cancelled; {} \
             attempts interrupted, {} retries, {} cancellations",
            options.plans,
            self.tasks,
            took.as_secs_f64(),
            ended("completed"),
            ended("partial_success"),
            ended("failed"),
            ended("cancelled"),
            self.interrupted,
            self.retries,
            self.cancellations,
        );
        let more = self.violations.len().saturating_sub(MOST);
        self.violations.truncate(MOST);
        if more > 0 {
            self.violations.push(format!("and {more} more"));
        }
        Outcome { name: "plans", figures, violations: self.violations }
    }
}

/// A plan as it is kept, and what was said of it in the end; none when there is no such plan.
async fn found(Room { client, path, .. }: &Room, life: &Life) -> Result<Option<Found>> {
    let answer = client.get(&format!("{path}/plans/{}", life.id)).await?;
    if answer.status == 404 {
        return Ok(None);
    }
    let plan = answer.success()?;
    let session = plan["session_id"].as_str().context("a plan has a session")?;
    let path = format!("{path}/chat/sessions/{session}/messages/");
    let said = client.list(&path, "messages").await.with_context(|| path.clone())?;
    let own = |message: &&Value| !plan["answer_id"].is_null() && message["id"] == plan["answer_id"];
    let answer = said.iter().find(own).and_then(|message| message["content"].as_str());
    Ok(Some(Found { answer: answer.map(str::to_owned), plan }))
}
