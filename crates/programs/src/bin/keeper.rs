//! The keeper as a program of its own, for tests; the server has it as a command.

use std::process::ExitCode;

fn main() -> ExitCode {
    artel_programs::keeper::main(std::env::args_os().skip(1))
}
