//! What a schema cannot say of arguments: bytes, and where a path leads by its letters.

use std::path::{Component, Path};

use super::{Invalid, MAX_CONTENT, MAX_PATTERN};
use crate::Request;
use crate::request::ExecuteCommand;

pub(super) const MAX_PATH: usize = 4096;
pub(super) const MAX_COMMAND: usize = 4096;
pub(super) const MAX_ARGS: usize = 1000;
const MAX_NAME: usize = 255;
/// The command and all its arguments.
const MAX_ARGV: usize = 128 * 1024;

/// Checks a request and makes its path relative to the workspace.
pub(super) fn check(request: &mut Request, workspace: Option<&Path>) -> Result<(), Invalid> {
    match request {
        Request::ReadFile(read) => path(&mut read.path, workspace),
        Request::WriteFile(write) => {
            size("content", &write.content, MAX_CONTENT)?;
            path(&mut write.path, workspace)
        }
        Request::EditFile(edit) => {
            size("old", &edit.old, MAX_CONTENT)?;
            size("new", &edit.new, MAX_CONTENT)?;
            path(&mut edit.path, workspace)
        }
        Request::ListDirectory(list) => {
            pattern("pattern", list.pattern.as_deref())?;
            path(&mut list.path, workspace)
        }
        Request::SearchFiles(search) => {
            pattern("pattern", Some(&search.pattern))?;
            pattern("glob", search.glob.as_deref())?;
            path(&mut search.path, workspace)
        }
        Request::ExecuteCommand(execute) => command(execute),
    }
}

/// Lexically inside the workspace; the client has the operating system check it again.
fn path(path: &mut String, workspace: Option<&Path>) -> Result<(), Invalid> {
    if path.len() > MAX_PATH {
        return Err(fault("`path` is longer than 4096 bytes"));
    }
    if path.contains('\0') {
        return Err(fault("`path` holds a NUL character"));
    }
    if path.starts_with('~') {
        return Err(fault(
            "`path` begins with `~`, which is not expanded; give it relative to the workspace",
        ));
    }
    if path.split('/').any(|name| name.len() > MAX_NAME) {
        return Err(fault("A name in `path` is longer than 255 bytes"));
    }
    if let Some(rest) = beneath(Path::new(path.as_str()), workspace)? {
        *path = rest;
    }
    if climbs(path) { Err(Invalid::Outside) } else { Ok(()) }
}

/// An absolute path as one relative to the workspace.
fn beneath(path: &Path, workspace: Option<&Path>) -> Result<Option<String>, Invalid> {
    if !path.has_root() {
        return Ok(None);
    }
    let rest = workspace.and_then(|root| path.strip_prefix(root).ok()).ok_or(Invalid::Outside)?;
    let rest = rest.to_str().ok_or(Invalid::Outside)?;
    Ok(Some(if rest.is_empty() { ".".to_owned() } else { rest.to_owned() }))
}

/// Whether a relative path leads above where it starts.
pub(crate) fn climbs(path: &str) -> bool {
    let mut depth = 0_usize;
    for component in Path::new(path).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

fn command(execute: &ExecuteCommand) -> Result<(), Invalid> {
    let command = &execute.command;
    if command.trim().is_empty() {
        return Err(fault("`command` is empty"));
    }
    if command.len() > MAX_COMMAND {
        return Err(fault(
            "`command` is longer than 4096 bytes; what follows the program belongs into `args`",
        ));
    }
    if command.contains(['\n', '\r']) {
        return Err(fault("`command` holds a line break; it names one program and is no script"));
    }
    if execute.argv().any(|word| word.contains('\0')) {
        return Err(fault("`command` or `args` hold a NUL character"));
    }
    let bytes: usize = execute.argv().map(|word| word.len() + 1).sum();
    if bytes > MAX_ARGV {
        return Err(fault("`args` have more than 128 KiB; write a file and pass its path"));
    }
    Ok(())
}

fn pattern(name: &str, pattern: Option<&str>) -> Result<(), Invalid> {
    let Some(pattern) = pattern else { return Ok(()) };
    if pattern.contains('\0') {
        return Err(Invalid::Arguments(format!("`{name}` holds a NUL character")));
    }
    size(name, pattern, MAX_PATTERN)
}

fn size(name: &str, text: &str, most: usize) -> Result<(), Invalid> {
    if text.len() > most {
        return Err(Invalid::Arguments(format!("`{name}` has more than {most} bytes")));
    }
    Ok(())
}

fn fault(words: &str) -> Invalid {
    Invalid::Arguments(words.to_owned())
}
