//! Who works on what: the queues of a space's agents, as plain data.
//!
//! No clock, no I/O, no waiting: tasks are pushed, started, finished and cancelled, and the board says which may
//! start now. Its laws:
//! - No agent has more tasks running than its limit, nor more waiting than [`WAITING`].
//! - A high task goes before normal ones of its agent; within a priority the order is kept.
//! - Tasks of one session start one after the other, in the order they were pushed, whichever agents they are for.
//! - A task that was cancelled while it waited never starts.
//! - An agent that was closed takes no task and starts none; what it runs may end.

use std::collections::{HashMap, HashSet, VecDeque};

use artel_domain::task::{Priority, Task};
use artel_domain::{AgentId, SessionId, TaskId};

/// Tasks that may wait for one agent.
pub(crate) const WAITING: usize = 100;

/// A task on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) task: TaskId,
    pub(crate) session: SessionId,
    pub(crate) priority: Priority,
}

impl Ticket {
    /// A task of a plan takes turns with nobody: its plan says when it starts. So it has a session of its own here.
    pub(crate) const fn of(task: &Task) -> Self {
        let session = match task.plan {
            None => task.session_id,
            Some(_) => SessionId::from_bytes(*task.id.as_bytes()),
        };
        Self { task: task.id, session, priority: task.priority }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is no such agent on the board.
    Unregistered,
    Full,
    /// The space was closed; there is, or will be, another.
    Shut,
}

#[derive(Debug, Default)]
pub(crate) struct Board {
    seats: HashMap<AgentId, Seat>,
    /// Unfinished tasks of each session, in order; only the first may run.
    sessions: HashMap<SessionId, VecDeque<TaskId>>,
    /// Where each unfinished task is.
    places: HashMap<TaskId, (AgentId, SessionId)>,
}

#[derive(Debug)]
struct Seat {
    limit: usize,
    /// Whether it takes tasks.
    open: bool,
    running: HashSet<TaskId>,
    high: VecDeque<Waiting>,
    normal: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    /// Not before it is on disk.
    confirmed: bool,
}

impl Seat {
    fn waiting(&self) -> usize {
        self.high.len() + self.normal.len()
    }
}

impl Board {
    /// Seats an agent, or changes its limit. Running tasks are not touched; a lower limit holds for the next.
    pub(crate) fn seat(&mut self, agent: AgentId, limit: usize) {
        let fresh = || Seat {
            limit,
            open: true,
            running: HashSet::new(),
            high: VecDeque::new(),
            normal: VecDeque::new(),
        };
        let seat = self.seats.entry(agent).or_insert_with(fresh);
        (seat.limit, seat.open) = (limit, true);
    }

    /// Lets an agent take no more tasks: those that waited, which will not start. What runs may end.
    pub(crate) fn close(&mut self, agent: AgentId) -> Vec<TaskId> {
        let Some(seat) = self.seats.get_mut(&agent) else { return Vec::new() };
        seat.open = false;
        let waiting = seat.high.drain(..).chain(seat.normal.drain(..));
        let tasks: Vec<_> = waiting.map(|waiting| waiting.ticket.task).collect();
        for task in &tasks {
            self.forget(*task);
        }
        self.leave(agent);
        tasks
    }

    /// An agent that was closed is gone once nothing of it runs.
    fn leave(&mut self, agent: AgentId) {
        if self.seats.get(&agent).is_some_and(|seat| !seat.open && seat.running.is_empty()) {
            self.seats.remove(&agent);
        }
    }

    /// Takes an agent off the board: its tasks, waiting and running. None of those that waited will start.
    pub(crate) fn unseat(&mut self, agent: AgentId) -> Vec<TaskId> {
        let Some(seat) = self.seats.remove(&agent) else { return Vec::new() };
        let waiting = seat.high.into_iter().chain(seat.normal).map(|waiting| waiting.ticket.task);
        let tasks: Vec<_> = waiting.chain(seat.running).collect();
        for task in &tasks {
            self.forget(*task);
        }
        tasks
    }

