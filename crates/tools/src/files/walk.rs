//! Going through a folder and those beneath it, by their handles.
//!
//! A folder is opened from the handle of the one that holds it, and a link is never followed, so the walk cannot
//! leave the workspace however the tree changes meanwhile. It visits a bounded number of entries, to a bounded
//! depth, in the order of their paths.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::vec;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, FileType};
use globset::{GlobBuilder, GlobMatcher};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::Serialize;

use super::write::is_temporary;
use super::{Doing, Refused, Stop, cautiously, open_regular};

/// Entries that are looked at.
const MOST_VISITED: usize = 100_000;
/// Each folder on the way down is held open.
const DEEPEST: usize = 128;
/// Folders that are named as skipped; the rest is counted.
const MOST_NAMED: usize = 20;
/// Of a `.gitignore`, in bytes.
const LARGEST_RULES: u64 = 256 * 1024;
/// Of a glob, in bytes.
const LONGEST_GLOB: usize = 1_000;

pub(super) struct Walk<'a> {
    pub(super) root: &'a Dir,
    /// Also what is in the folders beneath.
    pub(super) recursive: bool,
    /// Also what `.gitignore` names, and `.git`.
    pub(super) ignored: bool,
    pub(super) stop: Stop<'a>,
}

/// What the walk comes by.
pub(super) struct Entry<'a> {
    pub(super) dir: &'a Dir,
    pub(super) name: &'a OsStr,
    /// From the root.
    pub(super) path: &'a Path,
    pub(super) kind: FileType,
}

/// What the walk did not see.
#[derive(Debug, Default, Serialize)]
pub(super) struct Unseen {
    /// Folders that could not be read or lie too deep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<String>,
    #[serde(skip_serializing_if = "is_none")]
    skipped_more: usize,
    /// True when there were too many entries.
    #[serde(skip)]
    pub(super) cut: bool,
}

impl Walk<'_> {
    /// Visits what is beneath `start`, a path without links, until it is told to stop.
    pub(super) fn through(
        &self,
        start: &Path,
        visit: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Unseen, Refused> {
        let mut way = Way { left: MOST_VISITED, ..Way::default() };
        if !self.ignored {
            way.rules.add_above(self.root, start);
        }
        let path = start.strip_prefix(".").unwrap_or(start).to_owned();
        let first = self.root.open_dir(start).and_then(|dir| self.enter(dir, path, &mut way));
        let first =
            first.map_err(|error| Doing::Reading.refused(error, &start.to_string_lossy()))?;
        let mut folders = vec![first];

        while let Some(folder) = folders.last_mut() {
            if (self.stop)() {
                return Err(Refused::Stopped);
            }
            let Some((name, kind)) = folder.entries.next() else {
                way.rules.0.truncate(folder.rules);
                folders.pop();
                continue;
            };
            let path = folder.path.join(&name);
            if !self.ignored && (name == ".git" || way.rules.leave_out(&path, kind.is_dir())) {
                continue;
            }
            if visit(&Entry { dir: &folder.dir, name: &name, path: &path, kind }).is_break() {
                break;
            }
            if !self.recursive || !kind.is_dir() {
                continue;
            }
            let below = folder.dir.open_dir_nofollow(&name);
            if folders.len() == DEEPEST {
                way.unseen.skip(&path);
                continue;
            }
            match below.and_then(|dir| self.enter(dir, path.clone(), &mut way)) {
                Ok(below) => folders.push(below),
                Err(_) => way.unseen.skip(&path),
            }
        }
        Ok(way.unseen)
    }

    /// A folder with its entries in the order of their names; not all of them when there are too many.
    fn enter(&self, dir: Dir, path: PathBuf, way: &mut Way) -> io::Result<Folder> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            if way.left == 0 || (self.stop)() {
                way.unseen.cut = true;
                break;
            }
            way.left -= 1;
            let entry = entry?;
            let (name, kind) = (entry.file_name(), entry.file_type()?);
            if is_temporary(&name) {
                continue;
            }
            // Some file systems do not tell the kind along with the name.
            let told = kind.is_file() || kind.is_dir() || kind.is_symlink();
            let looked = if told { None } else { dir.symlink_metadata(&name).ok() };
            entries.push((name, looked.map_or(kind, |about| about.file_type())));
        }
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let rules = way.rules.0.len();
        if !self.ignored {
            way.rules.add(&dir, &path);
        }
        Ok(Folder { dir, path, entries: entries.into_iter(), rules })
    }
}

/// What is carried along.
#[derive(Default)]
struct Way {
    left: usize,
    unseen: Unseen,
    rules: Rules,
}

struct Folder {
    dir: Dir,
    path: PathBuf,
    entries: vec::IntoIter<(OsString, FileType)>,
    /// How many rules held before its own.
    rules: usize,
}

impl Unseen {
    fn skip(&mut self, path: &Path) {
        if self.skipped.len() < MOST_NAMED {
            self.skipped.push(path.to_string_lossy().into_owned());
        } else {
            self.skipped_more += 1;
        }
    }
}

/// The `.gitignore` files that hold here, with the folders they are in; the nearest last.
#[derive(Default)]
struct Rules(Vec<(PathBuf, Gitignore)>);

impl Rules {
    /// Those of the folders that hold `start`.
    fn add_above(&mut self, root: &Dir, start: &Path) {
        let above = start.ancestors().skip(1).collect::<Vec<_>>();
        for folder in above.into_iter().rev() {
            let dir =
                if folder == Path::new("") { root.try_clone() } else { root.open_dir(folder) };
            if let Ok(dir) = dir {
                self.add(&dir, folder);
            }
        }
    }

    /// Those of one folder, if it has any that can be read.
    fn add(&mut self, dir: &Dir, folder: &Path) {
        let mut options = cautiously();
        options.follow(FollowSymlinks::No);
        let name = Path::new(".gitignore");
        let Ok((file, _)) = open_regular(dir, name, &options, Doing::Reading, ".gitignore") else {
            return;
        };
        let mut bytes = Vec::new();
        if file.take(LARGEST_RULES).read_to_end(&mut bytes).is_err() {
            return;
        }
        let mut builder = GitignoreBuilder::new("");
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line that cannot be read holds for nothing, as with git.
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build() {
            self.0.push((folder.to_owned(), rules));
        }
    }

    fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        for (folder, rules) in self.0.iter().rev() {
            let Ok(path) = path.strip_prefix(folder) else { continue };
            match rules.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// A glob for names or, when it holds a `/`, for paths from the root.
pub(super) struct Glob {
    matcher: GlobMatcher,
    paths: bool,
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Result<Self, Refused> {
        if pattern.len() > LONGEST_GLOB {
            return Err(Refused::BadGlob(format!("it has more than {LONGEST_GLOB} bytes")));
        }
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| Refused::BadGlob(error.to_string()))?;
        Ok(Self { matcher: glob.compile_matcher(), paths: pattern.contains('/') })
    }

    pub(super) fn fits(&self, entry: &Entry<'_>) -> bool {
        self.matcher.is_match(if self.paths { entry.path } else { Path::new(entry.name) })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_none(number: &usize) -> bool {
    *number == 0
}
