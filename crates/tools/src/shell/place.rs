//! Where a command runs: the workspace, the programs it finds, and the little that it learns of its user.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::Reach;

/// The home folder in the sandbox; nothing of it stays.
pub(super) const HOME: &str = "/tmp/.home";

/// Where programs are when the user's PATH says nothing of use.
const PATH: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin"];

/// What of the system a command sees; the same on every machine.
pub const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Passed on when they are set: the user's language, and who makes commits.
const PASSED: &[&str] = &[
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "TZ",
    "USER",
];

/// What a user installs for himself, seen but not written. Keys are often beside it, so only the `parts` are shown.
struct Toolchain {
    /// Beneath the user's home, unless the variable names another place.
    folder: &'static str,
    /// Tells programs where it is, since their home is another one.
    variable: Option<&'static str>,
    /// Empty when all of it may be seen.
    parts: &'static [&'static str],
}

const fn whole(folder: &'static str, variable: Option<&'static str>) -> Toolchain {
    Toolchain { folder, variable, parts: &[] }
}

const TOOLCHAINS: &[Toolchain] = &[
    Toolchain {
        folder: ".cargo",
        variable: Some("CARGO_HOME"),
        parts: &["bin", "registry", "git"],
    },
    Toolchain { folder: "go", variable: Some("GOPATH"), parts: &["bin", "pkg"] },
    Toolchain { folder: ".bun", variable: Some("BUN_INSTALL"), parts: &["bin", "install"] },
    Toolchain { folder: ".deno", variable: Some("DENO_INSTALL"), parts: &["bin"] },
    Toolchain { folder: ".ghcup", variable: None, parts: &["bin", "ghc"] },
    Toolchain { folder: ".sdkman", variable: Some("SDKMAN_DIR"), parts: &["candidates"] },
    whole(".rustup", Some("RUSTUP_HOME")),
    whole(".nvm", Some("NVM_DIR")),
    whole(".pyenv", Some("PYENV_ROOT")),
    whole(".rbenv", Some("RBENV_ROOT")),
    whole(".asdf", Some("ASDF_DATA_DIR")),
    whole(".volta", Some("VOLTA_HOME")),
    whole(".dotnet", Some("DOTNET_ROOT")),
    whole(".local/share/mise", Some("MISE_DATA_DIR")),
    whole(".local/share/pnpm", Some("PNPM_HOME")),
    whole(".local/share/fnm", Some("FNM_DIR")),
    whole(".local/share/pipx", None),
    whole(".local/share/uv", None),
    whole(".local/bin", None),
    whole(".local/lib", None),
    whole("bin", None),
];

#[derive(Debug)]
pub(super) struct Place {
    workspace: PathBuf,
    /// Folders of programs, in the user's order.
    path: Vec<PathBuf>,
    /// Seen, but not written, at its own path.
    shown: Vec<PathBuf>,
    /// But for what depends on the command.
    environment: BTreeMap<String, OsString>,
}

impl Place {
    pub(super) fn new(workspace: &Path, environment: &BTreeMap<String, String>) -> Self {
        // One that cannot be found now is not found later either, and is reported then.
        let workspace = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
        let home = environment.get("HOME").map(PathBuf::from).filter(|home| home.has_root());
        let mut place = Self {
            workspace,
            path: Vec::new(),
            shown: Vec::new(),
            environment: [("TERM", "dumb"), ("LANG", "C.UTF-8"), ("GIT_TERMINAL_PROMPT", "0")]
                .map(|(name, value)| (name.to_owned(), value.into()))
                .into(),
        };
        for &name in PASSED {
            if let Some(value) = environment.get(name) {
                place.environment.insert(name.to_owned(), value.into());
            }
        }
        for toolchain in TOOLCHAINS {
            place.show(toolchain, environment, home.as_deref());
        }
        place.look_for_programs(environment.get("PATH"), home.as_deref());
        place
    }

    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(super) fn path(&self) -> &[PathBuf] {
        &self.path
    }

