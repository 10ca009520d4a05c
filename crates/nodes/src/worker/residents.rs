//! The agents that live on a worker.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use artel_domain::{AgentId, LifeId, TurnId};
use artel_programs::life::{Status, Warning, Watcher};
use artel_programs::member::Member;
use async_trait::async_trait;

use super::Shared;
use super::turns::Course;
use crate::wire::{News, Peer};

/// An agent that lives here, for the server that wanted it.
#[derive(Debug)]
pub(super) struct Resident {
    pub(super) life: LifeId,
    pub(super) agent: AgentId,
    pub(super) server: Peer,
    pub(super) member: Member,
    statuses: Arc<AtomicU64>,
    courses: Mutex<HashMap<TurnId, Arc<Course>>>,
}

impl Resident {
    pub(super) fn new(eye: &Eye, member: Member) -> Self {
        let Eye { life, agent, server, statuses, .. } = eye;
        Self {
            life: *life,
            agent: *agent,
            server: server.clone(),
            member,
            statuses: Arc::clone(statuses),
            courses: Mutex::default(),
        }
    }

    pub(super) fn begins(&self, turn: TurnId) -> Arc<Course> {
        Arc::clone(self.courses().entry(turn).or_insert_with(|| Arc::new(Course::new(turn))))
    }

    pub(super) fn ends(&self, turn: TurnId) {
        self.courses().remove(&turn);
    }

    pub(super) fn course(&self, turn: TurnId) -> Option<Arc<Course>> {
        self.courses().get(&turn).cloned()
    }

    /// Says once more how it stands.
    pub(super) fn status(&self) -> News {
        let number = self.statuses.fetch_add(1, Ordering::Relaxed) + 1;
        News::Status { life: self.life, number, status: self.member.status() }
    }

    /// Ends its process and its turns; `lost`: their server is told that they were lost.
    pub(super) async fn close(&self, why: &str, lost: bool) {
        for course in self.courses().values() {
            let ends = if lost { &course.lost } else { &course.abandoned };
            ends.cancel();
        }
        self.member.stop(why).await;
    }

    fn courses(&self) -> MutexGuard<'_, HashMap<TurnId, Arc<Course>>> {
        self.courses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the server what becomes of an agent.
#[derive(Debug)]
pub(super) struct Eye {
    pub(super) worker: Weak<Shared>,
    pub(super) server: Peer,
    pub(super) agent: AgentId,
    pub(super) life: LifeId,
    pub(super) statuses: Arc<AtomicU64>,
}

impl Eye {
    fn tell(&self, news: News) {
        if let Some(worker) = self.worker.upgrade() {
            worker.note(&self.server, self.agent, news);
        }
    }
}

#[async_trait]
impl Watcher for Eye {
    async fn changed(&self, status: &Status) {
        let number = self.statuses.fetch_add(1, Ordering::Relaxed) + 1;
        self.tell(News::Status { life: self.life, number, status: status.clone() });
    }

    async fn warned(&self, warning: Warning) {
        self.tell(News::Warning { life: self.life, warning });
    }
}
