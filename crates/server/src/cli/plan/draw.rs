//! A plan as a picture: what it is, and its graph with a line for each task.
//!
//! Tasks stand by level, and rails on their left lead from each to those that need its result. A graph that is too wide
//! for rails names what each task needs instead, and one that is too long is folded. Nothing in the picture can write to
//! the terminal but as text.

use std::collections::{BTreeMap, HashMap, HashSet};

use artel_domain::RiskLevel;
use artel_domain::plan::{Planner, Range, Task, TaskStatus};
use artel_engine::{GraphView, PlanView};
use artel_tools::show::visible;
use console::{Alignment, measure_text_width, pad_str, truncate_str};
use serde::Deserialize;

use super::pen::{Pen, dollars, seconds};
use super::rails;

/// A plan with more tasks than this is folded: to so many levels at its beginning and its end, and so many tasks of each.
const UNFOLDED: usize = 60;
const FIRST_LEVELS: usize = 8;
const LAST_LEVELS: usize = 3;
const OF_A_LEVEL: usize = 5;
/// Columns of a name and of what is to be done.
const NAME: usize = 32;
const WORDS: usize = 60;
/// Failures that are told.
const ERRORS: usize = 20;

/// What is drawn of a plan. It can be read from the payload of an approval, too.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Sheet {
    title: String,
    planner: Planner,
    planner_note: Option<String>,
    tasks: Vec<Entry>,
    graph: GraphView,
    total_estimated_cost: Range,
    total_estimated_duration: Range,
    unpriced: bool,
    high_cost: bool,
    risk_level: RiskLevel,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Entry {
    task: String,
    description: String,
    agent: String,
    dependencies: Vec<String>,
    estimated_cost: Range,
    estimated_duration: Range,
    /// None: it was only proposed.
    status: Option<TaskStatus>,
    /// What it took, in dollars and seconds.
    took: Option<(f64, f64)>,
    error: Option<String>,
}

impl From<&PlanView> for Sheet {
    fn from(PlanView { plan, tasks, graph }: &PlanView) -> Self {
        Self {
            title: plan.title.clone(),
            planner: plan.planner,
            planner_note: plan.planner_note.clone(),
            tasks: tasks.iter().map(Entry::from).collect(),
            graph: graph.clone(),
            total_estimated_cost: plan.total_estimated_cost,
            total_estimated_duration: plan.total_estimated_duration,
            unpriced: plan.unpriced,
            high_cost: plan.high_cost,
            risk_level: plan.risk_level,
        }
    }
}

impl From<&Task> for Entry {
    fn from(task: &Task) -> Self {
        let times = task.started_at.zip(task.finished_at);
        let took = times.map(|(start, end)| end.since(start).as_secs_f64());
        Self {
            task: task.task_id.clone(),
            description: task.description.clone(),
            agent: task.agent_name.clone(),
            dependencies: task.dependencies.clone(),
            estimated_cost: task.estimated_cost,
            estimated_duration: task.estimated_duration,
            status: Some(task.status),
            took: took.map(|took| (task.actual_cost.unwrap_or(0.0), took)),
            error: task.error.clone(),
        }
    }
}

impl Entry {
    fn state(&self) -> TaskStatus {
        self.status.unwrap_or(TaskStatus::Pending)
    }
}

impl Sheet {
    /// The plan, for a person who decides about it; `whole` folds nothing.
    pub(crate) fn draw(&self, pen: Pen, whole: bool) -> String {
        let mut lines = self.head(pen);
        lines.push(String::new());
        lines.extend(self.picture(pen, whole));
        let failed = self.tasks.iter().filter_map(|task| Some((task, task.error.as_ref()?)));
        lines.extend(failed.take(ERRORS).map(|(task, error)| {
            format!("  {} {}: {}", pen.state(task.state()), visible(&task.task), visible(error))
        }));
        lines.join("\n")
    }

    fn head(&self, pen: Pen) -> Vec<String> {
        let by = match self.planner {
            Planner::Model => "by a model",
            Planner::Fallback => "without a model",
            Planner::Cache => "like one that ran well before",
            Planner::Given => "by whoever asked for it",
        };
        let note = self.planner_note.as_deref().map(|note| format!(" ({})", visible(note)));
        let unpriced = if self.unpriced { ", and what a model of unknown price takes" } else { "" };
        let high = if self.high_cost { "  HIGH COST" } else { "" };
        let risk = match self.risk_level {
            RiskLevel::Low => "LOW",
            RiskLevel::Medium => "MEDIUM",
            RiskLevel::High => "HIGH",
        };
        vec![
            visible(&self.title),
            format!("  planned  {by}{}", note.unwrap_or_default()),
            format!(
                "  cost     {}{unpriced}{high}",
                pen.dollars_between(self.total_estimated_cost)
            ),
            format!("  time     {}", pen.seconds_between(self.total_estimated_duration)),
            format!("  risk     {risk}"),
        ]
    }

