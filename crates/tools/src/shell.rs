//! Commands in the workspace: argument vectors without a shell, in a sandbox, bounded in every direction.
//!
//! What a command can see and touch is decided by the kernel ([`sandbox`]), what it inherits by [`place`], what it may
//! use up by [`Limits`]. Names that other programs execute stay shut while it runs ([`seals`]), and nothing that it
//! started outlives it ([`tree`]).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::request::{ExecuteCommand, Outcome};

mod output;
mod place;
mod sandbox;
mod seals;
mod tree;

pub use place::SYSTEM;
pub use sandbox::{Bubblewrap, Sandbox};

use output::Capture;
use place::Place;
use seals::Seals;
use tree::{Excess, Tree};

/// After a command has ended its output ends too, unless something escaped that still holds it.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// A sandbox is struck from within, and from without when it is not gone after so many times.
const STRIKES: u32 = 100;
const BETWEEN_STRIKES: Duration = Duration::from_millis(20);

/// What a command may do to the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Read,
    /// Everything but the names that other programs execute.
    Write,
}

/// What a command may use up, beside its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of all its processes together, in bytes.
    pub memory: u64,
    pub processes: usize,
    /// Of each stream, in bytes; the rest is dropped.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 2 * 1024 * 1024 * 1024, processes: 512, output: 1024 * 1024 }
    }
}

/// Runs commands in one workspace.
#[derive(Debug)]
pub struct Shell {
    room: Arc<Room>,
    /// Who no longer waits for a command still has it ended properly.
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Room {
    place: Place,
    sandbox: Sandbox,
    limits: Limits,
}

impl Shell {
    /// The environment is the user's; little of it is passed on.
    pub fn new(workspace: &Path, environment: &BTreeMap<String, String>, sandbox: Sandbox) -> Self {
        Self::with_limits(workspace, environment, sandbox, Limits::default())
    }

    pub fn with_limits(
        workspace: &Path,
        environment: &BTreeMap<String, String>,
        sandbox: Sandbox,
        limits: Limits,
    ) -> Self {
        let place = Place::new(workspace, environment);
        Self { room: Arc::new(Room { place, sandbox, limits }), tasks: TaskTracker::new() }
    }

    /// Whether a command may run that no person has looked at, or why not.
    pub fn may_run_unattended(&self) -> Result<(), String> {
        match &self.room.sandbox {
            Sandbox::Bubblewrap(_) => Ok(()),
            Sandbox::Missing { why } => Err(format!("There is no sandbox for commands: {why}")),
        }
    }

    /// Runs a command to its end. When this is dropped, the command is ended.
    ///
    /// The kernel ends a sandbox with the thread that started it, so this must run on a thread that stays: a worker of
    /// the runtime, not one for blocking work.
    pub async fn run(&self, request: &ExecuteCommand, reach: Reach) -> Outcome {
        let stop = CancellationToken::new();
        let _stops_when_dropped = stop.clone().drop_guard();
        let (room, request) = (Arc::clone(&self.room), request.clone());
        let task = self.tasks.spawn(async move { room.run(&request, reach, &stop).await });
        task.await.unwrap_or_else(|error| Outcome::failed(format!("The command was lost: {error}")))
    }

    /// Waits until nothing runs any more; commands that nobody waits for are ending.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// How a command came to its end.
#[derive(Debug)]
enum End {
    Exited(ExitStatus),
    TimedOut,
    Exceeded(Excess),
    Cancelled,
}

impl Room {
    async fn run(
        &self,
        request: &ExecuteCommand,
        reach: Reach,
        stop: &CancellationToken,
    ) -> Outcome {
        if self.place.workspace().parent().is_none() {
            return Outcome::failed(
                "Commands do not run with the whole file system as their workspace",
            );
        }
        let Some(program) = self.program(&request.command) else {
            return Outcome::failed(format!(
                "Command not found: {}. Only programs on the user's PATH outside the workspace are looked for; one in \
                 the workspace needs its path, such as ./{0}",
                request.command
            ));
        };
        let sealing = self.place.workspace().to_owned();
        // The one on the user's PATH, not a program of the workspace.
        let only_git = request.command == "git";
        let sealed = matches!((&self.sandbox, reach), (Sandbox::Bubblewrap(_), Reach::Write));
        let put = move || if sealed { Seals::put(&sealing, only_git) } else { Ok(Seals::none()) };
        let seals = match blocking(put).await {
            Ok(seals) => seals,
            Err(error) => {
                return Outcome::failed(format!("The workspace cannot be protected: {error}"));
            }
        };
        let outcome = self.run_sealed(request, &program, reach, &seals, stop).await;
        blocking(move || seals.lift()).await;
        outcome
    }

