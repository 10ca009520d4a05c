//! Agents over their processes (CA-2), with real ones that do everything that a program should not (CA-8.3).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

#[path = "parts/line.rs"]
mod line;
#[path = "parts/plain.rs"]
mod plain;
#[path = "parts/stage.rs"]
mod stage;

#[path = "life/course.rs"]
mod course;
#[path = "life/faults.rs"]
mod faults;
#[path = "life/limits.rs"]
mod limits;
#[path = "life/logs.rs"]
mod logs;
#[path = "life/turns.rs"]
mod turns;

use artel_programs::codec::Outcome;

const DONE: Outcome = Outcome::Completed { text: None };

/// Whether a process is there and is no zombie.
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}
