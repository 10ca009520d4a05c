//! A Redis server of one's own: free port, temporary folder, nothing kept on disk.
//!
//! [`Server::start`] returns when it answers. It can be stopped, killed and started again on the
//! same port, empty each time, as a lost Redis would come back. [`shared_or_own`] takes the one
//! that `scripts/with-services.sh` started, when there is one.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::{Process, free_port, wait_ready};

/// The environment variable that names a Redis shared by all tests.
pub const SHARED: &str = "ARTEL_TEST_REDIS_URL";

const START_LIMIT: Duration = Duration::from_secs(10);
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// A Redis child process; killed on drop.
#[derive(Debug)]
pub struct Server {
    process: Option<Process>,
    port: u16,
    folder: TempDir,
}

impl Server {
    pub fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("artel-redis-").tempdir()?;
        let mut server = Self { process: None, port: 0, folder };
        // Between finding a free port and Redis taking it, someone else may: try again.
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

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// An orderly stop, clients are told.
    pub fn stop(&mut self) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            process.signal(Signal::TERM)?;
            process.wait(STOP_LIMIT)?;
        }
        Ok(())
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
        }
        Ok(())
    }

    /// Kills it if it runs, and starts an empty one on the same port.
    pub fn restart(&mut self) -> Result<()> {
        self.kill()?;
        self.launch()
    }

    fn launch(&mut self) -> Result<()> {
        let port = self.port;
        let mut process = Process::spawn(
            Command::new("redis-server")
                .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
                .args(["--daemonize", "no", "--port", &port.to_string()])
                .arg("--dir")
                .arg(self.folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        )?;
        let mine = format!("process_id:{}\r\n", process.pid());
        wait_ready(&mut process, "redis-server", START_LIMIT, || {
            // The process id tells ours from one that won the race for the port.
            info(port).is_ok_and(|text| text.contains(&mine))
        })?;
        self.process = Some(process);
        Ok(())
    }
}

/// Either the Redis that the environment names, or one of our own.
#[derive(Debug)]
pub enum Redis {
    Shared(String),
    Own(Server),
}

impl Redis {
    pub fn url(&self) -> String {
        match self {
            Self::Shared(url) => url.clone(),
            Self::Own(server) => server.url(),
        }
    }
}

/// For tests that only need *a* Redis and name their keys apart.
pub fn shared_or_own() -> Result<Redis> {
    match std::env::var(SHARED) {
        Ok(url) if !url.is_empty() => Ok(Redis::Shared(url)),
        _ => Ok(Redis::Own(Server::start()?)),
    }
}

/// What `INFO server` answers.
fn info(port: u16) -> Result<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let limit = Duration::from_secs(1);
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.write_all(b"INFO server\r\nQUIT\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_on_the_same_port() {
        let mut server = Server::start().unwrap();
        let url = server.url();
        assert!(info(server.port()).is_ok());
        server.kill().unwrap();
        assert!(info(server.port()).is_err());
        server.restart().unwrap();
        assert_eq!(server.url(), url);
        server.stop().unwrap();
        assert!(info(server.port()).is_err());
    }
}
