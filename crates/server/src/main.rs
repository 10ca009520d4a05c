//! The binary `artel`: the server and everything a person does with it from a terminal.

mod cli;
mod client;
mod config;
mod http;
mod listener;
mod serve;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(cli::Arguments::parse())
}
