//! Figures of `artel` beside their peers, on this machine, in one run: `make bench`.
//!
//! What a server costs is told in its own CPU time and memory, read from `/proc`, so that the client, which runs
//! on the same cores, does not count. Where there is a peer (a bare commit, a plain axum server) both sides take
//! turns within the run, and the ratio is what to look at: absolute figures are only good for a quiet machine.
//! A missed goal is shown, and is no failure; only what could not be measured is.

#![expect(clippy::print_stdout, reason = "the figures are what the program is asked for")]
#![expect(
    clippy::disallowed_methods,
    reason = "a measurement owns its process: it reads the environment and spawns as it likes"
)]
#![expect(clippy::cast_precision_loss, reason = "counts and spans here are far below 2^52")]

mod agents_list;
mod append;
mod fanout;
mod idle_spaces;
mod idle_streams;
mod listener;
mod memory;
mod messages;
mod peer;
mod place;
mod plans;
mod report;
mod requests;
mod start;
mod stdin;
mod tools;
mod usage;
mod wire;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};

use place::Place;
use report::Report;

/// The same as in `artel`, so that the peer that runs in this binary is not measured by its allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Open files that the widest measurement needs, with room to spare.
const OPEN_FILES: u64 = 16_384;

/// Measures artel beside its peers.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// Only this measurement; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<Name>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// What is behind a figure too: the plans that do not fit, one by one.
    #[arg(long)]
    verbose: bool,
    /// The server's binary; the one beside this program if not given.
    #[arg(long, value_name = "FILE")]
    artel: Option<PathBuf>,
    /// Where to put data, to measure another disk; beside this program if not given.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Where `LangGraph` is; beside this program if not given (scripts/fetch-langgraph.sh brings it).
    #[arg(long, value_name = "DIR")]
    langgraph: Option<PathBuf>,
    /// Has the requests planned by this model too, once or twice each; the server finds its key in the environment.
    #[arg(long, value_name = "PROVIDER/MODEL")]
    planner_model: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// A plain axum server of event streams; started by the measurements themselves.
    #[command(hide = true)]
    PeerSse,
    /// Searches a memory once and prints the KiB that it takes; started by the measurements themselves.
    #[command(hide = true)]
    Search { folder: PathBuf, agent: String, dimensions: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// A list of four agents over HTTP.
    AgentsList,
    /// A durable event on SQLite.
    AppendSqlite,
    /// A durable event on PostgreSQL.
    AppendPostgres,
    /// A step of any work where a commit costs no disk.
    Step,
    /// A message to an agent whose model takes no time.
    Messages,
    /// A message to a program, until it stands in its standard input.
    Stdin,
    /// A tool on the user's machine, and a file opened there.
    Tools,
    /// An agent's memory, searched and stored.
    Memory,
    /// A plan's steps, alone and many at once, planning, and what a kill leaves.
    Plans,
    /// The share of requests that become the plans they should.
    Requests,
    /// 2,000 spaces that nobody uses.
    IdleSpaces,
    /// An event to 500 listeners.
    Fanout,
    /// 5,000 streams that have nothing to say.
    IdleStreams,
    /// From nothing to the first answer.
    Start,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.role {
        Some(Role::PeerSse) => return peer::serve(),
        Some(Role::Search { folder, agent, dimensions }) => {
            let used = memory::search_once(&folder, &agent, dimensions)?;
            println!("{used}");
            return Ok(());
        }
        None => {}
    }
    artel_testkit::process::raise_open_files(OPEN_FILES)?;
    let place = Place::find(arguments.artel, arguments.folder.as_deref(), arguments.langgraph)?;
    let mut report = Report::new(arguments.json, arguments.verbose);
    let model = arguments.planner_model.as_deref();
    for name in Name::value_variants() {
        if arguments.only.is_empty() || arguments.only.contains(name) {
            measure(*name, &place, &mut report, model)
                .with_context(|| format!("measuring {name:?}"))?;
        }
    }
    report.finish()
}

fn measure(name: Name, place: &Place, report: &mut Report, model: Option<&str>) -> Result<()> {
    match name {
        Name::AgentsList => agents_list::measure(place, report),
        Name::AppendSqlite => append::sqlite(place, report),
        Name::AppendPostgres => append::postgres(report),
        Name::Step => append::in_memory(report),
        Name::Messages => messages::measure(place, report),
        Name::Stdin => stdin::measure(place, report),
        Name::Tools => tools::measure(place, report),
        Name::Memory => memory::measure(place, report),
        Name::Plans => plans::measure(place, report),
        Name::Requests => requests::measure(place, report, model),
        Name::IdleSpaces => idle_spaces::measure(place, report),
        Name::Fanout => fanout::measure(place, report),
        Name::IdleStreams => idle_streams::measure(place, report),
        Name::Start => start::measure(place, report),
    }
}
