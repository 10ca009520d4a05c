//! The way in: a process is started when there is a place for it, and holds the place as long as it lives.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use artel_domain::{AgentId, UserId};
use async_trait::async_trait;
use secrecy::SecretString;
use tokio_util::task::TaskTracker;

use super::admission::{self, Admission, Full};
use crate::codec::Signal;
use crate::kind::{Launch, Place};
use crate::life::{Starter, State};
use crate::member::{Member, WeakMember};
use crate::runner::Doing;
use crate::sandbox::{Exit, Mark, Room, Running, Sandbox as Walls, Started, Uses};

/// Those who are open on this node. Not held: whoever opened them does.
#[derive(Debug, Default)]
pub(super) struct Residents {
    open: Mutex<HashMap<AgentId, (UserId, WeakMember)>>,
    leaving: TaskTracker,
}

impl Residents {
    pub(super) fn enter(&self, agent: AgentId, user: UserId, member: &Member) {
        let mut all = self.lock();
        all.retain(|_, (_, member)| member.upgrade().is_some());
        all.insert(agent, (user, member.downgrade()));
    }

    /// Somebody waits for a place: of the programs that have nothing to do, the one that has run longest gives up its
    /// own. A user who has too many makes room with their own.
    fn make_room(&self, full: Full) {
        let serves = |user: UserId| match full {
            Full::Node => true,
            Full::User(of) => user == of,
        };
        let all: Vec<_> = self.lock().values().cloned().collect();
        let idle = all.into_iter().filter(|(user, _)| serves(*user)).filter_map(|(_, member)| {
            let member = member.upgrade()?;
            (member.status().state == State::Running(Doing::Idle)).then_some(member)
        });
        let Some(longest) = idle.min_by_key(|member| member.status().since) else { return };
        self.leaving.spawn(async move {
            longest.stop("Another agent needed its place; a message starts it again").await;
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, (UserId, WeakMember)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets processes in to their walls when there is a place for them.
#[derive(Debug)]
pub(super) struct Entrance {
    pub(super) walls: Arc<Walls>,
    pub(super) loopback: Option<String>,
    pub(super) token: SecretString,
    pub(super) admission: Arc<Admission>,
    pub(super) residents: Arc<Residents>,
    pub(super) agent: AgentId,
    pub(super) user: UserId,
}

#[async_trait]
impl Starter for Entrance {
    fn place(&self, room: &Room) -> Place {
        self.walls.place(room, self.token.clone(), self.loopback.clone())
    }

    async fn start(&self, room: &Room, place: &Place, launch: &Launch) -> io::Result<Started> {
        let full = |full| self.residents.make_room(full);
        let held = self.admission.enter(self.agent, self.user, full).await;
        let started = self.walls.start(room, place, launch).await?;
        let running = Box::new(Held { running: started.running, _place: held });
        Ok(Started { running, ..started })
    }
}

/// A process with its place on this node.
#[derive(Debug)]
struct Held {
    running: Box<dyn Running>,
    _place: admission::Place,
}

#[async_trait]
impl Running for Held {
    fn mark(&self) -> Mark {
        self.running.mark()
    }

    async fn wait(&mut self) -> io::Result<Exit> {
        self.running.wait().await
    }

    async fn signal(&mut self, signal: Signal) -> io::Result<()> {
        self.running.signal(signal).await
    }

    async fn kill(&mut self) -> io::Result<()> {
        self.running.kill().await
    }

    async fn uses(&self) -> io::Result<Uses> {
        self.running.uses().await
    }
}
