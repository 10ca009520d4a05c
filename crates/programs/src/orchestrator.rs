//! The program `orchestrator` on an agent's PATH: its tools, for whatever can run a command.
//!
//! What it is given becomes arguments by the tool's own schema ([`words`]) and goes out as JSON made by an encoder, so
//! no text, whatever it holds, can change a call. It finds the server by what its environment names ([`channel`]):
//! the socket, the loopback interface, or the folder of calls. `orchestrator mcp` offers the same as an MCP server
//! on its standard input and output ([`stdio`]). It is started often and waits long, so it has no runtime.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

use serde_json::Map;

use crate::toolbox::{Reason, Refusal};

mod channel;
mod exchange;
mod help;
mod spool;
mod stdio;
mod words;

use channel::{Channels, Recall};
use words::Said;

/// The most that is read from standard input.
const INPUT: u64 = 1024 * 1024;

/// Why there is no result, each with an exit code of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Failure {
    /// The tool said no.
    No(String),
    /// It was called wrongly.
    Usage(String),
    /// The token is not the agent's.
    Denied,
    /// Nobody answers.
    Away(String),
    /// It took too long.
    Late(String),
}

/// Runs the program with what follows its name on the command line.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = arguments.into_iter().map(text).collect();
    match run(arguments, &Channels::of_environment()) {
        Ok(result) => {
            // Whoever closed it does not want it.
            let _ = print(&result);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            complain(&failure.to_string());
            ExitCode::from(failure.code())
        }
    }
}

fn run(arguments: Vec<String>, channels: &Channels) -> Result<String, Failure> {
    let mut words = arguments.into_iter();
    let name = words.next().unwrap_or_default();
    if name == "mcp" {
        return stdio::serve(channels.clone(), io::stdin().lock()).map(|()| String::new());
    }
    let tools = channels.tools(&Recall::default())?;
    if ["", "--help", "-h", "help"].contains(&name.as_str()) {
        return Ok(help::all(&tools));
    }
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        // The server says which there are, and takes note.
        return channels.call(&name, Map::new(), &Recall::default());
    };
    let wrong = |why| Failure::Usage(format!("{why}\nSee `orchestrator {name} --help`"));
    match words::read(tool, words.collect(), input).map_err(wrong)? {
        Said::Help => Ok(help::one(tool)),
        Said::Call(arguments) => channels.call(&name, arguments, &Recall::default()),
    }
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::No(_) => 1,
            Self::Usage(_) => 2,
            Self::Denied => 4,
            Self::Away(_) => 5,
            Self::Late(_) => 6,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::No(why) | Self::Usage(why) | Self::Away(why) | Self::Late(why) => f.write_str(why),
            Self::Denied => f.write_str(
                "Not let in: ORCH_AUTH is not this agent's token. It is set for the agent's own commands; \
                 keep the environment that they are given",
            ),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let Refusal { reason, message } = refusal;
        match reason {
            Reason::Denied => Self::Denied,
            Reason::Malformed | Reason::Unknown | Reason::Arguments => Self::Usage(message),
            Reason::Busy | Reason::Failed => Self::No(message),
            Reason::Late => Self::Late(message),
        }
    }
}

/// An argument may be any bytes, but JSON is Unicode.
fn text(argument: OsString) -> String {
    argument.into_string().unwrap_or_else(|argument| {
        complain("an argument is not UTF-8: what cannot be read in it is passed as \u{fffd}");
        argument.to_string_lossy().into_owned()
    })
}

/// All of standard input, without the newline that ends it.
fn input() -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input cannot be read: {error}"))?;
    if bytes.len() as u64 > INPUT {
        return Err(format!("standard input is longer than {INPUT} bytes"));
    }
    let mut text = text(OsString::from_vec(bytes));
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn complain(text: &str) {
    // There is nowhere else to say it.
    let _ = writeln!(io::stderr().lock(), "orchestrator: {text}");
}
