//! Whether an agent of some kind can be started here: is its program there, which version is it, and is it let in to its
//! model. What is missing is said with its remedy; what is there of keys is never said.

use std::env::join_paths;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::kind::{Access, Kind, Program, Unusable, Wish};
use crate::sandbox::{Docker, is_system};

/// What stands in the way of an agent, if anything does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Availability {
    /// No folder holds its program.
    NotInstalled {
        program: String,
        install: String,
    },
    /// Nothing lets it in to its model.
    NotLoggedIn {
        found: Found,
        remedy: String,
    },
    Ready {
        found: Found,
    },
}

/// A program that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub path: PathBuf,
    /// As it says itself; absent if it does not say in time, or if it is not one that is known to.
    pub version: Option<String>,
}

/// Long enough for a program of a hundred megabytes that is read for the first time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Of what it says to the question for its version.
pub(crate) const LONGEST_WORDS: u64 = 4096;
const LONGEST_VERSION: usize = 64;

/// Looks for the program of an agent in these folders, and for its log-in in its home.
pub async fn look(
    kind: &dyn Kind,
    wish: &Wish,
    folders: &[PathBuf],
    home: &Path,
) -> Result<Availability, Unusable> {
    let program = kind.program(wish)?;
    let found = match find(&program.name, folders) {
        None => None,
        Some(path) if is_known(wish) => {
            let said = timeout(PATIENCE, ask(&path, folders, home)).await.ok().and_then(Result::ok);
            Some(Found { path, version: said.as_deref().and_then(version) })
        }
        Some(path) => Some(Found { path, version: None }),
    };
    Ok(judge(kind, wish, program, found, home))
}

/// Looks for it where a container would find it: in those of the folders that it is shown, and in its image.
pub async fn look_in_image(
    kind: &dyn Kind,
    wish: &Wish,
    image: &Docker,
    folders: &[PathBuf],
    home: &Path,
) -> Result<Availability, Unusable> {
    let shown: Vec<_> = folders.iter().filter(|folder| !is_system(folder)).cloned().collect();
    let looked = look(kind, wish, &shown, home).await?;
    let Availability::NotInstalled { .. } = looked else { return Ok(looked) };
    let mut program = kind.program(wish)?;
    let found = match image.find_program(&program.name, is_known(wish)).await {
        Ok(Some((path, said))) => Some(Found { path, version: said.as_deref().and_then(version) }),
        Ok(None) => {
            program.install = format!("build the image {} with it", image.name());
            None
        }
        Err(error) => {
            program.install = error.to_string();
            None
        }
    };
    Ok(judge(kind, wish, program, found, home))
}

fn judge(
    kind: &dyn Kind,
    wish: &Wish,
    program: Program,
    found: Option<Found>,
    home: &Path,
) -> Availability {
    let Some(found) = found else {
        let (program, install) = (program.name, program.install);
        return Availability::NotInstalled { program, install };
    };
    match kind.access().filter(|access| !is_let_in(access, wish, home)) {
        Some(access) => Availability::NotLoggedIn { found, remedy: remedy(&access) },
        None => Availability::Ready { found },
    }
}

/// A program that only its user knows might do anything when it is asked for its version.
fn is_known(wish: &Wish) -> bool {
    wish.command.is_empty()
}

/// A program by its whole path, or by its name in the first folder that has it.
pub fn find(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    folders.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The version in what a program says to the question for it.
fn version(said: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let version = said.split_whitespace().find(is_version)?;
    Some(version.chars().take(LONGEST_VERSION).collect())
}

async fn ask(path: &Path, folders: &[PathBuf], home: &Path) -> io::Result<String> {
    let mut child = Command::new(path)
        .arg("--version")
        .env_clear()
        .env("PATH", join_paths(folders).map_err(io::Error::other)?)
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut said = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(LONGEST_WORDS).read_to_end(&mut said).await?;
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn is_let_in(access: &Access, wish: &Wish, home: &Path) -> bool {
    let credentials = &wish.credentials;
    // A model at an address of the user's own may want no key.
    let given = credentials.key.is_some() || credentials.base_url.is_some();
    let set = |name: &&str| wish.environment.get(*name).is_some_and(|value| !value.is_empty());
    let stands = |folder: &Path| access.files.iter().any(|file| folder.join(file).is_file());
    given
        || access.variables.iter().any(set)
        || credentials.login.as_deref().is_some_and(stands)
        || stands(&home.join(access.folder))
}

fn remedy(access: &Access) -> String {
    let mut ways = vec!["give the agent a key".to_owned()];
    if !access.variables.is_empty() {
        ways.push(format!("set {} in its environment", access.variables.join(" or ")));
    }
    let files: Vec<String> =
        access.files.iter().map(|file| format!("{}/{file}", access.folder)).collect();
    ways.push(format!(
        "log in with the program itself and give it that log-in ({})",
        files.join(" or ")
    ));
    ways.join(", or ")
}
