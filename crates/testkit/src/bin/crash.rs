//! `crash`: the crash harness and the races by hand, in any size.
//!
//!     crash --artel target/release/artel --kills 1000 --database postgres
//!     crash --artel target/release/artel --kills 200 --at fsync
//!     crash talk --artel target/release/artel --users 200 --projects 5 --seconds 60
//!     crash memory --artel target/release/artel --kills 200
//!     crash approvals --artel target/release/artel --rounds 2000 --kill-every 200
//!     crash plans --artel target/release/artel --plans 1000 --most-tasks 500
//!     crash programs --artel target/release/artel --agents 20 --kills 50
//!     crash crowd --artel target/release/artel --agents 100 --messages 100
//!     crash race --artel target/release/artel --only streams --events 100000 --cuts 1000
//!
//! Ends with 1 when a promise broke, and names each.

#![expect(clippy::print_stdout, reason = "a program for people to read")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use artel_testkit::crash::{self, At, Store, Victim};
use artel_testkit::programs::{Walls, crowd, kills};
use artel_testkit::race::{Ground, Outcome, neighbours, shutdown, stalled, streams, writers};
use artel_testkit::{approvals, memories, plans, talk};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Kills the server again and again under load and checks that no promise broke.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    kill: Option<Kill>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Many clients at once on a living server.
    Race(Race),
    /// Many conversations on a server that is killed again and again.
    Talk(Talk),
    /// Agents that remember and forget, on a server that is killed again and again.
    Memory(Memory),
    /// Approvals that many decide at once, on a server that is killed among the answers.
    Approvals(Approvals),
    /// Random plans that are run, stopped and tried again, on a server that is killed again and again.
    Plans(Plans),
    /// Agents that are programs, on a server that is killed while they start, work and stop.
    Programs(Programs),
    /// Many agents that are programs at once on a living server.
    Crowd(Crowd),
}

