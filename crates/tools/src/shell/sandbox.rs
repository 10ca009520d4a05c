//! The wall around a command: bubblewrap, which builds namespaces that the kernel guards.
//!
//! A command sees the system's programs, the user's toolchains, and the workspace; nothing else of the machine, no
//! other process, and no network unless it was allowed. It writes to the workspace, where it may, and to memory.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::process::Command;
use tokio::time::timeout;

use super::Reach;
use super::place::{HOME, Place, SYSTEM};
use super::seals::Seals;

/// Where distributions put it. Never a PATH: an agent could have written what is found there, and on some systems
/// only this very file may make namespaces.
const PROGRAMS: &[&str] =
    &["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// Sets what the kernel limits for each process.
const PRLIMIT: &str = "/usr/bin/prlimit";
const TRIAL: Duration = Duration::from_secs(10);

/// What of `/etc` programs need to start; nothing of it is secret.
const ETC: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/group",
    "/etc/java-11-openjdk",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];
const ETC_NETWORK: &[&str] =
    &["/etc/gai.conf", "/etc/hosts", "/etc/protocols", "/etc/resolv.conf", "/etc/services"];

/// What can be written in memory, in bytes; it is no part of what processes use.
const TMP: &str = "536870912";
const SHARED_MEMORY: &str = "134217728";

/// What stands between a command and the machine.
#[derive(Debug, Clone)]
pub enum Sandbox {
    Bubblewrap(Bubblewrap),
    /// There is none, and what can be done about it.
    Missing {
        why: String,
    },
}

/// A bubblewrap that was tried and works.
#[derive(Debug, Clone)]
pub struct Bubblewrap {
    program: PathBuf,
    /// Whether it can forbid further namespaces, which are much of the kernel to attack; old ones cannot.
    forbids_namespaces: bool,
}

impl Sandbox {
    /// Tries what is there.
    pub async fn find() -> Self {
        let Some(program) = PROGRAMS.iter().map(PathBuf::from).find(|program| program.is_file())
        else {
            return Self::Missing {
                why: "bubblewrap is not installed. Install it (apt install bubblewrap, dnf install bubblewrap, \
                      pacman -S bubblewrap) and start again."
                    .to_owned(),
            };
        };
        let newest = Bubblewrap { program, forbids_namespaces: true };
        let oldest = Bubblewrap { forbids_namespaces: false, ..newest.clone() };
        if newest.try_out().await.is_ok() {
            return Self::Bubblewrap(newest);
        }
        // The simpler one says what is wrong.
        match oldest.try_out().await {
            Ok(()) => Self::Bubblewrap(oldest),
            Err(complaint) => Self::Missing { why: remedy(&complaint) },
        }
    }

    /// As it is reported with a result.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap(_) => "bubblewrap",
            Self::Missing { .. } => "none",
        }
    }
}

impl Bubblewrap {
    /// The walls that stand around whatever runs: its own namespaces, the system's programs for reading, and memory
    /// to write to. What else it sees follows after them.
    pub fn walls(&self, network: bool) -> Vec<OsString> {
        let mut words = Words(vec![self.program.clone().into()]);
        words.add([
            "--unshare-all",
            "--unshare-user",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
        ]);
        if self.forbids_namespaces {
            words.add(["--disable-userns"]);
        }
        if network {
            words.add(["--share-net"]);
        }
        for folder in SYSTEM {
            words.system(Path::new(folder));
        }
        let more: &[&str] = if network { ETC_NETWORK } else { &[] };
        for file in ETC.iter().chain(more) {
            words.add(["--ro-bind-try", file, file]);
        }
        words.add([
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--size",
            SHARED_MEMORY,
            "--tmpfs",
            "/dev/shm",
            "--remount-ro",
            "/dev",
        ]);
        words.add(["--size", TMP, "--tmpfs", "/tmp"]);
        words.0
    }