    async fn run_sealed(
        &self,
        request: &ExecuteCommand,
        program: &Path,
        reach: Reach,
        seals: &Seals,
        stop: &CancellationToken,
    ) -> Outcome {
        let mut words = sandbox::limits();
        let mark = match &self.sandbox {
            Sandbox::Bubblewrap(bubblewrap) => {
                words.extend(bubblewrap.words(&self.place, reach, request.network, seals));
                None
            }
            Sandbox::Missing { .. } => Some(tree::mark()),
        };
        words.push(program.into());
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(&request.args).current_dir(self.place.workspace()).env_clear();
        command.envs(self.place.environment(reach, mark.is_none()));
        command.envs(mark.iter().map(|mark| (tree::MARK, mark)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let started = Instant::now();
        match command.spawn() {
            Ok(child) => self.follow(request, child, mark, started, stop).await,
            Err(error) => Outcome::failed(format!("Cannot run {}: {error}", request.command)),
        }
    }

    async fn follow(
        &self,
        request: &ExecuteCommand,
        mut child: Child,
        mark: Option<String>,
        started: Instant,
        stop: &CancellationToken,
    ) -> Outcome {
        let (mut stdout, mut stderr) =
            (Capture::new(self.limits.output), Capture::new(self.limits.output));
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let tree = child.id().map(|root| Tree::new(root, mark));
        let end = {
            let mut reading = pin!(async { tokio::join!(stdout.fill(out), stderr.fill(err)) });
            let mut ending = pin!(self.until_end(request, &mut child, tree, stop));
            tokio::select! {
                end = &mut ending => {
                    let _ = timeout(LAST_WORDS, reading).await;
                    end
                }
                _ = &mut reading => ending.await,
            }
        };
        self.report(request, end, &stdout, &stderr, started.elapsed())
    }

    /// Waits for the end, or brings it about.
    async fn until_end(
        &self,
        request: &ExecuteCommand,
        child: &mut Child,
        tree: Option<Tree>,
        stop: &CancellationToken,
    ) -> std::io::Result<End> {
        let Some(tree) = tree else { return child.wait().await.map(End::Exited) };
        let over = sleep(Duration::from_secs(u64::from(request.timeout)));
        let end = tokio::select! {
            status = child.wait() => End::Exited(status?),
            () = over => End::TimedOut,
            excess = tree.exceeds(self.limits.memory, self.limits.processes) => End::Exceeded(excess),
            () = stop.cancelled() => End::Cancelled,
        };
        // A sandbox that has ended took everything with it; without one there may be something left.
        if !matches!(end, End::Exited(_)) || tree.is_bare() {
            for strike in 0..STRIKES {
                let whole = tree.is_bare() || strike + 1 == STRIKES;
                let left = tree.strike(whole).await;
                if timeout(BETWEEN_STRIKES, child.wait()).await.is_ok()
                    && (!tree.is_bare() || left == 0)
                {
                    break;
                }
            }
        }
        Ok(end)
    }

    fn report(
        &self,
        request: &ExecuteCommand,
        end: std::io::Result<End>,
        stdout: &Capture,
        stderr: &Capture,
        took: Duration,
    ) -> Outcome {
        let complaint = stderr.text();
        let (code, error) = match end {
            Ok(End::Exited(status)) => match (status.code(), &self.sandbox) {
                (Some(1), Sandbox::Bubblewrap(_)) if complaint.starts_with("bwrap: ") => {
                    (None, Some(sandbox::explain(&request.command, &complaint)))
                }
                (code, _) => (code, exited(status)),
            },
            Ok(End::TimedOut) => (
                None,
                Some(format!("Command was stopped: it took more than {} seconds", request.timeout)),
            ),
            Ok(End::Exceeded(Excess::Memory)) => {
                let mebibytes = self.limits.memory / (1024 * 1024);
                (
                    None,
                    Some(format!(
                        "Command was stopped: it used more than {mebibytes} MiB of memory"
                    )),
                )
            }
            Ok(End::Exceeded(Excess::Processes)) => (
                None,
                Some(format!(
                    "Command was stopped: it started more than {} processes",
                    self.limits.processes
                )),
            ),
            Ok(End::Cancelled) => {
                (None, Some("Command was stopped: nobody waits for it any more".to_owned()))
            }
            Err(error) => (None, Some(format!("Command was lost: {error}"))),
        };
        let fields = json!({
            "stdout": stdout.text(),
            "stderr": complaint,
            "exit_code": code,
            "execution_time": took.as_secs_f64(),
            "truncated": stdout.is_cut() || stderr.is_cut(),
            "sandbox": self.sandbox.name(),
        });
        let Value::Object(fields) = fields else { unreachable!("it was written as an object") };
        Outcome { success: error.is_none(), error, fields }
    }

    /// A program of the user's PATH, or the one at this path.
    fn program(&self, command: &str) -> Option<PathBuf> {
        if command.contains('/') {
            return Some(self.place.workspace().join(command));
        }
        let runs = |path: &PathBuf| {
            fs::metadata(path)
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        self.place.path().iter().map(|folder| folder.join(command)).find(runs)
    }
}

/// What a plain end means; none when all is well.
fn exited(status: ExitStatus) -> Option<String> {
    if let Some(signal) = status.signal() {
        return Some(format!("Command was killed by signal {signal}"));
    }
    match status.code() {
        None | Some(0) => None,
        // In the sandbox, as in shells, this is how the end by a signal looks.
        Some(code @ (132 | 134 | 135 | 136 | 137 | 139 | 143 | 152 | 153)) => Some(format!(
            "Command exited with code {code}, as when killed by signal {}",
            code - 128
        )),
        Some(code) => Some(format!("Command exited with code {code}")),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(value) => value,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime is ending, and everything with it.
        Err(Err(_)) => std::future::pending().await,
    }
}
