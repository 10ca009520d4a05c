//! The `artel` binary as a child process, started as a user would start it.
//!
//! The environment is cleared but for PATH, so that a test cannot pass because of the machine it
//! runs on. The data folder is temporary unless given, and stays the same over [`Artel::restart`];
//! `artel.err` in it keeps what the server said. The contract: once ready, `serve` prints
//! `artel is listening on http://ADDRESS` on stdout.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::client::{self, Client};
use crate::process::{Process, free_port, wait_ready};

/// The key that signs tokens in tests.
pub const SECRET: &str = "a-secret-for-tests-only-0123456789abcdef";

const LISTENING: &str = "artel is listening on ";
const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_mins(1);

/// How to start it; every setter is optional.
#[derive(Debug, Clone)]
pub struct Builder {
    binary: PathBuf,
    data: Option<PathBuf>,
    listen: String,
    environment: Vec<(String, String)>,
    config: String,
    wrapper: Vec<String>,
    start_limit: Duration,
}

impl Builder {
    /// Keeps its data here instead of in a temporary folder.
    #[must_use]
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.data = Some(path.into());
        self
    }

    #[must_use]
    pub fn database(self, url: &str) -> Self {
        self.env("ARTEL_DATABASE_URL", url)
    }

    #[must_use]
    pub fn redis(self, url: &str) -> Self {
        self.env("ARTEL_REDIS_URL", url)
    }

    /// Adds or replaces a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Lines of the configuration file.
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self.config.push('\n');
        self
    }

    /// A fixed port that clients cannot take by chance while the server is down.
    pub fn stable_port(mut self) -> Result<Self> {
        self.listen = format!("127.0.0.1:{}", free_port()?);
        Ok(self)
    }

    /// How long it may take until it listens.
    #[must_use]
    pub fn start_limit(mut self, limit: Duration) -> Self {
        self.start_limit = limit;
        self
    }

    pub fn start(self) -> Result<Artel> {
        let mut artel = self.prepare()?;
        artel.launch()?;
        Ok(artel)
    }

    /// Everything but the start itself; [`Artel::restart`] makes it.
    pub fn prepare(self) -> Result<Artel> {
        let temporary = || tempfile::Builder::new().prefix("artel-data-").tempdir();
        let folder = if self.data.is_none() { Some(temporary()?) } else { None };
        let data = self.data.clone().or_else(|| Some(folder.as_ref()?.path().to_owned()));
        let data = data.context("either given or temporary")?;
        fs::create_dir_all(&data)?;
        Ok(Artel { options: self, data, process: None, url: String::new(), _folder: folder })
    }
}

/// A running server; killed on drop.
#[derive(Debug)]
pub struct Artel {
    options: Builder,
    data: PathBuf,
    process: Option<Process>,
    url: String,
    /// Removed last, when the process is gone.
    _folder: Option<TempDir>,
}

impl Artel {
    #[expect(clippy::new_ret_no_self, reason = "there is no server until the builder starts it")]
    pub fn new(binary: impl Into<PathBuf>) -> Builder {
        let environment = [
            ("ARTEL_JWT_SECRET", SECRET),
            ("ARTEL_RATE_LIMIT_PER_MINUTE", "0"),
            // A test that is not about vectors should not wait for a model, nor find its requests among its own.
            ("ARTEL_EMBEDDINGS", "lexical"),
        ];
        Builder {
            binary: binary.into(),
            data: None,
            listen: "127.0.0.1:0".to_owned(),
            environment: environment.map(|(n, v)| (n.to_owned(), v.to_owned())).into(),
            config: String::new(),
            wrapper: Vec::new(),
            start_limit: START_LIMIT,
        }
    }

    /// Other variables from the next start on.
    pub fn set_env(&mut self, environment: &[(&str, &str)]) {
        for (name, value) in environment {
            self.options.set(name, value);
        }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    pub fn pid(&self) -> Result<u32> {
        self.process.as_ref().map(Process::pid).context("the server does not run")
    }

    /// A client for `name`, with a token signed here.
    pub fn client(&self, name: &str) -> Result<Client> {
        Client::new(self.url(), client::token(SECRET.as_bytes(), name))
    }

    /// A token by the command line, straight on the store; makes the account when missing.
    pub fn token(&self, name: &str) -> Result<String> {
        self.run(&["token", name, "--ttl", "1d", "--create"]).map(|text| text.trim().to_owned())
    }

    /// Runs another command of the binary with the same environment; gives its stdout.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(&self.options.binary).args(arguments).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("artel {}: {}: {said}", arguments.join(" "), output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Like [`Artel::run`] with something on its standard input; whatever came of it.
    pub fn output(&self, arguments: &[&str], input: &str) -> Result<Output> {
        let mut command = self.command(&self.options.binary);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().context("standard input is piped")?;
        // A program that asks for nothing may be gone before we have written.
        match stdin.write_all(input.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        drop(stdin);
        Ok(child.wait_with_output()?)
    }

    /// SIGKILL; returns when the kernel has let go of it.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
        }
        Ok(())
    }

