//! An agent's memory, the embedded store: searches with and without filters, their recall, what storing takes and what
//! thousands of empty memories cost; a graph index on the same data beside it (with the feature `peers`).
//!
//! The store runs in this process, as it does in the server; nothing else runs meanwhile, so its CPU is ours.

mod data;
#[cfg(feature = "peers")]
mod peer;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use artel_domain::memory::{Collection, Filter};
use artel_domain::{AgentId, SystemClock};
use artel_storage::vectors::embedded::Embedded;
use artel_storage::vectors::{Model, VectorIndex};
use tokio::runtime::Runtime;

use crate::place::Place;
use crate::report::{Goal, Report, Row};
use crate::usage::{cpu, median_micros, memory};
use data::{Data, FILTERS};

const TOP: usize = 10;
/// Searches of each kind.
const SEARCHES: usize = 500;
/// Queries whose true neighbours are computed, for the recall.
const CHECKED: usize = 100;
const BATCH: usize = 1000;
/// Entries stored one at a time.
const SINGLE: usize = 300;
const EMPTY: usize = 5000;

/// One size of a memory, and where it should be.
struct Size {
    name: &'static str,
    number: usize,
    dimensions: usize,
    /// Milliseconds of the slowest of twenty searches.
    p95: f64,
    recall: f64,
}

const SIZES: [Size; 2] = [
    Size { name: "100k × 1536", number: 100_000, dimensions: 1536, p95: 4.0, recall: 0.999 },
    Size { name: "1M × 384", number: 1_000_000, dimensions: 384, p95: 25.0, recall: 0.999 },
];

pub(crate) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for size in &SIZES {
        whole(&runtime, place, size, report)?;
    }
    empty(&runtime, &place.at("memory-empty"), report)
}

fn collection() -> Collection {
    let agent = AgentId::new(&SystemClock);
    Collection { agent, name: format!("bench_{agent}") }
}

fn open(folder: &Path, dimensions: usize) -> Result<Arc<Embedded>> {
    let model = Model { name: "bench".to_owned(), dimensions };
    Ok(Arc::new(Embedded::open(folder.to_owned(), model)?))
}

fn whole(runtime: &Runtime, place: &Place, size: &Size, report: &mut Report) -> Result<()> {
    let (folder, of) = (place.at(&format!("memory-{}", size.number)), collection());
    let data = Data::new(size.number, size.dimensions);
    let name = |what: &str| format!("memory {}, {what}", size.name);
    let pid = std::process::id();

    let store = open(&folder, size.dimensions)?;
    let (stored, alone) = runtime.block_on(fill(store.as_ref(), &of, &data))?;
    report.add(Row::new(name("stored in batches of 1,000"), stored, "/s"));
    report.add(Row::new(name("stored alone, durable"), median_micros(&alone), "µs"));
    drop(store);

    report.add(Row::new(name("memory in use"), in_use(&folder, &of, size)? / 1024.0, "MiB"));
    let store = open(&folder, size.dimensions)?;
    let began = Instant::now();
    runtime.block_on(store.search(&of, &data.query(0), &Filter::default(), TOP))?;
    report.add(Row::new(
        name("opened and first search"),
        began.elapsed().as_secs_f64() * 1e3,
        "ms",
    ));
    for (at, filter) in FILTERS.iter().enumerate() {
        let spent = cpu(pid)?;
        let mut times = Vec::with_capacity(SEARCHES);
        for query in 0..SEARCHES {
            let vector = data.query(query);
            let began = Instant::now();
            runtime.block_on(store.search(&of, &vector, &filter.filter(), TOP))?;
            times.push(began.elapsed());
        }
        let per_search = (cpu(pid)? - spent) / SEARCHES as f64 / 1e3;
        times.sort();
        let of_hundred = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e3;
        let what = filter.name;
        let p95 = Row::new(name(&format!("{what}, p95")), of_hundred(95), "ms");
        report.add(Row::new(name(&format!("{what}, p50")), of_hundred(50), "ms"));
        report.add(if at == 0 { p95.goal(Goal::AtMost(size.p95)) } else { p95 });
        report.add(Row::new(name(&format!("{what}, p99")), of_hundred(99), "ms"));
        report.add(Row::new(name(&format!("{what}, CPU per search")), per_search, "ms"));
    }
    let figures = runtime.block_on(store.figures(&of, &Filter::default()))?;
    report.add(Row::new(name("on disk"), figures.bytes as f64 / 1024.0 / 1024.0, "MiB"));

    let truth = data.nearest(CHECKED, TOP);
    for (filter, truth) in FILTERS.iter().zip(&truth) {
        let (mut found, mut all) = (0, 0);
        for (query, true_ones) in truth.iter().enumerate() {
            let vector = data.query(query);
            let hits = runtime.block_on(store.search(&of, &vector, &filter.filter(), TOP))?;
            let hits: Vec<_> = hits.iter().map(|hit| hit.interaction.id).collect();
            found += true_ones.iter().filter(|at| hits.contains(&data::id(**at))).count();
            all += true_ones.len();
        }
        let recall =
            Row::new(name(&format!("{}, recall@10", filter.name)), found as f64 / all as f64, "");
        report.add(recall.goal(Goal::AtLeast(size.recall)));
    }
    drop(store);
    std::fs::remove_dir_all(&folder).context("clearing up")?;
    #[cfg(feature = "peers")]
    if size.number <= 100_000 {
        peer::measure(&data, &truth, report)?;
    }
    Ok(())
}

