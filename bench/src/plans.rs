//! Plans whose agents' models take no time: what a durable step takes, alone beside a bare commit and with 64 plans at
//! once, both beside `LangGraph`; planning without a model ([`planning`]); and what a kill leaves to pick up
//! ([`recovery`]).
//!
//! A step is a task of a chain, from the end of the one before to its own: its agent is asked, its result is written,
//! and the next begins in the same commit. The sides take turns. Each task has an agent of its own, and each plan a new
//! project, so that no agent remembers anything yet; what a memory adds has a line of its own.

mod given;
mod langgraph;
mod planning;
mod recovery;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use artel_testkit::client::Client;
use artel_testkit::server::Artel;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::append::{as_the_server, bare};
use crate::place::{self, Place};
use crate::report::{Goal, Report, Row};
use crate::usage::{cpu, median, median_micros};
use crate::wire::{self, Connection};
use given::{Given, Shape};
use langgraph::LangGraph;

const ROUNDS: usize = 5;
/// Tasks of the chain that runs alone.
const ALONE: usize = 200;
const PLANS: usize = 64;
/// Tasks of each of many chains.
const TOGETHER: usize = 40;
/// Agents of a project.
const TEAM: usize = 4;
const SLOWEST: f64 = 1.2;
const FASTEST: f64 = 5.0;
/// Until the server is done with what it was just given; what an agent did is remembered a moment after.
const SETTLE: Duration = Duration::from_millis(500);
/// The script of all agents, by the name that they have it under.
const MODEL: &str = "worker";
const QUICK: &str = "[[rules]]\ntext = 'done'\n";

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    steps(place, report)?;
    planning::measure(place, report)?;
    recovery::measure(place, report)
}

/// What a step takes, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Pace {
    time: f64,
    /// Of the server, or of all that the peer runs in.
    cpu: f64,
}

impl Pace {
    fn new(steps: usize, took: Duration, cpu: f64) -> Self {
        let steps = steps as f64;
        Self { time: took.as_secs_f64() * 1e6 / steps, cpu: cpu / steps }
    }

    /// Steps a second.
    fn rate(self) -> f64 {
        1e6 / self.time
    }
}

/// What a round gives.
struct Round {
    /// A commit, in microseconds.
    bare: f64,
    alone: Pace,
    /// The same chain by one agent, which remembers every step.
    remembering: Pace,
    together: Pace,
    peer: Option<Peer>,
}

struct Peer {
    alone: Pace,
    together: Pace,
}

fn steps(place: &Place, report: &mut Report) -> Result<()> {
    let folder = place.at("plans");
    script(&folder, QUICK)?;
    let artel = place.server("plans").start()?;
    let mut bare = bare::Sqlite::open(&as_the_server()?, &folder.join("bare.db"))?;
    let peer = LangGraph::find(place)
        .inspect_err(|error| report.skip("plans beside LangGraph", &format!("{error:#}")))
        .ok();
    let (runtime, client) = (place::clients()?, artel.client("bench")?);
    let mut rounds = Vec::new();
    // The first warms up.
    for _ in 0..=ROUNDS {
        let (spans, _) = bare.commits(ALONE)?;
        let bare = median_micros(&spans);
        let theirs = peer.as_ref().map(|peer| peer.alone(ALONE)).transpose()?;
        let ours = runtime.block_on(alone(&artel, &client, TEAM, false))?;
        let remembering = runtime.block_on(alone(&artel, &client, 1, true))?;
        let many = peer.as_ref().map(|peer| peer.together(PLANS, TOGETHER)).transpose()?;
        let together = runtime.block_on(together(&artel, &client))?;
        let peer = theirs.zip(many).map(|(alone, together)| Peer { alone, together });
        rounds.push(Round { bare, alone: ours, remembering, together, peer });
    }
    rounds.remove(0);
    tell(report, &rounds);
    tell_peer(report, &rounds);
    Ok(())
}

/// Puts the script of all agents where the server finds it when it starts.
fn script(data: &Path, text: &str) -> Result<()> {
    let folder = data.join("scripts");
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::write(folder.join(format!("{MODEL}.toml")), text)?)
}

/// One chain, from its approval to its end.
async fn alone(artel: &Artel, client: &Client, agents: usize, alike: bool) -> Result<Pace> {
    let plan = Given::make(client, Shape { tasks: ALONE, width: 1, agents, alike }).await?;
    let mut connection = Connection::open(wire::address(artel.url())?).await?;
    sleep(SETTLE).await;
    let (before, start) = (cpu(artel.pid()?)?, Instant::now());
    plan.run(&mut connection).await?;
    let took = start.elapsed();
    sleep(SETTLE).await;
    let used = cpu(artel.pid()?)? - before;
    plan.succeeded().await?;
    Ok(Pace::new(ALONE, took, used))
}

