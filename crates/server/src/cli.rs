//! The command line: what can be asked, and what the answers' exit codes mean.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use artel_domain::{ClientId, Role, SystemClock};
use artel_engine::{Error, Kind};
use artel_tools::show::visible_lines;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::config::{Config, Flags, LogFormat, Mistake, Resolved, Worker};
use crate::{client, http, serve};

mod accounts;
mod agents;
mod approvals;
mod chat;
pub(crate) mod connection;
mod doctor;
mod local;
mod memory;
pub(crate) mod plan;
mod policy;
mod settings;
mod up;
mod worker;

use connection::Connection;
use plan::pen::Pen;

/// Gives every project a team of AI agents.
#[derive(Debug, Parser)]
#[command(name = "artel", version, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 rejected, 6 timeout"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Configuration file (TOML).
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder for everything the server keeps.
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything on this machine: the server, and a client on a folder.
    Up {
        /// The folder that agents work in; without one, this folder.
        dir: Option<PathBuf>,
        /// Address and port, such as 127.0.0.1:8787; port 0 takes a free one.
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<String>,
        /// Do not open a browser.
        #[arg(long)]
        no_open: bool,
        /// Who decides what is not harmless.
        #[arg(long, value_name = "WHO", default_value = "ask")]
        approve: client::Approve,
    },
    /// Run the server.
    Serve {
        /// Address and port, such as 127.0.0.1:8787; port 0 takes a free one.
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<String>,
    },
    /// Run agents that are programs, for servers that use workers (`agent_nodes`). Both need the same Redis.
    Worker {
        /// What it is called, over restarts; without one `worker_name`, or the machine's name.
        #[arg(long)]
        name: Option<String>,
    },
    /// Carry out what the agents of a project want done, in a folder of this machine.
    Client {
        /// The server; without it `ARTEL_SERVER`, or the one on this machine.
        #[arg(long, value_name = "URL")]
        server: Option<String>,
        /// The project's id; not needed when you have just one.
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// The folder that agents work in.
        #[arg(long, value_name = "DIR", default_value = ".")]
        workspace: PathBuf,
        /// Who decides what is not harmless.
        #[arg(long, value_name = "WHO", default_value = "ask")]
        approve: client::Approve,
    },
    /// See what waits for you, and decide.
    Approvals(approvals::Approvals),
    /// See when a person is asked, and why.
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Manage accounts, straight on the store.
    #[command(subcommand)]
    User(UserCommand),
    /// Print a token for a user.
    Token {
        name: String,
        /// How long it is good: 12h, 30d, …
        #[arg(long, default_value = "30d", value_parser = span)]
        ttl: Duration,
        /// Make the account when there is none.
        #[arg(long)]
        create: bool,
        #[arg(long)]
        json: bool,
    },
    /// Have the team do something: it is planned, approved where it must be, and done.
    Plan(plan::Planning),
    /// List the newest plans.
    Plans(plan::Listing),
    /// Talk to the team of a project, or to one agent of it: one message, or a conversation.
    Chat {
        /// The message; without one, a conversation line by line.
        text: Option<String>,
        /// The project's id; not needed when you have just one.
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// The agent's name or id; without one the message is planned, and everybody works on it.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// See the team; start, stop, ask and watch those that are programs.
    Agents(agents::Agents),
    /// Look into what an agent remembers, and manage it.
    Memory(memory::Memory),
    /// Show the configuration, and where each value comes from.
    Config {
        #[arg(long)]
        json: bool,
    },
    /// Check everything that can be wrong, and say how to mend it.
    Doctor {
        #[arg(long)]
        json: bool,
    },
    /// Print the description of the API (OpenAPI 3.1).
    Openapi,
    /// Print completions for a shell.
    Completions { shell: Shell },
    /// Stands around the process of an agent, and leaves nothing of it behind.
    #[command(hide = true)]
    Keeper {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<std::ffi::OsString>,
    },
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// Add a user. Asks for a password when there is a terminal.
    Add {
        name: String,
        /// May see every account and space.
        #[arg(long)]
        admin: bool,
        /// Read the password from standard input.
        #[arg(long)]
        password_stdin: bool,
        #[arg(long)]
        json: bool,
    },
    /// List the users.
    List {
        #[arg(long)]
        json: bool,
    },
    /// Set a user's password.
    Passwd {
        name: String,
        /// Read the password from standard input.
        #[arg(long)]
        password_stdin: bool,
    },
    /// Refuse a user everything, whatever tokens they hold.
    Disable { name: String },
    /// Let a disabled user in again.
    Enable { name: String },
}

/// Does what was asked, and says how it went in the exit code.
#[expect(clippy::print_stderr, reason = "this is where errors reach the person at the terminal")]
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    if let Command::Keeper { command } = arguments.command {
        return artel_programs::keeper::main(command);
    }
    match execute(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("artel: {}", visible_lines(&format!("{error:#}")));
            ExitCode::from(exit_code(&error))
        }
    }
}

/// What was asked for was kept from being done: no fault, but told in the exit code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ending {
    #[error("{0}")]
    Rejected(String),
    /// Nobody decided in time.
    #[error("{0}")]
    TimedOut(String),
}

fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<Mistake>() {
        return 2;
    }
    match error.downcast_ref() {
        Some(Ending::Rejected(_)) => return 5,
        Some(Ending::TimedOut(_)) => return 6,
        None => {}
    }
    match error.downcast_ref::<Error>().map(|error| error.kind) {
        Some(Kind::NotFound) => 3,
        Some(Kind::Forbidden | Kind::Unauthenticated) => 4,
        Some(Kind::Invalid) => 2,
        Some(Kind::Conflict | Kind::Busy | Kind::Unavailable | Kind::Internal) | None => 1,
    }
}

fn execute(Arguments { command, config, data_dir }: Arguments) -> anyhow::Result<()> {
    let flags = |listen| Flags { config: config.clone(), listen, data_dir: data_dir.clone() };
    let said = |listen| Resolved::read(&flags(listen), &environment());
    let connect = |environment: &BTreeMap<String, String>| {
        let local = said(None).ok().and_then(|said| local::read(&said.data_dir()));
        let local = local.map(|local| local.address);
        Connection::open(environment, local)
    };
    match command {
        Command::Serve { listen } => {
            let config = Config::from(&said(listen)?)?;
            start_logging(&config.log_level, config.log_format, None)?;
            runtime()?.block_on(serve::run(config))
        }
        Command::Worker { name } => {
            let worker = Worker::from(&said(None)?, name)?;
            start_logging(&worker.log_level, worker.log_format, None)?;
            runtime()?.block_on(worker::run(worker))
        }
        Command::Up { dir, listen, no_open, approve } => {
            let dir = dir.unwrap_or_else(|| PathBuf::from("."));
            let mut said = said(listen)?;
            said.for_one_person(&dir);
            let config = Config::from(&said)?;
            // The terminal is for the person.
            let log = std::fs::File::create(config.data_dir.join("artel.log"))?;
            start_logging(&config.log_level, config.log_format, Some(log))?;
            let up = up::Up { dir, no_open, approve };
            runtime()?.block_on(up::run(config, up, environment()))
        }
        Command::Client { server, project, workspace, approve } => {
            let mut environment = environment();
            environment.extend(server.map(|server| ("ARTEL_SERVER".to_owned(), server)));
            let connection = connect(&environment)?;
            let runtime = runtime()?;
            let worked = runtime.block_on(async {
                let project = connection.project(project).await?;
                let stop = CancellationToken::new();
                let again = serve::signals(stop.clone())?;
                let id = ClientId::new(&SystemClock);
                let pen = Pen::of(&environment);
                let terminal = client::Terminal::new(approve == client::Approve::Ask, pen);
                let settings =
                    client::Settings { id, connection, project, workspace, approve, environment };
                tokio::select! {
                    worked = client::run(settings, terminal, stop) => worked,
                    () = again => Ok(()),
                }
            });
            // A thread may still wait for the terminal.
            runtime.shutdown_background();
            worked
        }
        Command::Approvals(approvals) => {
            let environment = environment();
            let (connection, pen) = (connect(&environment)?, Pen::of(&environment));
            runtime()?.block_on(approvals::run(connection, approvals, pen))
        }
        Command::Policy(policy) => policy::run(policy),
        Command::User(command) => {
            let config = Config::from(&said(None)?)?;
            runtime()?.block_on(accounts::manage(&config, command))
        }
        Command::Token { name, ttl, create, json } => {
            let config = Config::from(&said(None)?)?;
            let request = accounts::TokenRequest { name, ttl, create, json };
            runtime()?.block_on(accounts::token(&config, request))
        }
        Command::Plan(planning) => {
            let environment = environment();
            let connection = connect(&environment)?;
            runtime()?.block_on(plan::run(connection, planning, &environment))
        }
        Command::Plans(listing) => {
            let connection = connect(&environment())?;
            runtime()?.block_on(plan::list(connection, listing))
        }
        Command::Chat { text, project, agent, json } => {
            let environment = environment();
            let connection = connect(&environment)?;
            let chat = chat::Chat { project, agent, text, json };
            runtime()?.block_on(chat::run(connection, chat, &environment))
        }
        Command::Agents(agents) => {
            let connection = connect(&environment())?;
            runtime()?.block_on(agents::run(connection, agents))
        }
        Command::Memory(memory) => {
            let connection = connect(&environment())?;
            runtime()?.block_on(memory::run(connection, memory))
        }
        Command::Config { json } => settings::show(&said(None)?, json),
        Command::Doctor { json } => runtime()?.block_on(doctor::examine(said(None), json)),
        Command::Openapi => print(&http::openapi().to_pretty_json()?),
        Command::Keeper { .. } => Ok(()),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "artel", &mut text);
            print(String::from_utf8_lossy(&text).trim_end())
        }
    }
}

/// The environment, read once. Variables that are not UTF-8 cannot be ours.
fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Logs to a file, or to the terminal.
fn start_logging(
    level: &str,
    format: LogFormat,
    file: Option<std::fs::File>,
) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .map_err(|error| Mistake(format!("log_level: {level:?}: {error}")))?;
    let colours = file.is_none() && std::io::IsTerminal::is_terminal(&std::io::stderr());
    let writer = match file {
        Some(file) => BoxMakeWriter::new(std::sync::Mutex::new(file)),
        None => BoxMakeWriter::new(std::io::stderr),
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    match format {
        LogFormat::Text => log.with_ansi(colours).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    Ok(())
}

/// Prints an answer. A reader that has gone away (`artel … | head`) is no failure.
fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn role(admin: bool) -> Role {
    if admin { Role::Admin } else { Role::User }
}

fn span(text: &str) -> Result<Duration, String> {
    crate::config::parse_span(text)
}
