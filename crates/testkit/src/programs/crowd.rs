//! A crowd: many programs at once, each with many messages; all arrive once and in order, and what that costs.
//!
//! Half of the agents have somebody who waits for each answer; how long that takes is told. The others are given a
//! batch of messages without waiting, so that their order is the server's business. Each program counts what it hears
//! and says so, and its log has every line: number n is the n-th message, or one was lost, doubled or out of turn.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Agent, Walls, agents, census, cut, server};
use crate::process::raise_open_files;
use crate::race::{Outcome, per_second, percentile, runtime};
use crate::server::Artel;

/// Messages that are given without waiting between them.
const BATCH: usize = 10;
/// For an answer, in seconds: less than a client waits.
const WAIT: u64 = 25;
/// Lines that the server keeps of a program.
const KEPT: usize = 1000;
/// Messages to an agent whose lines are all kept: it says that it is ready, and two lines to each.
pub const MOST_MESSAGES: usize = (KEPT - 1) / 2;
const MIB: u64 = 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Options {
    pub artel: PathBuf,
    pub agents: usize,
    /// Of every agent, at most [`MOST_MESSAGES`].
    pub messages: usize,
    pub walls: Walls,
    /// How long to wait at the end before memory is looked at once more.
    pub rest: Duration,
}

/// What came of one agent's messages.
#[derive(Debug, Default)]
struct Course {
    said: usize,
    /// From the request to its answer, of each that was waited for.
    took: Vec<Duration>,
    /// From the start of the task to its echo in the log, of the same.
    echoed: Vec<Duration>,
    violations: Vec<String>,
}

pub fn run(options: &Options) -> Result<Outcome> {
    ensure!(options.messages <= MOST_MESSAGES, "at most {MOST_MESSAGES} messages can be checked");
    raise_open_files(16_384)?;
    let folder = tempfile::Builder::new().prefix("artel-crowd-").tempdir()?;
    let artel = server(&options.artel, folder.path(), options.agents)?.start()?;
    let word = format!("{}-crowd-", std::process::id());
    runtime()?.block_on(crowd(&artel, options, &word))
}

async fn crowd(artel: &Artel, options: &Options, word: &str) -> Result<Outcome> {
    let agents = agents(artel, options.agents, options.walls, word).await?;
    let alone = artel.memory()?;
    let starting = Instant::now();
    // All at once.
    let mut starts = JoinSet::new();
    for agent in agents.clone() {
        starts.spawn(start(agent));
    }
    while let Some(started) = starts.join_next().await {
        started??;
    }
    let starting = starting.elapsed();
    let (before, used, begin) = (artel.memory()?, census::used(artel.pid()?)?, Instant::now());
    let mut talks = JoinSet::new();
    for agent in agents {
        talks.spawn(talk(agent, options.messages));
    }
    let mut talked = Vec::new();
    while let Some(course) = talks.join_next().await {
        talked.push(course??);
    }
    let (time, used) = (begin.elapsed(), census::used(artel.pid()?)?.saturating_sub(used));
    let after = artel.memory()?;
    tokio::time::sleep(options.rest).await;
    let rested = artel.memory()?;
    let mut all = Course::default();
    for (agent, course, starts) in talked {
        all.said += course.said;
        all.took.extend(course.took);
        all.violations.extend(course.violations);
        all.look(&agent, options.messages, &starts).await?;
    }
    let messages = all.said as u64;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let figures = format!(
        "{} agents × {} messages: all started in {} ms; {messages} in {:.1} s ({}/s), {} µs of the server's CPU each; \
         POST to answer p50 {:.1} ms, p99 {:.1} ms; from a task's start to its echo in the log p50 {:.1} ms, p99 {:.1} ms; \
         memory {} MiB alone, {} MiB with all, {} MiB at the end, {} MiB a while later, {} MiB at most",
        options.agents,
        options.messages,
        starting.as_millis(),
        time.as_secs_f64(),
        per_second(messages, time),
        used.as_micros() / u128::from(messages.max(1)),
        milliseconds(percentile(&mut all.took, 50)),
        milliseconds(percentile(&mut all.took, 99)),
        milliseconds(percentile(&mut all.echoed, 50)),
        milliseconds(percentile(&mut all.echoed, 99)),
        alone / MIB,
        before / MIB,
        after / MIB,
        rested / MIB,
        artel.peak_memory()? / MIB,
    );
    Ok(Outcome { name: "crowd", figures, violations: cut(all.violations) })
}

