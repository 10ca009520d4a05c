//! Walls by bubblewrap: namespaces of the kernel, in which the program sees the system's programs, its own folders and
//! its tools, and nothing else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use artel_tools::shell;
use procfs::sys::kernel::Version;
use rustix::process::getuid;
use tokio_util::task::TaskTracker;

use super::process::{Order, Starter, Walls};
use super::{
    HOME, KEEPER, Keeper, Means, Network, Room, Started, TOOLS, WORKSPACE, plain, programs,
};
use crate::keeper::Wishes;
use crate::kind::Unusable;

/// Whoever runs the server, inside it is this one: some programs do less for root.
const USER: &str = "1000";
const PASSWD: &str = "agent:x:1000:1000:agent:/home/agent:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
const GROUP: &str = "agent:x:1000:\nnogroup:x:65534:\n";

#[derive(Debug)]
pub struct Bubblewrap {
    walls: shell::Bubblewrap,
    keeper: Keeper,
    starter: Starter,
    /// Where it says who is who inside.
    etc: PathBuf,
}

impl Bubblewrap {
    pub(super) async fn find(means: Means) -> Result<Self, Unusable> {
        let Means { keeper, dir, .. } = means;
        plain::check(&keeper.program)?;
        let walls = match shell::Sandbox::find().await {
            shell::Sandbox::Bubblewrap(walls) => walls,
            shell::Sandbox::Missing { why } => {
                return Err(Unusable(format!("Agents cannot run in bubblewrap: {why}")));
            }
        };
        let etc = dir.join("etc");
        write_etc(&etc)
            .map_err(|error| Unusable(format!("{} cannot be written: {error}", etc.display())))?;
        Ok(Self { walls, keeper, starter: plain::starter()?, etc })
    }

    pub(super) fn describe(&self) -> String {
        format!(
            "Programs run in bubblewrap: they see the system's programs for reading, their own home, workspace and \
             tools, no other process, and the network only if it is open to them. {}",
            self.starter.describe()
        )
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.starter.tasks
    }

    pub(super) async fn start(
        &self,
        room: &Room,
        argv: &[String],
        environment: BTreeMap<String, OsString>,
    ) -> io::Result<Started> {
        let group = self.starter.group(room).await?;
        let mut words = Vec::new();
        if let Some(group) = &group {
            let groups = group.folders();
            let joining = Wishes { groups, become_it: true, ..Wishes::default() };
            words.extend(self.keeper.command(&self.keeper.program));
            words.extend(joining.words());
        }
        words.extend(self.words(room));
        words.extend(self.keeper.command(Path::new(KEEPER)));
        // Bubblewrap adds a variable of its own.
        let only = Some(environment.keys().cloned().collect());
        let processes = counts_by_namespace().then_some(room.limits.processes);
        words.extend(Wishes { only, processes, ..Wishes::default() }.words());
        words.extend(argv.iter().map(OsString::from));
        let folder = room.workspace.clone();
        let order = Order { words, folder, environment, group, walls: Walls::Namespace };
        self.starter.start(order, room.limits).await
    }

    /// Everything before the keeper.
    fn words(&self, room: &Room) -> Vec<OsString> {
        let mut words = self.walls.walls(room.network == Network::Open);
        let mut bind = |how: &str, outside: &Path, inside: &Path| {
            words.extend([how.into(), outside.into(), inside.into()]);
        };
        for (file, inside) in [("passwd", "/etc/passwd"), ("group", "/etc/group")] {
            bind("--ro-bind", &self.etc.join(file), Path::new(inside));
        }
        bind("--ro-bind", &self.keeper.program, Path::new(KEEPER));
        for path in programs::shown(room) {
            bind("--ro-bind", &path, &path);
        }
        bind("--bind", &room.home, Path::new(HOME));
        bind("--bind", &room.workspace, Path::new(WORKSPACE));
        bind("--bind", &room.tools, Path::new(TOOLS));
        for (outside, inside) in &room.shown {
            bind("--ro-bind", outside, inside);
        }
        let rest = ["--uid", USER, "--gid", USER, "--hostname", "agent", "--as-pid-1"];
        words.extend(rest.map(OsString::from));
        words.extend(["--remount-ro", "/", "--chdir", WORKSPACE, "--"].map(OsString::from));
        words
    }
}

/// Whether the kernel counts the processes of a namespace of users by themselves. Root's it does not count at all.
fn counts_by_namespace() -> bool {
    let first = Version::new(5, 14, 0);
    !getuid().is_root() && Version::current().is_ok_and(|kernel| kernel >= first)
}

fn write_etc(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("passwd"), PASSWD)?;
    fs::write(folder.join("group"), GROUP)
}
