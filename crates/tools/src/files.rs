//! The file tools: reading, writing, listing and searching beneath one folder, and nowhere else.
//!
//! The folder is held as a handle. Every path is opened through it by the operating system, which refuses whatever
//! leads out of it: `..`, links, and links that were swapped a moment ago. No safety rests on comparing paths; what
//! is refused by its letters alone is refused for the sake of a clear word, and would not open either.

use std::fs::{self, File, Metadata};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::request::{Outcome, Preview, Request};

mod diff;
mod list;
mod read;
mod refused;
mod search;
mod walk;
mod write;

use refused::Doing;
pub use refused::Refused;

/// Of a file that is read or written.
pub const LARGEST_FILE: u64 = 100 * 1024 * 1024;

/// What Linux takes; elsewhere it is less, and the error is the operating system's.
const LONGEST_PATH: usize = 4096;
const LONGEST_NAME: usize = 255;

/// What a call may report, but for `success` and `error`.
type Fields = Map<String, Value>;

/// Asked now and then by what may take long.
type Stop<'a> = &'a dyn Fn() -> bool;

/// The folder that agents may work in.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
    path: PathBuf,
    /// One change at a time: of two that were shown the same file, the second must see what the first made of it.
    changing: Mutex<()>,
}

impl Workspace {
    pub fn open(path: &Path) -> Result<Self, Refused> {
        let refused = |error| Doing::Reading.refused(error, &path.to_string_lossy());
        // Only to be shown, and to see whether it is still there.
        let canonical = fs::canonicalize(path).map_err(refused)?;
        if !fs::metadata(&canonical).map_err(refused)?.is_dir() {
            return Err(Refused::NotFolder { path: path.to_string_lossy().into_owned() });
        }
        let root = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(refused)?;
        let workspace = Self { root, path: canonical, changing: Mutex::new(()) };
        workspace.stands()?;
        Ok(workspace)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does what is asked.
    ///
    /// `base` is what a preview told of the file; a change is refused when the file is no longer like that.
    pub fn run(&self, request: &Request, base: Option<&str>) -> Outcome {
        self.run_until(request, base, &|| false)
    }

    /// The same, but given up as soon as `stop` says so.
    pub fn run_until(
        &self,
        request: &Request,
        base: Option<&str>,
        stop: &dyn Fn() -> bool,
    ) -> Outcome {
        let done = self.stands().and_then(|()| match request {
            Request::ReadFile(asked) => self.read(asked),
            Request::WriteFile(asked) => self.write(asked, base, stop),
            Request::EditFile(asked) => self.edit(asked, base, stop),
            Request::ListDirectory(asked) => self.list(asked, stop),
            Request::SearchFiles(asked) => self.search(asked, stop),
            Request::ExecuteCommand(_) => Err(Refused::NotAFileTool),
        });
        match done {
            Ok(fields) => Outcome::done(fields),
            Err(refused) => Outcome::failed(refused.to_string()),
        }
    }

    /// What a write or an edit would change; it changes nothing.
    pub fn prepare(&self, request: &Request) -> Result<Preview, Refused> {
        self.stands()?;
        match request {
            Request::WriteFile(asked) => self.prepare_write(asked),
            Request::EditFile(asked) => self.prepare_edit(asked),
            Request::ReadFile(_)
            | Request::ListDirectory(_)
            | Request::SearchFiles(_)
            | Request::ExecuteCommand(_) => Err(Refused::NothingToShow),
        }
    }

    /// Refuses when the handle is no longer the folder that people know by its path.
    pub fn stands(&self) -> Result<(), Refused> {
        let gone = || Refused::Gone { workspace: self.path.clone() };
        let held = rustix::fs::fstat(&self.root).map_err(|_| gone())?;
        let named = rustix::fs::stat(&self.path).map_err(|_| gone())?;
        let same = (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino);
        if same && held.st_nlink > 0 { Ok(()) } else { Err(gone()) }
    }

    /// The path as the root's handle takes it.
    fn beneath(&self, path: &str) -> Result<PathBuf, Refused> {
        if path.contains('\0') {
            return Err(Refused::BadPath { why: "it holds a NUL" });
        }
        if path.len() > LONGEST_PATH {
            return Err(Refused::BadPath { why: "it has more than 4096 bytes" });
        }
        if path.split('/').any(|name| name.len() > LONGEST_NAME) {
            return Err(Refused::BadPath { why: "a name in it has more than 255 bytes" });
        }
        if path.starts_with('~') {
            return Err(Refused::OutsideBounds);
        }
        let path = Path::new(path);
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.path).map_err(|_| Refused::OutsideBounds)?
        } else {
            path
        };
        // Told before the operating system does, which would first miss a folder on the way and thus say whether it
        // exists.
        let mut depth = 0_usize;
        for part in relative.components() {
            depth = match part {
                Component::Normal(_) => depth + 1,
                Component::CurDir => depth,
                Component::ParentDir => depth.checked_sub(1).ok_or(Refused::OutsideBounds)?,
                Component::RootDir | Component::Prefix(_) => return Err(Refused::OutsideBounds),
            };
        }
        Ok(if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative.to_owned() })
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        // It guards no data that a panic could have left half done.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// To open what may turn out to be something else than a file: a FIFO must not wait for its other end, nor a
/// terminal become ours.
fn cautiously() -> OpenOptions {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

/// Opens a regular file; `shown` is its path in an error.
fn open_regular(
    dir: &Dir,
    path: &Path,
    options: &OpenOptions,
    doing: Doing,
    shown: &str,
) -> Result<(File, Metadata), Refused> {
    let refused = |error| doing.refused(error, shown);
    let file = dir.open_with(path, options).map_err(refused)?.into_std();
    let about = file.metadata().map_err(refused)?;
    let path = shown.to_owned();
    if about.is_dir() {
        Err(Refused::IsFolder { path })
    } else if !about.is_file() {
        Err(Refused::NotRegular { path })
    } else if about.len() > LARGEST_FILE {
        Err(Refused::TooLarge { path, size: about.len() })
    } else {
        Ok((file, about))
    }
}

fn fields(result: &impl Serialize) -> Fields {
    match serde_json::to_value(result) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("the results of the file tools are structs of plain fields"),
    }
}
