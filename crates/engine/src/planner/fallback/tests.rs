//! The requests of `requests.toml` and the plans that they should give, and what no request may do.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use artel_agents::embed::lexical::Lexical;
use artel_agents::embed::{Error, Kind};
use artel_domain::packs::Pack;
use async_trait::async_trait;
use futures_util::FutureExt;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// The share of requests whose plan is exactly what it should be.
const THRESHOLD: f64 = 0.9;
/// The same of the requests that were written after the planner. At first sight it was half of them.
const THRESHOLD_HELD_OUT: f64 = 0.75;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    teams: HashMap<String, Vec<Agent>>,
    request: Vec<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Agent {
    name: String,
    role: String,
    capabilities: Vec<String>,
    about: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    text: String,
    team: String,
    #[serde(default)]
    tasks: Vec<Vec<String>>,
    #[serde(default)]
    edges: BTreeSet<(usize, usize)>,
    unfit: Option<String>,
    #[serde(default)]
    held_out: bool,
}

fn requests() -> File {
    toml::from_str(include_str!("requests.toml")).unwrap()
}

fn pack(name: &str) -> Vec<Member> {
    let pack = Pack::built_in().into_iter().find(|pack| pack.name == name).unwrap();
    let member = |(name, config): (String, artel_domain::AgentConfig)| Member {
        name,
        role: config.metadata.role,
        capabilities: config.metadata.capabilities.into_iter().map(|name| name.0).collect(),
        about: config.system_prompt,
        load: 0,
    };
    pack.agents.into_iter().map(member).collect()
}

fn member(name: &str, capabilities: &[&str], load: u64) -> Member {
    let capabilities = capabilities.iter().map(ToString::to_string).collect();
    Member { name: name.to_owned(), role: None, capabilities, about: String::new(), load }
}

/// Nothing in it waits, with the lexical embedder.
fn plan(request: &str, team: &[Member]) -> Result<Draft, Unfit> {
    super::plan(request, team, &Lexical).now_or_never().unwrap()
}

fn edges(draft: &Draft) -> BTreeSet<(usize, usize)> {
    let place = |name: &String| draft.tasks.iter().position(|task| task.name == *name).unwrap();
    let tasks = draft.tasks.iter().enumerate();
    tasks.flat_map(|(at, task)| task.depends_on.iter().map(move |name| (place(name), at))).collect()
}

fn agents(draft: &Draft) -> Vec<&str> {
    draft.tasks.iter().map(|task| task.agent.as_str()).collect()
}

impl Expected {
    fn is_met(&self, outcome: &Result<Draft, Unfit>) -> bool {
        match (outcome, &self.unfit) {
            (Err(unfit), Some(words)) => unfit.clause.contains(words.as_str()),
            (Ok(draft), None) => {
                let mut pairs = self.tasks.iter().zip(&draft.tasks);
                self.tasks.len() == draft.tasks.len()
                    && pairs.all(|(agents, task)| agents.contains(&task.agent))
                    && self.edges == edges(draft)
            }
            (Ok(_), Some(_)) | (Err(_), None) => false,
        }
    }
}

/// The share of met expectations, and what came of the others.
fn measure(held_out: bool) -> (f64, String) {
    let File { teams, request } = requests();
    let team = |name: &str| match teams.get(name) {
        Some(agents) => agents
            .iter()
            .map(|agent| Member {
                name: agent.name.clone(),
                role: Some(agent.role.clone()),
                capabilities: agent.capabilities.clone(),
                about: agent.about.clone(),
                load: 0,
            })
            .collect(),
        None => pack(name),
    };
    let (mut met, mut all, mut others) = (0.0, 0.0, String::new());
    for expected in request.iter().filter(|request| request.held_out == held_out) {
        let outcome = plan(&expected.text, &team(&expected.team));
        all += 1.0;
        if expected.is_met(&outcome) {
            met += 1.0;
        } else {
            let got = match &outcome {
                Ok(draft) => format!("{:?} {:?}", agents(draft), edges(draft)),
                Err(Unfit { clause }) => format!("unfit: {clause:?}"),
            };
            writeln!(others, "{:?} for {}: {got}", expected.text, expected.team).unwrap();
        }
    }
    (met / all, others)
}

