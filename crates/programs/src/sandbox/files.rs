//! The files that must stand before a program starts. Nothing is written through a link that leads out of the folder.

use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::{Room, invalid};
use crate::kind::{Existing, File, OURS, Place};

/// Written beside the file and renamed, so that there is never half of one.
const UNFINISHED: &str = ".artel-unfinished";

pub(super) async fn write(room: &Room, place: &Place, files: &[File]) -> io::Result<()> {
    let mut wanted = Vec::new();
    for file in files {
        wanted.push((outside(room, place, &file.path)?, file.clone()));
    }
    let written = tokio::task::spawn_blocking(move || {
        wanted.iter().try_for_each(|((folder, name), file)| {
            put(folder, name, file).map_err(|error| about(&file.path, &error))
        })
    });
    written.await.map_err(io::Error::other)?
}

/// The folder outside that holds a path inside, and the path beneath it.
fn outside(room: &Room, place: &Place, path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let folders = [(&place.home, &room.home), (&place.workspace, &room.workspace)];
    let beneath = folders.into_iter().find_map(|(inside, outside)| {
        Some((outside.clone(), path.strip_prefix(inside).ok()?.to_owned()))
    });
    beneath
        .filter(|(_, name)| name.components().all(|part| matches!(part, Component::Normal(_))))
        .filter(|(_, name)| name.file_name().is_some())
        .ok_or_else(|| {
            invalid(format!("{} is neither in the home nor in the workspace", path.display()))
        })
}

fn put(folder: &Path, name: &Path, file: &File) -> io::Result<()> {
    let mut folder = Dir::open_ambient_dir(folder, ambient_authority())?;
    if let Some(parent) = name.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder.create_dir_all(parent)?;
        folder = folder.open_dir(parent)?;
    }
    let name = name.file_name().unwrap_or_default();
    if file.existing == Existing::KeepIfForeign && is_foreign(&folder, name.as_ref())? {
        return Ok(());
    }
    let _ = folder.remove_file(UNFINISHED);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(if file.secret { 0o600 } else { 0o644 });
    folder.open_with(UNFINISHED, &options)?.write_all(file.content.as_bytes())?;
    folder.rename(UNFINISHED, &folder, name)
}

/// Whether something is there that we did not write.
fn is_foreign(folder: &Dir, name: &Path) -> io::Result<bool> {
    match folder.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
        // Only a file is opened: anything else could keep us waiting.
        Ok(found) if !found.is_file() => return Ok(true),
        Ok(_) => {}
    }
    let mut opening = Vec::new();
    folder.open(name)?.take(OURS.len() as u64).read_to_end(&mut opening)?;
    Ok(opening != OURS.as_bytes())
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
}