    /// Puts a task at the end of its agent's queue. It cannot start before [`Board::confirm`].
    pub(crate) fn push(&mut self, agent: AgentId, ticket: Ticket) -> Result<(), Refused> {
        let seat =
            self.seats.get_mut(&agent).filter(|seat| seat.open).ok_or(Refused::Unregistered)?;
        if seat.waiting() >= WAITING {
            return Err(Refused::Full);
        }
        let queue = match ticket.priority {
            Priority::High => &mut seat.high,
            Priority::Normal => &mut seat.normal,
        };
        queue.push_back(Waiting { ticket, confirmed: false });
        self.sessions.entry(ticket.session).or_default().push_back(ticket.task);
        self.places.insert(ticket.task, (agent, ticket.session));
        Ok(())
    }

    /// The task is on disk: it may start.
    pub(crate) fn confirm(&mut self, task: TaskId) {
        let Some((agent, _)) = self.places.get(&task) else { return };
        let Some(seat) = self.seats.get_mut(agent) else { return };
        let waiting = seat.high.iter_mut().chain(seat.normal.iter_mut());
        for waiting in waiting.filter(|waiting| waiting.ticket.task == task) {
            waiting.confirmed = true;
        }
    }

    /// Counts a task as running at once if nothing stands in its way and nobody waits for its agent, before it is on
    /// disk. Whoever asks sees to it that it gets there, or finishes it.
    pub(crate) fn begin(&mut self, task: TaskId) -> bool {
        let Some((agent, session)) = self.places.get(&task) else { return false };
        let first = self.sessions.get(session).and_then(VecDeque::front) == Some(&task);
        let Some(seat) = self.seats.get_mut(agent) else { return false };
        if !first || seat.waiting() != 1 || seat.running.len() >= seat.limit {
            return false;
        }
        seat.high.clear();
        seat.normal.clear();
        seat.running.insert(task)
    }

    /// Takes what may start now off the queues and counts it as running.
    pub(crate) fn start(&mut self) -> Vec<(AgentId, Ticket)> {
        let mut started = Vec::new();
        for (agent, seat) in &mut self.seats {
            while seat.running.len() < seat.limit {
                let sessions = &self.sessions;
                let may = |waiting: &Waiting| {
                    let first = sessions.get(&waiting.ticket.session).and_then(VecDeque::front);
                    waiting.confirmed && first == Some(&waiting.ticket.task)
                };
                let next = [&mut seat.high, &mut seat.normal]
                    .into_iter()
                    .find_map(|queue| queue.iter().position(may).and_then(|at| queue.remove(at)));
                let Some(Waiting { ticket, .. }) = next else { break };
                seat.running.insert(ticket.task);
                started.push((*agent, ticket));
            }
        }
        started
    }

    /// A task has ended, or never came to be: whatever waited behind it may go on.
    pub(crate) fn finish(&mut self, task: TaskId) {
        if let Some((agent, _)) = self.places.get(&task).copied()
            && let Some(seat) = self.seats.get_mut(&agent)
        {
            seat.running.remove(&task);
            seat.high.retain(|waiting| waiting.ticket.task != task);
            seat.normal.retain(|waiting| waiting.ticket.task != task);
            self.leave(agent);
        }
        self.forget(task);
    }

    fn forget(&mut self, task: TaskId) {
        let Some((_, session)) = self.places.remove(&task) else { return };
        if let Some(queue) = self.sessions.get_mut(&session) {
            queue.retain(|waiting| *waiting != task);
            if queue.is_empty() {
                self.sessions.remove(&session);
            }
        }
    }

    /// Tasks that are on disk and have not ended.
    pub(crate) fn confirmed(&self) -> Vec<TaskId> {
        let of = |seat: &Seat| {
            let waiting = seat.high.iter().chain(&seat.normal).filter(|waiting| waiting.confirmed);
            let waiting: Vec<_> = waiting.map(|waiting| waiting.ticket.task).collect();
            waiting.into_iter().chain(seat.running.iter().copied()).collect::<Vec<_>>()
        };
        self.seats.values().flat_map(of).collect()
    }

    #[cfg(test)]
    pub(crate) fn running(&self, agent: AgentId) -> usize {
        self.seats.get(&agent).map_or(0, |seat| seat.running.len())
    }

