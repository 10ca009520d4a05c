//! In which order a plan's tasks run.
//!
//! Pure: from where each task stands it follows which may start now and which never will. The same rule that starts
//! real tasks also plays the plan through in thought, so what a person is told it will take is what the executor does.

use super::graph::Graph;
use super::{Status, TaskStatus};

/// A graph, who works on each task, and how much may run at a time.
#[derive(Debug, Clone)]
pub struct Schedule<'a> {
    graph: &'a Graph,
    /// For each task, which of `limits` holds for it.
    agents: Vec<usize>,
    /// How many tasks each agent takes at a time.
    limits: Vec<usize>,
    /// How many tasks of the plan run at a time.
    most: usize,
    urgency: Vec<f64>,
}

impl<'a> Schedule<'a> {
    /// `agents` names for each task one of `limits`.
    pub fn new(
        graph: &'a Graph,
        durations: &[f64],
        agents: Vec<usize>,
        limits: Vec<usize>,
        most: usize,
    ) -> Self {
        Self { graph, agents, limits, most: most.max(1), urgency: graph.urgency(durations) }
    }

    /// What may start now, most urgent first: what it waits for is done, and nobody has too much to do.
    pub fn start(&self, states: &[TaskStatus]) -> Vec<usize> {
        let running = |task: &usize| states[*task] == TaskStatus::Executing;
        let mut free = self.most.saturating_sub((0..states.len()).filter(running).count());
        let mut busy = vec![0; self.limits.len()];
        for task in (0..states.len()).filter(running) {
            busy[self.agents[task]] += 1;
        }
        let mut ready: Vec<_> = (0..states.len())
            .filter(|&task| {
                let done = |&one: &usize| states[one] == TaskStatus::Completed;
                states[task] == TaskStatus::Pending && self.graph.before(task).iter().all(done)
            })
            .collect();
        ready.sort_by(|&a, &b| self.urgency[b].total_cmp(&self.urgency[a]).then(a.cmp(&b)));
        ready.retain(|&task| {
            let agent = self.agents[task];
            let starts = free > 0 && busy[agent] < self.limits[agent].max(1);
            if starts {
                free -= 1;
                busy[agent] += 1;
            }
            starts
        });
        ready
    }

    /// What will never start, because something before it came to nothing.
    pub fn skip(&self, states: &[TaskStatus]) -> Vec<usize> {
        let mut lost: Vec<_> = states.iter().map(|state| state.came_to_nothing()).collect();
        for &task in self.graph.order() {
            if states[task] == TaskStatus::Pending {
                lost[task] = self.graph.before(task).iter().any(|&one| lost[one]);
            }
        }
        (0..states.len())
            .filter(|&task| states[task] == TaskStatus::Pending && lost[task])
            .collect()
    }

    /// How long the whole takes when each task takes so long.
    pub fn span(&self, durations: &[f64]) -> f64 {
        let mut states = vec![TaskStatus::Pending; durations.len()];
        let mut running: Vec<(f64, usize)> = Vec::new();
        let mut now = 0.0;
        loop {
            for task in self.start(&states) {
                states[task] = TaskStatus::Executing;
                running.push((now + durations[task], task));
            }
            let next = running.iter().map(|(end, _)| *end).min_by(f64::total_cmp);
            let Some(end) = next else { return now };
            now = end;
            running.retain(|&(end, task)| {
                if end <= now {
                    states[task] = TaskStatus::Completed;
                }
                end > now
            });
        }
    }
}