#[derive(Debug, Args)]
struct Programs {
    /// The binary under test; `line-agent` stands beside it.
    #[arg(long)]
    artel: PathBuf,
    #[arg(long, default_value_t = 20)]
    agents: usize,
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Where the agents run.
    #[arg(long, default_value = "both")]
    sandbox: Sandbox,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct Crowd {
    /// The binary under test; `line-agent` stands beside it.
    #[arg(long)]
    artel: PathBuf,
    #[arg(long, default_value_t = 100)]
    agents: usize,
    /// Of every agent, at most 499.
    #[arg(long, default_value_t = 100)]
    messages: usize,
    /// Where the agents run.
    #[arg(long, default_value = "both")]
    sandbox: Sandbox,
}

#[derive(Debug, Args)]
struct Plans {
    /// The binary under test.
    #[arg(long)]
    artel: PathBuf,
    #[arg(long, default_value = "sqlite")]
    database: Database,
    #[arg(long, default_value_t = 40)]
    #[expect(clippy::struct_field_names, reason = "the name of the option")]
    plans: usize,
    /// Tasks of the largest plans.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=500))]
    most_tasks: u16,
    /// From kill to kill, on average, in milliseconds.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(10..))]
    kill_every: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct Approvals {
    /// The binary under test.
    #[arg(long)]
    artel: PathBuf,
    #[arg(long, default_value = "sqlite")]
    database: Database,
    /// Approvals, one after the other.
    #[arg(long, default_value_t = 2_000)]
    rounds: u32,
    /// Rounds from kill to kill.
    #[arg(long, default_value_t = 200)]
    kill_every: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct Memory {
    /// The binary under test.
    #[arg(long)]
    artel: PathBuf,
    #[arg(long, default_value = "sqlite")]
    database: Database,
    #[arg(long, default_value_t = 200)]
    kills: u32,
    /// Agents, each with somebody who tells it what to remember and to forget.
    #[arg(long, default_value_t = 8)]
    keepers: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct Talk {
    /// The binary under test.
    #[arg(long)]
    artel: PathBuf,
    #[arg(long, default_value = "sqlite")]
    database: Database,
    #[arg(long, default_value_t = 200)]
    users: usize,
    /// Of every user.
    #[arg(long, default_value_t = 5)]
    projects: usize,
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct Kill {
    /// The binary under test.
    #[arg(long)]
    artel: PathBuf,
    #[arg(long, default_value_t = 50)]
    kills: u32,
    #[arg(long, default_value = "sqlite")]
    database: Database,
    #[arg(long, default_value = "random")]
    at: When,
    /// Every other time the database is crashed instead.
    #[arg(long = "kill-database")]
    database_too: bool,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, default_value_t = 8)]
    writers: usize,
}

#[derive(Debug, Args)]
struct Race {
    /// The binary under test.
    #[arg(long)]
    artel: PathBuf,
    #[arg(long, default_value = "sqlite")]
    database: Database,
    /// One scenario instead of all.
    #[arg(long)]
    only: Option<Scenario>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Updates in `streams`.
    #[arg(long, default_value_t = 100_000)]
    events: u64,
    /// Cuts in `streams`, over all readers.
    #[arg(long, default_value_t = 1_000)]
    cuts: u64,
    /// Length of `writers`.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Open streams in `shutdown`.
    #[arg(long, default_value_t = 1_000)]
    streams: usize,
    /// Tasks of the one user in `neighbours`.
    #[arg(long, default_value_t = 1_000)]
    queued: usize,
    /// Readers in `stalled`.
    #[arg(long, default_value_t = 1_000)]
    readers: usize,
    /// Readers that do not read, in `stalled` and `shutdown`.
    #[arg(long, default_value_t = 4)]
    stalled: usize,
    /// Connections that say nothing, in `shutdown`.
    #[arg(long, default_value_t = 4)]
    silent: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Database {
    Sqlite,
    Postgres,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum When {
    Random,
    Fsync,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    Streams,
    Writers,
    Shutdown,
    Stalled,
    Neighbours,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sandbox {
    None,
    Bubblewrap,
    Both,
}

impl From<Sandbox> for Walls {
    fn from(sandbox: Sandbox) -> Self {
        match sandbox {
            Sandbox::None => Self::None,
            Sandbox::Bubblewrap => Self::Bubblewrap,
            Sandbox::Both => Self::Both,
        }
    }
}

impl From<Database> for Store {
    fn from(database: Database) -> Self {
        match database {
            Database::Sqlite => Self::Sqlite,
            Database::Postgres => Self::Postgres,
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let clean = match (arguments.command, arguments.kill) {
        (Some(Command::Race(options)), _) => race(&options)?,
        (Some(Command::Talk(options)), _) => talk(&options)?,
        (Some(Command::Memory(options)), _) => memory(&options)?,
        (Some(Command::Approvals(options)), _) => approvals(&options)?,
        (Some(Command::Plans(options)), _) => plans(&options)?,
        (Some(Command::Programs(options)), _) => programs(&options)?,
        (Some(Command::Crowd(options)), _) => crowd(&options)?,
        (None, Some(options)) => kill(&options)?,
        (None, None) => {
            <Arguments as clap::CommandFactory>::command().print_help()?;
            return Ok(ExitCode::from(2));
        }
    };
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn kill(options: &Kill) -> Result<bool> {
    println!("{:?}, {:?}, seed {}", options.database, options.at, options.seed);
    let report = crash::run(&crash::Options {
        artel: options.artel.clone(),
        kills: options.kills,
        store: options.database.into(),
        at: match options.at {
            When::Random => At::Random,
            When::Fsync => At::Fsync,
        },
        victim: if options.database_too { Victim::ServerOrDatabase } else { Victim::Server },
        seed: options.seed,
        writers: options.writers,
        progress: |text| println!("  {text}"),
    })?;
    print!("{report}");
    Ok(report.is_clean())
}

fn talk(options: &Talk) -> Result<bool> {
    println!("{:?}, seed {}", options.database, options.seed);
    let outcome = talk::run(&talk::Options {
        artel: options.artel.clone(),
        store: options.database.into(),
        users: options.users,
        projects: options.projects,
        time: Duration::from_secs(options.seconds),
        kill_every: talk::EVERY_FEW_SECONDS,
        seed: options.seed,
    })?;
    print!("{outcome}");
    Ok(outcome.violations.is_empty())
}

fn memory(options: &Memory) -> Result<bool> {
    println!("{:?}, seed {}", options.database, options.seed);
    let outcome = memories::run(&memories::Options {
        artel: options.artel.clone(),
        store: options.database.into(),
        kills: options.kills,
        keepers: options.keepers,
        seed: options.seed,
    })?;
    print!("{outcome}");
    Ok(outcome.violations.is_empty())
}

fn approvals(options: &Approvals) -> Result<bool> {
    println!("{:?}, seed {}", options.database, options.seed);
    let outcome = approvals::run(&approvals::Options {
        artel: options.artel.clone(),
        store: options.database.into(),
        rounds: options.rounds,
        kill_every: options.kill_every,
        seed: options.seed,
    })?;
    print!("{outcome}");
    Ok(outcome.violations.is_empty())
}

fn plans(options: &Plans) -> Result<bool> {
    println!("{:?}, seed {}", options.database, options.seed);
    let outcome = plans::run(&plans::Options {
        artel: options.artel.clone(),
        store: options.database.into(),
        plans: options.plans,
        most_tasks: options.most_tasks.into(),
        kill_every: options.kill_every / 5..options.kill_every * 9 / 5,
        seed: options.seed,
    })?;
    print!("{outcome}");
    Ok(outcome.violations.is_empty())
}

fn programs(options: &Programs) -> Result<bool> {
    println!("{:?}, seed {}", options.sandbox, options.seed);
    let outcome = kills::run(&kills::Options {
        artel: options.artel.clone(),
        agents: options.agents,
        kills: options.kills,
        walls: options.sandbox.into(),
        seed: options.seed,
    })?;
    print!("{outcome}");
    Ok(outcome.violations.is_empty())
}

fn crowd(options: &Crowd) -> Result<bool> {
    println!("{:?}", options.sandbox);
    let outcome = crowd::run(&crowd::Options {
        artel: options.artel.clone(),
        agents: options.agents,
        messages: options.messages,
        walls: options.sandbox.into(),
        // Longer than anything is kept that nobody needs.
        rest: Duration::from_secs(75),
    })?;
    print!("{outcome}");
    Ok(outcome.violations.is_empty())
}

fn race(options: &Race) -> Result<bool> {
    let chosen = |scenario| options.only.is_none_or(|only| only == scenario);
    let (seed, mut clean) = (options.seed, true);
    println!("{:?}, seed {seed}", options.database);
    let mut show = |outcome: Outcome| {
        print!("{outcome}");
        clean &= outcome.violations.is_empty();
    };
    // Each on a server of its own: what one leaves behind is not the next one's load.
    let environment = [stalled::TIMEOUT];
    let open = || Ground::open(&options.artel, options.database.into(), &environment);
    if chosen(Scenario::Streams) {
        let (events, cuts) = (options.events, options.cuts);
        let race = streams::Options { writers: 32, readers: 8, events, cuts, seed };
        show(streams::run(&open()?.artel, race)?);
    }
    if chosen(Scenario::Writers) {
        let time = Duration::from_secs(options.seconds);
        show(writers::run(&open()?.artel, writers::Options { writers: 64, time, seed })?);
    }
    if chosen(Scenario::Shutdown) {
        let Race { streams, stalled, silent, .. } = *options;
        let race = shutdown::Options { streams, requests: 32, stalled, silent };
        show(shutdown::run(&mut open()?.artel, race)?);
        show(shutdown::twice(&mut open()?.artel)?);
    }
    if chosen(Scenario::Stalled) {
        let Race { readers, stalled, .. } = *options;
        let race = stalled::Options { readers, stalled, backlog: 20_000 };
        show(stalled::run(&open()?.artel, race)?);
    }
    if chosen(Scenario::Neighbours) {
        show(neighbours::run(&open()?.artel, neighbours::Options { queued: options.queued })?);
    }
    Ok(clean)
}