    pub(super) fn shown(&self) -> &[PathBuf] {
        &self.shown
    }

    /// All that a command is told by its environment.
    pub(super) fn environment(&self, reach: Reach, sandboxed: bool) -> BTreeMap<String, OsString> {
        let mut all = self.environment.clone();
        // Without a sandbox there is no private one, and anybody may have left settings in a shared one.
        all.insert("HOME".to_owned(), if sandboxed { HOME } else { "/nonexistent" }.into());
        all.insert("TMPDIR".to_owned(), "/tmp".into());
        // A repository can name programs that git runs even for a look at its state.
        let mut settings: Vec<(&str, OsString)> = vec![
            ("core.fsmonitor", "false".into()),
            ("protocol.ext.allow", "never".into()),
            ("safe.directory", self.workspace.clone().into()),
        ];
        if reach == Reach::Read {
            all.insert("GIT_OPTIONAL_LOCKS".to_owned(), "0".into());
            settings.extend([
                ("core.hooksPath", "/dev/null".into()),
                ("log.showSignature", "false".into()),
            ]);
        }
        all.insert("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string().into());
        for (at, (name, value)) in settings.into_iter().enumerate() {
            all.insert(format!("GIT_CONFIG_KEY_{at}"), name.into());
            all.insert(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        all
    }

    fn show(
        &mut self,
        toolchain: &Toolchain,
        environment: &BTreeMap<String, String>,
        home: Option<&Path>,
    ) {
        let set = toolchain.variable.and_then(|name| environment.get(name)).map(PathBuf::from);
        let own = home.map(|home| home.join(toolchain.folder));
        let Some(folder) = set.into_iter().chain(own).find(|folder| self.may_show(folder, home))
        else {
            return;
        };
        if let Some(name) = toolchain.variable {
            self.environment.insert(name.to_owned(), folder.clone().into());
        }
        if toolchain.parts.is_empty() {
            self.shown.push(folder);
        } else {
            let parts =
                toolchain.parts.iter().map(|part| folder.join(part)).filter(|part| part.is_dir());
            self.shown.extend(parts);
        }
    }

    /// The user's PATH without what is in the workspace: an agent could have written that.
    fn look_for_programs(&mut self, path: Option<&String>, home: Option<&Path>) {
        let given =
            env::split_paths(path.map_or("", String::as_str)).filter(|folder| folder.has_root());
        let outside = |folder: &PathBuf| {
            fs::canonicalize(folder)
                .is_ok_and(|real| real.is_dir() && !real.starts_with(&self.workspace))
        };
        let mut folders: Vec<PathBuf> = given.filter(outside).collect();
        if folders.is_empty() {
            folders = PATH.iter().map(PathBuf::from).collect();
        }
        for folder in &folders {
            let seen = SYSTEM.iter().map(Path::new).chain(self.shown.iter().map(PathBuf::as_path));
            let seen = seen.into_iter().any(|shown| folder.starts_with(shown));
            let folder = whole_package(folder);
            if !seen && self.may_show(folder, home) {
                self.shown.push(folder.to_owned());
            }
        }
        if let Ok(joined) = env::join_paths(&folders) {
            self.environment.insert("PATH".to_owned(), joined);
        }
        self.path = folders;
    }

    /// Never a folder that holds the home or the workspace: too much would come with it.
    fn may_show(&self, folder: &Path, home: Option<&Path>) -> bool {
        folder.has_root()
            && folder.is_dir()
            && !home.is_some_and(|home| home.starts_with(folder))
            && !self.workspace.starts_with(folder)
    }
}

/// What is under `/opt` comes with its libraries beside its programs.
fn whole_package(folder: &Path) -> &Path {
    let is_package = |folder: &&Path| folder.parent() == Some(Path::new("/opt"));
    folder.ancestors().find(is_package).unwrap_or(folder)
}
