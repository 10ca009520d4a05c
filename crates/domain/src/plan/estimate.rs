//! What a plan will take: ranges, because nobody knows exactly.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Status;
use crate::RiskLevel;

/// Above it a person is asked, in dollars.
pub const ASK_ABOVE: f64 = 0.10;
/// Above it the plan is marked, in dollars.
pub const HIGH_COST: f64 = 1.00;
/// From so many tasks on a person is asked.
pub const ASK_FROM: usize = 3;

/// At least and at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Range {
    pub min: f64,
    pub max: f64,
}

impl Range {
    pub const fn new(min: f64, max: f64) -> Self {
        Self { min, max }
    }

    pub const fn exactly(value: f64) -> Self {
        Self { min: value, max: value }
    }

    /// What is expected, between the two.
    pub fn middle(self) -> f64 {
        f64::midpoint(self.min, self.max)
    }
}

impl std::iter::Sum for Range {
    fn sum<I: Iterator<Item = Self>>(ranges: I) -> Self {
        ranges.fold(Self::default(), |sum, one| Self::new(sum.min + one.min, sum.max + one.max))
    }
}

/// What one task will take.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// In US dollars.
    pub cost: Range,
    /// In seconds.
    pub duration: Range,
    /// The price of the agent's model is not known: nobody can say what it costs.
    pub unpriced: bool,
}

/// Whether a person has to say yes before the plan runs. What costs nobody knows is asked about.
pub fn needs_approval(tasks: usize, most: f64, unpriced: bool) -> bool {
    tasks >= ASK_FROM || most > ASK_ABOVE || unpriced
}

/// How risky a plan is: as its riskiest task, and more when it is dear.
pub fn risk(tasks: impl IntoIterator<Item = RiskLevel>, most: f64) -> RiskLevel {
    let dear = if most > HIGH_COST {
        RiskLevel::High
    } else if most > ASK_ABOVE {
        RiskLevel::Medium
    } else {
        RiskLevel::Low
    };
    tasks.into_iter().fold(dear, RiskLevel::max)
}

/// Measured values so far, of one agent and one kind of task.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    pub count: u64,
    pub mean: f64,
    pub least: f64,
    pub most: f64,
}

/// How many measured tasks weigh as much as the guess.
const GUESS_WEIGHS: f64 = 3.0;

/// A guess, corrected by what was measured: with a few values it is mostly the guess, with many it is what they show.
pub fn learn(guess: Range, measured: Measured) -> Range {
    #[expect(clippy::cast_precision_loss, reason = "a number of tasks")]
    let count = measured.count as f64;
    let trust = count / (count + GUESS_WEIGHS);
    let blend = |guess: f64, seen: f64| guess.mul_add(1.0 - trust, seen * trust);
    // Half way between the mean and the extremes: one wild value does not make every range wild.
    let low = f64::midpoint(measured.least, measured.mean);
    let high = f64::midpoint(measured.most, measured.mean);
    Range::new(blend(guess.min, low), blend(guess.max, high))
}

/// What became of an estimate: how many times more it took, or none when there is nothing to compare.
pub fn error(estimated: Range, actual: f64, status: Status) -> Option<f64> {
    let expected = estimated.middle();
    (status == Status::Completed && expected > 0.0).then(|| actual / expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OR-7.1, OR-7.2: who is asked, and when nobody.
    #[test]
    fn small_plans_ask_nobody() {
        assert!(!needs_approval(2, 0.10, false));
        assert!(needs_approval(3, 0.0, false));
        assert!(needs_approval(1, 0.11, false));
        assert!(needs_approval(1, 0.0, true));
    }

    /// OR-5.4: dear is risky.
    #[test]
    fn risk_is_the_worst_of_all() {
        assert_eq!(risk([RiskLevel::Low, RiskLevel::Medium], 0.01), RiskLevel::Medium);
        assert_eq!(risk([RiskLevel::Low], 0.50), RiskLevel::Medium);
        assert_eq!(risk([RiskLevel::Low], 1.01), RiskLevel::High);
        assert_eq!(risk([], 0.0), RiskLevel::Low);
    }

    /// OR-5.3, OR-6.1, OR-6.4: a new agent has the guess, one that is known has its own figures.
    #[test]
    fn estimates_learn() {
        let guess = Range::new(5.0, 60.0);
        assert_eq!(learn(guess, Measured::default()), guess);
        let known = Measured { count: 300, mean: 2.0, least: 1.0, most: 3.0 };
        let range = learn(guess, known);
        assert!(range.min > 1.4 && range.max < 3.2, "{range:?}");
        let first = learn(guess, Measured { count: 1, mean: 2.0, least: 2.0, most: 2.0 });
        assert!(first.max < guess.max && first.max > 30.0, "{first:?}");
    }

    #[test]
    fn an_error_is_told_of_what_was_completed() {
        assert_eq!(error(Range::new(1.0, 3.0), 4.0, Status::Completed), Some(2.0));
        assert_eq!(error(Range::new(1.0, 3.0), 4.0, Status::Failed), None);
        assert_eq!(error(Range::default(), 4.0, Status::Completed), None);
    }
}