    /// The graph, a line for each task.
    fn picture(&self, pen: Pen, whole: bool) -> Vec<String> {
        let levels = self.levels();
        let folded = !whole && self.tasks.len() > UNFOLDED;
        let rows = if folded { self.folded(&levels, pen) } else { unfolded(&levels) };
        let rails = if folded { None } else { self.rails(&levels, pen) };
        let critical = self.critical();
        let mut table = Vec::with_capacity(rows.len());
        let mut line = 0;
        for row in rows {
            let (level, at) = match row {
                Row::Task { level, at } => (level, at),
                Row::Rest(words) => {
                    table.push(vec![format!("   {words}")]);
                    continue;
                }
            };
            let task = &self.tasks[at];
            let rail = match &rails {
                Some(rails) => rails[line].clone(),
                None => pen.state(task.state()).to_owned(),
            };
            line += 1;
            let mark = if critical.contains(task.task.as_str()) { "*" } else { " " };
            table.push(vec![
                level.map_or_else(String::new, |level| (level + 1).to_string()),
                rail,
                format!("{mark} {}", truncate_str(&visible(&task.task), NAME, pen.more())),
                truncate_str(&visible(&task.agent), NAME, pen.more()).into_owned(),
                figures(task, pen),
                words_of(task, rails.is_none(), pen),
            ]);
        }
        let mut lines = aligned(&table);
        if !critical.is_empty() {
            lines.push("  * on the chain of tasks that takes longest".to_owned());
        }
        lines
    }

    /// The tasks by level, as their places in the list; what no level names comes last.
    fn levels(&self) -> Vec<Vec<usize>> {
        let mut places = self.places();
        let named = self.graph.levels.iter();
        let mut levels: Vec<Vec<usize>> = named
            .map(|level| level.iter().filter_map(|name| places.remove(name.as_str())).collect())
            .collect();
        let mut rest: Vec<_> = places.into_values().collect();
        rest.sort_unstable();
        levels.push(rest);
        levels.retain(|level| !level.is_empty());
        levels
    }

    fn places(&self) -> HashMap<&str, usize> {
        self.tasks.iter().enumerate().map(|(at, task)| (task.task.as_str(), at)).collect()
    }

    /// The tasks of the chain that takes longest, where there is more to a plan than that.
    fn critical(&self) -> HashSet<&str> {
        let path: HashSet<_> = self.graph.critical_path.iter().map(String::as_str).collect();
        if path.len() < self.tasks.len() { path } else { HashSet::new() }
    }

    fn rails(&self, levels: &[Vec<usize>], pen: Pen) -> Option<Vec<String>> {
        let order: Vec<usize> = levels.iter().flatten().copied().collect();
        let lines: HashMap<usize, usize> =
            order.iter().enumerate().map(|(line, &at)| (at, line)).collect();
        let places = self.places();
        let needs = |line: usize, at: usize| {
            let needed = self.tasks[at].dependencies.iter();
            let needed = needed.filter_map(|name| lines.get(places.get(name.as_str())?).copied());
            needed.filter(|&before| before < line).collect::<Vec<_>>()
        };
        let needs: Vec<_> = order.iter().enumerate().map(|(line, &at)| needs(line, at)).collect();
        let marks: Vec<_> = order.iter().map(|&at| pen.state(self.tasks[at].state())).collect();
        rails::lay(&needs, &marks, pen)
    }

    /// The beginning and the end of a long plan, and of each level the tasks that count most.
    fn folded(&self, levels: &[Vec<usize>], pen: Pen) -> Vec<Row> {
        let critical = self.critical();
        let more = pen.more();
        let mut rows = Vec::new();
        let hidden = FIRST_LEVELS..levels.len().saturating_sub(LAST_LEVELS);
        for (level, tasks) in levels.iter().enumerate() {
            if hidden.contains(&level) {
                if level == hidden.start {
                    let number: usize = levels[hidden.clone()].iter().map(Vec::len).sum();
                    let words = format!("{more} {} levels with {number} tasks", hidden.len());
                    rows.push(Row::Rest(words));
                }
                continue;
            }
            let on_path = |at: &&usize| critical.contains(self.tasks[**at].task.as_str());
            let mut shown: Vec<usize> = tasks.iter().filter(on_path).copied().collect();
            let others = tasks.iter().filter(|at| !on_path(at)).copied();
            shown.extend(others.take(OF_A_LEVEL));
            shown.truncate(OF_A_LEVEL);
            let first = shown.first().copied();
            let row = |at: usize| Row::Task { level: (Some(at) == first).then_some(level), at };
            rows.extend(shown.iter().copied().map(row));
            let rest: Vec<_> = tasks.iter().filter(|at| !shown.contains(at)).collect();
            if !rest.is_empty() {
                let mut agents = BTreeMap::<&str, usize>::new();
                for &at in &rest {
                    *agents.entry(&self.tasks[*at].agent).or_default() += 1;
                }
                let agents = agents.iter().map(|(agent, number)| {
                    format!("{number} for {}", truncate_str(&visible(agent), NAME, more))
                });
                let agents = agents.take(OF_A_LEVEL).collect::<Vec<_>>().join(", ");
                rows.push(Row::Rest(format!("{more} {} more: {agents}", rest.len())));
            }
        }
        rows
    }
}

