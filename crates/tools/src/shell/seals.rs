//! Names at the top of the workspace that commands may neither change nor make: other programs execute what they hold.
//!
//! A name is shut by mounting it over itself for reading only. That takes something to mount on, so a name that is
//! missing is made as an empty folder and removed after the command. Who shares the workspace must not have a seal
//! broken by the end of another command: a lock on the workspace's folder is shared while one runs, and whoever gets
//! it alone cleans up. Folders that a killed process left carry a mark in their mode and go with the next ones.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::policy;

/// Ours, and nobody else's: folders of people have no sticky bit.
const MARK: u32 = 0o1700;
/// Somebody else only holds the lock alone while he cleans up.
const TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// The parts of a repository that git executes or obeys. Git itself may write the others.
const GIT_PARTS: &[&str] =
    &["hooks", "config", "config.worktree", "modules", "worktrees", "commondir"];

const HOOKS: &str = ".git/hooks";

/// The seals of one command.
#[derive(Debug)]
pub(super) struct Seals {
    /// Writable, but neither removed nor renamed.
    open: Vec<PathBuf>,
    shut: Vec<PathBuf>,
    /// The workspace, locked.
    held: Option<(PathBuf, File)>,
}

impl Seals {
    pub(super) fn none() -> Self {
        Self { open: Vec::new(), shut: Vec::new(), held: None }
    }

    /// Shuts all sealed names. Only git may write to a repository, and not even git what it executes: anything else
    /// could plant there what the next git of the user runs.
    pub(super) fn put(workspace: &Path, only_git: bool) -> io::Result<Self> {
        let held = (workspace.to_owned(), share(workspace)?);
        let mut seals = Self { held: Some(held), ..Self::none() };
        for name in policy::sealed() {
            let path = workspace.join(name);
            let done = if name == ".git" && only_git {
                seals.open_repository(path)
            } else {
                seals.seal(path, true)
            };
            if let Err(error) = done {
                seals.lift();
                return Err(error);
            }
        }
        Ok(seals)
    }

    pub(super) fn open(&self) -> &[PathBuf] {
        &self.open
    }

    pub(super) fn shut(&self) -> &[PathBuf] {
        &self.shut
    }

    /// Removes what was made, unless somebody else still needs it or has put something there.
    pub(super) fn lift(self) {
        let Some((workspace, lock)) = self.held else { return };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        // Also what others made, who could not remove it while this one ran.
        for path in [HOOKS].into_iter().chain(policy::sealed()).map(|name| workspace.join(name)) {
            if is_ours(&path) {
                // Nothing but an empty folder is removed like this, whatever came in between.
                let _ = fs::remove_dir(path);
            }
        }
    }

    fn open_repository(&mut self, path: PathBuf) -> io::Result<()> {
        match look(&path)? {
            // Git may make one, also where another command has its seal.
            None => Ok(()),
            Some(_) if is_ours(&path) => Ok(()),
            Some(found) if found.is_dir() => {
                for &part in GIT_PARTS {
                    self.seal(path.join(part), part == "hooks")?;
                }
                self.open.push(path);
                Ok(())
            }
            Some(_) => self.seal(path, false),
        }
    }

    fn seal(&mut self, path: PathBuf, even_missing: bool) -> io::Result<()> {
        if look(&path)?.is_none() {
            if !even_missing {
                return Ok(());
            }
            match DirBuilder::new().mode(MARK).create(&path) {
                Ok(()) => {}
                // Another command was quicker.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(about(&path, &error)),
            }
        }
        self.shut.push(path);
        Ok(())
    }
}

fn share(workspace: &Path) -> io::Result<File> {
    let folder = File::open(workspace).map_err(|error| about(workspace, &error))?;
    for _ in 0..TRIES {
        match flock(&folder, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(folder),
            Err(rustix::io::Errno::WOULDBLOCK) => thread::sleep(BETWEEN_TRIES),
            Err(error) => return Err(about(workspace, &error.into())),
        }
    }
    Err(io::Error::other(format!("{} is locked by another program", workspace.display())))
}

/// What is at a path; a link cannot be mounted on, so it could be replaced.
fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(io::Error::other(format!(
            "{} is a symbolic link, which a command could replace. Put what it points to in its place.",
            path.display()
        ))),
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(about(path, &error)),
    }
}

/// An empty folder with our mark.
fn is_ours(path: &Path) -> bool {
    let marked = |found: Metadata| found.is_dir() && found.permissions().mode() & 0o7777 == MARK;
    fs::symlink_metadata(path).is_ok_and(marked)
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
