//! A plan as others see it.

use artel_domain::plan::{self, Plan, Task};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A plan with its tasks and its graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanView {
    #[serde(flatten)]
    pub plan: Plan,
    pub tasks: Vec<Task>,
    pub graph: GraphView,
}

/// The graph of a plan, by the names of its tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PlanGraph)]
pub struct GraphView {
    /// Tasks of one level can run together.
    pub levels: Vec<Vec<String>>,
    pub edges: Vec<Edge>,
    /// The chain of tasks that takes longest.
    pub critical_path: Vec<String>,
}

/// `to` needs the result of `from`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PlanEdge)]
pub struct Edge {
    pub from: String,
    pub to: String,
}

impl PlanView {
    pub(super) fn of(plan: Plan, tasks: Vec<Task>) -> Self {
        let graph = GraphView::of(&tasks);
        Self { plan, tasks, graph }
    }
}

impl GraphView {
    /// Empty where the tasks are no sound graph, which cannot be.
    pub(super) fn of(tasks: &[Task]) -> Self {
        let Ok(graph) = plan::graph_of(tasks) else { return Self::default() };
        let name = |task: usize| tasks[task].task_id.clone();
        let names = |tasks: Vec<usize>| tasks.into_iter().map(name).collect::<Vec<_>>();
        let durations: Vec<_> = tasks.iter().map(|task| task.estimated_duration.middle()).collect();
        let edge = |(from, to)| Edge { from: name(from), to: name(to) };
        Self {
            levels: graph.levels().into_iter().map(names).collect(),
            edges: graph.edges().into_iter().map(edge).collect(),
            critical_path: names(graph.critical_path(&durations)),
        }
    }
}
