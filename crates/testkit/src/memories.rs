//! Memories under kills: agents are given things to remember and to forget while the server dies again and again, and
//! at every look each remembers exactly what it should.
//!
//! Each keeper has an agent of its own and does one thing after the other. What is not answered, because the server
//! died, is asked for again until it is: adding under its key, forgetting because twice is as good as once. So what
//! must be there is known exactly whenever somebody looks.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::crash::Store;
use crate::postgres;
use crate::race::{Outcome, runtime, until_done};
use crate::server::Artel;

/// Between kills, in milliseconds.
const KILL_EVERY: Range<u64> = 30..400;
/// A moment long before the thirty days after which things are forgotten here.
const LONG_AGO: &str = "2020-01-01T00:00:00Z";
/// Things done between two looks at everything.
const LOOK_EVERY: usize = 25;

#[derive(Debug, Clone)]
pub struct Options {
    pub artel: PathBuf,
    pub store: Store,
    pub kills: u32,
    pub keepers: usize,
    pub seed: u64,
}

/// What an agent must remember: whether each is old, and whether it went well.
type Model = BTreeMap<String, (bool, bool)>;

#[derive(Debug, Default)]
struct Tally {
    added: u64,
    forgotten: u64,
    looks: u64,
    violations: Vec<String>,
}

pub fn run(options: &Options) -> Result<Outcome> {
    let folder = tempfile::Builder::new().prefix("artel-memories-").tempdir()?;
    let database = match options.store {
        Store::Sqlite => None,
        Store::Postgres => Some(postgres::database()?),
    };
    let mut builder = Artel::new(&options.artel).stable_port()?.data_dir(folder.path());
    builder = builder.env("ARTEL_RECONCILE_EVERY", "200ms").env("ARTEL_LOG_LEVEL", "warn");
    if let Some(database) = &database {
        builder = builder.database(database.url());
    }
    let mut artel = builder.start()?;
    let runtime = runtime()?;
    let (stop, stopped) = watch::channel(false);
    let mut keepers = JoinSet::new();
    for number in 0..options.keepers {
        let client = artel.client(&format!("keeper{number}"))?;
        let memory = runtime.block_on(agent(&client))?;
        let rng = Rng::with_seed(options.seed.wrapping_mul(1_000_003) + number as u64);
        keepers.spawn_on(keep(client, memory, rng, stopped.clone()), runtime.handle());
    }
    let (mut rng, begin) = (Rng::with_seed(options.seed), Instant::now());
    for _ in 0..options.kills {
        std::thread::sleep(Duration::from_millis(rng.u64(KILL_EVERY)));
        artel.restart()?;
    }
    stop.send_replace(true);
    let mut all = Tally::default();
    runtime.block_on(async {
        while let Some(tally) = keepers.join_next().await {
            let tally = tally??;
            all.added += tally.added;
            all.forgotten += tally.forgotten;
            all.looks += tally.looks;
            all.violations.extend(tally.violations);
        }
        anyhow::Ok(())
    })?;
    let figures = format!(
        "{} agents, {} kills in {:.0} s: {} memories added, {} prunes and clears, {} looks at everything",
        options.keepers,
        options.kills,
        begin.elapsed().as_secs_f64(),
        all.added,
        all.forgotten,
        all.looks,
    );
    Ok(Outcome { name: "memory", figures, violations: all.violations })
}

/// A project with one agent; the path of its memory.
async fn agent(client: &Client) -> Result<String> {
    let body = json!({ "name": "memories", "starter_pack": "none" });
    let project = format!("/my/projects/{}", client.post("/my/projects/", &body).await?.id()?);
    let made = client.post(&format!("{project}/agents"), &json!({ "name": "keeper" })).await?;
    Ok(format!("{project}/agents/{}/context", made.id()?))
}

async fn keep(
    client: Client,
    memory: String,
    mut rng: Rng,
    stopped: watch::Receiver<bool>,
) -> Result<Tally> {
    let (mut model, mut tally) = (Model::new(), Tally::default());
    for number in 0.. {
        let last = *stopped.borrow();
        if last || number % LOOK_EVERY == 0 {
            look(&client, &memory, &model, &mut rng, &mut tally).await?;
        }
        if last {
            break;
        }
        match rng.u8(0..100) {
            0..86 => {
                let (old, success) = (rng.bool(), rng.u8(0..4) > 0);
                let text = format!("memory {number} {:016x}", rng.u64(..));
                let mut body = json!({ "text": text, "success": success });
                if old {
                    body["timestamp"] = json!(LONG_AGO);
                }
                until_done(&mut rng, || client.post_once(&memory, &text, &body)).await?;
                model.insert(text, (old, success));
                tally.added += 1;
            }
            86..92 => {
                prune(&client, &memory, &mut rng, &json!({ "days": 30 })).await?;
                model.retain(|_, (old, _)| !*old);
                tally.forgotten += 1;
            }
            92..98 => {
                prune(&client, &memory, &mut rng, &json!({ "success": false })).await?;
                model.retain(|_, (_, success)| *success);
                tally.forgotten += 1;
            }
            _ => {
                until_done(&mut rng, || client.delete(&memory)).await?;
                model.clear();
                tally.forgotten += 1;
            }
        }
    }
    Ok(tally)
}

async fn prune(client: &Client, memory: &str, rng: &mut Rng, body: &Value) -> Result<()> {
    let path = format!("{memory}/prune");
    until_done(rng, || client.post(&path, body)).await.map(|_| ())
}

/// Compares everything that the agent remembers with what it should, and finds one of them.
async fn look(
    client: &Client,
    memory: &str,
    model: &Model,
    rng: &mut Rng,
    tally: &mut Tally,
) -> Result<()> {
    let path = format!("{memory}/export");
    let found = until_done(rng, || client.get(&path)).await?;
    let found = found.body["interactions"].as_array().context("an export has interactions")?;
    let found: Vec<_> = found.iter().filter_map(|it| it["text"].as_str()).collect();
    tally.looks += 1;
    for text in model.keys().filter(|text| !found.contains(&text.as_str())) {
        tally.violations.push(format!("lost: {text}"));
    }
    for text in found.iter().filter(|text| !model.contains_key(**text)) {
        tally.violations.push(format!("came back: {text}"));
    }
    if found.len() > model.len() {
        tally.violations.push(format!("{} for {} memories", found.len(), model.len()));
    }
    let Some(text) = rng.choice(model.keys()) else { return Ok(()) };
    let (path, body) = (format!("{memory}/search"), json!({ "query": text, "top_k": 1 }));
    let hit = until_done(rng, || client.post(&path, &body)).await?;
    if hit.body["results"][0]["text"] != json!(text) {
        tally.violations.push(format!("not found: {text}"));
    }
    Ok(())
}
