//! Control groups of the kernel, version 1: where version 2 has no controllers because the older one has them, they
//! limit how many processes an agent has and what it takes of the cores. Version 2 holds it together all the same.
//!
//! Memory is left to who watches: the older group ends one process of an agent and keeps the rest waiting.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use procfs::process::Process;
use rustix::fs::{Access, access};

use super::Limits;
use super::group::{ALL, PERIOD, left, share};

/// A controller, and where its groups can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Older {
    pub(super) controls: Controls,
    folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controls {
    Processes,
    Cpu,
}

impl Controls {
    const ALL: [Self; 2] = [Self::Processes, Self::Cpu];

    /// As the kernel calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Processes => "pids",
            Self::Cpu => "cpu",
        }
    }

    fn limit(self, group: &Path, limits: &Limits) -> io::Result<()> {
        let set = |name: &str, value: u64| fs::write(group.join(name), value.to_string());
        match self {
            Self::Processes => set("pids.max", limits.processes),
            Self::Cpu => {
                set("cpu.cfs_period_us", PERIOD)?;
                set("cpu.cfs_quota_us", share(limits))
            }
        }
    }
}

impl Older {
    /// Those that this process may use.
    pub(super) fn find() -> Vec<Self> {
        Controls::ALL.into_iter().filter_map(|it| Self::beneath(it, &own(it.name())?)).collect()
    }

    fn beneath(controls: Controls, own: &Path) -> Option<Self> {
        access(own.join("cgroup.procs"), Access::WRITE_OK).ok()?;
        let folder = own.join(ALL);
        fs::create_dir_all(&folder).ok()?;
        Some(Self { controls, folder })
    }

    /// A group for what is held together under this name.
    pub(super) fn make(&self, name: &str, limits: &Limits) -> io::Result<PathBuf> {
        let group = self.folder.join(name);
        fs::create_dir_all(&group)?;
        self.controls.limit(&group, limits)?;
        Ok(group)
    }

    /// Removes what servers left that live no more. A dead process is in its older group until it is buried, so a group
    /// may outlive what held its processes together.
    pub(super) fn remove_left(&self) {
        for group in left(&self.folder) {
            let _ = fs::remove_dir(group);
        }
    }
}

/// The group of this process in the hierarchy of a controller.
fn own(controller: &str) -> Option<PathBuf> {
    let me = Process::myself().ok()?;
    let named = |names: &[String]| names.iter().any(|name| name == controller);
    let path = me.cgroups().ok()?.into_iter().find(|group| named(&group.controllers))?.pathname;
    let mount =
        me.mountinfo().ok()?.into_iter().find(|mount| {
            mount.fs_type == "cgroup" && mount.super_options.contains_key(controller)
        })?;
    let beneath = Path::new(&path).strip_prefix(&mount.root).ok()?;
    Some(mount.mount_point.join(beneath))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// CA-3.2: what the kernel is told, on files that stand for its own.
    #[test]
    fn limits_are_written_as_the_older_kernel_reads_them() {
        let own = TempDir::new().unwrap();
        fs::write(own.path().join("cgroup.procs"), "").unwrap();
        let limits = Limits { memory: 1 << 30, processes: 64, cpu: 1500 };
        let written = |controls, files: &[&str]| {
            let older = Older::beneath(controls, own.path()).unwrap();
            let group = older.make("an-agent", &limits).unwrap();
            files.iter().map(|file| fs::read_to_string(group.join(file)).unwrap()).collect()
        };
        let processes: Vec<_> = written(Controls::Processes, &["pids.max"]);
        assert_eq!(processes, ["64"]);
        let cpu: Vec<_> = written(Controls::Cpu, &["cpu.cfs_period_us", "cpu.cfs_quota_us"]);
        assert_eq!(cpu, ["100000", "150000"]);
    }

    /// CA-2.5: what a server left is removed by the next one, and nothing else is.
    #[test]
    fn groups_of_dead_servers_are_removed() {
        let own = TempDir::new().unwrap();
        fs::write(own.path().join("cgroup.procs"), "").unwrap();
        let older = Older::beneath(Controls::Cpu, own.path()).unwrap();
        let me = std::process::id();
        let since = crate::tree::started(me.cast_signed()).unwrap();
        let mine = format!("a.{me}.{since}");
        for name in [mine.as_str(), &format!("a.{me}.{}", since + 1), "another's"] {
            fs::create_dir(older.folder.join(name)).unwrap();
        }
        older.remove_left();
        let entries = fs::read_dir(&older.folder).unwrap();
        let mut names: Vec<_> = entries.map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [mine.as_str(), "another's"]);
    }

    /// CA-3.2: without the right to write there is none.
    #[test]
    fn a_folder_that_is_no_group_is_none() {
        assert_eq!(Older::beneath(Controls::Cpu, TempDir::new().unwrap().path()), None);
    }
}
