//! The graph of a plan: which task needs the results of which.
//!
//! Tasks are known by their place in the plan. Building a graph is what proves it sound: names are unique, what a task
//! depends on is there, and nothing waits for itself.

use std::collections::HashMap;

/// A sound graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// For each task, what it waits for.
    before: Vec<Vec<usize>>,
    /// For each task, what waits for it.
    after: Vec<Vec<usize>>,
    /// All tasks, each behind everything it waits for.
    order: Vec<usize>,
}

/// Why it is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("Two tasks are called {0:?}")]
    Twice(String),
    #[error("Task {task:?} depends on {on:?}, which is not in the plan")]
    Dangling { task: String, on: String },
    #[error("Circular dependency detected: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

impl Graph {
    /// From each task's name and the names of those it depends on.
    pub fn new<'a>(tasks: impl IntoIterator<Item = (&'a str, &'a [String])>) -> Result<Self, Flaw> {
        let tasks: Vec<_> = tasks.into_iter().collect();
        let mut places = HashMap::with_capacity(tasks.len());
        for (place, (name, _)) in tasks.iter().enumerate() {
            if places.insert(*name, place).is_some() {
                return Err(Flaw::Twice((*name).to_owned()));
            }
        }
        let mut before = vec![Vec::new(); tasks.len()];
        let mut after = vec![Vec::new(); tasks.len()];
        for (place, (name, depends_on)) in tasks.iter().enumerate() {
            for on in *depends_on {
                let Some(&needed) = places.get(on.as_str()) else {
                    return Err(Flaw::Dangling { task: (*name).to_owned(), on: on.clone() });
                };
                // Said twice is said once.
                if !before[place].contains(&needed) {
                    before[place].push(needed);
                    after[needed].push(place);
                }
            }
        }
        let order = in_order(&before, &after);
        if order.len() < tasks.len() {
            let cycle = cycle(&before, &order);
            let names = cycle.into_iter().map(|place| tasks[place].0.to_owned());
            return Err(Flaw::Cycle(names.collect()));
        }
        Ok(Self { before, after, order })
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// What a task waits for.
    pub fn before(&self, task: usize) -> &[usize] {
        &self.before[task]
    }

    /// All tasks, each behind everything it waits for.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Tasks that wait for nothing first, then those that wait for these alone, and so on.
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let mut level = vec![0; self.len()];
        for &task in &self.order {
            level[task] = self.before[task].iter().map(|&one| level[one] + 1).max().unwrap_or(0);
        }
        let mut levels = vec![Vec::new(); level.iter().max().map_or(0, |last| last + 1)];
        for (task, &at) in level.iter().enumerate() {
            levels[at].push(task);
        }
        levels
    }

    /// Each pair of a task and one that waits for it.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let of = |(from, after): (usize, &Vec<usize>)| {
            after.iter().map(|&to| (from, to)).collect::<Vec<_>>()
        };
        self.after.iter().enumerate().flat_map(of).collect()
    }

    /// A task and everything that waits for it, by however many others.
    pub fn from(&self, task: usize) -> Vec<usize> {
        let mut found = vec![false; self.len()];
        found[task] = true;
        for &one in &self.order {
            found[one] |= self.before[one].iter().any(|&needed| found[needed]);
        }
        (0..self.len()).filter(|&one| found[one]).collect()
    }

    /// For each task, the longest way from its beginning to the end of the plan: who is behind most goes first.
    pub fn urgency(&self, durations: &[f64]) -> Vec<f64> {
        let mut urgency = vec![0.0_f64; self.len()];
        for &task in self.order.iter().rev() {
            let rest = self.after[task].iter().map(|&next| urgency[next]).fold(0.0, f64::max);
            urgency[task] = durations[task] + rest;
        }
        urgency
    }

    /// The chain of tasks that takes longest.
    pub fn critical_path(&self, durations: &[f64]) -> Vec<usize> {
        let urgency = self.urgency(durations);
        let longest = |tasks: &[usize]| {
            tasks.iter().copied().max_by(|&a, &b| urgency[a].total_cmp(&urgency[b]).then(b.cmp(&a)))
        };
        let first: Vec<_> = (0..self.len()).filter(|&task| self.before[task].is_empty()).collect();
        let mut next = longest(&first);
        let mut path = Vec::new();
        while let Some(task) = next {
            path.push(task);
            next = longest(&self.after[task]);
        }
        path
    }
}

