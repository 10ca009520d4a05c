//! The program `orchestrator`, by itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    artel_programs::orchestrator::main(std::env::args_os().skip(1))
}
