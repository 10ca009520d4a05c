//! A PostgreSQL server of one's own, and fresh databases on it.
//!
//! [`Server`] runs `initdb` and `postgres` in a temporary folder with `fsync` on, so that what the
//! crash harness finds is what a real one would show. PostgreSQL refuses to run as root; then the
//! folder and the process belong to the user `postgres`. [`database`] gives an empty database with
//! a name of its own, on the server that `scripts/with-services.sh` started when there is one.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio_postgres::NoTls;

use crate::process::{Process, free_port, wait_ready};

/// The environment variable that names a server shared by all tests.
pub const SHARED: &str = "ARTEL_TEST_POSTGRES_URL";

const START_LIMIT: Duration = Duration::from_mins(1);
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// A PostgreSQL child process; killed on drop.
#[derive(Debug)]
pub struct Server {
    process: Option<Process>,
    port: u16,
    folder: TempDir,
    programs: PathBuf,
    account: Option<Account>,
}

impl Server {
    pub fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("artel-postgres-").tempdir()?;
        let account = Account::needed()?;
        if let Some(account) = account {
            chown(folder.path(), Some(account.user), Some(account.group))?;
        }
        let mut server = Self { process: None, port: 0, folder, programs: programs()?, account };
        server.initdb()?;
        // Between finding a free port and PostgreSQL taking it, someone else may: try again.
        let mut last = None;
        for _ in 0..5 {
            server.port = free_port()?;
            match server.launch() {
                Ok(()) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("no attempt was made")?)
    }

    /// The maintenance database of this server.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// A fast, orderly stop: clients are cut, everything is written.
    pub fn stop(&mut self) -> Result<()> {
        self.end(Signal::INT)
    }

    /// What `pg_ctl stop -m immediate` does: no checkpoint, the next start recovers from the log.
    pub fn crash(&mut self) -> Result<()> {
        self.end(Signal::QUIT)
    }

    /// Crashes it if it runs, and starts it on the same port and data.
    pub fn restart(&mut self) -> Result<()> {
        self.crash()?;
        self.launch()
    }

    /// A fresh empty database on this server.
    pub fn database(&self) -> Result<String> {
        create_database(&self.url())
    }

    fn end(&mut self, signal: Signal) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            process.signal(signal)?;
            process.wait(STOP_LIMIT)?;
        }
        Ok(())
    }

    fn initdb(&self) -> Result<()> {
        let output = self
            .command("initdb")
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"])
            .arg("--no-sync")
            .arg("--pgdata")
            .arg(self.data())
            .output()
            .context("cannot run initdb")?;
        if !output.status.success() {
            bail!("initdb failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    fn launch(&mut self) -> Result<()> {
        let log = fs::File::create(self.folder.path().join("log"))?;
        let mut process = Process::spawn(
            self.command("postgres")
                .arg("-D")
                .arg(self.data())
                .args(["-p", &self.port.to_string(), "-h", "127.0.0.1", "-N", "300"])
                .arg("-k")
                .arg(self.folder.path())
                .args(["-c", "fsync=on"])
                .stdout(Stdio::null())
                .stderr(log),
        )?;
        let (pid, file) = (process.pid().to_string(), self.data().join("postmaster.pid"));
        wait_ready(&mut process, "postgres", START_LIMIT, || is_ready(&file, &pid)).with_context(
            || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default(),
        )?;
        self.process = Some(process);
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        if let Some(account) = self.account {
            command.uid(account.user).gid(account.group);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL of the postmaster alone would leave its children to notice by themselves.
        let _ = self.crash();
    }
}

/// An empty database of one's own; dropped with this value.
#[derive(Debug)]
pub struct Database {
    url: String,
    server: Option<Server>,
}

impl Database {
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server, when it is ours alone and may be crashed.
    pub fn server(&mut self) -> Option<&mut Server> {
        self.server.as_mut()
    }

    /// A database on a server of its own, whatever the environment names.
    pub fn alone() -> Result<Self> {
        let server = Server::start()?;
        Ok(Self { url: server.database()?, server: Some(server) })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // An own server goes away as a whole.
        if self.server.is_some() {
            return;
        }
        if let Some((server, name)) = self.url.rsplit_once('/') {
            let sql = format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)");
            let _ = execute(&format!("{server}/postgres"), &sql);
        }
    }
}

/// A fresh empty database, on the shared server when there is one.
pub fn database() -> Result<Database> {
    match std::env::var(SHARED) {
        Ok(url) if !url.is_empty() => Ok(Database { url: create_database(&url)?, server: None }),
        _ => Database::alone(),
    }
}

/// Runs one statement, from sync and async code alike.
pub fn execute(url: &str, sql: &str) -> Result<()> {
    // A thread of its own, because the caller may be inside a runtime, where blocking panics.
    thread::scope(|scope| {
        scope
            .spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async {
                    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
                    let driver = tokio::task::spawn(connection);
                    client.batch_execute(sql).await?;
                    drop(client);
                    driver.await??;
                    Ok(())
                })
            })
            .join()
            .map_err(|_| anyhow!("the database thread panicked"))?
    })
}

fn create_database(server: &str) -> Result<String> {
    let name = format!("artel_{:016x}", getrandom::u64()?);
    execute(server, &format!("CREATE DATABASE \"{name}\" TEMPLATE template0"))
        .context("cannot create a database")?;
    let (base, _) = server.rsplit_once('/').context("a PostgreSQL URL names a database")?;
    Ok(format!("{base}/{name}"))
}

/// The postmaster writes its id in the first line and its state in the eighth.
fn is_ready(file: &Path, pid: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| {
        let mut lines = text.lines();
        lines.next() == Some(pid) && lines.nth(6).is_some_and(|state| state.trim() == "ready")
    })
}

/// The folder of the newest installed version; PATH last, as Debian keeps them out of it.
fn programs() -> Result<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort();
    let path = std::env::var("PATH").unwrap_or_default();
    found
        .into_iter()
        .rev()
        .map(|(_, path)| path)
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
        .context("PostgreSQL is not installed (run scripts/setup.sh)")
}

/// Whom PostgreSQL runs as when we are root.
#[derive(Debug, Clone, Copy)]
struct Account {
    user: u32,
    group: u32,
}

impl Account {
    fn needed() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd")?;
        let mut fields = passwd
            .lines()
            .find_map(|line| line.strip_prefix("postgres:"))
            .context("we are root and there is no user postgres to run PostgreSQL as")?
            .split(':')
            .skip(1);
        let mut number = || fields.next().and_then(|text| text.parse().ok());
        let (user, group) = (number(), number());
        let account = user.zip(group).map(|(user, group)| Self { user, group });
        Ok(Some(account.context("the user postgres has no number")?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_was_committed_through_a_crash() {
        let mut server = Server::start().unwrap();
        let url = server.database().unwrap();
        execute(&url, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)").unwrap();
        server.crash().unwrap();
        assert!(execute(&url, "SELECT 1").is_err());
        server.restart().unwrap();
        execute(&url, "INSERT INTO kept SELECT n / n FROM kept").unwrap();
        server.stop().unwrap();
    }

    #[test]
    fn databases_are_fresh_and_go_away() {
        let first = database().unwrap();
        let second = database().unwrap();
        assert_ne!(first.url(), second.url());
        execute(first.url(), "CREATE TABLE mine (n int)").unwrap();
        assert!(execute(second.url(), "SELECT * FROM mine").is_err());
        let gone = first.url().to_owned();
        drop(first);
        assert!(execute(&gone, "SELECT 1").is_err());
    }
}
