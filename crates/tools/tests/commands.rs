//! Commands: how calls are read, when a person is asked, and what the sandbox holds back, with the real bubblewrap.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use artel_tools::Outcome;
use artel_tools::request::ExecuteCommand;
use artel_tools::shell::{Limits, Reach, Sandbox, Shell};
use tempfile::TempDir;

#[path = "commands/arguments.rs"]
mod arguments;
#[path = "commands/judging.rs"]
mod judging;
#[path = "commands/limits.rs"]
mod limits;
#[path = "commands/running.rs"]
mod running;
#[path = "commands/seals.rs"]
mod seals;
#[path = "commands/walls.rs"]
mod walls;

/// What nobody in the sandbox may learn.
const CANARY: &str = "the-canary-sings";
const SECRET: &str = "a-secret-of-the-user";

/// A workspace, what lies around it, and a shell in it.
struct Den {
    shell: Shell,
    workspace: TempDir,
    /// Another folder of the user, and his home.
    outside: TempDir,
    listener: TcpListener,
}

impl Den {
    async fn new() -> Self {
        Self::with(working().await, Limits::default())
    }

    /// Without a sandbox, as after an approval on a machine that has none.
    fn bare() -> Self {
        Self::with(Sandbox::Missing { why: "this test has none".to_owned() }, Limits::default())
    }

    async fn limited(limits: Limits) -> Self {
        Self::with(working().await, limits)
    }

    fn with(sandbox: Sandbox, limits: Limits) -> Self {
        let (workspace, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let home = outside.path().join("home");
        fs::create_dir_all(home.join(".ssh")).unwrap();
        fs::create_dir_all(home.join(".cargo/bin")).unwrap();
        fs::write(home.join(".ssh/id_ed25519"), CANARY).unwrap();
        fs::write(home.join(".cargo/credentials.toml"), CANARY).unwrap();
        fs::write(home.join(".cargo/bin/tool"), "#!/bin/sh\necho tool\n").unwrap();
        runnable(&home.join(".cargo/bin/tool"));
        fs::write(outside.path().join("canary"), CANARY).unwrap();
        let path = format!(
            "{}:{}/.cargo/bin:/usr/local/bin:/usr/bin:/bin",
            workspace.path().display(),
            home.display()
        );
        let environment: BTreeMap<String, String> = [
            ("PATH", path.as_str()),
            ("HOME", home.to_str().unwrap()),
            ("USER", "ada"),
            ("SECRET_TOKEN", SECRET),
            ("LD_PRELOAD", SECRET),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.org"),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.org"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let shell = Shell::with_limits(workspace.path(), &environment, sandbox, limits);
        Self { shell, workspace, outside, listener }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    fn was_called(&self) -> bool {
        match self.listener.accept() {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
        }
    }

    async fn run(&self, reach: Reach, argv: &[&str]) -> Outcome {
        self.shell.run(&command(argv), reach).await
    }

    async fn script(&self, reach: Reach, script: &str) -> Outcome {
        self.run(reach, &["sh", "-c", script]).await
    }

    /// Every file of the workspace, folders too.
    fn listing(&self) -> Vec<PathBuf> {
        walk(self.workspace.path()).into_iter().map(|(path, _)| path).collect()
    }
}

async fn working() -> Sandbox {
    let sandbox = Sandbox::find().await;
    assert!(matches!(sandbox, Sandbox::Bubblewrap(_)), "the tests need bubblewrap: {sandbox:?}");
    sandbox
}

fn command(argv: &[&str]) -> ExecuteCommand {
    ExecuteCommand {
        command: argv[0].to_owned(),
        args: argv[1..].iter().map(|&word| word.to_owned()).collect(),
        timeout: 30,
        network: false,
    }
}

fn stdout(outcome: &Outcome) -> &str {
    outcome.fields["stdout"].as_str().unwrap()
}

fn stderr(outcome: &Outcome) -> &str {
    outcome.fields["stderr"].as_str().unwrap()
}

fn runnable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// All beneath a folder, with what the files hold.
fn walk(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let (path, kind) =
                entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
            if kind.is_dir() {
                folders.push(path.clone());
            }
            let content = kind.is_file().then(|| fs::read(&path).unwrap());
            found.push((path, content));
        }
    }
    found.sort();
    found
}

/// Processes of this machine whose command line holds a word.
fn running_with(word: &str) -> usize {
    let lines = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}
