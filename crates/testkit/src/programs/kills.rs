//! Programs under kills: the server dies while its agents start, work, stop and have children that ignore every signal,
//! and each time nothing of them is left, and the next server knows.
//!
//! A round: everybody does something with an agent ([`hands`]) until the server is killed at some moment. Within five
//! seconds everything that was below it is gone, whether the next one is up by then or not; what then has an agent's
//! word is below the new server. All that was said comes to its end, each agent answers, and their processes are as the
//! server says. In the end every history and the event log are compared ([`history`]).

use std::ops::Range;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;
use rustix::process::Signal;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::census::{self, Being, Census};
use super::hands::{self, Hand, Letter};
use super::{Agent, Walls, agents, cut, history, server};
use crate::race::{Outcome, runtime};
use crate::server::Artel;

/// From the beginning of a round to its kill, in milliseconds.
const MOMENT: Range<u64> = 20..1_500;
/// How long a server lives that dies again before it has found its feet, in milliseconds.
const STUMBLE: Range<u64> = 1..300;
/// How long anything may be left after a kill.
const LEFT: Duration = Duration::from_secs(5);
/// How long what a server says may be behind what is.
const BEHIND: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub struct Options {
    pub artel: PathBuf,
    pub agents: usize,
    pub kills: u32,
    pub walls: Walls,
    pub seed: u64,
}

/// Everything that there is in a run.
struct House {
    artel: Artel,
    agents: Vec<Agent>,
    word: String,
    runtime: Runtime,
    rng: Rng,
    /// Of each agent, in order.
    letters: Vec<Vec<Letter>>,
    violations: Vec<String>,
    /// Processes below the servers that were killed.
    seen: usize,
    /// Messages that had no answer then.
    open: usize,
    kills: u32,
    /// From a kill until nothing was left, when no server helped, at the worst.
    slowest: Duration,
}

pub fn run(options: &Options) -> Result<Outcome> {
    let folder = tempfile::Builder::new().prefix("artel-programs-").tempdir()?;
    let artel = server(&options.artel, folder.path(), options.agents)?.start()?;
    let runtime = runtime()?;
    let word = format!("{}-{}-", std::process::id(), options.seed);
    let agents = runtime.block_on(agents(&artel, options.agents, options.walls, &word))?;
    let letters = vec![Vec::new(); agents.len()];
    let mut house = House {
        artel,
        agents,
        word,
        runtime,
        rng: Rng::with_seed(options.seed),
        letters,
        violations: Vec::new(),
        seen: 0,
        open: 0,
        kills: 0,
        slowest: Duration::ZERO,
    };
    let begin = Instant::now();
    let mut round = 0;
    while house.kills < options.kills {
        house.round(round)?;
        round += 1;
    }
    let found = house.runtime.block_on(history::check(&house.agents, &house.letters))?;
    house.violations.extend(found);
    house.stop()?;
    let messages: usize = house.letters.iter().map(Vec::len).sum();
    let figures = format!(
        "{} agents, {} kills in {:.0} s: {} processes alive at the kills, all gone within {} ms without a next server; \
         {messages} messages, {} of them unanswered at a kill",
        options.agents,
        house.kills,
        begin.elapsed().as_secs_f64(),
        house.seen,
        house.slowest.as_millis(),
        house.open,
    );
    Ok(Outcome { name: "programs", figures, violations: cut(house.violations) })
}

impl House {
    fn round(&mut self, round: u32) -> Result<()> {
        let (down, is_down) = watch::channel(false);
        let moment = self.rng.u64(MOMENT);
        let mut hands = JoinSet::new();
        for (at, agent) in self.agents.iter().enumerate() {
            let hand = Hand::new(agent.clone(), round, self.rng.fork(), is_down.clone());
            hands.spawn_on(async move { (at, hand.play(moment).await) }, self.runtime.handle());
        }
        thread::sleep(Duration::from_millis(moment));
        let victims = self.kill()?;
        let mut killed = Instant::now();
        down.send_replace(true);
        let mut said = vec![Vec::new(); self.agents.len()];
        self.runtime.block_on(async {
            while let Some(hand) = hands.join_next().await {
                let (at, letters) = hand?;
                said[at] = letters;
            }
            anyhow::Ok(())
        })?;
        self.open += said.iter().flatten().filter(|letter| !letter.answered).count();
        // Half of the time there is no server to clean up behind the last one.
        if self.rng.bool() {
            self.all_gone(round, &victims, killed);
        }
        if self.rng.u8(0..4) == 0 {
            self.artel.stumble(Duration::from_millis(self.rng.u64(STUMBLE)))?;
            self.kills += 1;
            killed = Instant::now();
        }
        self.artel.restart()?;
        self.all_gone(round, &victims, killed);
        self.as_it_says(round, "after the restart", |_| true)?;
        let found = self.runtime.block_on(settle(&self.agents, &mut said, round, &mut self.rng))?;
        self.violations.extend(found);
        for (all, letters) in self.letters.iter_mut().zip(said) {
            all.extend(letters);
        }
        self.as_it_says(round, "after a message", |process| process["state"] == "RUNNING")?;
        self.one_each(round)
    }

