//! A workspace with neighbours that must stay as they are.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use artel_tools::files::{Refused, Workspace};
use artel_tools::request::{
    EditFile, ListDirectory, Outcome, Preview, ReadFile, Request, SearchFiles, WriteFile,
};
use rustix::process::{Uid, geteuid};
use serde_json::Value;
use tempfile::TempDir;

/// Stands in every file outside and in their names; must never come out of a tool.
pub(crate) const CANARY: &str = "canary";
pub(crate) const OUTSIDE: &str = "Path is outside workspace bounds";

pub(crate) struct Yard {
    pub(crate) workspace: Workspace,
    /// The workspace.
    pub(crate) root: PathBuf,
    /// A folder that is not in it.
    pub(crate) outside: PathBuf,
    holder: TempDir,
}

impl Yard {
    /// The workspace is empty; outside are a folder, and one whose name begins with the workspace's.
    pub(crate) fn new() -> Self {
        let holder = tempfile::tempdir().unwrap();
        // So that somebody else may look at the workspace too.
        fs::set_permissions(holder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let base = fs::canonicalize(holder.path()).unwrap();
        let (root, outside) = (base.join("ws"), base.join("outside"));
        for folder in [&outside, &base.join("ws-evil")] {
            fs::create_dir_all(folder.join("canary-folder")).unwrap();
            for name in ["file.txt", "canary.txt", "canary-folder/file.txt"] {
                fs::write(folder.join(name), CANARY).unwrap();
            }
        }
        fs::create_dir(&root).unwrap();
        Self { workspace: Workspace::open(&root).unwrap(), root, outside, holder }
    }

    /// Puts a file into the workspace, past the tools.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    pub(crate) fn link(&self, path: &str, to: impl AsRef<Path>) {
        std::os::unix::fs::symlink(to, self.root.join(path)).unwrap();
    }

    pub(crate) fn run(&self, request: &Request) -> Outcome {
        self.workspace.run(request, None)
    }

    pub(crate) fn prepare(&self, request: &Request) -> Result<Preview, Refused> {
        self.workspace.prepare(request)
    }

    /// All names in the workspace, at any depth.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(&self.root, &self.root, &mut names);
        names
    }

    /// What is outside is there, all of it and nothing else, as it was.
    pub(crate) fn assert_outside_is_untouched(&self) {
        let mut top = fs::read_dir(&self.holder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>();
        top.sort();
        assert_eq!(top, ["outside", "ws", "ws-evil"]);
        for folder in ["outside", "ws-evil"].map(|name| self.holder.path().join(name)) {
            let mut names = Vec::new();
            collect(&folder, &folder, &mut names);
            assert_eq!(
                names,
                ["canary-folder", "canary-folder/file.txt", "canary.txt", "file.txt"]
            );
            for name in ["file.txt", "canary.txt", "canary-folder/file.txt"] {
                assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), CANARY);
            }
        }
    }
}

fn collect(top: &Path, folder: &Path, names: &mut Vec<String>) {
    let mut paths =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    paths.sort();
    for path in paths {
        names.push(path.strip_prefix(top).unwrap().to_string_lossy().into_owned());
        if path.symlink_metadata().unwrap().is_dir() {
            collect(top, &path, names);
        }
    }
}

pub(crate) fn read(path: &str) -> Request {
    Request::ReadFile(ReadFile { path: path.to_owned(), offset: 0, limit: None })
}

pub(crate) fn write(path: &str, content: &str) -> Request {
    Request::WriteFile(WriteFile {
        path: path.to_owned(),
        content: content.to_owned(),
        create_dirs: false,
    })
}

pub(crate) fn write_with_folders(path: &str, content: &str) -> Request {
    Request::WriteFile(WriteFile {
        path: path.to_owned(),
        content: content.to_owned(),
        create_dirs: true,
    })
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Request {
    Request::EditFile(EditFile { path: path.to_owned(), old: old.to_owned(), new: new.to_owned() })
}

pub(crate) fn list(path: &str) -> Request {
    Request::ListDirectory(ListDirectory {
        path: path.to_owned(),
        recursive: false,
        pattern: None,
        ignored: true,
    })
}

pub(crate) fn list_all(path: &str) -> Request {
    Request::ListDirectory(ListDirectory {
        path: path.to_owned(),
        recursive: true,
        pattern: None,
        ignored: true,
    })
}

pub(crate) fn search(path: &str, pattern: &str) -> Request {
    Request::SearchFiles(SearchFiles {
        pattern: pattern.to_owned(),
        path: path.to_owned(),
        glob: None,
        case_sensitive: true,
        literal: false,
        max_results: 100,
    })
}

/// Everything that can be asked of a path.
pub(crate) fn everything(path: &str) -> Vec<Request> {
    vec![
        read(path),
        write(path, "overwritten"),
        write_with_folders(path, "overwritten"),
        // Not the canary itself, which must not be in what comes back.
        edit(path, "can", "overwritten"),
        list(path),
        list_all(path),
        search(path, "can.ry"),
    ]
}

/// What came of it, as it goes to the server.
pub(crate) fn told(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).unwrap()
}

#[track_caller]
pub(crate) fn fields(outcome: &Outcome) -> &serde_json::Map<String, Value> {
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(outcome.error, None);
    &outcome.fields
}

#[track_caller]
pub(crate) fn error(outcome: &Outcome) -> &str {
    assert!(!outcome.success, "{outcome:?}");
    assert!(outcome.fields.is_empty());
    outcome.error.as_deref().unwrap()
}

/// The paths of a listing or of what was found.
#[track_caller]
pub(crate) fn paths<'a>(outcome: &'a Outcome, field: &str) -> Vec<&'a str> {
    fields(outcome)[field]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect()
}

/// Does it without the rights of an administrator, whom no permission stops.
pub(crate) fn as_somebody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            if geteuid().is_root() {
                // Of this thread alone, which ends here.
                rustix::thread::set_thread_uid(Uid::from_raw(65534)).unwrap();
            }
            work()
        });
        worker.join().unwrap()
    })
}