async fn start(agent: Agent) -> Result<()> {
    let started = agent.client.post(&format!("/agents/{}/start", agent.id), &json!({})).await?;
    let process = started.success()?;
    ensure!(process["state"] == "RUNNING", "agent {}: {process}", agent.number);
    Ok(())
}

/// What the n-th message says.
fn text(agent: &Agent, number: usize) -> String {
    format!("message {number} to {}", agent.number)
}

/// Says everything that there is to say; what came of it, and when the tasks began that were waited for.
async fn talk(agent: Agent, messages: usize) -> Result<(Agent, Course, Vec<(usize, Timestamp)>)> {
    let (mut course, mut starts) = (Course::default(), Vec::new());
    let waits = agent.number % 4 < 2;
    for number in 1..=messages {
        let last = waits || number % BATCH == 0 || number == messages;
        let begin = Instant::now();
        let body = json!({"message": text(&agent, number)});
        let told = agent.client.post(&agent.door(if last { WAIT } else { 0 }), &body).await?;
        let took = begin.elapsed();
        let told = told.success().with_context(|| text(&agent, number))?;
        if !last {
            continue;
        }
        course.said = number;
        let expected = format!("{number}: {}", text(&agent, number));
        let answer = &told["answer"];
        if answer["content"].as_str().map(str::trim_end) != Some(&expected) {
            course.violations.push(format!("{expected:?} was expected, and {answer} came"));
            // Whatever comes next is late, or not what it should be.
            break;
        }
        if waits {
            course.took.push(took);
            // It is idle, so the task began as it was made.
            starts.push((number, moment(&told["task"]["started_at"])?));
        }
    }
    Ok((agent, course, starts))
}

impl Course {
    /// Compares everything that a program wrote with what it should have.
    async fn look(
        &mut self,
        agent: &Agent,
        messages: usize,
        starts: &[(usize, Timestamp)],
    ) -> Result<()> {
        let log = log(agent).await?;
        let said: Vec<_> = log.iter().filter_map(|line| line["line"].as_str()).collect();
        let turn = |number| [format!("{number}: {}", text(agent, number)), "__DONE__".to_owned()];
        let expected = ["__READY__".to_owned()].into_iter().chain((1..=messages).flat_map(turn));
        if !expected.eq(said.iter().copied()) {
            let what = format!("{} lines for {messages} messages, or out of turn", said.len());
            self.violations.push(format!("agent {}: {what}", agent.number));
            return Ok(());
        }
        for (number, start) in starts {
            // Ready, and two lines for each message.
            let echo = moment(&log[2 * number - 1]["timestamp"])?;
            self.echoed.push(echo.duration_since(*start).try_into().unwrap_or_default());
        }
        Ok(())
    }
}

/// All lines of a program, oldest first.
async fn log(agent: &Agent) -> Result<Vec<Value>> {
    let path = format!("/agents/{}/logs?limit={KEPT}", agent.id);
    let mut page = agent.client.get(&path).await?.success()?;
    let Value::Array(lines) = page["lines"].take() else { bail!("no lines in {page}") };
    Ok(lines)
}

fn moment(value: &Value) -> Result<Timestamp> {
    let text = value.as_str().with_context(|| format!("{value} is no moment"))?;
    Ok(text.parse()?)
}