    /// How many tasks an agent takes at a time; none when it takes none.
    pub(crate) fn limit(&self, agent: AgentId) -> Option<usize> {
        self.seats.get(&agent).filter(|seat| seat.open).map(|seat| seat.limit)
    }

    /// Agents on the board, and tasks that have not ended.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.seats.len(), self.places.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artel_domain::SystemClock;
    use proptest::prelude::*;

    fn agent() -> AgentId {
        AgentId::new(&SystemClock)
    }

    fn ticket(session: SessionId, priority: Priority) -> Ticket {
        Ticket { task: TaskId::new(&SystemClock), session, priority }
    }

    fn session() -> SessionId {
        SessionId::new(&SystemClock)
    }

    fn add(board: &mut Board, agent: AgentId, session: SessionId, priority: Priority) -> TaskId {
        let ticket = ticket(session, priority);
        board.push(agent, ticket).unwrap();
        board.confirm(ticket.task);
        ticket.task
    }

    fn started(board: &mut Board) -> Vec<TaskId> {
        board.start().into_iter().map(|(_, ticket)| ticket.task).collect()
    }

    /// PF-1.4: high goes ahead of waiting normal tasks; order within a priority is kept.
    #[test]
    fn high_goes_first_and_order_is_kept() {
        let (mut board, agent) = (Board::default(), agent());
        board.seat(agent, 1);
        let [a, b] = [0, 1].map(|_| add(&mut board, agent, session(), Priority::Normal));
        let [c, d] = [0, 1].map(|_| add(&mut board, agent, session(), Priority::High));
        let mut order = Vec::new();
        while let [task] = started(&mut board)[..] {
            order.push(task);
            board.finish(task);
        }
        assert_eq!(order, [c, d, a, b]);
    }

    /// PF-1.3: no more than the limit run; a changed limit holds for the next tasks.
    #[test]
    fn the_limit_holds_and_can_change() {
        let (mut board, agent) = (Board::default(), agent());
        board.seat(agent, 2);
        for _ in 0..6 {
            add(&mut board, agent, session(), Priority::Normal);
        }
        let running = started(&mut board);
        assert_eq!(running.len(), 2);
        board.seat(agent, 1);
        board.finish(running[0]);
        assert_eq!(started(&mut board).len(), 0, "one still runs");
        board.seat(agent, 4);
        assert_eq!(started(&mut board).len(), 3);
    }

    /// PF-3.4: messages of one session are handled in order, whichever agents they are for; sessions side by side.
    #[test]
    fn a_session_is_handled_in_order() {
        let (mut board, one, two) = (Board::default(), agent(), agent());
        board.seat(one, 3);
        board.seat(two, 3);
        let shared = session();
        let first = add(&mut board, one, shared, Priority::Normal);
        let second = add(&mut board, two, shared, Priority::High);
        let other = add(&mut board, two, session(), Priority::Normal);
        let mut now = started(&mut board);
        now.sort();
        let mut expected = vec![first, other];
        expected.sort();
        assert_eq!(now, expected);
        board.finish(first);
        assert_eq!(started(&mut board), [second]);
    }

    /// PF-1.2: a full queue refuses at once; PF-1.5: what was cancelled while waiting never starts.
    #[test]
    fn full_and_cancelled() {
        let (mut board, agent) = (Board::default(), agent());
        assert_eq!(
            board.push(agent, ticket(session(), Priority::Normal)),
            Err(Refused::Unregistered)
        );
        board.seat(agent, 1);
        let tasks: Vec<_> =
            (0..WAITING).map(|_| add(&mut board, agent, session(), Priority::Normal)).collect();
        assert_eq!(board.push(agent, ticket(session(), Priority::High)), Err(Refused::Full));
        board.finish(tasks[0]);
        assert_eq!(started(&mut board), [tasks[1]]);
        let gone = board.unseat(agent);
        assert_eq!(gone.len(), WAITING - 1, "those that wait and the one that runs");
        assert_eq!(
            board.push(agent, ticket(session(), Priority::Normal)),
            Err(Refused::Unregistered)
        );
        board.finish(tasks[1]);
        assert_eq!(board.size(), (0, 0), "nothing is left behind");
    }