/// As many tasks as can be put in order; all of them unless there is a cycle.
fn in_order(before: &[Vec<usize>], after: &[Vec<usize>]) -> Vec<usize> {
    let mut waits: Vec<_> = before.iter().map(Vec::len).collect();
    let mut order: Vec<_> = (0..before.len()).filter(|&task| waits[task] == 0).collect();
    let mut at = 0;
    while let Some(&task) = order.get(at) {
        at += 1;
        for &next in &after[task] {
            waits[next] -= 1;
            if waits[next] == 0 {
                order.push(next);
            }
        }
    }
    order
}

/// One cycle among what could not be put in order, from a task back to itself, in the order of `depends on`.
fn cycle(before: &[Vec<usize>], ordered: &[usize]) -> Vec<usize> {
    let mut sound = vec![false; before.len()];
    for &task in ordered {
        sound[task] = true;
    }
    let Some(mut task) = sound.iter().position(|sound| !sound) else { return Vec::new() };
    // Everything left waits for something left, so walking back must come round.
    let mut walked = Vec::new();
    loop {
        if let Some(met) = walked.iter().position(|&one| one == task) {
            walked.push(task);
            return walked.split_off(met);
        }
        walked.push(task);
        let Some(&next) = before[task].iter().find(|&&one| !sound[one]) else { return walked };
        task = next;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn graph(tasks: &[(&str, &[&str])]) -> Result<Graph, Flaw> {
        let own: Vec<(&str, Vec<String>)> = tasks
            .iter()
            .map(|(name, on)| (*name, on.iter().map(ToString::to_string).collect()))
            .collect();
        Graph::new(own.iter().map(|(name, on)| (*name, on.as_slice())))
    }

    /// OR-3.1, OR-3.2, OR-3.4, OR-4.1: edges, levels, and what is parallel, of a diamond.
    #[test]
    fn a_diamond_has_three_levels() {
        let diamond =
            graph(&[("a", &[]), ("b", &["a"]), ("c", &["a", "a"]), ("d", &["b", "c"])]).unwrap();
        assert_eq!(diamond.levels(), [vec![0], vec![1, 2], vec![3]]);
        assert_eq!(diamond.edges(), [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(diamond.critical_path(&[1.0, 5.0, 2.0, 1.0]), [0, 1, 3]);
        assert_eq!(diamond.from(1), [1, 3]);
        assert!(graph(&[]).unwrap().is_empty());
    }

    /// OR-3.3: a cycle is found and named, wherever it is.
    #[test]
    fn a_cycle_is_named() {
        let flaw = graph(&[("a", &[]), ("b", &["a", "d"]), ("c", &["b"]), ("d", &["c"])]);
        let words = flaw.unwrap_err().to_string();
        assert_eq!(words, "Circular dependency detected: b → d → c → b");
        let own = graph(&[("a", &["a"])]).unwrap_err().to_string();
        assert_eq!(own, "Circular dependency detected: a → a");
    }

    proptest! {
        /// OR-3.3, OR-4.1: whatever the edges, either there is a cycle that is one, or an order and levels that keep
        /// them.
        #[test]
        fn sound_or_circular(edges in proptest::collection::vec((0..12usize, 0..12usize), 0..30)) {
            let names: Vec<_> = (0..12).map(|at| format!("t{at}")).collect();
            let on = |task: usize| -> Vec<String> {
                edges.iter().filter(|(_, to)| *to == task).map(|(from, _)| names[*from].clone()).collect()
            };
            let tasks: Vec<_> = (0..12).map(|task| (names[task].as_str(), on(task))).collect();
            match Graph::new(tasks.iter().map(|(name, on)| (*name, on.as_slice()))) {
                Ok(graph) => {
                    let place = |task| graph.order().iter().position(|&one| one == task).unwrap();
                    let levels = graph.levels();
                    let level = |task| levels.iter().position(|tasks| tasks.contains(&task)).unwrap();
                    for &(from, to) in &edges {
                        prop_assert!(place(from) < place(to));
                        prop_assert!(level(from) < level(to));
                        prop_assert!(graph.from(from).contains(&to));
                    }
                    prop_assert_eq!(levels.concat().len(), 12);
                    let durations: Vec<_> = (0..12_u8).map(f64::from).collect();
                    let path = graph.critical_path(&durations);
                    let longest = graph.urgency(&durations).into_iter().fold(0.0, f64::max);
                    let along: f64 = path.iter().map(|&task| durations[task]).sum();
                    prop_assert!((along - longest).abs() < 1e-9);
                }
                Err(Flaw::Cycle(path)) => {
                    prop_assert!(path.len() > 1);
                    prop_assert_eq!(path.first(), path.last());
                    for pair in path.windows(2) {
                        let at = |name: &String| names.iter().position(|one| one == name).unwrap();
                        prop_assert!(edges.contains(&(at(&pair[1]), at(&pair[0]))));
                    }
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }
}
