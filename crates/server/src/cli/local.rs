//! The server that runs on this machine, as it left word of itself for the other commands of its user.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use artel_domain::ClientId;
use serde::{Deserialize, Serialize};

use super::connection::Address;

/// What `artel up` leaves for other commands, and for itself should it be killed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Local {
    #[serde(flatten)]
    pub(super) address: Address,
    /// The client that runs in the same process.
    pub(super) client_id: ClientId,
}

/// Word of a server that `artel up` runs, or was killed running.
pub(super) fn read(data_dir: &Path) -> Option<Local> {
    serde_json::from_slice(&fs::read(file(data_dir)).ok()?).ok()
}

/// Leaves word of it, for its owner alone.
pub(super) fn write(data_dir: &Path, local: &Local) -> std::io::Result<()> {
    let (path, new) = (file(data_dir), data_dir.join("local.json.new"));
    if new.exists() {
        fs::remove_file(&new)?;
    }
    let mut written = fs::File::options().write(true).create_new(true).mode(0o600).open(&new)?;
    written.write_all(&serde_json::to_vec(local)?)?;
    fs::rename(new, path)
}

/// It is gone.
pub(super) fn forget(data_dir: &Path) {
    fs::remove_file(file(data_dir)).ok();
}

fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("local.json")
}
