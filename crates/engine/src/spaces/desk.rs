//! The board behind one lock, with those who wait for its tasks.
//!
//! Everything that happens to a space's tasks comes through here, from as many threads as there are: senders,
//! turns that end, people who cancel, agents that come and go. No lock is held while anything waits. Tests run it
//! under a scheduler that tries the orders in which threads can meet.

use std::collections::HashMap;
use std::sync::Arc;

use artel_domain::session::Message;
use artel_domain::{AgentId, TaskId};
#[cfg(test)]
use shuttle::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;
#[cfg(not(test))]
use std::sync::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::board::{Board, Refused, Ticket};

#[derive(Debug, Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    board: Board,
    /// Tasks that have not ended here: how to stop each, and who waits for its end.
    attended: HashMap<TaskId, Attended>,
    /// The space was closed: who still has it in hand must get the one that came after it.
    shut: bool,
}

#[derive(Debug)]
struct Attended {
    stop: CancellationToken,
    fate: watch::Sender<Fate>,
}

/// What became of a task.
#[derive(Debug, Clone, Default)]
enum Fate {
    #[default]
    Open,
    /// With its answer, when that is at hand.
    Ended(Option<Arc<Message>>),
}

/// A task that may run now.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) ticket: Ticket,
    pub(crate) stop: CancellationToken,
}

impl Desk {
    /// An agent joined or changed.
    pub(crate) fn seat(&self, agent: AgentId, limit: usize) {
        self.lock().board.seat(agent, limit);
    }

    /// An agent takes no more tasks: what waits for it never starts, what runs may end.
    pub(crate) fn close(&self, agent: AgentId) {
        let mut state = self.lock();
        let tasks = state.board.close(agent);
        state.dismiss(tasks);
    }

    /// An agent is no more: what waits for it never starts, and what runs is stopped.
    pub(crate) fn unseat(&self, agent: AgentId) {
        let mut state = self.lock();
        let tasks = state.board.unseat(agent);
        state.dismiss(tasks);
    }

    /// Takes nothing more, if nothing is under way; says whether it does not.
    pub(crate) fn shut_if_empty(&self) -> bool {
        let mut state = self.lock();
        state.shut |= state.board.size().1 == 0;
        state.shut
    }

    /// Everything is stopped, everybody leaves, and nothing more is taken.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.shut = true;
        let tasks: Vec<_> = state.attended.keys().copied().collect();
        state.dismiss(tasks);
        state.board = Board::default();
    }

    /// Puts a task on the board; it starts once it is confirmed. Called inside the change that stores it, so the
    /// board's order is that of the commits.
    pub(crate) fn push(&self, agent: AgentId, ticket: Ticket) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.shut {
            return Err(Refused::Shut);
        }
        state.board.push(agent, ticket)?;
        let attended = Attended { stop: CancellationToken::new(), fate: watch::Sender::default() };
        state.attended.insert(ticket.task, attended);
        Ok(())
    }

    /// The task is on disk.
    pub(crate) fn confirm(&self, task: TaskId) {
        self.lock().board.confirm(task);
    }

    /// Counts a task as running if nothing stands in its way, before it is on disk.
    pub(crate) fn begin(&self, task: TaskId) -> Option<CancellationToken> {
        let mut state = self.lock();
        let begun = state.board.begin(task);
        let attended = state.attended.get(&task).filter(|_| begun);
        attended.map(|attended| attended.stop.clone())
    }

    /// The task has ended, or never came to be; if it runs, it is stopped.
    pub(crate) fn finish(&self, task: TaskId) {
        self.answer(task, None);
    }

    /// The task has ended with this answer, for those who wait for it.
    pub(crate) fn answer(&self, task: TaskId, answer: Option<Arc<Message>>) {
        let mut state = self.lock();
        state.board.finish(task);
        if let Some(attended) = state.attended.remove(&task) {
            attended.end(answer);
        }
    }

    /// Takes what may start now; whoever calls must run it and [`Desk::finish`] it.
    pub(crate) fn start(&self) -> Vec<Started> {
        let mut state = self.lock();
        let started = state.board.start();
        let with_stop = |(_, ticket): (AgentId, Ticket)| {
            let attended = state.attended.get(&ticket.task);
            let stop = attended.map(|attended| attended.stop.clone()).unwrap_or_default();
            Started { ticket, stop }
        };
        started.into_iter().map(with_stop).collect()
    }

    /// Resolves when the task has ended here, with its answer if that is at hand; at once if it is not attended here.
    pub(crate) async fn ended(&self, task: TaskId) -> Option<Arc<Message>> {
        let fate = self.lock().attended.get(&task).map(|attended| attended.fate.subscribe());
        match fate?.wait_for(|fate| matches!(fate, Fate::Ended(_))).await.as_deref() {
            Ok(Fate::Ended(answer)) => answer.clone(),
            // The sender going away means the same.
            Ok(Fate::Open) | Err(_) => None,
        }
    }

    pub(crate) fn attends(&self, task: TaskId) -> bool {
        self.lock().attended.contains_key(&task)
    }

    /// Tasks that are on disk and have not ended here.
    pub(crate) fn confirmed(&self) -> Vec<TaskId> {
        self.lock().board.confirmed()
    }

    /// How many tasks an agent takes at a time; none when it takes none.
    pub(crate) fn limit(&self, agent: AgentId) -> Option<usize> {
        self.lock().board.limit(agent)
    }

    /// Agents on the board, and tasks that have not ended.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.lock().board.size()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Stops what runs of these, and tells who waits.
    fn dismiss(&mut self, tasks: impl IntoIterator<Item = TaskId>) {
        for task in tasks {
            if let Some(attended) = self.attended.remove(&task) {
                attended.end(None);
            }
        }
    }
}