/// What an open memory takes, in KiB: in a process of its own, as this one keeps what it has once had.
fn in_use(folder: &Path, of: &Collection, size: &Size) -> Result<f64> {
    let mut own = std::process::Command::new(std::env::current_exe()?);
    own.arg("search").arg(folder).args([of.agent.to_string(), size.dimensions.to_string()]);
    let told = String::from_utf8(own.output()?.stdout)?;
    told.trim().parse().with_context(|| format!("{told:?} is no figure"))
}

/// Opens a memory and searches it once; gives what that took, in KiB.
pub(crate) fn search_once(folder: &Path, agent: &str, dimensions: usize) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let of = Collection { agent: agent.parse()?, name: agent.to_owned() };
    let (pid, vector) = (std::process::id(), Data::new(1, dimensions).query(0));
    let before = memory(pid)?;
    let store = open(folder, dimensions)?;
    runtime.block_on(store.search(&of, &vector, &Filter::default(), TOP))?;
    Ok(memory(pid)? - before)
}

/// Stores everything; gives the rate, and the time of each that was stored alone.
async fn fill(store: &Embedded, of: &Collection, data: &Data) -> Result<(f64, Vec<Duration>)> {
    let (mut spent, mut at) = (Duration::ZERO, 0);
    let batched = data.number - SINGLE;
    while at < batched {
        let end = (at + BATCH).min(batched);
        let batch: Vec<_> = (at..end).map(|at| data.entry(at)).collect();
        let began = Instant::now();
        store.put(of, batch).await?;
        spent += began.elapsed();
        at = end;
    }
    let mut alone = Vec::with_capacity(SINGLE);
    for at in batched..data.number {
        let entry = vec![data.entry(at)];
        let began = Instant::now();
        store.put(of, entry).await?;
        alone.push(began.elapsed());
    }
    Ok((batched as f64 / spent.as_secs_f64(), alone))
}

/// What memories cost that nothing is in.
fn empty(runtime: &Runtime, folder: &Path, report: &mut Report) -> Result<()> {
    let pid = std::process::id();
    let store = open(folder, 1536)?;
    let (files, before, began) = (open_files()?, memory(pid)?, Instant::now());
    runtime.block_on(async {
        for _ in 0..EMPTY {
            store.ensure(&collection()).await?;
        }
        anyhow::Ok(())
    })?;
    let name = |what: &str| format!("{EMPTY} empty memories, {what}");
    let each = |figure: f64| figure / EMPTY as f64;
    report.add(Row::new(name("to make one"), each(began.elapsed().as_secs_f64() * 1e6), "µs"));
    report.add(Row::new(name("memory of one"), each((memory(pid)? - before) * 1024.0), "bytes"));
    let sizes = std::fs::read_dir(folder)?.map(|file| Ok(file?.metadata()?.len()));
    let bytes: u64 = sizes.collect::<Result<Vec<_>>>()?.iter().sum();
    report.add(Row::new(name("disk of one"), each(bytes as f64 / 1024.0), "KiB"));
    let more = open_files()?.saturating_sub(files);
    report.add(Row::new(name("open files"), more as f64, ""));
    std::fs::remove_dir_all(folder).context("clearing up")
}

fn open_files() -> Result<usize> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}