/// OR-2.1, OR-2.2, OR-2.3, OR-2.4, OR-3.1, OR-3.2: what is asked for becomes the plan that it should.
#[test]
fn requests_become_their_plans() {
    let (share, others) = measure(false);
    assert!(share >= THRESHOLD, "{share:.2} of the plans are right; not these:\n{others}");
}

/// The same for requests that were written later.
#[test]
fn new_requests_become_their_plans() {
    let (share, others) = measure(true);
    assert!(share >= THRESHOLD_HELD_OUT, "{share:.2} of the plans are right; not these:\n{others}");
}

/// OR-2.1, OR-8.1: one task, for the agent with the capability.
#[test]
fn a_simple_request_is_one_task() {
    let draft = plan("check the code in auth.py", &pack("workspace")).unwrap();
    assert_eq!(draft.title, "check the code in auth.py");
    assert_eq!(draft.tasks.len(), 1);
    assert_eq!(draft.tasks[0].agent, "agent_analyzer");
    assert_eq!(draft.tasks[0].capability.as_deref(), Some("analyze_code"));
    assert_eq!(draft.tasks[0].description, "check the code in auth.py");
}

/// OR-2.2, OR-3.1: a part that points back waits, and its description says to what.
#[test]
fn a_compound_request_keeps_what_its_parts_speak_of() {
    let draft = plan("Review auth.py and fix it", &pack("workspace")).unwrap();
    assert_eq!(agents(&draft), ["agent_analyzer", "agent_coder"]);
    assert_eq!(draft.tasks[1].depends_on, ["task_1"]);
    assert_eq!(draft.tasks[1].description, "fix it\n(Part of: Review auth.py and fix it)");
}

/// OR-2.3: independent actions do not wait for each other.
#[test]
fn independent_actions_run_in_parallel() {
    let text =
        "Write tests for the cart, translate faq.md into French and compare Redis with Valkey";
    let draft = plan(text, &pack("workspace")).unwrap();
    assert_eq!(agents(&draft), ["agent_coder", "agent_writer", "agent_researcher"]);
    assert!(edges(&draft).is_empty());
}

/// OR-3.2: what puts two results together waits for both.
#[test]
fn a_diamond_waits_for_both_sides() {
    let text = "Research Kafka and RabbitMQ, then compare them and write a report";
    let draft = plan(text, &pack("workspace")).unwrap();
    assert_eq!(edges(&draft), BTreeSet::from([(0, 2), (1, 2), (2, 3)]));
    assert!(draft.tasks[1].description.starts_with("Research RabbitMQ\n"));
}

/// OR-2.4, OR-8.3: what nobody can do is named, and nobody gets it.
#[test]
fn what_nobody_can_do_is_refused() {
    let refused = |text: &str| plan(text, &pack("workspace")).unwrap_err().clause;
    assert_eq!(refused("fix the bug and order a pizza"), "order a pizza");
    assert_eq!(refused("Исправь опечатки в README.md, а потом позвони маме"), "позвони маме");
    assert_eq!(refused(""), "");
    assert_eq!(plan("fix the bug", &[]).unwrap_err().clause, "fix the bug");
    let orchestrator = [member("Boss", &["coordinate_workflow", "route_tasks"], 0)];
    assert!(plan("fix the bug", &orchestrator).is_err());
    assert!(plan("Coordinate the workflow of the team", &orchestrator).is_ok());
}

/// OR-8.2: of several that fit equally the one with the least to do, and of those the first.
#[test]
fn the_least_load_wins_among_equals() {
    let mut team =
        [member("A", &["fix_bug"], 3), member("B", &["fix_bug"], 1), member("C", &["fix_bug"], 1)];
    assert_eq!(agents(&plan("fix the bug in cart.ts", &team).unwrap()), ["B"]);
    team[0].load = 0;
    assert_eq!(agents(&plan("fix the bug in cart.ts", &team).unwrap()), ["A"]);
    // Who fits better is chosen however busy.
    team[0] = member("A", &["write_documentation"], 0);
    team[1].load = 99;
    team[2].load = 98;
    assert_eq!(agents(&plan("fix the bug in cart.ts", &team).unwrap()), ["C"]);
}

