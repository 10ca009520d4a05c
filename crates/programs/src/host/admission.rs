//! How many programs run on a node at a time, in all and of one user. The others wait, in the order that they came.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use artel_domain::{AgentId, UserId};
use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Admission {
    most: usize,
    most_per_user: usize,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    inside: HashMap<UserId, usize>,
    count: usize,
    queue: VecDeque<(AgentId, UserId)>,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Node,
    /// This user has as many as one may have.
    User(UserId),
}

/// A place on this node, held as long as the process lives.
#[derive(Debug)]
pub(super) struct Place {
    admission: Arc<Admission>,
    user: UserId,
}

/// A number in the queue, given up when nobody waits for it any more.
struct Number<'a> {
    admission: &'a Admission,
    agent: AgentId,
}

impl Admission {
    pub(super) fn new(most: usize, most_per_user: usize) -> Self {
        Self { most, most_per_user, state: Mutex::default(), changed: Notify::new() }
    }

    /// Waits for a place; `full` is told each time that there is none for whoever is next.
    pub(super) async fn enter(
        self: &Arc<Self>,
        agent: AgentId,
        user: UserId,
        full: impl Fn(Full),
    ) -> Place {
        self.lock().queue.push_back((agent, user));
        let number = Number { admission: self, agent };
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            match self.try_enter(agent, user) {
                Ok(()) => {
                    std::mem::forget(number);
                    return Place { admission: Arc::clone(self), user };
                }
                Err(why) => why.into_iter().for_each(&full),
            }
            changed.await;
        }
    }

    /// Where an agent stands in the queue, the next one being 1.
    pub(super) fn place(&self, agent: AgentId) -> Option<usize> {
        let state = self.lock();
        state.queue.iter().position(|(waiting, _)| *waiting == agent).map(|at| at + 1)
    }

    /// Whether one more would have to wait.
    pub(super) fn is_full(&self) -> bool {
        let state = self.lock();
        state.count + state.queue.len() >= self.most
    }

    /// Whoever comes first of those whose user has a place left; otherwise what is in the way, if it is not another.
    fn try_enter(&self, agent: AgentId, user: UserId) -> Result<(), Option<Full>> {
        let mut state = self.lock();
        let free =
            |user: &UserId| state.inside.get(user).copied().unwrap_or(0) < self.most_per_user;
        if !free(&user) {
            return Err(Some(Full::User(user)));
        }
        if state.queue.iter().find(|(_, user)| free(user)) != Some(&(agent, user)) {
            return Err(None);
        }
        if state.count >= self.most {
            return Err(Some(Full::Node));
        }
        state.queue.retain(|(waiting, _)| *waiting != agent);
        *state.inside.entry(user).or_default() += 1;
        state.count += 1;
        drop(state);
        // The next may find room too.
        self.changed.notify_waiters();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.admission.lock();
        state.count -= 1;
        if let Some(inside) = state.inside.get_mut(&self.user) {
            *inside -= 1;
            if *inside == 0 {
                state.inside.remove(&self.user);
            }
        }
        drop(state);
        self.admission.changed.notify_waiters();
    }
}

impl Drop for Number<'_> {
    fn drop(&mut self) {
        self.admission.lock().queue.retain(|(waiting, _)| *waiting != self.agent);
        self.admission.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use artel_domain::SystemClock;

    use super::*;

    fn agent() -> AgentId {
        AgentId::new(&SystemClock)
    }

    async fn waits<T>(entering: impl Future<Output = T>) -> bool {
        tokio::time::timeout(Duration::from_millis(10), entering).await.is_err()
    }

    /// CA-3.3: no more than may run do; those that wait come in their order, and have a visible place.
    #[tokio::test]
    async fn places_are_given_in_order() {
        let admission = Arc::new(Admission::new(2, 2));
        let (ada, bob) = (UserId(1), UserId(2));
        let first = admission.enter(agent(), ada, |_| {}).await;
        let _second = admission.enter(agent(), bob, |_| {}).await;
        let (third, fourth) = (agent(), agent());
        let waiting = |agent, user| {
            let admission = Arc::clone(&admission);
            async move { admission.enter(agent, user, |_| {}).await }
        };
        let mut three = Box::pin(waiting(third, ada));
        let mut four = Box::pin(waiting(fourth, bob));
        assert!(waits(&mut three).await && waits(&mut four).await);
        assert_eq!((admission.place(third), admission.place(fourth)), (Some(1), Some(2)));
        drop(first);
        assert!(waits(&mut four).await, "it is not its turn");
        let _third = three.await;
        assert_eq!(admission.place(fourth), Some(1));
        drop(four);
        assert_eq!(admission.place(fourth), None, "who no longer waits has no number");
    }

    /// CA-3.3: one user's many keep nobody else waiting.
    #[tokio::test]
    async fn a_user_has_no_more_than_their_share() {
        let admission = Arc::new(Admission::new(3, 1));
        let (ada, bob) = (UserId(1), UserId(2));
        let _first = admission.enter(agent(), ada, |_| {}).await;
        let mut second = Box::pin(admission.enter(agent(), ada, |_| {}));
        assert!(waits(&mut second).await);
        let _other = admission.enter(agent(), bob, |_| {}).await;
        assert!(waits(&mut second).await);
    }
}
