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
use crate::tree;

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
        let groups = Self { folder, limits };
        groups.end_left();
        Some(groups)
    }

    pub(super) fn limit(&self) -> bool {
        self.limits
    }

    /// A fresh group. What is left in one of this name is ended.
    pub(super) fn make(&self, name: &str, limits: &Limits) -> io::Result<Group> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let name: String = name.chars().map(|at| if plain(at) { at } else { '_' }).collect();
        let me = process::id();
        // Whose it is: a number alone may be another's by now.
        let since = tree::started(me.cast_signed()).unwrap_or_default();
        let name = format!("{name}.{me}.{since}");
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

    /// Ends what servers left that live no more.
    fn end_left(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let mut parts = name.rsplit('.');
            let since = parts.next().and_then(|since| since.parse::<u64>().ok());
            let server = parts.next().and_then(|server| server.parse::<i32>().ok());
            let (Some(since), Some(server)) = (since, server) else { continue };
            if tree::started(server) != Some(since) {
                let left = Group { folder: entry.path(), limits: self.limits };
                // What does not end now is tried again by the next server.
                let _ = left.end();
            }
        }
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

    pub(super) fn kill(&self) -> io::Result<()> {
        kill(&self.folder)
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
        Ok(event(&events, "populated") == Some(0))
    }

    /// Whether the kernel killed something in it for its memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("memory.events"));
        events.is_ok_and(|events| event(&events, "oom_kill").is_some_and(|kills| kills > 0))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.kill();
        // One that is not empty yet is removed when its agent starts again.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Kills everything in a group, also what is just being forked.
pub(super) fn kill(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.kill"), "1")
}

/// How many processes a group has; none when it cannot be said.
pub(super) fn count(folder: &Path) -> u64 {
    let members = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    members.lines().count() as u64
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

fn event(events: &str, name: &str) -> Option<u64> {
    let line = events.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// CA-3.2: what the kernel is told, on files that stand for its own.
    #[test]
    fn limits_are_written_as_the_kernel_reads_them() {
        let own = TempDir::new().unwrap();
        fs::write(own.path().join("cgroup.procs"), "").unwrap();
        fs::create_dir(own.path().join(ALL)).unwrap();
        fs::write(own.path().join(ALL).join("cgroup.kill"), "").unwrap();
        let groups = Groups::beneath(own.path()).unwrap();
        assert!(groups.limit());
        let enabled = fs::read_to_string(own.path().join("cgroup.subtree_control")).unwrap();
        assert_eq!(enabled, "+memory +pids +cpu");
        let limits = Limits { memory: 1 << 30, processes: 64, cpu: 1500 };
        let group = groups.make("../an agent", &limits).unwrap();
        let name = group.folder().file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("___an_agent."), "{name}");
        let read = |name: &str| fs::read_to_string(group.folder().join(name)).unwrap();
        let written = ["memory.max", "pids.max", "cpu.max", "memory.oom.group"].map(read);
        assert_eq!(written, ["1073741824", "64", "150000 100000", "1"]);
        assert!(!group.ran_out_of_memory());
        fs::write(group.folder().join("memory.events"), "oom 1\noom_kill 2\n").unwrap();
        assert!(group.ran_out_of_memory());
    }

    /// CA-3.2: without the right to write there is none.
    #[test]
    fn a_folder_that_is_no_group_is_none() {
        assert!(Groups::beneath(TempDir::new().unwrap().path()).is_none());
    }
}