    /// WS-16.1, WS-16.2: a closed agent takes nothing and starts nothing; what it runs ends, and then it is gone.
    #[test]
    fn a_closed_agent_ends_what_it_runs() {
        let (mut board, agent) = (Board::default(), agent());
        board.seat(agent, 1);
        let [first, second] = [0, 1].map(|_| add(&mut board, agent, session(), Priority::Normal));
        assert_eq!(started(&mut board), [first]);
        assert_eq!(board.close(agent), [second]);
        let refused = board.push(agent, ticket(session(), Priority::High));
        assert_eq!(refused, Err(Refused::Unregistered));
        assert_eq!(board.size(), (1, 1));
        board.finish(first);
        assert_eq!((started(&mut board).len(), board.size()), (0, (0, 0)));
        board.seat(agent, 1);
        let third = add(&mut board, agent, session(), Priority::Normal);
        assert_eq!(started(&mut board), [third], "registered again, it takes tasks at once");
    }

    /// A task that nothing stands in the way of begins at once; any other waits its turn.
    #[test]
    fn begins_at_once_when_nothing_is_in_the_way() {
        let (mut board, agent, shared) = (Board::default(), agent(), session());
        board.seat(agent, 2);
        let [first, behind, other] = [shared, shared, session()].map(|session| {
            let ticket = ticket(session, Priority::Normal);
            board.push(agent, ticket).unwrap();
            let begun = board.begin(ticket.task);
            (ticket.task, begun)
        });
        assert!(first.1 && !behind.1, "its session has one under way");
        assert!(!other.1, "somebody waits for the agent");
        board.confirm(other.0);
        assert_eq!(started(&mut board), [other.0]);
        board.finish(first.0);
        board.finish(other.0);
        board.confirm(behind.0);
        assert_eq!(started(&mut board), [behind.0]);
    }

    proptest! {
        /// PF-1.3, PF-1.8: whatever happens in whatever order, limits hold, every task starts at most once, sessions
        /// keep their order, and when all is done nothing is left.
        #[test]
        fn the_laws_hold(steps in proptest::collection::vec((0..4u8, 0..3usize, 0..4usize, any::<bool>()), 1..200)) {
            let mut board = Board::default();
            let agents = [0; 3].map(|_| agent());
            let sessions = [0; 4].map(|_| session());
            let limits = [1, 2, 3];
            for (agent, limit) in agents.iter().zip(limits) {
                board.seat(*agent, limit);
            }
            let mut pushed: HashMap<SessionId, Vec<TaskId>> = HashMap::new();
            let mut seen = HashSet::new();
            let mut running: Vec<(AgentId, Ticket)> = Vec::new();
            for (what, who, which, high) in steps {
                match what {
                    0 | 1 => {
                        let priority = if high { Priority::High } else { Priority::Normal };
                        let task = add(&mut board, agents[who], sessions[which], priority);
                        pushed.entry(sessions[which]).or_default().push(task);
                    }
                    2 => {
                        for (agent, ticket) in board.start() {
                            prop_assert!(seen.insert(ticket.task), "started twice");
                            let first = pushed[&ticket.session].first();
                            prop_assert_eq!(first, Some(&ticket.task), "out of order");
                            running.push((agent, ticket));
                        }
                    }
                    _ => {
                        if !running.is_empty() {
                            let (_, ticket) = running.remove(who % running.len());
                            board.finish(ticket.task);
                            pushed.get_mut(&ticket.session).unwrap().remove(0);
                        }
                    }
                }
                for (agent, limit) in agents.iter().zip(limits) {
                    let now = running.iter().filter(|(at, _)| at == agent).count();
                    prop_assert!(now <= limit);
                    prop_assert_eq!(board.running(*agent), now);
                }
            }
            loop {
                running.extend(board.start());
                let Some((_, ticket)) = running.pop() else { break };
                board.finish(ticket.task);
            }
            prop_assert_eq!(board.size().1, 0);
        }
    }
}
