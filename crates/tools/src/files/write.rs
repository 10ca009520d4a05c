//! Writing a file, whole or not at all, and changing a part of one.
//!
//! The new content goes into a file beside the old one, under a name that nobody can foresee, and takes its place in
//! one step. Everything happens in the handle of the folder, so that a path that changes meanwhile leads nowhere
//! else.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use artel_domain::Timestamp;
use artel_domain::clock::{Clock, SystemClock};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use serde::Serialize;

use super::{
    Doing, Fields, LARGEST_FILE, Refused, Stop, Workspace, cautiously, diff, fields, open_regular,
};
use crate::binding::{hex, sum};
use crate::request::{EditFile, Preview, WriteFile};

/// The state of a file that is not there.
const ABSENT: &str = "absent";

#[derive(Serialize)]
struct Written {
    size: u64,
    timestamp: Timestamp,
}

impl Workspace {
    pub(super) fn write(
        &self,
        asked: &WriteFile,
        base: Option<&str>,
        stop: Stop<'_>,
    ) -> Result<Fields, Refused> {
        let _turn = self.turn();
        let target = match self.target(&asked.path)? {
            Some(target) => target,
            None if !asked.create_dirs => {
                return Err(Refused::NoFolder { path: asked.path.clone() });
            }
            None if base.is_some_and(|base| base != ABSENT) => {
                return Err(Refused::Changed { path: asked.path.clone() });
            }
            None => self.make_room(&asked.path)?,
        };
        target.put(asked.content.as_bytes(), base, stop)
    }

    pub(super) fn edit(
        &self,
        asked: &EditFile,
        base: Option<&str>,
        stop: Stop<'_>,
    ) -> Result<Fields, Refused> {
        let _turn = self.turn();
        let (target, old) = self.editable(&asked.path)?;
        let state = state(Some(&old));
        if base.is_some_and(|base| base != state) {
            return Err(Refused::Changed { path: asked.path.clone() });
        }
        target.put(edited(&old, asked)?.as_bytes(), Some(&state), stop)
    }

    pub(super) fn prepare_write(&self, asked: &WriteFile) -> Result<Preview, Refused> {
        let target = self.target(&asked.path)?;
        if target.is_none() && !asked.create_dirs {
            return Err(Refused::NoFolder { path: asked.path.clone() });
        }
        within_bounds(asked.content.as_bytes(), &asked.path)?;
        let old = match &target {
            Some(target) => target.content()?,
            None => None,
        };
        let shown = target.map_or_else(|| asked.path.clone(), |target| target.resolved());
        Ok(Preview {
            diff: diff::unified(&shown, old.as_deref(), &asked.content),
            base: state(old.as_deref()),
        })
    }

    pub(super) fn prepare_edit(&self, asked: &EditFile) -> Result<Preview, Refused> {
        let (target, old) = self.editable(&asked.path)?;
        let new = edited(&old, asked)?;
        within_bounds(new.as_bytes(), &asked.path)?;
        Ok(Preview {
            diff: diff::unified(&target.resolved(), Some(&old), &new),
            base: state(Some(&old)),
        })
    }

    fn editable<'a>(&'a self, shown: &'a str) -> Result<(Target<'a>, Vec<u8>), Refused> {
        let missing = || Refused::Missing { path: shown.to_owned() };
        let target = self.target(shown)?.ok_or_else(missing)?;
        let old = target.content()?.ok_or_else(missing)?;
        Ok((target, old))
    }

    /// Where a file is to be written; `None` when its folder does not exist.
    fn target<'a>(&'a self, shown: &'a str) -> Result<Option<Target<'a>>, Refused> {
        let path = self.beneath(shown)?;
        let name = match path.file_name() {
            Some(name) if !shown.ends_with('/') => name.to_owned(),
            // The root itself, or what ends as a folder does.
            _ => return Err(Refused::IsFolder { path: path.to_string_lossy().into_owned() }),
        };
        if is_temporary(&name) {
            return Err(Refused::BadPath { why: "names like this one are for unfinished writes" });
        }
        match self.root.open_dir(folder_of(&path)) {
            Ok(dir) => Ok(Some(Target { root: &self.root, dir, name, path, shown })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Doing::Writing.refused(error, shown)),
        }
    }

    fn make_room<'a>(&'a self, shown: &'a str) -> Result<Target<'a>, Refused> {
        let path = self.beneath(shown)?;
        self.root
            .create_dir_all(folder_of(&path))
            .map_err(|error| Doing::Writing.refused(error, shown))?;
        self.target(shown)?.ok_or_else(|| Refused::NoFolder { path: shown.to_owned() })
    }
}

/// A name in a folder that is held open.
struct Target<'a> {
    root: &'a Dir,
    dir: Dir,
    name: OsString,
    path: PathBuf,
    shown: &'a str,
}

