//! No walls: the program runs as the server's user does, with a home, an environment and limits of its own. What it
//! started ends with it, but it could read whatever the server can.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process;

use tokio_util::task::TaskTracker;

use super::group::Group;
use super::process::{Order, Starter, Walls};
use super::{Keeper, Room, Started};
use crate::keeper::Wishes;
use crate::kind::Unusable;
use crate::tree;

/// In the home, since `/tmp` is everybody's.
pub(super) const TEMPORARY: &str = ".tmp";

#[derive(Debug)]
pub struct Plain {
    keeper: Keeper,
    starter: Starter,
}

impl Plain {
    pub(super) fn find(keeper: Keeper) -> Result<Self, Unusable> {
        check(&keeper.program)?;
        Ok(Self { keeper, starter: starter()? })
    }

    pub(super) fn describe(&self) -> String {
        format!(
            "Programs run without walls: they can read and write whatever the server's user can. {}",
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
        tokio::fs::create_dir_all(room.home.join(TEMPORARY)).await?;
        let group = self.starter.group(room).await?;
        let wishes = Wishes {
            parent: Some(process::id()),
            groups: group.as_ref().map(Group::folders).unwrap_or_default(),
            ..Wishes::default()
        };
        let mut words = self.keeper.command(&self.keeper.program);
        words.extend(wishes.words());
        words.extend(argv.iter().map(OsString::from));
        let socket = environment.get(tree::SOCKET).cloned().unwrap_or_default();
        let walls = Walls::None { socket };
        let folder = room.workspace.clone();
        let order = Order { words, folder, environment, group, walls };
        self.starter.start(order, room.limits).await
    }
}

pub(super) fn starter() -> Result<Starter, Unusable> {
    Starter::new().map_err(|error| {
        Unusable(format!("No process can be started: {error}. Allow the server more threads."))
    })
}

pub(super) fn check(keeper: &Path) -> Result<(), Unusable> {
    if keeper.is_absolute() && keeper.is_file() {
        return Ok(());
    }
    Err(Unusable(format!(
        "{} is not there, which stands around every agent. It is the server's own program: start it by its whole \
         path, and again after an update.",
        keeper.display()
    )))
}
