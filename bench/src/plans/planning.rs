//! Planning without a model: a request to be planned by its words, beside one that only begins a conversation, which is
//! a row that a plan has too. What lies between them is planning, pricing, and the plan's other rows.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use artel_testkit::client::Client;
use serde_json::json;

use crate::place::{self, Place, Project};
use crate::report::{Goal, Report, Row};
use crate::wire::{self, Connection};

const ROUNDS: usize = 5;
/// Requests of each side in a round.
const REQUESTS: usize = 200;
/// Milliseconds.
const GOAL: f64 = 10.0;

/// What people ask of the starter team, of one part to four.
const ASKED: [&str; 6] = [
    "Review the code of the payment module",
    "Fix the bug in auth.py that logs users out, then write tests for it",
    "Find out about FastAPI and build a REST API",
    "Compare SQLite with PostgreSQL and summarize what speaks for each",
    "Research rate limiting, implement it in the API, write tests for it and document it",
    "Explain what the scheduler does, and translate the explanation into German",
];

pub(super) fn measure(place: &Place, report: &mut Report) -> Result<()> {
    let artel = place.server("planning").start()?;
    let (planned, begun) = place::clients()?.block_on(async {
        let client = artel.client("bench")?;
        let project = format!("/my/projects/{}", Project::make(&client).await?.id);
        by_words(&client, &project).await?;
        let address = wire::address(artel.url())?;
        let post = |path: &str, body: &str| {
            wire::request("POST", &format!("{project}/{path}"), address, client.token(), body)
        };
        let plans = ASKED.map(|asked| post("plans", &json!({ "request": asked }).to_string()));
        let sessions = [post("chat/sessions", "{}")];
        let mut connection = Connection::open(address).await?;
        let (mut planned, mut begun) = (Vec::new(), Vec::new());
        // The first warms up.
        for round in 0..=ROUNDS {
            let (theirs, ours) =
                (send(&mut connection, &sessions).await?, send(&mut connection, &plans).await?);
            if round > 0 {
                begun.extend(theirs);
                planned.extend(ours);
            }
        }
        anyhow::Ok((planned, begun))
    })?;
    tell(report, planned, begun);
    Ok(())
}

/// Nothing here may be planned by anything else.
async fn by_words(client: &Client, project: &str) -> Result<()> {
    for asked in ASKED {
        let made = client.post(&format!("{project}/plans"), &json!({ "request": asked })).await?;
        let plan = made.success()?;
        ensure!(plan["planner"] == "fallback", "{asked:?} was planned by {}", plan["planner"]);
    }
    Ok(())
}

/// One client, which waits for each answer.
async fn send(connection: &mut Connection, requests: &[Vec<u8>]) -> Result<Vec<Duration>> {
    let mut spans = Vec::with_capacity(REQUESTS);
    for request in requests.iter().cycle().take(REQUESTS) {
        let start = Instant::now();
        connection.exchange(request).await?;
        spans.push(start.elapsed());
    }
    Ok(spans)
}

fn tell(report: &mut Report, mut planned: Vec<Duration>, mut begun: Vec<Duration>) {
    planned.sort_unstable();
    begun.sort_unstable();
    let millis =
        |spans: &[Duration], share: usize| spans[spans.len() * share / 100].as_secs_f64() * 1e3;
    for share in [50, 99] {
        let (ours, theirs) = (millis(&planned, share), millis(&begun, share));
        report.add(
            Row::new(format!("planning by fallback, p{share}"), ours, "ms")
                .beside("a conversation begun", theirs, ours / theirs)
                .goal(Goal::AtMost(GOAL)),
        );
    }
    let own = millis(&planned, 50) - millis(&begun, 50);
    report.add(Row::new("planning by fallback, its own share, p50", own, "ms"));
}
