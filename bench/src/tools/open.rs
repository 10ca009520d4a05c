//! A file three folders deep in a workspace, opened so that no link leads out: through the handle of the root, beside
//! the check of a resolved path that is usual and can be outrun.
//!
//! Once the bare opening, and once a whole read by the file tool, which also looks whether the root still stands and
//! whether the file is one, beside the least that reads.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use artel_tools::Request;
use artel_tools::files::Workspace;
use artel_tools::request::ReadFile;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::report::{Goal, Report, Row};
use crate::usage::median;

const BATCHES: usize = 7;
const BATCH: usize = 20_000;
const FILE: &str = "src/deep/down/notes.txt";

pub(super) fn measure(folder: &Path, report: &mut Report) -> Result<()> {
    let path = folder.join(FILE);
    fs::create_dir_all(path.parent().context("the file is in a folder")?)?;
    fs::write(&path, "the door is green\n")?;
    let root = fs::canonicalize(folder)?;

    let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
    let by_handle = || Ok(dir.open(FILE)?);
    let by_path = || checked(&root);
    tell("opened safely, 3 folders deep", "resolved and checked", by_handle, by_path, report)?;

    let workspace = Workspace::open(&root)?;
    let request = Request::ReadFile(ReadFile { path: FILE.to_owned(), offset: 0, limit: None });
    let tool = || {
        let outcome = workspace.run(&request, None);
        ensure!(outcome.success, "reading failed: {outcome:?}");
        Ok(outcome)
    };
    let plain = || {
        let mut text = String::new();
        checked(&root)?.read_to_string(&mut text)?;
        Ok(text)
    };
    tell("read by the tool, 3 folders deep", "resolved, checked, read", tool, plain, report)
}

/// The way that is not safe: between the check and the opening a link can be put in place.
fn checked(root: &Path) -> Result<File> {
    let path: PathBuf = fs::canonicalize(root.join(FILE))?;
    ensure!(path.starts_with(root), "{} is outside", path.display());
    Ok(File::open(path)?)
}

/// Both in turns, so that a slow moment meets both.
fn tell<O, T>(
    name: &str,
    peer: &'static str,
    ours: impl Fn() -> Result<O>,
    theirs: impl Fn() -> Result<T>,
    report: &mut Report,
) -> Result<()> {
    let mut batches = Vec::with_capacity(BATCHES);
    // The first warms up.
    for _ in 0..=BATCHES {
        batches.push((batch(&ours)?, batch(&theirs)?));
    }
    batches.remove(0);
    let figure = median(batches.iter().map(|(ours, _)| *ours));
    let beside = median(batches.iter().map(|(_, theirs)| *theirs));
    let ratio = median(batches.iter().map(|(ours, theirs)| ours / theirs));
    report
        .add(Row::new(name, figure, "ns").beside(peer, beside, ratio).goal(Goal::RatioAtMost(1.0)));
    Ok(())
}

/// Nanoseconds of one.
fn batch<T>(one: &impl Fn() -> Result<T>) -> Result<f64> {
    let begin = Instant::now();
    for _ in 0..BATCH {
        black_box(one()?);
    }
    Ok(begin.elapsed().as_secs_f64() * 1e9 / BATCH as f64)
}