/// Many chains at once, each in a project of its own, from the first approval to the last end.
async fn together(artel: &Artel, client: &Client) -> Result<Pace> {
    let shape = Shape { tasks: TOGETHER, width: 1, agents: TEAM, alike: false };
    let mut plans = Vec::new();
    for plan in Given::make_many(client, PLANS, shape).await? {
        plans.push((plan, Connection::open(wire::address(artel.url())?).await?));
    }
    sleep(SETTLE).await;
    let (before, start) = (cpu(artel.pid()?)?, Instant::now());
    let mut running = JoinSet::new();
    for (plan, mut connection) in plans {
        running.spawn(async move {
            plan.run(&mut connection).await?;
            anyhow::Ok(plan)
        });
    }
    let mut ended = Vec::new();
    while let Some(plan) = running.join_next().await {
        ended.push(plan??);
    }
    let took = start.elapsed();
    sleep(SETTLE).await;
    let used = cpu(artel.pid()?)? - before;
    for plan in &ended {
        plan.succeeded().await?;
    }
    Ok(Pace::new(PLANS * TOGETHER, took, used))
}

fn tell(report: &mut Report, rounds: &[Round]) {
    let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
    let beside = |row: Row, figure: fn(&Round) -> f64| {
        let ratio = median(rounds.iter().map(|round| figure(round) / round.bare));
        row.beside("bare commit", of(|round| round.bare), ratio)
    };
    let step = Row::new("plan step, 1 plan", of(|round| round.alone.time), "µs");
    report.add(beside(step, |round| round.alone.time).goal(Goal::RatioAtMost(SLOWEST)));
    let name = "plan step, 1 plan, an agent that remembers";
    let step = Row::new(name, of(|round| round.remembering.time), "µs");
    report.add(beside(step, |round| round.remembering.time));
}

/// Both sides, or ours alone where there is no peer.
fn tell_peer(report: &mut Report, rounds: &[Round]) {
    let (sync, best) = ("LangGraph, sync", "LangGraph, sync, best of 4");
    let lines = [
        Line {
            name: "plan step, 1 plan".to_owned(),
            unit: "µs",
            ours: |round| round.alone.time,
            peer: (sync, |peer| peer.alone.time),
            goal: None,
        },
        Line {
            name: "plan step, 1 plan, CPU".to_owned(),
            unit: "µs",
            ours: |round| round.alone.cpu,
            peer: (sync, |peer| peer.alone.cpu),
            goal: None,
        },
        Line {
            name: format!("plan steps, {PLANS} plans"),
            unit: "/s",
            ours: |round| round.together.rate(),
            peer: (best, |peer| peer.together.rate()),
            goal: Some(Goal::RatioAtLeast(FASTEST)),
        },
        Line {
            name: format!("plan steps, {PLANS} plans, CPU each"),
            unit: "µs",
            ours: |round| round.together.cpu,
            peer: (best, |peer| peer.together.cpu),
            goal: None,
        },
    ];
    // Without a peer the first has been said already.
    let said = usize::from(rounds.iter().all(|round| round.peer.is_none()));
    for line in lines.into_iter().skip(said) {
        report.add(line.row(rounds));
    }
}

/// A figure of both sides.
struct Line {
    name: String,
    unit: &'static str,
    ours: fn(&Round) -> f64,
    peer: (&'static str, fn(&Peer) -> f64),
    /// Beside the peer.
    goal: Option<Goal>,
}

impl Line {
    fn row(self, rounds: &[Round]) -> Row {
        let Self { name, unit, ours, peer: (peer, theirs), goal } = self;
        let row = Row::new(name, median(rounds.iter().map(ours)), unit);
        let pairs = rounds.iter().map(|round| Some((ours(round), theirs(round.peer.as_ref()?))));
        let Some(pairs) = pairs.collect::<Option<Vec<_>>>() else { return row };
        let figure = median(pairs.iter().map(|(_, theirs)| *theirs));
        let ratio = median(pairs.iter().map(|(ours, theirs)| ours / theirs));
        let row = row.beside(peer, figure, ratio);
        match goal {
            Some(goal) => row.goal(goal),
            None => row,
        }
    }
}
