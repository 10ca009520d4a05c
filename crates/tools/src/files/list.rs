//! Listing a folder.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use artel_domain::Timestamp;
use cap_std::fs::{FileType, Metadata, MetadataExt};
use serde::Serialize;

use super::walk::{Glob, Unseen, Walk};
use super::{Doing, Fields, Refused, Stop, Workspace, fields};
use crate::request::ListDirectory;

const MOST: usize = 1_000;

#[derive(Serialize)]
struct Listing {
    files: Vec<Listed>,
    truncated: bool,
    /// How many would be listed, as far as was looked.
    total_seen: usize,
    #[serde(flatten)]
    unseen: Unseen,
}

#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    path: Shown,
    #[serde(rename = "type")]
    kind: &'static str,
    size: u64,
    modified: Timestamp,
}

/// A path from the root.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Shown {
    path: String,
    /// True when it is not UTF-8: this is what it looks like, and opens nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
}

impl Shown {
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_string_lossy().into_owned(), lossy: path.to_str().is_none() }
    }
}

impl Workspace {
    pub(super) fn list(&self, asked: &ListDirectory, stop: Stop<'_>) -> Result<Fields, Refused> {
        let glob = asked.pattern.as_deref().map(Glob::new).transpose()?;
        let (start, about) = self.resolve(&asked.path)?;
        if !about.is_dir() {
            return Err(Refused::NotFolder { path: asked.path.clone() });
        }
        let walk =
            Walk { root: &self.root, recursive: asked.recursive, ignored: asked.ignored, stop };
        let mut files = Vec::new();
        let mut total_seen = 0;
        let unseen = walk.through(&start, &mut |entry| {
            if glob.as_ref().is_some_and(|glob| !glob.fits(entry)) {
                return ControlFlow::Continue(());
            }
            total_seen += 1;
            if files.len() < MOST {
                match entry.dir.symlink_metadata(entry.name) {
                    Ok(about) => files.push(Listed {
                        path: Shown::of(entry.path),
                        kind: kind(about.file_type()),
                        size: about.len(),
                        modified: modified(&about),
                    }),
                    // It went away meanwhile.
                    Err(_) => total_seen -= 1,
                }
            }
            ControlFlow::Continue(())
        })?;
        let truncated = unseen.cut || total_seen > files.len();
        Ok(fields(&Listing { files, truncated, total_seen, unseen }))
    }

    /// The path without links, and what is there.
    pub(super) fn resolve(&self, shown: &str) -> Result<(PathBuf, Metadata), Refused> {
        let refused = |error| Doing::Reading.refused(error, shown);
        let path = self.root.canonicalize(self.beneath(shown)?).map_err(refused)?;
        let about = self.root.metadata(&path).map_err(refused)?;
        Ok((path, about))
    }
}

fn kind(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "symlink"
    } else if kind.is_dir() {
        "directory"
    } else if kind.is_file() {
        "file"
    } else {
        "other"
    }
}

fn modified(about: &Metadata) -> Timestamp {
    Timestamp::from_micros(
        about.mtime().saturating_mul(1_000_000).saturating_add(about.mtime_nsec() / 1_000),
    )
}
