//! Calls as files in a folder, for a sandbox that forbids to connect.
//!
//! Whoever calls writes `NAME.tmp`, renames it to `NAME.call`, and finds the answer in `NAME.result`. While the call
//! runs its file is called `NAME.taken`: removing it gives the call up, and so does letting go of a lock on it that
//! was held when it was taken. The agent owns the folder's content, so nothing in it is trusted: everything is
//! reached from the folder's handle, no link is followed, and what is not a plain file is left alone.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::endpoint::{self, Desk};
use super::wire::{Letter, Reason, Refusal, Reply};

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// After a look comes a pause of so many times as long: one into a folder full of rubbish takes its time.
const SHARE: u32 = 4;
/// How many calls are taken at one look.
const TAKEN: usize = 256;
/// How often it is asked whether whoever calls is still there.
const ATTENTION: Duration = Duration::from_millis(500);
const LONGEST_NAME: usize = 64;

pub(super) struct Spool {
    folder: OwnedFd,
    desk: Arc<Desk>,
}

/// A call that was taken and is let in.
struct Call {
    name: String,
    file: File,
    /// Whether its caller holds a lock on it.
    attended: bool,
    tool: Option<String>,
    arguments: Map<String, Value>,
}

/// What one look found.
struct Look {
    calls: Vec<Call>,
    /// There may be more.
    full: bool,
}

impl Spool {
    /// Makes the folder, without what was in it.
    pub(super) fn make(path: &Path, desk: Arc<Desk>) -> io::Result<Self> {
        match endpoint::clear(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => endpoint::make(path)?,
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { folder: rustix::fs::open(path, flags, Mode::empty())?, desk })
    }

    /// Answers calls for ever. Dropping it gives up those that run.
    pub(super) async fn watch(self) {
        let spool = Arc::new(self);
        let mut calls = JoinSet::new();
        let (mut seen, mut settled, mut pause) = (None, false, LOOK);
        loop {
            tokio::time::sleep(pause).await;
            while calls.try_join_next().is_some() {}
            let changed = spool.changed();
            // The time of a change is coarse: something may have come right after the look that saw it. So one more
            // look follows the last change.
            if settled && changed == seen {
                continue;
            }
            settled = changed == seen;
            seen = changed;
            let (begun, looker) = (Instant::now(), Arc::clone(&spool));
            match tokio::task::spawn_blocking(move || looker.look()).await {
                Ok(Ok(look)) => {
                    settled &= !look.full;
                    for call in look.calls {
                        calls.spawn(Arc::clone(&spool).answer(call));
                    }
                }
                Ok(Err(error)) => tracing::warn!(%error, "the folder of calls cannot be read"),
                Err(error) => tracing::error!(%error, "looking for calls broke off"),
            }
            pause = LOOK.max(begun.elapsed() * SHARE);
        }
    }

    fn changed(&self) -> Option<(i64, u64)> {
        let stat = rustix::fs::fstat(&self.folder).ok()?;
        Some((stat.st_mtime, stat.st_mtime_nsec))
    }

    /// Takes the calls that are there; who is not let in is told so at once.
    fn look(&self) -> io::Result<Look> {
        let (mut calls, mut taken) = (Vec::new(), 0);
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().ok().and_then(named) else { continue };
            let Some(file) = self.take(name) else { continue };
            match self.read(name, file) {
                Ok(call) => calls.push(call),
                Err(refusal) => self.reply(name, &Reply::Error(refusal)),
            }
            taken += 1;
            if taken == TAKEN || calls.len() >= self.desk.limits.calls * 2 {
                return Ok(Look { calls, full: true });
            }
        }
        Ok(Look { calls, full: false })
    }

    /// Makes a call ours; none if it is no plain file.
    fn take(&self, name: &str) -> Option<File> {
        let (call, taken) = (format!("{name}.call"), format!("{name}.taken"));
        let stat = rustix::fs::statat(&self.folder, &call, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        rustix::fs::renameat(&self.folder, &call, &self.folder, &taken).ok()?;
        // It may have been another's turn in between: a pipe would not let go of whoever opens it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.folder, &taken, flags, Mode::empty()).ok()?);
        file.metadata().is_ok_and(|it| it.is_file()).then_some(file)
    }

    fn read(&self, name: &str, mut file: File) -> Result<Call, Refusal> {
        let limit = self.desk.limits.size;
        let mut content = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let unreadable =
            |error: io::Error| Refusal::new(Reason::Malformed, format!("Cannot be read: {error}"));
        (&mut file).take(most).read_to_end(&mut content).map_err(unreadable)?;
        if content.len() > limit {
            return Err(Refusal::too_large(limit));
        }
        let letter = serde_json::from_slice::<Letter>(&content);
        let letter = letter.ok().filter(|it| self.desk.admits(it.token.as_bytes()));
        let Letter { token: _, tool, arguments } = letter.ok_or_else(Refusal::denied)?;
        let attended = is_locked(&file);
        Ok(Call { name: name.to_owned(), file, attended, tool, arguments })
    }

    async fn answer(self: Arc<Self>, call: Call) {
        let Call { name, file, attended, tool, arguments } = call;
        let answered = async {
            match tool {
                None => Reply::Tools(self.desk.toolbox.specs().to_vec()),
                Some(tool) => self.desk.toolbox.run(&tool, arguments).await.into(),
            }
        };
        tokio::select! {
            reply = answered => self.reply(&name, &reply),
            () = abandoned(file, attended) => self.remove(&format!("{name}.taken")),
        }
    }

    fn reply(&self, name: &str, reply: &Reply) {
        let result = format!("{name}.result");
        if let Err(error) = self.write(&result, reply) {
            tracing::warn!(%error, "the answer to a call cannot be written");
        }
        self.remove(&format!("{name}.taken"));
    }

    fn write(&self, name: &str, reply: &Reply) -> io::Result<()> {
        let draft = format!("{name}.tmp");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(&self.folder, &draft, flags, Mode::RUSR | Mode::WUSR);
        let file = match open() {
            Err(Errno::EXIST) => {
                self.remove(&draft);
                open()
            }
            opened => opened,
        };
        File::from(file?).write_all(&serde_json::to_vec(reply)?)?;
        Ok(rustix::fs::renameat(&self.folder, &draft, &self.folder, name)?)
    }

    fn remove(&self, name: &str) {
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => tracing::debug!(%error, "a file of a call cannot be removed"),
        }
    }
}

/// The name of a call, if the file is one.
fn named(file: &str) -> Option<&str> {
    let name = file.strip_suffix(".call")?;
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    ((1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain)).then_some(name)
}

/// Ends when whoever called is gone.
async fn abandoned(file: File, attended: bool) {
    loop {
        tokio::time::sleep(ATTENTION).await;
        let removed = file.metadata().is_ok_and(|it| it.nlink() == 0);
        if removed || attended && !is_locked(&file) {
            return;
        }
    }
}

fn is_locked(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            // Nobody did; nor do we.
            let _ = file.unlock();
            false
        }
        Err(_) => true,
    }
}
