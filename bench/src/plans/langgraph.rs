//! The peer of plans: `LangGraph` with its own store on SQLite, run by Python beside us (`bench/peers`).
//!
//! Its steps do nothing, ask no model, tell nobody and are remembered nowhere; they are only made durable, each before
//! the next (`durability="sync"`). Many chains are run in every way that is open to it, and the fastest counts.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Pace;
use crate::place::Place;

const PYTHON: &str = "python3";
const SCRIPT: &str = include_str!("../../peers/langgraph_steps.py");

/// How many chains can be run: by threads on one file or on one each, by processes, by a process per core.
const WAYS: [&str; 4] = ["threads", "files", "processes", "cores"];

pub(super) struct LangGraph {
    packages: PathBuf,
    script: PathBuf,
    data: PathBuf,
}

/// What the script prints.
#[derive(Debug, Deserialize)]
struct Told {
    steps: usize,
    seconds: f64,
    cpu_seconds: f64,
}

impl LangGraph {
    /// An error says how to get it.
    pub(super) fn find(place: &Place) -> Result<Self> {
        let packages = place.langgraph().to_owned();
        let shown = packages.display();
        ensure!(
            packages.is_dir(),
            "there is no {shown}; fetch it: scripts/fetch-langgraph.sh {shown}"
        );
        let (script, data) = (place.at("langgraph_steps.py"), place.at("langgraph"));
        std::fs::write(&script, SCRIPT)?;
        let found = Self { packages, script, data };
        found.run("alone", &[3]).context("it does not run")?;
        Ok(found)
    }

    pub(super) fn alone(&self, steps: usize) -> Result<Pace> {
        self.run("alone", &[steps])
    }

    /// In the way that is fastest this time.
    pub(super) fn together(&self, plans: usize, steps: usize) -> Result<Pace> {
        let paces = WAYS.into_iter().map(|way| self.run(way, &[plans, steps]));
        let paces = paces.collect::<Result<Vec<_>>>()?;
        paces.into_iter().min_by(|a, b| a.time.total_cmp(&b.time)).context("there are ways")
    }

    fn run(&self, way: &str, numbers: &[usize]) -> Result<Pace> {
        let output = Command::new(PYTHON)
            .arg(&self.script)
            .arg(&self.data)
            .arg(way)
            .args(numbers.iter().map(ToString::to_string))
            // Nothing of the user's settings, such as where to send traces.
            .env_clear()
            .env("PATH", std::env::var("PATH")?)
            .env("PYTHONPATH", &self.packages)
            .output()
            .with_context(|| format!("cannot start {PYTHON}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "LangGraph, {way}: {}: {said}", output.status);
        std::fs::remove_dir_all(&self.data)?;
        let told: Told = serde_json::from_slice(&output.stdout)?;
        let took = Duration::try_from_secs_f64(told.seconds)?;
        Ok(Pace::new(told.steps, took, told.cpu_seconds * 1e6))
    }
}