/// OR-8.1: capabilities that the vocabulary does not have fit by their own words.
#[test]
fn capabilities_of_any_kind_are_found() {
    let team =
        [member("Coder", &["write_code"], 0), member("Fern", &["waterPlants", "beekeeping"], 0)];
    assert_eq!(agents(&plan("Water the plants in the office", &team).unwrap()), ["Fern"]);
    assert_eq!(agents(&plan("What does beekeeping cost?", &team).unwrap()), ["Fern"]);
}

/// OR-8.1: where the capabilities say nothing, what the agent is told to be may.
#[test]
fn an_agent_is_found_by_what_it_is() {
    let mut team = [member("Coder", &["write_code"], 0), member("Fern", &["horticulture"], 0)];
    team[1].about = "You prune the fruit trees and mow the lawn.".to_owned();
    assert_eq!(agents(&plan("Prune the fruit trees", &team).unwrap()), ["Fern"]);
    assert!(plan("Paint the fence", &team).is_err());
}

#[derive(Debug)]
struct Remote;

#[async_trait]
impl Embedder for Remote {
    fn name(&self) -> &'static str {
        "remote"
    }

    fn dimensions(&self) -> usize {
        1
    }

    fn kind(&self) -> Kind {
        Kind::Service
    }

    async fn embed(&self, _texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        unreachable!("a service must not be asked")
    }
}

/// OR-12.3: planning waits for nobody, not even where words say nothing.
#[test]
fn no_service_is_asked() {
    let outcome = super::plan("feed the cat", &pack("workspace"), &Remote).now_or_never().unwrap();
    assert_eq!(outcome.unwrap_err().clause, "feed the cat");
}

/// OR-12.3: whatever is asked, the plan is there at once and can be carried out, or it is refused.
#[test]
fn huge_requests_are_bounded() {
    let team = pack("workspace");
    let names = team.iter().map(|member| member.name.as_str()).collect();
    let list: Vec<_> = (1..=10_000).map(|n| format!("{n}. Fix bug {n}")).collect();
    for text in [
        "x".repeat(1 << 20),
        list.join("\n"),
        "fix it and ".repeat(100_000),
        "\u{0}\u{7}".repeat(9),
        "`".repeat(99_999),
    ] {
        if let Ok(draft) = plan(&text, &team) {
            draft.check(&names).unwrap();
            assert!(draft.tasks.len() <= MOST_TASKS);
            assert!(draft.title.chars().count() <= LONGEST_TITLE);
        }
    }
    let mut mixed: Vec<_> = (1..=60).map(|n| format!("- Fix bug {n}")).collect();
    mixed.push("- Translate a.md".to_owned());
    let mixed = mixed.join("\n");
    assert_eq!(plan(&mixed, &team).unwrap_err().clause, "Translate a.md");
}

/// Words as requests have them, so that the strings are not all nonsense.
fn some_words() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "fix",
        "the",
        "bug",
        "and",
        "then",
        "auth.py",
        "исправь",
        "и",
        "потом",
        "их",
        "before",
        "after",
        "you",
        ",",
        ".",
        "?",
        "\n- ",
        "1. ",
        "write",
        "tests",
        "напиши",
        "не",
        "don't",
        "in parallel",
        "параллельно",
        "it",
        "\"",
        "`",
        ":",
        "Redis",
        "compare",
        "them",
        "перед тем как",
        "deploying",
        "review",
        "найди",
        "README",
        "\n",
        "why",
        "отчёт",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    /// No text makes it panic, and every plan passes the check that all plans pass.
    #[test]
    fn every_plan_can_be_carried_out(text in prop_oneof![any::<String>(), some_words(), "[\\PC\\s]{0,200}"]) {
        for team in [pack("workspace"), pack("roles")] {
            if let Ok(draft) = plan(&text, &team) {
                let names: HashSet<&str> = team.iter().map(|member| member.name.as_str()).collect();
                prop_assert!(draft.check(&names).is_ok());
            }
        }
    }
}
