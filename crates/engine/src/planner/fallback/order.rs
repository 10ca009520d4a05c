//! What waits for what.
//!
//! What was said decides: "then" and a new sentence come after everything before them, "in parallel" and the items of a
//! list do not, and what points back waits for what it points to. Of clauses joined by "and" those that plainly have
//! nothing to do with each other stand side by side; where it is unsure, one comes after the other.

use super::clauses::{Back, Clause, Link};
use super::matching::Reading;
use super::vocabulary::Vocabulary;

/// For each clause the ones before it that it waits for.
pub(super) fn dependencies(clauses: &[Clause], readings: &[Reading]) -> Vec<Vec<usize>> {
    let mut dependencies: Vec<Vec<usize>> = Vec::with_capacity(clauses.len());
    // What everything in this stage waits for, and what is in it.
    let mut base: Vec<usize> = Vec::new();
    let mut stage: Vec<usize> = Vec::new();
    for (at, clause) in clauses.iter().enumerate() {
        let follows = match clause.link {
            Link::After => true,
            Link::Beside => false,
            Link::Unsure => {
                clause.back.is_none()
                    && stage.iter().any(|before| leads(&readings[*before], &readings[at]))
            }
        };
        let needs = match clause.back {
            _ if follows => {
                base = last_of(&stage, &dependencies);
                stage.clear();
                base.clone()
            }
            Some(Back::Last) if at > 0 => vec![at - 1],
            Some(Back::All) if !stage.is_empty() => last_of(&stage, &dependencies),
            Some(Back::Last | Back::All) | None => base.clone(),
        };
        dependencies.push(needs);
        stage.push(at);
    }
    dependencies
}

/// Those of a stage that nothing else in it waits for.
fn last_of(stage: &[usize], dependencies: &[Vec<usize>]) -> Vec<usize> {
    let awaited = |at: &usize| stage.iter().any(|other| dependencies[*other].contains(at));
    stage.iter().copied().filter(|at| !awaited(at)).collect()
}

/// Whether what comes after, in one breath, may need what comes before.
fn leads(before: &Reading, after: &Reading) -> bool {
    let (Some(first), Some(second)) = (before.skill(), after.skill()) else { return true };
    let skill = &Vocabulary::get().skills[first.0];
    skill.leads_to.contains(&second)
        || (after.is_bare() && skill.leads_bare_to.contains(&second))
        || before.shares(after)
}