    /// SIGTERM; the exit status and how long it took.
    pub fn terminate(&mut self) -> Result<(ExitStatus, Duration)> {
        let mut process = self.process.take().context("the server does not run")?;
        let start = Instant::now();
        process.signal(Signal::TERM)?;
        let status = process.wait(STOP_LIMIT)?;
        Ok((status, start.elapsed()))
    }

    /// Sends a signal and does not wait.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        self.process.as_mut().context("the server does not run")?.signal(signal)
    }

    /// The exit status, if it has ended by itself.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.process.as_mut().context("the server does not run")?.ended()
    }

    /// Kills it if it runs and starts it on the same data, on the same port if that is free.
    pub fn restart(&mut self) -> Result<()> {
        self.kill()?;
        self.launch()
    }

    /// From the next start on it runs under another program; an empty one means none.
    pub fn under(&mut self, wrapper: &[&str]) {
        self.options.wrapper = wrapper.iter().map(|&word| word.to_owned()).collect();
    }

    /// Whether it was started and not taken down by us.
    pub fn runs(&self) -> bool {
        self.process.is_some()
    }

    /// Starts it and kills it after a while, ready or not.
    pub fn stumble(&mut self, after: Duration) -> Result<()> {
        self.kill()?;
        let mut process = self.spawn()?;
        thread::sleep(after);
        process.kill()?;
        Ok(())
    }

    /// What the server has said on stderr since the first start.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.stderr()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines of [`Artel::log`], for the message of a failing test.
    pub fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    /// Memory in use (`VmRSS`), in bytes.
    pub fn memory(&self) -> Result<u64> {
        self.status("VmRSS:")
    }

    /// The most memory that it ever used (`VmHWM`), in bytes.
    pub fn peak_memory(&self) -> Result<u64> {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()?))?;
        status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB")?.parse().ok())
            .map(|kib: u64| kib * 1024)
            .ok_or_else(|| anyhow!("no {field} of the server"))
    }

    fn launch(&mut self) -> Result<()> {
        let mut process = self.spawn()?;
        let (stdout, mut url) = (self.stdout(), None);
        wait_ready(&mut process, "artel", self.options.start_limit, || {
            url = address(&stdout);
            url.is_some()
        })
        .with_context(|| self.log_tail())?;
        self.url = url.context("the address was seen")?;
        // The next start asks for the same port.
        if let Some(listen) = self.url.strip_prefix("http://") {
            listen.clone_into(&mut self.options.listen);
        }
        self.process = Some(process);
        Ok(())
    }

    fn spawn(&self) -> Result<Process> {
        let mut words = self.options.wrapper.iter().map(Path::new).chain([&*self.options.binary]);
        let program = words.next().expect("the chain ends with the binary");
        let mut stderr = OpenOptions::new();
        stderr.create(true).append(true);
        let mut command = self.command(program);
        command
            .args(words)
            .args(["serve", "--listen", &self.options.listen, "--data-dir"])
            .arg(&self.data)
            .stdin(Stdio::null())
            .stdout(File::create(self.stdout())?)
            .stderr(stderr.open(self.stderr())?);
        if !self.options.config.is_empty() {
            let file = self.data.join("test.toml");
            fs::write(&file, &self.options.config)?;
            command.arg("--config").arg(file);
        }
        Process::spawn(&mut command)
    }

    fn stdout(&self) -> PathBuf {
        self.data.join("artel.out")
    }

    fn stderr(&self) -> PathBuf {
        self.data.join("artel.err")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var("PATH").unwrap_or_default());
        command.env("ARTEL_DATA_DIR", &self.data);
        command.envs(self.options.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// The address, once the whole line is there.
fn address(stdout: &Path) -> Option<String> {
    let text = fs::read_to_string(stdout).ok()?;
    let (complete, _) = text.rsplit_once('\n')?;
    let line = complete.lines().find_map(|line| line.strip_prefix(LISTENING))?;
    Some(line.trim().trim_end_matches('/').to_owned())
}
