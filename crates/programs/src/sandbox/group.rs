//! Control groups of the kernel, version 2: what limits all processes of an agent together, and ends them at once.
//!
//! They are there where the server may write to its own group: under systemd with `Delegate=yes`, as root, or in a
//! container that was given one. Where a group only ends and does not limit, older groups do in part ([`super::older`]),
//! and [`super::watcher`] watches the rest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Duration;

use procfs::process::Process;
use rustix::fs::{Access, access};

use super::Limits;
use super::older::{Controls, Older};
use crate::tree;

pub(super) const ALL: &str = "artel-agents";
const SERVER: &str = "artel-server";
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];
/// In which a share of the cores is meant, in microseconds.
pub(super) const PERIOD: u64 = 100_000;
const STRIKES: u32 = 200;
const BETWEEN_STRIKES: Duration = Duration::from_millis(10);

/// Where groups can be made.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    folder: PathBuf,
    limits: bool,
    /// What limits in place of these.
    older: Vec<Older>,
}

/// The group of one agent. Dropping it ends everything in it.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    limits: bool,
    /// Its groups that limit in place of this one.
    older: Vec<PathBuf>,
}

impl Groups {
    pub(super) fn find() -> Option<Self> {
        Self::beneath(&own()?, Older::find)
    }

    /// Beneath the group of this process.
    fn beneath(own: &Path, older: impl FnOnce() -> Vec<Older>) -> Option<Self> {
        // Who moves a process must be able to write where it comes from.
        access(own.join("cgroup.procs"), Access::WRITE_OK).ok()?;
        let folder = own.join(ALL);
        fs::create_dir_all(&folder).ok()?;
        if !folder.join("cgroup.kill").exists() {
            let _ = fs::remove_dir(&folder);
            return None;
        }
        let limits = enable(own) && enable(&folder);
        let older = if limits { Vec::new() } else { older() };
        let groups = Self { folder, limits, older };
        groups.end_left();
        Some(groups)
    }

    /// Whether the kernel limits everything.
    pub(super) fn limit(&self) -> bool {
        self.limits
    }

    /// Whether it limits this at least.
    pub(super) fn limit_in_part(&self, controls: Controls) -> bool {
        self.limits || self.older.iter().any(|older| older.controls == controls)
    }

    /// A fresh group. What is left in one of this name is ended.
    pub(super) fn make(&self, name: &str, limits: &Limits) -> io::Result<Group> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let name: String = name.chars().map(|at| if plain(at) { at } else { '_' }).collect();
        let me = process::id();
        // Whose it is: a number alone may be another's by now.
        let since = tree::started(me.cast_signed()).unwrap_or_default();
        let name = format!("{name}.{me}.{since}");
        let folder = self.folder.join(&name);
        let mut group = Group { folder, limits: self.limits, older: Vec::new() };
        if group.folder.exists() {
            group.end()?;
            fs::remove_dir(&group.folder)?;
        }
        fs::create_dir(&group.folder)?;
        if self.limits {
            group.limit(limits)?;
        }
        for older in &self.older {
            group.older.push(older.make(&name, limits)?);
        }
        Ok(group)
    }

    /// Ends what servers left that live no more.
    fn end_left(&self) {
        for folder in left(&self.folder) {
            let group = Group { folder, limits: self.limits, older: Vec::new() };
            // What does not end now is tried again by the next server.
            let _ = group.end();
        }
        self.older.iter().for_each(Older::remove_left);
    }
}

impl Group {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Everything that must be joined.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        [&self.folder].into_iter().chain(&self.older).cloned().collect()
    }

    pub(super) fn limits(&self) -> bool {
        self.limits
    }

    fn limit(&self, limits: &Limits) -> io::Result<()> {
        let set = |name: &str, value: String| fs::write(self.folder.join(name), value);
        set("memory.max", limits.memory.to_string())?;
        set("pids.max", limits.processes.to_string())?;
        set("cpu.max", format!("{} {PERIOD}", share(limits)))?;
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
        for folder in self.folders() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Groups in a folder whose server lives no more.
pub(super) fn left(folder: &Path) -> Vec<PathBuf> {
    let lives_no_more = |folder: &PathBuf| {
        let name = folder.file_name()?.to_str()?;
        let mut parts = name.rsplit('.');
        let since: u64 = parts.next()?.parse().ok()?;
        let server: i32 = parts.next()?.parse().ok()?;
        Some(tree::started(server) != Some(since))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let folders = entries.map(|entry| entry.path());
    folders.filter(|folder| lives_no_more(folder) == Some(true)).collect()
}

/// What an agent may have of the cores in a period, in microseconds; the kernel takes no less than one millisecond.
pub(super) fn share(limits: &Limits) -> u64 {
    (u64::from(limits.cpu) * PERIOD / 1000).max(1000)
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
        let groups = Groups::beneath(own.path(), Vec::new).unwrap();
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
        assert!(Groups::beneath(TempDir::new().unwrap().path(), Vec::new).is_none());
    }
}
