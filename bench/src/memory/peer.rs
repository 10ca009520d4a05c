//! A graph index (HNSW) on the same data: what it takes to build, and how it searches with the same filters.

use std::time::Instant;

use anyhow::Result;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::data::{self, Data, FILTERS};
use super::{SEARCHES, TOP};
use crate::report::{Report, Row};

/// Neighbours that a search follows.
const EXPANSION: usize = 128;

pub(super) fn measure(data: &Data, truth: &[Vec<Vec<usize>>], report: &mut Report) -> Result<()> {
    let index = Index::new(&IndexOptions {
        dimensions: data.dimensions,
        metric: MetricKind::IP,
        quantization: ScalarKind::F16,
        expansion_search: EXPANSION,
        ..IndexOptions::default()
    })?;
    index.reserve(data.number)?;
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers = (0..threads).map(|first| {
            let index = &index;
            scope.spawn(move || {
                (first..data.number)
                    .step_by(threads)
                    .try_for_each(|at| index.add(at as u64, &data.vector(at)))
            })
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    report.add(Row::new("usearch f16, to build", began.elapsed().as_secs_f64(), "s"));
    report.add(Row::new(
        "usearch f16, memory",
        index.memory_usage() as f64 / 1024.0 / 1024.0,
        "MiB",
    ));
    for (part, truth) in FILTERS.iter().zip(truth) {
        let filter = part.filter();
        let admits = |key: u64| filter.admits(&data::facts(usize::try_from(key).unwrap_or(0)));
        let (mut times, mut found, mut all) = (Vec::new(), 0_usize, 0_usize);
        for query in 0..SEARCHES {
            let vector = data.query(query);
            let began = Instant::now();
            let hits = index.filtered_search(&vector, TOP, admits)?;
            times.push(began.elapsed());
            if let Some(true_ones) = truth.get(query) {
                found += true_ones.iter().filter(|at| hits.keys.contains(&(**at as u64))).count();
                all += true_ones.len();
            }
        }
        times.sort();
        let p95 = times[times.len() * 95 / 100].as_secs_f64() * 1e3;
        report.add(Row::new(format!("usearch f16, {}, p95", part.name), p95, "ms"));
        let recall = found as f64 / all.max(1) as f64;
        report.add(Row::new(format!("usearch f16, {}, recall@10", part.name), recall, ""));
    }
    Ok(())
}