impl Target<'_> {
    /// The file that is there now, if it may be replaced.
    fn old(&self) -> Result<Option<(File, Metadata)>, Refused> {
        let shown = || self.shown.to_owned();
        let kind = match self.dir.symlink_metadata(&self.name) {
            Ok(about) => about.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.refused(error)),
        };
        // A link is not written through, wherever it leads: who approves a write should read the name of the file
        // that changes. One that leads out gets the word for that.
        if kind.is_symlink() {
            return match self.root.metadata(&self.path).map_err(|error| self.refused(error)) {
                Err(Refused::OutsideBounds) => Err(Refused::OutsideBounds),
                _ => Err(Refused::IsLink { path: shown() }),
            };
        }
        // Looked at before it is opened, since a device can act when it is opened for writing.
        if !kind.is_file() && !kind.is_dir() {
            return Err(Refused::NotRegular { path: shown() });
        }
        let mut options = cautiously();
        // For writing too, though nothing is written: what is read-only is not replaced either.
        options.write(true).follow(FollowSymlinks::No);
        let (file, about) =
            open_regular(&self.dir, Path::new(&self.name), &options, Doing::Writing, self.shown)?;
        if about.nlink() > 1 {
            Err(Refused::HardLinked { path: shown() })
        } else {
            Ok(Some((file, about)))
        }
    }

    fn content(&self) -> Result<Option<Vec<u8>>, Refused> {
        let Some((file, _)) = self.old()? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(LARGEST_FILE).read_to_end(&mut bytes).map_err(|error| self.refused(error))?;
        Ok(Some(bytes))
    }

    /// Replaces the file, provided that its state is the expected one when it comes to it.
    fn put(
        &self,
        content: &[u8],
        expected: Option<&str>,
        stop: Stop<'_>,
    ) -> Result<Fields, Refused> {
        within_bounds(content, self.shown)?;
        let refused = |error| self.refused(error);
        let old = self.old()?;
        let folder = self.dir.open(".").map_err(refused)?;
        let mut temporary =
            Temporary::new(&self.dir, old.map(|(_, about)| about)).map_err(refused)?;
        temporary.fill(content).map_err(refused)?;

        if stop() {
            return Err(Refused::Stopped);
        }
        // The last look, so that hardly anything can come between it and the rename.
        if let Some(expected) = expected
            && expected != state(self.content()?.as_deref())
        {
            return Err(Refused::Changed { path: self.shown.to_owned() });
        }
        temporary.become_file(&self.name).map_err(refused)?;
        folder.sync_all().map_err(refused)?;
        Ok(fields(&Written { size: content.len() as u64, timestamp: SystemClock.now() }))
    }

    /// The path without links, for a person to see which file it is.
    fn resolved(&self) -> String {
        let folder = self
            .root
            .canonicalize(folder_of(&self.path))
            .unwrap_or_else(|_| folder_of(&self.path).to_owned());
        let path = folder.join(&self.name);
        path.strip_prefix(".").unwrap_or(&path).to_string_lossy().into_owned()
    }

    fn refused(&self, error: io::Error) -> Refused {
        Doing::Writing.refused(error, self.shown)
    }
}

/// New content that is not yet in its place; gone when it does not get there.
struct Temporary<'a> {
    dir: &'a Dir,
    name: String,
    file: File,
    /// Of the file that it replaces.
    old: Option<Metadata>,
    placed: bool,
}

impl<'a> Temporary<'a> {
    fn new(dir: &'a Dir, old: Option<Metadata>) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).expect("the operating system gives random bytes");
        let name = format!("{PREFIX}{}{SUFFIX}", hex(&random));
        let mut options = OpenOptions::new();
        // The old one may be for its owner alone; the mode of a new one is subject to the umask.
        options.write(true).create_new(true).mode(if old.is_some() { 0o600 } else { 0o644 });
        let file = dir.open_with(&name, &options)?.into_std();
        Ok(Self { dir, name, file, old, placed: false })
    }

    fn fill(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)?;
        if let Some(old) = &self.old {
            let new = self.file.metadata()?;
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                // Only an administrator can; for others it becomes their own, as with any editor that writes so.
                let _ = fchown(&self.file, Some(old.uid()), Some(old.gid()));
            }
            // Without the bits that would run new content as somebody else.
            self.file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
        }
        self.file.sync_all()
    }

    fn become_file(mut self, name: &OsStr) -> io::Result<()> {
        self.dir.rename(&self.name, self.dir, name)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // Should this fail too, a listing leaves it out.
            let _ = self.dir.remove_file(&self.name);
        }
    }
}

const PREFIX: &str = ".artel-";
const SUFFIX: &str = ".tmp";

/// Whether this is the name of a write that was not finished.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == 32 && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn within_bounds(content: &[u8], shown: &str) -> Result<(), Refused> {
    let size = content.len() as u64;
    if size > LARGEST_FILE {
        Err(Refused::TooLarge { path: shown.to_owned(), size })
    } else {
        Ok(())
    }
}

fn edited(old: &[u8], asked: &EditFile) -> Result<String, Refused> {
    let path = || asked.path.clone();
    let text = str::from_utf8(old).map_err(|_| Refused::NotText { path: path() })?;
    if asked.old.is_empty() {
        return Err(Refused::NothingToReplace);
    }
    let first = text.find(&asked.old).ok_or_else(|| Refused::NotFound { path: path() })?;
    // Two that overlap count as two: which one was meant cannot be known.
    if text.rfind(&asked.old) != Some(first) {
        return Err(Refused::Ambiguous {
            path: path(),
            times: text.matches(&asked.old).count().max(2),
        });
    }
    Ok([&text[..first], &asked.new, &text[first + asked.old.len()..]].concat())
}

fn state(content: Option<&[u8]>) -> String {
    content.map_or_else(|| ABSENT.to_owned(), sum)
}
