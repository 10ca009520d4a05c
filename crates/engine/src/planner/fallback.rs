//! Plans without a model.
//!
//! The request is taken apart into clauses ([`clauses`]), each goes to the agent whose capabilities fit its words
//! ([`matching`]), and what was said of their order becomes the graph ([`order`]). It knows the words of everyday work
//! in English and Russian and the words of the agents' own capabilities; a clause that fits nobody is refused rather
//! than given to somebody.

mod clauses;
mod matching;
mod openings;
mod order;
mod sentences;
mod tokens;
mod vocabulary;

#[cfg(test)]
mod tests;

use artel_agents::embed::Embedder;
use artel_domain::plan::draft::{Draft, DraftTask, LONGEST_DESCRIPTION, MOST_DEPENDENCIES};

use self::clauses::{Clause, Request};
use self::matching::{Choice, Reading, Team};
use super::Member;
use crate::plans::words::start;

/// Bytes of a request that are looked at; what follows is a file or a log that somebody pasted.
const LOOKED_AT: usize = 10_000;
/// Tasks of a plan. What is asked for beyond them goes along with the last, if its agent is the one for it.
const MOST_TASKS: usize = 50;
const LONGEST_TITLE: usize = 80;
/// Characters of the whole request in the description of one of its tasks.
const LONGEST_WHOLE: usize = 1_000;
/// Characters of a clause that nobody can do.
const LONGEST_UNFIT: usize = 200;

/// A part of the request that nobody can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub(crate) clause: String,
}

/// The plan for a request, or the part of it that no agent of the team fits.
pub(crate) async fn plan(
    request: &str,
    team: &[Member],
    embedder: &dyn Embedder,
) -> Result<Draft, Unfit> {
    let looked_at = Request::read(&request[..request.floor_char_boundary(LOOKED_AT)]);
    let clauses = looked_at.clauses();
    let unfit = |words: &str| Unfit { clause: shortened(words, LONGEST_UNFIT) };
    if clauses.is_empty() {
        return Err(unfit(request));
    }
    let readings: Vec<_> = clauses.iter().map(|one| matching::read(&looked_at, one)).collect();
    let choices = choose(&looked_at, &clauses, &readings, team, embedder).await;
    let mut chosen = Vec::with_capacity(clauses.len());
    for (clause, choice) in clauses.iter().zip(choices) {
        chosen.push(choice.ok_or_else(|| unfit(&looked_at.words(&clause.own)))?);
    }
    let dependencies = order::dependencies(&clauses, &readings);
    let last = &chosen[chosen.len().min(MOST_TASKS) - 1];
    let beyond = clauses.iter().zip(&chosen).skip(MOST_TASKS);
    for (clause, choice) in beyond {
        if choice.member.name != last.member.name {
            return Err(unfit(&looked_at.words(&clause.own)));
        }
    }
    let description = |at: usize| describe(request, &looked_at, &clauses, at);
    let tasks = chosen.iter().zip(&dependencies).take(MOST_TASKS).enumerate();
    let tasks = tasks.map(|(at, (choice, needs))| DraftTask {
        name: name(at),
        description: description(at),
        agent: choice.member.name.clone(),
        capability: choice.capability.map(str::to_owned),
        depends_on: needs.iter().take(MOST_DEPENDENCIES).map(|at| name(*at)).collect(),
    });
    Ok(Draft { title: shortened(request, LONGEST_TITLE), tasks: tasks.collect() })
}

fn name(at: usize) -> String {
    format!("task_{}", at + 1)
}

/// An agent for each clause, where there is one.
async fn choose<'a>(
    request: &Request<'_>,
    clauses: &[Clause],
    readings: &[Reading],
    team: &'a [Member],
    embedder: &dyn Embedder,
) -> Vec<Option<Choice<'a>>> {
    let team = Team::read(team);
    let mut choices: Vec<_> = readings.iter().map(|reading| team.by_words(reading)).collect();
    let open: Vec<usize> = (0..choices.len()).filter(|at| choices[*at].is_none()).collect();
    // One that nobody fits is enough to refuse all, so there is no need to look at many.
    let open = &open[..open.len().min(MOST_TASKS)];
    if !open.is_empty() {
        let words: Vec<_> = open.iter().map(|at| request.words(&clauses[*at].own)).collect();
        for (at, choice) in open.iter().zip(team.by_meaning(&words, embedder).await) {
            choices[*at] = choice;
        }
    }
    choices
}

/// What the agent is asked to do, in the words of the request, and with the whole of it where it has several parts.
fn describe(request: &str, looked_at: &Request<'_>, clauses: &[Clause], at: usize) -> String {
    if clauses.len() == 1 {
        return start(request.trim(), LONGEST_DESCRIPTION).to_owned();
    }
    let clause = &clauses[at];
    let mut said = vec![looked_at.words(&clause.own)];
    said.extend(clause.context.iter().map(|range| looked_at.words(std::slice::from_ref(range))));
    if at == MOST_TASKS - 1 {
        said.extend(clauses[MOST_TASKS..].iter().map(|clause| looked_at.words(&clause.own)));
    }
    let whole = shortened(request, LONGEST_WHOLE);
    let part_of = format!("\n(Part of: {whole})");
    let said = said.join("\n");
    format!("{}{part_of}", start(&said, LONGEST_DESCRIPTION - part_of.chars().count()))
}

/// The beginning of a text on one line.
fn shortened(text: &str, most: usize) -> String {
    // Enough to fill it, whatever is between the words.
    let beginning = &text[..text.floor_char_boundary(most * 8)];
    let words = beginning.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most && beginning.len() == text.len() {
        return line;
    }
    let short = start(&line, most - 1);
    let whole_words = short.rsplit_once(' ').map_or(short, |(words, _)| words);
    format!("{whole_words}…")
}
