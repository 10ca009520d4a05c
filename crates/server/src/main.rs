//! The binary `artel`: the server and everything a person does with it from a terminal.

mod cli;
mod client;
mod config;
mod http;
mod listener;
mod serve;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Under this name it is the program that agents call us with.
const ORCHESTRATOR: &str = "orchestrator";

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    if Path::new(&name).file_name().is_some_and(|name| name == ORCHESTRATOR) {
        return artel_programs::orchestrator::main(words);
    }
    cli::run(cli::Arguments::parse())
}