/// How a plan ended, once all of its tasks have.
pub fn verdict(states: &[TaskStatus]) -> Option<Status> {
    if !states.iter().all(|state| state.is_final()) {
        return None;
    }
    let done = states.iter().filter(|&&state| state == TaskStatus::Completed).count();
    Some(if done == states.len() {
        Status::Completed
    } else if done > 0 {
        Status::PartialSuccess
    } else {
        Status::Failed
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn graph(edges: &[(usize, usize)], tasks: usize) -> Graph {
        let names: Vec<_> = (0..tasks).map(|at| at.to_string()).collect();
        let on: Vec<Vec<String>> = (0..tasks)
            .map(|task| edges.iter().filter(|e| e.1 == task).map(|e| names[e.0].clone()).collect())
            .collect();
        Graph::new(names.iter().map(String::as_str).zip(on.iter().map(Vec::as_slice))).unwrap()
    }

    fn alone(graph: &Graph, most: usize) -> Schedule<'_> {
        let agents = (0..graph.len()).collect();
        Schedule::new(graph, &vec![1.0; graph.len()], agents, vec![9; graph.len()], most)
    }

    /// OR-6.1, OR-6.2, OR-6.3, OR-4.3: a task takes its time, a chain the sum, branches the longest.
    #[test]
    fn time_adds_up_along_chains_and_not_across_branches() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(alone(&graph(&[], 1), 3).span(&[7.0]), 7.0);
        let chain = graph(&[(0, 1), (1, 2)], 3);
        close(alone(&chain, 3).span(&[1.0, 2.0, 4.0]), 7.0);
        let branches = graph(&[], 3);
        close(alone(&branches, 3).span(&[1.0, 2.0, 4.0]), 4.0);
        close(alone(&branches, 1).span(&[1.0, 2.0, 4.0]), 7.0);
        let one_agent = Schedule::new(&branches, &[1.0; 3], vec![0; 3], vec![2], 3);
        close(one_agent.span(&[1.0, 1.0, 1.0]), 2.0);
    }

    /// OR-4.4: with room for fewer than are ready, the one with most behind it goes first.
    #[test]
    fn the_critical_path_goes_first() {
        // 0 is alone; 1 → 2 → 3 is the long way.
        let graph = graph(&[(1, 2), (2, 3)], 4);
        let schedule = alone(&graph, 1);
        assert_eq!(schedule.start(&[TaskStatus::Pending; 4]), [1]);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(alone(&graph, 2).span(&[3.0, 1.0, 1.0, 1.0]), 3.0);
    }

    /// OR-9.3, OR-9.4, OR-7.7: what fails stops those behind it and nobody else.
    #[test]
    fn a_failure_stops_what_is_behind_it() {
        use TaskStatus::{Completed, Failed, Pending};
        let graph = graph(&[(0, 1), (1, 2), (3, 4)], 5);
        let schedule = alone(&graph, 3);
        let states = [Failed, Pending, Pending, Completed, Pending];
        assert_eq!(schedule.skip(&states), [1, 2]);
        assert_eq!(schedule.start(&states), [4]);
        assert_eq!(verdict(&states), None);
        let skipped = TaskStatus::Skipped;
        assert_eq!(verdict(&[Failed, skipped, Completed]), Some(Status::PartialSuccess));
        assert_eq!(verdict(&[Failed, skipped]), Some(Status::Failed));
        assert_eq!(verdict(&[Completed]), Some(Status::Completed));
    }

    proptest! {
        /// OR-4.2, OR-4.4, OR-9.2: played through in any order of ends and failures: nothing starts before what it
        /// waits for is done, no limit is passed, everything ends, and nothing idles that could run.
        #[test]
        fn any_graph_comes_to_its_end(
            edges in proptest::collection::vec((0..20usize, 0..20usize), 0..40),
            agents in proptest::collection::vec(0..4usize, 20),
            limits in proptest::collection::vec(1..4usize, 4),
            most in 1..6usize,
            ends in proptest::collection::vec((any::<prop::sample::Index>(), 0..8u8), 20),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a < b).collect();
            let graph = graph(&edges, 20);
            let schedule = Schedule::new(&graph, &[1.0; 20], agents.clone(), limits.clone(), most);
            let mut states = vec![TaskStatus::Pending; 20];
            for (which, how) in ends {
                for task in schedule.start(&states) {
                    prop_assert!(graph.before(task).iter().all(|&one| states[one] == TaskStatus::Completed));
                    states[task] = TaskStatus::Executing;
                }
                let running: Vec<_> =
                    (0..20).filter(|&task| states[task] == TaskStatus::Executing).collect();
                prop_assert!(running.len() <= most);
                for (agent, limit) in limits.iter().enumerate() {
                    prop_assert!(running.iter().filter(|&&task| agents[task] == agent).count() <= *limit);
                }
                if running.is_empty() {
                    break;
                }
                prop_assert!(schedule.start(&states).is_empty(), "one call starts all that may");
                let ended = running[which.index(running.len())];
                states[ended] = if how == 0 { TaskStatus::Failed } else { TaskStatus::Completed };
                for task in schedule.skip(&states) {
                    states[task] = TaskStatus::Skipped;
                }
            }
            prop_assert!(verdict(&states).is_some(), "{:?}", states);
        }
    }
}