    /// Everything before the program to run.
    pub(super) fn words(
        &self,
        place: &Place,
        reach: Reach,
        network: bool,
        seals: &Seals,
    ) -> Vec<OsString> {
        let mut words = Words(self.walls(network));
        words.add(["--dir", HOME]);
        for folder in place.shown() {
            words.bind("--ro-bind", folder);
        }
        words.bind(if reach == Reach::Write { "--bind" } else { "--ro-bind" }, place.workspace());
        for path in seals.open() {
            words.bind("--bind", path);
        }
        for path in seals.shut() {
            words.bind("--ro-bind", path);
        }
        // What holds all this together is in memory, and shut as well.
        words.add(["--remount-ro", "/", "--chdir"]);
        words.0.push(place.workspace().into());
        words.add(["--"]);
        words.0
    }

    /// Runs nothing in the real walls.
    async fn try_out(&self) -> Result<(), String> {
        let place = Place::new(Path::new("/usr/share"), &[].into());
        let words = self.words(&place, Reach::Read, false, &Seals::none());
        let mut command = Command::new(&self.program);
        command
            .args(&words[1..])
            .arg("true")
            .env_clear()
            .envs(place.environment(Reach::Read, true));
        command.stdin(Stdio::null()).kill_on_drop(true);
        match timeout(TRIAL, command.output()).await {
            Ok(Ok(output)) if output.status.success() => Ok(()),
            Ok(Ok(output)) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it did not end".to_owned()),
        }
    }
}

/// The program that sets limits of the kernel, when it is there: no dumps, 4,096 open files, files of 2 GiB.
pub(super) fn limits() -> Vec<OsString> {
    if !Path::new(PRLIMIT).is_file() {
        return Vec::new();
    }
    // Asking for more than is allowed would fail.
    let most =
        |resource, wanted: u64| getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted));
    let files = most(Resource::Nofile, 4096);
    let size = most(Resource::Fsize, 2 * 1024 * 1024 * 1024);
    [
        PRLIMIT.to_owned(),
        "--core=0".to_owned(),
        format!("--nofile={files}"),
        format!("--fsize={size}"),
        "--".to_owned(),
    ]
    .map(OsString::from)
    .into()
}

/// What bubblewrap means when it runs nothing.
pub(super) fn explain(command: &str, complaint: &str) -> String {
    let complaint = complaint.lines().next().unwrap_or_default().trim_start_matches("bwrap: ");
    match complaint.strip_prefix("execvp ") {
        Some(reason) if reason.ends_with("No such file or directory") => {
            format!("Command not found: {command} (it or what it needs is not in the sandbox)")
        }
        Some(reason) => format!("Cannot run {reason}"),
        None => format!("The sandbox could not be made: {complaint}"),
    }
}

/// What to do about a bubblewrap that does not work.
fn remedy(complaint: &str) -> String {
    let namespaces = [
        "No permissions to create",
        "Creating new namespace failed",
        "setting up uid map",
        "Operation not permitted",
    ];
    if complaint.contains("mount proc") {
        format!(
            "bubblewrap cannot mount /proc ({complaint}). In a container this takes `--security-opt \
             systempaths=unconfined`."
        )
    } else if namespaces.iter().any(|sign| complaint.contains(sign)) {
        format!(
            "user namespaces are off ({complaint}). Allow them: `sysctl kernel.unprivileged_userns_clone=1` and \
             `sysctl user.max_user_namespaces=10000`; on Ubuntu use the bubblewrap of the distribution, or `sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0`."
        )
    } else {
        format!("bubblewrap does not work: {complaint}")
    }
}

struct Words(Vec<OsString>);

impl Words {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    /// At its own path.
    fn bind(&mut self, how: &str, path: &Path) {
        self.0.extend([how.into(), path.into(), path.into()]);
    }

    /// A link stays a link, so that `/bin` and `/usr/bin` are the same as outside.
    fn system(&mut self, folder: &Path) {
        if let Ok(target) = fs::read_link(folder) {
            self.0.extend(["--symlink".into(), target.into(), folder.into()]);
        } else if folder.is_dir() {
            self.bind("--ro-bind", folder);
        }
    }
}
