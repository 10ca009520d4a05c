//! What comes out: a line per figure as it is measured, or JSON at the end.

use anyhow::Result;
use serde::Serialize;

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    name: String,
    figure: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Peer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Goal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// What is behind it, a line for each; only shown when asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<String>,
}

/// What the figure stands beside.
#[derive(Debug, Clone, Serialize)]
struct Peer {
    name: &'static str,
    figure: f64,
    /// Ours by theirs.
    ratio: f64,
}

/// Where we want to be; on the ratio when there is a peer and the goal says so.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "bound", content = "value", rename_all = "snake_case")]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    RatioAtMost(f64),
    RatioAtLeast(f64),
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Verdict {
    met: bool,
    /// How far on the wrong side, as a part of the goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    missed_by: Option<f64>,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, figure: f64, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            figure,
            unit,
            peer: None,
            goal: None,
            verdict: None,
            details: Vec::new(),
        }
    }

    pub(crate) fn details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    /// The peer's figure, measured in the same run. The ratio is given, as that of medians is not the median of
    /// ratios.
    pub(crate) fn beside(mut self, name: &'static str, figure: f64, ratio: f64) -> Self {
        self.peer = Some(Peer { name, figure, ratio });
        self
    }

    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        let ratio = self.peer.as_ref().map_or(f64::NAN, |peer| peer.ratio);
        let excess = match goal {
            Goal::AtMost(most) => self.figure / most - 1.0,
            Goal::AtLeast(least) => 1.0 - self.figure / least,
            Goal::RatioAtMost(most) => ratio / most - 1.0,
            Goal::RatioAtLeast(least) => 1.0 - ratio / least,
        };
        let met = excess <= 0.0;
        self.goal = Some(goal);
        self.verdict = Some(Verdict { met, missed_by: (!met).then_some(excess) });
        self
    }

    fn line(&self) -> String {
        let peer = self
            .peer
            .as_ref()
            .map_or_else(String::new, |peer| format!("{} {}", number(peer.figure), peer.name));
        let ratio =
            self.peer.as_ref().map_or_else(String::new, |peer| format!("{:.2}×", peer.ratio));
        let goal = match self.goal {
            None => String::new(),
            Some(Goal::AtMost(most)) => format!("≤ {}", number(most)),
            Some(Goal::AtLeast(least)) => format!("≥ {}", number(least)),
            Some(Goal::RatioAtMost(most)) => format!("≤ {most}×"),
            Some(Goal::RatioAtLeast(least)) => format!("≥ {least}×"),
        };
        let verdict = match self.verdict {
            None => String::new(),
            Some(Verdict { missed_by: None, .. }) => "met".to_owned(),
            Some(Verdict { missed_by: Some(part), .. }) => {
                format!("missed by {:.0} %", part * 100.0)
            }
        };
        let figure = format!("{} {}", number(self.figure), self.unit);
        columns([&self.name, &figure, &peer, &ratio, &goal, &verdict])
    }
}

/// Collects the rows; shows each at once, so that a long run can be watched.
pub(crate) struct Report {
    json: bool,
    /// Whether the lines show their details, which JSON always has.
    verbose: bool,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(json: bool, verbose: bool) -> Self {
        if !json {
            println!("{}", machine());
            println!("{}", columns(["", "figure", "peer", "ratio", "goal", ""]));
        }
        Self { json, verbose, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: Row) {
        if !self.json {
            println!("{}", row.line());
            for detail in row.details.iter().filter(|_| self.verbose) {
                println!("    {detail}");
            }
        }
        self.rows.push(row);
    }

    /// Why a measurement was left out.
    pub(crate) fn skip(&self, name: &str, why: &str) {
        if !self.json {
            println!("{name}: left out, {why}");
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        if self.json {
            println!("{}", serde_json::to_string_pretty(&self.rows)?);
        }
        Ok(())
    }
}

/// Cores, and how busy they are with something else.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
    let busy = if load > 0.5 { ": busy, so trust the ratios only" } else { "" };
    format!("{cores} cores, load {load}{busy}")
}

fn columns(cells: [&str; 6]) -> String {
    let widths = [44, 16, 30, 8, 10, 0];
    let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    padded.collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

/// Three digits or so, thousands set apart.
fn number(value: f64) -> String {
    if value.abs() < 10.0 {
        return format!("{value:.2}");
    }
    if value.abs() < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [1.234, 56.78, 999.6, 12_345.6].map(number),
            ["1.23", "56.8", "1,000", "12,346"]
        );
    }

    #[test]
    fn a_goal_is_met_or_missed_by_a_part_of_it() {
        let row = Row::new("a", 12.0, "µs").beside("b", 10.0, 1.2).goal(Goal::RatioAtMost(1.0));
        assert!(row.line().ends_with("missed by 20 %"), "{}", row.line());
        assert!(row.goal(Goal::AtLeast(12.0)).line().ends_with("met"));
    }
}
