//! What must hold of the answers to one approval, given at the same moment.
//!
//! Every answer carries its number as its comment, so that what is kept says whose it is.

use serde_json::Value;

use crate::client::Answer;

/// What somebody was told who answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    /// 200, with the approval.
    Won(Value),
    /// 409, with the approval as another one decided it.
    Late(Value),
    /// The server died first.
    Lost,
    /// Anything else.
    Odd(String),
}

impl Reply {
    pub(super) fn read(answer: Result<Answer, reqwest::Error>) -> Self {
        let Ok(mut answer) = answer else { return Self::Lost };
        match (answer.status.as_u16(), answer.body["error_code"].as_str()) {
            (200, _) => Self::Won(answer.body),
            (409, Some("already_decided")) => Self::Late(answer.body["approval"].take()),
            (status, _) => Self::Odd(format!("{status} {}", answer.body)),
        }
    }

    /// The approval as it was told.
    pub(super) fn told(&self) -> Option<&Value> {
        match self {
            Self::Won(approval) | Self::Late(approval) => Some(approval),
            Self::Lost | Self::Odd(_) => None,
        }
    }
}

/// What the answer with this number says.
pub(super) fn verdict(number: usize) -> &'static str {
    if number.is_multiple_of(2) { "approved" } else { "rejected" }
}

pub(super) fn comment(number: usize) -> String {
    format!("answer {number}")
}

/// Everybody was answered: one won, the others came late, and all were told what is kept.
pub(super) fn decided(replies: &[Reply], kept: &Value) -> Vec<String> {
    let mut violations = told(replies, kept);
    for (number, reply) in replies.iter().enumerate() {
        match reply {
            Reply::Won(_) | Reply::Late(_) => {}
            Reply::Lost => violations.push(format!("answer {number} had no reply")),
            Reply::Odd(what) => violations.push(format!("answer {number} was told {what}")),
        }
    }
    match winners(replies)[..] {
        [winner] if is_by(kept, winner) => {}
        [winner] => violations.push(format!("answer {winner} won, and kept is {kept}")),
        ref winners => violations.push(format!("{} answers won: {winners:?}", winners.len())),
    }
    violations
}

/// The server died among the answers: what anybody was told is kept; where nobody was told that they won, it is open,
/// or decided by one who was not told.
pub(super) fn survived(replies: &[Reply], kept: &Value) -> Vec<String> {
    let mut violations = told(replies, kept);
    match winners(replies)[..] {
        [] => {
            let open = kept["status"] == "pending";
            let lost = |(number, reply): (usize, &Reply)| {
                matches!(reply, Reply::Lost) && is_by(kept, number)
            };
            if !open && !replies.iter().enumerate().any(lost) {
                violations.push(format!("nobody's answer decided it: {kept}"));
            }
        }
        [winner] if is_by(kept, winner) => {}
        [winner] => violations.push(format!("answer {winner} won, and kept is {kept}")),
        ref winners => violations.push(format!("{} answers won: {winners:?}", winners.len())),
    }
    violations
}

/// Asked again under its key, everybody is told what they were told before.
pub(super) fn repeated(before: &[Reply], after: &[Reply]) -> Vec<String> {
    let differ = |(first, second): (&Reply, &Reply)| first.told().is_some() && first != second;
    let pairs = before.iter().zip(after).enumerate();
    pairs
        .filter(|(_, (first, second))| differ((first, second)))
        .map(|(number, (first, second))| {
            format!("answer {number} was told {first:?}, and then {second:?}")
        })
        .collect()
}

/// A call whose approval is decided: done once when it was approved, never when it was not.
pub(super) fn ended(call: &Value, kept: &Value, executions: u32) -> Vec<String> {
    let (status, times) = match kept["status"].as_str() {
        Some("approved") => ("succeeded", 1),
        Some("timeout") => ("timeout", 0),
        _ => ("rejected", 0),
    };
    let mut violations = Vec::new();
    if call["status"] != status {
        violations.push(format!("{}, and the call ended as {call}", kept["status"]));
    }
    if executions != times {
        violations.push(format!("{}, and it was executed {executions} times", kept["status"]));
    }
    violations
}

fn winners(replies: &[Reply]) -> Vec<usize> {
    let won = |(number, reply): (usize, &Reply)| matches!(reply, Reply::Won(_)).then_some(number);
    replies.iter().enumerate().filter_map(won).collect()
}

/// Whether this answer decided it, as it wanted to.
fn is_by(kept: &Value, number: usize) -> bool {
    kept["comment"] == comment(number) && kept["status"] == verdict(number)
}

/// Whoever was told something was told what is kept.
fn told(replies: &[Reply], kept: &Value) -> Vec<String> {
    let told = replies.iter().enumerate().filter_map(|(number, it)| Some((number, it.told()?)));
    told.filter(|(_, told)| *told != kept)
        .map(|(number, told)| format!("answer {number} was told {told}, and kept is {kept}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(number: usize) -> Value {
        json!({ "status": verdict(number), "comment": comment(number) })
    }

    fn pending() -> Value {
        json!({ "status": "pending", "comment": null })
    }

    fn won(number: usize) -> Reply {
        Reply::Won(kept(number))
    }

    fn late(number: usize) -> Reply {
        Reply::Late(kept(number))
    }

    #[test]
    fn one_wins_and_the_others_learn_of_it() {
        assert!(decided(&[late(1), won(1), late(1)], &kept(1)).is_empty());
        for broken in [
            [late(1), late(1), late(1)],
            [won(0), won(1), late(1)],
            [won(1), late(1), late(1)],
            [Reply::Lost, won(1), late(1)],
            [late(0), won(1), late(1)],
            [Reply::Odd("500".to_owned()), won(1), late(1)],
        ] {
            assert!(!decided(&broken, &kept(1)).is_empty(), "{broken:?}");
        }
        assert!(!decided(&[late(1), won(1)], &pending()).is_empty(), "a decision was taken back");
    }

    #[test]
    fn a_decision_survives_and_is_nobody_elses() {
        let lost = || Reply::Lost;
        assert!(survived(&[lost(), lost()], &pending()).is_empty());
        assert!(survived(&[lost(), lost()], &kept(1)).is_empty());
        assert!(survived(&[lost(), won(1)], &kept(1)).is_empty());
        assert!(survived(&[lost(), late(0)], &kept(0)).is_empty());
        assert!(!survived(&[lost(), won(1)], &pending()).is_empty());
        assert!(!survived(&[lost(), won(1)], &kept(0)).is_empty());
        assert!(!survived(&[lost(), late(0)], &kept(2)).is_empty());
        assert!(!survived(&[lost(), lost()], &kept(2)).is_empty(), "nobody gave that answer");
    }

    #[test]
    fn what_was_told_is_told_again() {
        assert!(repeated(&[Reply::Lost, late(0)], &[won(0), late(0)]).is_empty());
        assert!(!repeated(&[won(0), Reply::Lost], &[late(0), won(1)]).is_empty());
    }

    #[test]
    fn what_is_approved_is_done_once() {
        let call = |status: &str| json!({ "status": status });
        assert!(ended(&call("succeeded"), &kept(0), 1).is_empty());
        assert!(ended(&call("rejected"), &kept(1), 0).is_empty());
        assert!(!ended(&call("succeeded"), &kept(0), 2).is_empty());
        assert!(!ended(&call("rejected"), &kept(1), 1).is_empty());
        assert!(!ended(&call("outcome_unknown"), &kept(0), 1).is_empty());
    }
}