/// A line of the picture.
enum Row {
    Task {
        /// Its level, where it is the first of it.
        level: Option<usize>,
        at: usize,
    },
    Rest(String),
}

fn unfolded(levels: &[Vec<usize>]) -> Vec<Row> {
    let of = |(level, tasks): (usize, &Vec<usize>)| {
        let first = tasks.first().copied();
        let row = move |at: usize| Row::Task { level: (Some(at) == first).then_some(level), at };
        tasks.iter().copied().map(row).collect::<Vec<_>>()
    };
    levels.iter().enumerate().flat_map(of).collect()
}

/// What a task took, or will take.
fn figures(task: &Entry, pen: Pen) -> String {
    if let Some((cost, time)) = task.took {
        return format!("{}, {}", dollars(cost), seconds(time));
    }
    let cost = pen.dollars_between(task.estimated_cost);
    format!("{cost}, {}", pen.seconds_between(task.estimated_duration))
}

/// What a task needs, where no rails show it, and what is to be done.
fn words_of(task: &Entry, needs: bool, pen: Pen) -> String {
    let first = task.description.lines().next().unwrap_or_default();
    let words = visible(first);
    let words = truncate_str(&words, WORDS, pen.more());
    if !needs || task.dependencies.is_empty() {
        return words.into_owned();
    }
    let needed: Vec<_> = task.dependencies.iter().map(|name| visible(name)).collect();
    format!("(after {}) {words}", truncate_str(&needed.join(", "), WORDS, pen.more()))
}

