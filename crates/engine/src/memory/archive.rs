//! What is left of an agent's memory when the agent goes and its owner wants it kept: an export in the data folder,
//! which can be imported again.

use std::path::PathBuf;

use artel_domain::{AgentId, ProjectId};
use serde::Serialize;
use tokio::io::AsyncWriteExt;
use utoipa::ToSchema;

use super::{Narrow, export::Export};
use crate::{App, Caller, Error, Result};

/// A memory that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Archived {
    /// The file on the server.
    #[schema(example = "archive/0198c5a2-7d3e-7cc1-9a4e-0f7c5f1c2ab3.json")]
    pub archive: String,
    pub interactions: u64,
}

impl App {
    /// Writes an agent's memory to a file; it is on disk, whole, when this returns.
    pub async fn archive_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
    ) -> Result<Archived> {
        let export = self.export_context(caller, project, agent, Narrow::default(), true).await?;
        let folder = self.0.settings.archive_dir.clone();
        let name = format!("{agent}.json");
        let interactions = write(export, folder.clone(), &name).await?;
        tracing::info!(%agent, interactions, "memory archived");
        Ok(Archived { archive: folder.join(name).display().to_string(), interactions })
    }
}

async fn write(mut export: Export, folder: PathBuf, name: &str) -> Result<u64> {
    let failed = |error: std::io::Error| {
        let message = format!("The memory cannot be archived: {error}; nothing was deleted");
        Error::new(crate::Kind::Unavailable, "archive_failed", message).because(error)
    };
    tokio::fs::create_dir_all(&folder).await.map_err(failed)?;
    let unfinished = folder.join(format!("{name}.part"));
    let mut file = tokio::fs::File::create(&unfinished).await.map_err(failed)?;
    while let Some(piece) = export.next().await? {
        file.write_all(&piece).await.map_err(failed)?;
    }
    file.flush().await.map_err(failed)?;
    file.sync_all().await.map_err(failed)?;
    tokio::fs::rename(&unfinished, folder.join(name)).await.map_err(failed)?;
    // The name is on disk with the folder.
    let folder = tokio::fs::File::open(&folder).await.map_err(failed)?;
    folder.sync_all().await.map_err(failed)?;
    Ok(export.written())
}
