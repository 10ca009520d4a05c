//! Control groups of the kernel, version 2: what limits all processes of an agent together, and ends them at once.
//!
//! They are there where the server may write to its own group: under systemd with `Delegate=yes`, as root, or in a
//! container that was given one. Where the kernel lets a group end but not limit, [`super::process`] watches.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Duration;

use procfs::process::Process;
use rustix::fs::{Access, access};

use super::Limits;

const ALL: &str = "artel-agents";
const SERVER: &str = "artel-server";
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];
/// In which a share of the cores is meant, in microseconds.
const PERIOD: u64 = 100_000;
const STRIKES: u32 = 200;
const BETWEEN_STRIKES: Duration = Duration::from_millis(10);

/// Where groups can be made.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    folder: PathBuf,
    limits: bool,
}

/// The group of one agent. Dropping it ends everything in it.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    limits: bool,
}

impl Groups {
    pub(super) fn find() -> Option<Self> {
        Self::beneath(&own()?)
    }

    /// Beneath the group of this process.
    fn beneath(own: &Path) -> Option<Self> {
        // Who moves a process must be able to write where it comes from.
        access(own.join("cgroup.procs"), Access::WRITE_OK).ok()?;
        let folder = own.join(ALL);
        fs::create_dir_all(&folder).ok()?;
        if !folder.join("cgroup.kill").exists() {
            let _ = fs::remove_dir(&folder);
            return None;
        }
        let limits = enable(own) && enable(&folder);
        Some(Self { folder, limits })
    }

    pub(super) fn limit(&self) -> bool {
        self.limits
    }

    /// A fresh group. What an earlier server left in one of this name is ended.
    pub(super) fn make(&self, name: &str, limits: &Limits) -> io::Result<Group> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let name: String = name.chars().map(|at| if plain(at) { at } else { '_' }).collect();
        let group = Group { folder: self.folder.join(name), limits: self.limits };
        if group.folder.exists() {
            group.end()?;
            fs::remove_dir(&group.folder)?;
        }
        fs::create_dir(&group.folder)?;
        if self.limits {
            group.limit(limits)?;
        }
        Ok(group)
    }
}

impl Group {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn limits(&self) -> bool {
        self.limits
    }

    fn limit(&self, limits: &Limits) -> io::Result<()> {
        let set = |name: &str, value: String| fs::write(self.folder.join(name), value);
        set("memory.max", limits.memory.to_string())?;
        set("pids.max", limits.processes.to_string())?;
        let share = (u64::from(limits.cpu) * PERIOD / 1000).max(1000);
        set("cpu.max", format!("{share} {PERIOD}"))?;
        // Half an agent is of no use; without swap a kernel has no file for it.
        set("memory.oom.group", "1".to_owned())?;
        let _ = set("memory.swap.max", "0".to_owned());
        Ok(())
    }

    /// Kills everything in it, also what is just being forked.
    pub(super) fn kill(&self) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.kill"), "1")
    }

    /// Kills everything in it and waits until it is gone.
    pub(super) fn end(&self) -> io::Result<()> {
        for _ in 0..STRIKES {
            if self.is_empty()? {
                return Ok(());
            }
            self.kill()?;
            thread::sleep(BETWEEN_STRIKES);
        }
        Err(io::Error::other(format!("{} does not end", self.folder.display())))
    }

    fn is_empty(&self) -> io::Result<bool> {
        let events = fs::read_to_string(self.folder.join("cgroup.events"))?;
        Ok(count(&events, "populated") == Some(0))
    }

    /// Whether the kernel killed something in it for its memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("memory.events"));
        events.is_ok_and(|events| count(&events, "oom_kill").is_some_and(|kills| kills > 0))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.kill();
        // One that is not empty yet is removed when its agent starts again.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The group of this process.
fn own() -> Option<PathBuf> {
    let me = Process::myself().ok()?;
    let path = me.cgroups().ok()?.into_iter().find(|group| group.hierarchy == 0)?.pathname;
    let mount = me.mountinfo().ok()?.into_iter().find(|mount| mount.fs_type == "cgroup2")?;
    let beneath = Path::new(&path).strip_prefix(&mount.root).ok()?;
    let own = mount.mount_point.join(beneath);
    // Moved aside before.
    Some(if own.ends_with(SERVER) { own.parent()?.to_owned() } else { own })
}

/// Lets the groups beneath this one be limited.
fn enable(group: &Path) -> bool {
    let control = group.join("cgroup.subtree_control");
    let wanted = CONTROLLERS.map(|name| format!("+{name}")).join(" ");
    if fs::write(&control, &wanted).is_ok() {
        return true;
    }
    // A group that has groups limited beneath it may hold no process itself. Others' are not moved.
    let alone = fs::read_to_string(group.join("cgroup.procs"))
        .is_ok_and(|members| members.trim() == process::id().to_string());
    let aside = group.join(SERVER);
    alone
        && fs::create_dir_all(&aside).is_ok()
        && fs::write(aside.join("cgroup.procs"), process::id().to_string()).is_ok()
        && fs::write(&control, &wanted).is_ok()
}

fn count(events: &str, name: &str) -> Option<u64> {
    let line = events.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}