impl Attended {
    fn end(self, answer: Option<Arc<Message>>) {
        self.stop.cancel();
        self.fate.send_replace(Fate::Ended(answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artel_domain::task::Priority;
    use artel_domain::{SessionId, SystemClock};
    use shuttle::sync::atomic::{AtomicUsize, Ordering};
    use shuttle::thread;

    const LIMIT: usize = 2;
    const SCHEDULES: usize = 3000;

    /// What the engine does around a desk, with threads in place of tasks and counters in place of rows.
    struct Space {
        desk: Desk,
        agent: AgentId,
        running: AtomicUsize,
        ran: AtomicUsize,
    }

    impl Space {
        fn new() -> Arc<Self> {
            let space = Self {
                desk: Desk::default(),
                agent: AgentId::new(&SystemClock),
                running: AtomicUsize::new(0),
                ran: AtomicUsize::new(0),
            };
            space.desk.seat(space.agent, LIMIT);
            Arc::new(space)
        }

        /// As a message is sent: pushed in its change, confirmed after the commit, and then whatever may start does.
        fn send(self: &Arc<Self>, session: SessionId) -> Option<TaskId> {
            let task = TaskId::new(&SystemClock);
            let ticket = Ticket { task, session, priority: Priority::Normal };
            self.desk.push(self.agent, ticket).ok()?;
            let begun = self.desk.begin(task).is_some();
            thread::yield_now();
            if begun {
                self.run(task);
            } else {
                self.desk.confirm(task);
            }
            self.dispatch();
            Some(task)
        }

        fn dispatch(self: &Arc<Self>) {
            for started in self.desk.start() {
                self.run(started.ticket.task);
            }
        }

        fn run(self: &Arc<Self>, task: TaskId) {
            let space = Arc::clone(self);
            thread::spawn(move || {
                let now = space.running.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(now <= LIMIT, "more run than may");
                thread::yield_now();
                space.running.fetch_sub(1, Ordering::SeqCst);
                space.ran.fetch_add(1, Ordering::SeqCst);
                space.desk.finish(task);
                space.dispatch();
            });
        }
    }

    fn session() -> SessionId {
        SessionId::new(&SystemClock)
    }

    /// PF-1.3, PF-1.8: however senders and turns meet, limits hold, every task runs exactly once, and none is
    /// forgotten: when all threads are done, the board is empty.
    #[test]
    fn nothing_is_forgotten_in_any_order() {
        shuttle::check_random(
            || {
                let (space, shared) = (Space::new(), session());
                let senders: Vec<_> = [shared, shared, session(), session()]
                    .into_iter()
                    .map(|session| {
                        let space = Arc::clone(&space);
                        thread::spawn(move || space.send(session).unwrap())
                    })
                    .collect();
                for sender in senders {
                    sender.join().unwrap();
                }
                while space.desk.size().1 > 0 {
                    thread::yield_now();
                }
                assert_eq!(space.ran.load(Ordering::SeqCst), 4);
            },
            SCHEDULES,
        );
    }

    /// PF-1.5: a task that is cancelled while others come and go either ran or never starts, whoever waits for it is
    /// told, and those behind it go on.
    #[test]
    fn cancelling_holds_nobody_up() {
        shuttle::check_random(
            || {
                let (space, shared) = (Space::new(), session());
                let first = space.send(shared).unwrap();
                let canceller = {
                    let space = Arc::clone(&space);
                    thread::spawn(move || {
                        space.desk.finish(first);
                        space.dispatch();
                    })
                };
                space.send(shared).unwrap();
                canceller.join().unwrap();
                while space.desk.size().1 > 0 {
                    thread::yield_now();
                }
                assert!(!space.desk.attends(first));
                assert!((1..=2).contains(&space.ran.load(Ordering::SeqCst)));
            },
            SCHEDULES,
        );
    }

    /// WS-8.1: a space is closed only when nothing is under way, and one that is closed takes nothing: however sending
    /// and closing meet, what was taken runs.
    #[test]
    fn a_shut_desk_forgets_nothing() {
        shuttle::check_random(
            || {
                let space = Space::new();
                let sender = {
                    let space = Arc::clone(&space);
                    thread::spawn(move || space.send(session()).is_some())
                };
                let shut = space.desk.shut_if_empty();
                let taken = sender.join().unwrap();
                while space.desk.size().1 > 0 {
                    thread::yield_now();
                }
                assert_eq!(space.ran.load(Ordering::SeqCst), usize::from(taken));
                assert!(taken || shut, "refused only when it is shut");
                assert_eq!(space.send(session()).is_none(), shut);
            },
            SCHEDULES,
        );
    }

    /// WS-5.3, WS-16.2: once an agent is closed no task of it starts, however sending and closing meet.
    #[test]
    fn a_closed_agent_starts_nothing() {
        shuttle::check_random(
            || {
                let space = Space::new();
                let sender = {
                    let space = Arc::clone(&space);
                    thread::spawn(move || space.send(session()))
                };
                space.desk.close(space.agent);
                let before = space.desk.size().1;
                assert!(space.send(session()).is_none(), "it takes nothing");
                sender.join().unwrap();
                assert!(space.desk.size().1 <= before, "and starts nothing");
                while space.desk.size().1 > 0 {
                    thread::yield_now();
                }
                assert_eq!(space.desk.size(), (0, 0));
            },
            SCHEDULES,
        );
    }
}