/// Cells one below the other; a line of one cell stands as it is.
fn aligned(table: &[Vec<String>]) -> Vec<String> {
    let mut widths = Vec::new();
    for cells in table.iter().filter(|cells| cells.len() > 1) {
        widths.resize(cells.len(), 0);
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = measure_text_width(cell).max(*width);
        }
    }
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths);
        let padded = padded.map(|(cell, &width)| pad_str(cell, width, Alignment::Left, None));
        format!("  {}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    table.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A plan of these tasks, given as their names, what they need and their levels.
    fn sheet(tasks: &[(&str, &[&str])], levels: &[&[&str]], critical: &[&str]) -> Sheet {
        let range = json!({ "min": 0.001, "max": 0.002 });
        let task = |(name, needs): &(&str, &[&str])| {
            json!({
                "task": name,
                "description": format!("do {name}"),
                "agent": "agent_coder",
                "agent_id": Value::Null,
                "dependencies": needs,
                "estimated_cost": range,
                "estimated_duration": { "min": 1.0, "max": 30.0 },
            })
        };
        let whole = json!({
            "title": "Mend the login",
            "planner": "fallback",
            "planner_note": "No model is configured",
            "tasks": tasks.iter().map(task).collect::<Vec<_>>(),
            "graph": { "levels": levels, "edges": [], "critical_path": critical },
            "total_estimated_cost": { "min": 0.5, "max": 1.5 },
            "total_estimated_duration": { "min": 2.0, "max": 150.0 },
            "unpriced": false,
            "high_cost": true,
            "risk_level": "MEDIUM",
        });
        serde_json::from_value(whole).unwrap()
    }

    fn picture(sheet: &Sheet) -> Vec<String> {
        sheet.picture(Pen::Unicode, false)
    }

    /// OR-7.3: a person sees all that a decision needs.
    #[test]
    fn a_plan_of_one_task() {
        let one = sheet(&[("mend", &[])], &[&["mend"]], &["mend"]);
        assert_eq!(
            one.draw(Pen::Unicode, false),
            "Mend the login\n\
             \u{20} planned  without a model (No model is configured)\n\
             \u{20} cost     $0.5000–$1.50  HIGH COST\n\
             \u{20} time     2.0 s–2 min\n\
             \u{20} risk     MEDIUM\n\
             \n\
             \u{20} 1  ○    mend  agent_coder  $0.0010–$0.0020, 1.0 s–30 s  do mend"
        );
        assert!(one.draw(Pen::Ascii, false).is_ascii());
    }

    /// OR-7.3, OR-4.1: by level, with what each needs and the chain that takes longest.
    #[test]
    fn a_chain_and_a_diamond() {
        let chain = sheet(&[("a", &[]), ("b", &["a"])], &[&["a"], &["b"]], &["a", "b"]);
        let lines = picture(&chain);
        assert!(lines[0].starts_with("  1  ○    a  agent_coder"), "{lines:?}");
        assert!(lines[1].starts_with("  2  ○    b  agent_coder"), "{lines:?}");
        assert_eq!(lines.len(), 2, "all of it takes longest, so nothing is marked");

        let tasks: &[(&str, &[&str])] =
            &[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"])];
        let diamond = sheet(tasks, &[&["a"], &["b", "c"], &["d"]], &["a", "c", "d"]);
        let starts = ["  1  ○    * a  ", "  2  ├─○    b  ", "     ○ │  * c  ", "  3  ○─╯  * d  "];
        let lines = picture(&diamond);
        for (line, start) in lines.iter().zip(starts) {
            assert!(line.starts_with(start), "{line:?} {start:?}");
        }
        assert_eq!(lines[4], "  * on the chain of tasks that takes longest");
        assert!(diamond.draw(Pen::Ascii, false).is_ascii());
    }

    /// Too wide for rails: what each task needs is named; too long: it is folded, unless the whole is wanted.
    #[test]
    fn large_plans_can_be_read() {
        let names: Vec<_> = (0..500).map(|at| format!("t{at}")).collect();
        let wide: Vec<_> = names[..498].iter().map(String::as_str).collect();
        let mut tasks: Vec<(&str, &[&str])> = vec![("start", &[][..])];
        tasks.extend(wide.iter().map(|name| (*name, &["start"][..])));
        tasks.push(("end", &wide));
        let plan = sheet(&tasks, &[&["start"], &wide, &["end"]], &["start", "t77", "end"]);
        let lines = picture(&plan);
        assert!(lines.len() < 12, "{lines:#?}");
        assert!(lines[1].contains("* t77") && lines[1].contains("(after start)"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("… 493 more: 493 for agent_coder")));
        assert!(lines.iter().all(|line| line.chars().count() < 220), "{lines:#?}");
        assert_eq!(plan.picture(Pen::Unicode, true).len(), 501, "the whole, and the legend");

        let needs: Vec<Vec<&str>> = (0..500)
            .map(|at: usize| at.checked_sub(1).map(|before| names[before].as_str()))
            .map(|before| before.into_iter().collect())
            .collect();
        let tasks: Vec<_> = names
            .iter()
            .zip(&needs)
            .map(|(name, needs)| (name.as_str(), needs.as_slice()))
            .collect();
        let levels: Vec<_> = names.iter().map(|name| vec![name.as_str()]).collect();
        let levels: Vec<_> = levels.iter().map(Vec::as_slice).collect();
        let chain = picture(&sheet(&tasks, &levels, &[]));
        assert_eq!(chain.len(), FIRST_LEVELS + 1 + LAST_LEVELS, "{chain:#?}");
        assert_eq!(chain[FIRST_LEVELS], "     … 489 levels with 489 tasks");
    }

    /// S17: names, agents and notes are written by models, and only shown.
    #[test]
    fn nothing_in_it_is_obeyed() {
        let evil = "\u{1b}[2J\u{202e}rm\r\n-rf";
        let mut plan = sheet(&[(evil, &[])], &[&[evil]], &[]);
        (plan.title, plan.planner_note) = (evil.to_owned(), Some(evil.to_owned()));
        (plan.tasks[0].agent, plan.tasks[0].error) = (evil.to_owned(), Some(evil.to_owned()));
        let drawn = plan.draw(Pen::Unicode, false);
        assert!(!drawn.contains(['\u{1b}', '\u{202e}', '\r']), "{drawn:?}");
        assert_eq!(drawn.lines().count(), 8, "a line for each of its parts: {drawn}");
        assert!(drawn.contains("\\x1b[2J\\u{202e}rm"), "{drawn}");
    }

    /// A picture is drawn of whatever a server says.
    #[test]
    fn an_unsound_graph_is_drawn_as_well_as_can_be() {
        let odd = sheet(&[("a", &["b", "ghost"]), ("b", &["a"])], &[&["ghost", "a"]], &["ghost"]);
        let lines = picture(&odd);
        assert!(lines[0].contains("a  agent_coder") && lines[1].contains("b  agent_coder"));
    }
}
