//! Where things are: the server's binary, and a folder on the disk that is measured.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use artel_testkit::client::Client;
use artel_testkit::server::{Artel, Builder};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{self, Runtime};

pub(crate) struct Place {
    artel: PathBuf,
    /// Beside the binaries: `/tmp` may be memory, where nothing is ever written to a disk.
    folder: TempDir,
    langgraph: PathBuf,
}

impl Place {
    pub(crate) fn find(
        artel: Option<PathBuf>,
        folder: Option<&Path>,
        langgraph: Option<PathBuf>,
    ) -> Result<Self> {
        let own = std::env::current_exe()?;
        let beside = own.parent().context("a program is in a folder")?;
        let artel = artel.unwrap_or_else(|| beside.join("artel"));
        ensure!(
            artel.exists(),
            "there is no {}; build it: cargo build --release -p artel",
            artel.display()
        );
        let folder =
            tempfile::Builder::new().prefix("artel-bench-").tempdir_in(folder.unwrap_or(beside))?;
        let langgraph = langgraph.unwrap_or_else(|| beside.join("langgraph"));
        Ok(Self { artel: artel.canonicalize()?, folder, langgraph })
    }

    pub(crate) fn artel(&self) -> &Path {
        &self.artel
    }

    /// Where `LangGraph` is, if it was fetched.
    pub(crate) fn langgraph(&self) -> &Path {
        &self.langgraph
    }

    /// A path in the folder.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A server to be started, with its data in the folder and no limits that a measurement could run into.
    pub(crate) fn server(&self, name: &str) -> Builder {
        Artel::new(&self.artel)
            .data_dir(self.at(name))
            .env("ARTEL_LOG_LEVEL", "warn")
            .env("ARTEL_RATE_LIMIT_PER_MINUTE", "0")
            .env("ARTEL_STREAMS_PER_USER", "2000")
    }
}

/// A project with its starter team of four.
pub(crate) struct Project {
    pub(crate) id: String,
    pub(crate) agents: Vec<Value>,
}

impl Project {
    pub(crate) async fn make(client: &Client) -> Result<Self> {
        let made = client.post("/my/projects", &json!({"name": "bench"})).await?;
        let id = made.id()?.to_owned();
        let agents = client.list(&format!("/my/projects/{id}/agents"), "agents").await?;
        ensure!(agents.len() == 4, "the starter team has {} agents", agents.len());
        Ok(Self { id, agents })
    }

    /// The path of its first agent.
    pub(crate) fn agent(&self) -> Result<String> {
        let agent = self.agents[0]["id"].as_str().context("an agent has an id")?;
        Ok(format!("/my/projects/{}/agents/{agent}", self.id))
    }

    pub(crate) fn events(&self) -> String {
        format!("/my/projects/{}/events", self.id)
    }
}

/// One thread for all clients, which leaves the other cores to the server.
pub(crate) fn clients() -> Result<Runtime> {
    Ok(runtime::Builder::new_current_thread().enable_all().build()?)
}
