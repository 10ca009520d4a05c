//! The stub as a program: for tests of other programs, and for trying things out by hand.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use artel_modelstub::{Options, Scenario, Stub};
use clap::Parser;

/// A model service for tests that speaks the real wire formats.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The rules to answer by; without it every request is answered with its last user text.
    #[arg(long)]
    scenario: Option<PathBuf>,
    /// Appends every request to this file, a line of JSON each.
    #[arg(long)]
    log: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let scenario = match &args.scenario {
        Some(path) => {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            Scenario::parse(&text).with_context(|| path.display().to_string())?
        }
        None => Scenario::echo(),
    };
    let stub = Stub::start_with(scenario, Options { listen: args.listen, log: args.log }).await?;
    // Whoever started this process waits for the line, so it must not stay in a buffer.
    let mut out = io::stdout().lock();
    writeln!(out, "modelstub is listening on {}", stub.url())?;
    out.flush()?;
    drop(out);
    tokio::signal::ctrl_c().await?;
    stub.stop().await;
    Ok(())
}
