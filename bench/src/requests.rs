//! What becomes of requests: the share of plans that are what they should be, by the fallback, and by a model where one
//! is named, which may cost money.
//!
//! Both are asked over HTTP, so that whatever answers is measured. The requests are of two kinds: those that the
//! fallback was tuned with, and those that were held out until it was done ([`expected`]).

mod expected;

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use artel_domain::plan::Planner;
use artel_testkit::client::Client;
use artel_testkit::server::Builder;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::place::{self, Place};
use crate::report::{Report, Row};
use crate::usage::median;
use expected::{Agent, Expected, File, Outcome, Task};

/// Of agents that are in no pack; nobody asks them anything.
const MODEL: &str = "scripted/demo";
/// Behind the part that nobody can do, the fallback tells who can do what. A refusal does not say whose it is, but one
/// in a model's words has no such end.
const TEAM: &str = "\". The team: ";
/// What the server finds models by, and how long it waits for their plans.
const VARIABLES: [&str; 8] = [
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "GEMINI_API_KEY",
    "GEMINI_BASE_URL",
    "OLLAMA_HOST",
    "ARTEL_PLANNER_TIMEOUT",
];

pub(crate) fn measure(place: &Place, report: &mut Report, model: Option<&str>) -> Result<()> {
    let file = File::read()?;
    let answers = ask(place.server("requests"), &file)?;
    for answer in &answers {
        let planner = answer.planner.as_str();
        ensure!(answer.planner == Planner::Fallback, "not by its words but by {planner}: {answer}");
    }
    tell(report, "fallback", &answers);
    match model {
        Some(model) => by_model(place, report, &file, model),
        None => Ok(()),
    }
}

fn by_model(place: &Place, report: &mut Report, file: &File, model: &str) -> Result<()> {
    let mut server = place
        .server("requests-model")
        .env("ARTEL_PLANNER_MODEL", model)
        // Where an agent of a pack is the orchestrator, its own model plans.
        .env("ARTEL_DEFAULT_MODEL", model);
    for name in VARIABLES {
        if let Ok(value) = std::env::var(name) {
            server = server.env(name, &value);
        }
    }
    let answers = ask(server, file)?;
    let all = answers.len() as f64;
    let (planned, left): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.planner == Planner::Model);
    let left: Vec<_> = left.iter().map(Answer::why).collect();
    ensure!(!planned.is_empty(), "{model} planned nothing, from the first on: {}", left[0]);
    let share = 100.0 * planned.len() as f64 / all;
    report.add(Row::new("requests that the model answered", share, "%").details(left));
    tell(report, "model", &planned);
    Ok(())
}

/// All requests, one after the other, each to a project with its team.
fn ask(server: Builder, file: &File) -> Result<Vec<Answer<'_>>> {
    let artel = server.start()?;
    let teams: BTreeSet<_> = file.requests.iter().map(|expected| expected.team.as_str()).collect();
    place::clients()?.block_on(async {
        let client = artel.client("bench")?;
        let mut answers = Vec::with_capacity(file.requests.len());
        for team in teams {
            let project = project(&client, team, file).await?;
            for expected in file.requests.iter().filter(|expected| expected.team == team) {
                let answer = Answer::get(&client, &project, expected).await;
                answers.push(answer.with_context(|| format!("planning {:?}", expected.text))?);
            }
        }
        Ok(answers)
    })
}

/// The path of a new project with this team.
async fn project(client: &Client, team: &str, file: &File) -> Result<String> {
    let agents = file.teams.get(team);
    let pack = if agents.is_some() { "none" } else { team };
    let made = client.post("/my/projects", &json!({ "name": team, "starter_pack": pack })).await?;
    let path = format!("/my/projects/{}", made.id()?);
    for Agent { name, role, capabilities, about } in agents.into_iter().flatten() {
        let agent = json!({
            "name": name,
            "model": MODEL,
            "system_prompt": about,
            "metadata": { "role": role, "capabilities": capabilities },
        });
        client.post(&format!("{path}/agents"), &agent).await?.success()?;
    }
    Ok(path)
}

/// What became of a request.
struct Answer<'f> {
    expected: &'f Expected,
    planner: Planner,
    /// How it came about, where that needs a word.
    note: Option<String>,
    outcome: Outcome,
    fits: bool,
    took: Duration,
}

impl<'f> Answer<'f> {
    async fn get(client: &Client, project: &str, expected: &'f Expected) -> Result<Self> {
        let (path, body) = (format!("{project}/plans"), json!({ "request": expected.text }));
        let start = Instant::now();
        let answer = client.post(&path, &body).await?;
        let took = start.elapsed();
        let refused = answer.status == 422 && answer.body["error_code"] == "no_suitable_agent";
        let (planner, note, outcome) =
            if refused { refusal(&answer.body)? } else { plan(answer.success()?)? };
        let fits = expected.is_met(&outcome)?;
        Ok(Self { expected, planner, note, outcome, fits, took })
    }

    /// Why it was left to its words.
    fn why(&self) -> String {
        let note = self.note.as_deref().unwrap_or("refused by its words");
        format!("{:?}: {note}", self.expected.text)
    }
}

fn refusal(body: &Value) -> Result<(Planner, Option<String>, Outcome)> {
    let detail = body["detail"].as_str().context("a refusal says why")?;
    let (planner, why) = match detail.split_once(TEAM) {
        Some((why, _)) => (Planner::Fallback, why),
        None => (Planner::Model, detail),
    };
    Ok((planner, None, Outcome::Refusal(why.to_owned())))
}

fn plan(body: Value) -> Result<(Planner, Option<String>, Outcome)> {
    #[derive(Deserialize)]
    struct Made {
        planner: Planner,
        planner_note: Option<String>,
        tasks: Vec<Task>,
    }
    let Made { planner, planner_note, tasks } = serde_json::from_value(body)?;
    Ok((planner, planner_note, Outcome::Plan(tasks)))
}

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Expected { text, team, .. } = self.expected;
        write!(f, "{text:?} for {team}: {}", self.outcome)
    }
}

fn tell(report: &mut Report, planner: &str, answers: &[Answer<'_>]) {
    for (kind, held_out) in [("tuned", false), ("held out", true)] {
        let of_kind = || answers.iter().filter(move |answer| answer.expected.held_out == held_out);
        let count = of_kind().count();
        if count == 0 {
            continue;
        }
        let misses: Vec<_> =
            of_kind().filter(|answer| !answer.fits).map(ToString::to_string).collect();
        let share = 100.0 * (count - misses.len()) as f64 / count as f64;
        let name = format!("plans that fit, {planner}, {count} {kind}");
        report.add(Row::new(name, share, "%").details(misses));
    }
    let time = median(answers.iter().map(|answer| answer.took.as_secs_f64() * 1e3));
    report.add(Row::new(format!("planning a request, {planner}, p50"), time, "ms"));
}
