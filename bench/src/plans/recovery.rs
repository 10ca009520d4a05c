//! What a kill leaves: a server with 10,000 unfinished tasks of plans, killed and started again. How long until it says
//! that it is ready, and from then on until the first task that was cut off or waited has been done.
//!
//! The models take for ever before the kill and no time after it. Once with plans as they are when nobody sets anything,
//! where a few tasks of each are under way and the others wait; and once with all of them under way, each of which is an
//! attempt to be recorded as cut off and begun anew.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use artel_testkit::client::Client;
use artel_testkit::server::Artel;
use rusqlite::{Connection, OpenFlags};
use tokio::time::sleep;

use super::given::{Given, LIMIT, Shape};
use super::{QUICK, script};
use crate::place::{self, Place};
use crate::report::{Goal, Report, Row};
use crate::wire;

const PLANS: usize = 100;
/// Tasks of each.
const TASKS: usize = 100;
/// Seconds.
const READY: f64 = 2.0;
const FIRST_STEP: f64 = 1.0;
/// Between two words of a model that comes to no end; shorter than what counts as silence.
const PAUSE: Duration = Duration::from_secs(20);
/// Words enough for longer than anybody waits for them.
const WORDS: usize = 60;
/// How often it is looked whether something has come about, and how long.
const LOOK: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_mins(2);

struct Load {
    name: &'static str,
    shape: Shape,
    /// Tasks of a plan that run at a time.
    parallel: usize,
}

const LOADS: [Load; 2] = [
    Load {
        name: "300 of 10,000 ran",
        shape: Shape { tasks: TASKS, width: 10, agents: 1, alike: true },
        parallel: 3,
    },
    Load {
        name: "10,000 of 10,000 ran",
        shape: Shape { tasks: TASKS, width: TASKS, agents: TASKS / LIMIT, alike: true },
        parallel: TASKS,
    },
];

pub(super) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    for load in &LOADS {
        recover(place, load, report)?;
    }
    Ok(())
}

fn recover(place: &Place, load: &Load, report: &mut Report) -> Result<()> {
    let name = format!("recovery-{}", load.parallel);
    let (folder, parallel) = (place.at(&name), load.parallel.to_string());
    let pause = PAUSE.as_millis();
    let text = "wait ".repeat(WORDS);
    script(&folder, &format!("[[rules]]\ntext = '{text}'\npause_ms = {pause}\n"))?;
    let server = place.server(&name).env("ARTEL_PLAN_PARALLEL", &parallel).stable_port()?;
    let mut artel = server.start()?;
    let runtime = place::clients()?;
    runtime.block_on(begin(&artel.client("bench")?, load))?;
    artel.kill()?;
    script(&folder, QUICK)?;

    let start = Instant::now();
    artel.restart()?;
    runtime.block_on(ready(&artel))?;
    let took = start.elapsed().as_secs_f64();
    let row = Row::new(format!("recovery, {}: ready", load.name), took, "s");
    report.add(row.goal(Goal::AtMost(READY)));
    let took = first_step(&folder.join("artel.db"))?.as_secs_f64();
    let row = Row::new(format!("recovery, {}: first step", load.name), took, "s");
    report.add(row.goal(Goal::AtMost(FIRST_STEP)));
    Ok(())
}

/// Lets all plans run until as much of them is under way as can be.
async fn begin(client: &Client, load: &Load) -> Result<()> {
    let plans = Given::make_many(client, PLANS, load.shape).await?;
    let mut connection = wire::Connection::open(wire::address(client.base())?).await?;
    for plan in &plans {
        plan.approve(&mut connection).await?;
    }
    let begin = Instant::now();
    let running = load.parallel.min(load.shape.width);
    for plan in &plans {
        while plan.count("executing").await? < running {
            ensure!(begin.elapsed() < PATIENCE, "plans have not begun after {PATIENCE:?}");
            sleep(10 * LOOK).await;
        }
        let left = running + plan.count("pending").await?;
        ensure!(left == TASKS, "{left} of {TASKS} tasks are unfinished");
    }
    Ok(())
}

async fn ready(artel: &Artel) -> Result<()> {
    let (client, begin) = (artel.client("bench")?, Instant::now());
    while client.get("/ready").await?.status != 200 {
        ensure!(begin.elapsed() < PATIENCE, "not ready after {PATIENCE:?}");
        sleep(LOOK).await;
    }
    Ok(())
}

/// How long until a task is done. Looked up in the database, which costs the server nothing and shows only what is on
/// disk: before the kill no task was done.
fn first_step(database: &Path) -> Result<Duration> {
    let begin = Instant::now();
    let link = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut done = link.prepare("select 1 from tasks where status = 'completed' limit 1")?;
    while !done.exists([])? {
        ensure!(begin.elapsed() < PATIENCE, "no task was done after {PATIENCE:?}");
        thread::sleep(LOOK);
    }
    Ok(begin.elapsed())
}
