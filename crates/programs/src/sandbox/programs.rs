//! What must be seen of the machine for its programs to run: their folders, and what the links in them lead to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use artel_tools::shell::SYSTEM;

use super::Room;

/// Links that are followed in one folder.
const LINKS: usize = 1024;

/// Folders and files to show for reading at their own paths, beside the system's; none lies in another.
pub(super) fn shown(room: &Room) -> Vec<PathBuf> {
    let mut wanted = BTreeSet::new();
    for folder in room.programs.iter().filter(|folder| folder.is_absolute() && folder.is_dir()) {
        wanted.insert(folder.clone());
        let links = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let links = links.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        wanted.extend(links.take(LINKS).filter_map(|link| behind(&link.path())));
    }
    wanted.retain(|path| !is_system(path) && !too_much(path, room));
    let all: Vec<PathBuf> = wanted.into_iter().collect();
    let held = |path: &&PathBuf| !all.iter().any(|other| *path != other && path.starts_with(other));
    all.iter().filter(held).cloned().collect()
}

/// What a link leads to: of a package for node everything that is installed with it, otherwise the file alone.
fn behind(link: &Path) -> Option<PathBuf> {
    let target = fs::canonicalize(link).ok()?;
    let is_modules = |folder: &&Path| folder.file_name().is_some_and(|name| name == "node_modules");
    let modules = target.ancestors().filter(is_modules).last().map(Path::to_owned);
    modules.or_else(|| target.is_file().then_some(target))
}

/// It is part of every system, and of every image.
pub(crate) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Never a folder that holds an agent's own: the server's data would come with it.
fn too_much(path: &Path, room: &Room) -> bool {
    [&room.home, &room.workspace, &room.tools].into_iter().any(|own| own.starts_with(path))
}