    /// Kills the server; what was below it. It is held still while we look, so that none is missed.
    fn kill(&mut self) -> Result<Vec<Being>> {
        self.artel.signal(Signal::STOP)?;
        let victims = Census::now().below(self.artel.pid()?);
        self.artel.kill()?;
        self.seen += victims.len();
        self.kills += 1;
        Ok(victims)
    }

    /// Waits until nothing is left of a server that was killed; what has an agent's word is the next one's.
    fn all_gone(&mut self, round: u32, victims: &[Being], killed: Instant) {
        loop {
            let census = Census::now();
            let server = self.artel.pid().ok();
            let strange = |pid: u32| server.is_none_or(|server| !census.is_below(pid, server));
            let marked = census::marked(&self.word).into_iter().map(|(pid, _)| pid);
            let victims = victims.iter().filter(|being| census.is_alive(**being));
            let mut left: Vec<_> = victims.map(|being| being.pid).collect();
            left.extend(marked.filter(|&pid| strange(pid) && census.parent(pid).is_some()));
            if left.is_empty() {
                if server.is_none() {
                    self.slowest = self.slowest.max(killed.elapsed());
                }
                return;
            }
            if killed.elapsed() > LEFT {
                left.sort_unstable();
                left.dedup();
                let left: Vec<_> = left.into_iter().map(census::words).collect();
                self.violations
                    .push(format!("round {round}: left after {LEFT:?}: {}", left.join(", ")));
                return;
            }
            thread::sleep(LOOK);
        }
    }

    /// Whoever is said to run has a process below the server, and stands as he should.
    fn as_it_says(&mut self, round: u32, when: &str, fits: impl Fn(&Value) -> bool) -> Result<()> {
        let begin = Instant::now();
        loop {
            let mut wrong = Vec::new();
            for agent in &self.agents {
                let process = self.runtime.block_on(agent.process())?;
                if !fits(&process) || !has_process(&process, self.artel.pid()?) {
                    wrong.push(format!("round {round}, {when}: agent {}: {process}", agent.number));
                }
            }
            if wrong.is_empty() {
                return Ok(());
            }
            if begin.elapsed() > BEHIND {
                self.violations.extend(wrong);
                return Ok(());
            }
            thread::sleep(LOOK);
        }
    }

    /// Every agent has one process, and none that ended lies about.
    fn one_each(&mut self, round: u32) -> Result<()> {
        let (begin, server) = (Instant::now(), self.artel.pid()?);
        loop {
            let (census, marked) = (Census::now(), census::marked(&self.word));
            let mut counts = vec![0; self.agents.len()];
            for (_, number) in marked.iter().filter(|(pid, _)| census.parent(*pid) == Some(server))
            {
                counts[*number] += 1;
            }
            let zombies = census.zombies_below(server);
            if zombies.is_empty() && counts.iter().all(|&count| count == 1) {
                return Ok(());
            }
            if begin.elapsed() > BEHIND {
                let what = format!("zombies {zombies:?}, processes of each agent {counts:?}");
                self.violations.push(format!("round {round}: {what}"));
                return Ok(());
            }
            thread::sleep(LOOK);
        }
    }

    /// A server that is asked to stop leaves nothing either.
    fn stop(&mut self) -> Result<()> {
        let (status, _) = self.artel.terminate()?;
        if !status.success() {
            self.violations.push(format!("SIGTERM: {status}"));
        }
        let left: Vec<_> = census::marked(&self.word);
        if !left.is_empty() {
            let left: Vec<_> = left.into_iter().map(|(pid, _)| census::words(pid)).collect();
            self.violations.push(format!("left after SIGTERM: {}", left.join(", ")));
        }
        Ok(())
    }
}

/// Brings everything that was said to its end, and hears each agent once more.
async fn settle(
    agents: &[Agent],
    said: &mut [Vec<Letter>],
    round: u32,
    rng: &mut Rng,
) -> Result<Vec<String>> {
    let (mut settling, mut violations) = (JoinSet::new(), Vec::new());
    for (at, agent) in agents.iter().enumerate() {
        let (agent, rng) = (agent.clone(), rng.fork());
        let mut letters = std::mem::take(&mut said[at]);
        settling.spawn(async move {
            let mut violations = hands::settle(&agent, &mut letters, rng).await?;
            violations.extend(hands::greet(&agent, round, &mut letters).await?);
            anyhow::Ok((at, letters, violations))
        });
    }
    while let Some(settled) = settling.join_next().await {
        let (at, letters, found) = settled??;
        said[at] = letters;
        violations.extend(found);
    }
    Ok(violations)
}

/// Whether a process that is said to be there is, below the server.
fn has_process(process: &Value, server: u32) -> bool {
    if !matches!(process["state"].as_str(), Some("STARTING" | "RUNNING" | "STOPPING")) {
        return true;
    }
    let mark = &process["mark"]["process"];
    let (Some(pid), Some(started)) = (mark["pid"].as_u64(), mark["started"].as_u64()) else {
        return false;
    };
    let Ok(pid) = u32::try_from(pid) else { return false };
    let census = Census::now();
    census.is_alive(Being { pid, started }) && census.is_below(pid, server)
}
