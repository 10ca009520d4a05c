//! Plans that ran well, kept for a day to serve again.
//!
//! The same request finds its plan by its normalised text. A request that only resembles it finds it by its vector, if
//! nothing that matters differs: names, numbers, quotes and negations must be the same, and what the agents are told
//! then includes the request as it was put this time. A plan is used only with agents that have not changed since.

use std::collections::BTreeSet;
use std::time::Duration;

use artel_agents::embed::{Kind, lexical};
use artel_domain::plan::{Draft, DraftTask, Plan, Planner, Task};
use artel_domain::{AgentId, PlanId, Timestamp};
use artel_storage::{Scope, agents};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::words;
use crate::App;
use crate::planner::{Planned, Team};
use crate::spaces::cache::user_prefix;

const TTL: Duration = Duration::from_hours(24);
/// How near two requests must be.
const NEAR: f32 = 0.93;
/// Plans of a project that can be found by resemblance.
const MOST: usize = 64;
/// Characters of a request that is cached; longer ones are hardly ever repeated.
const LONGEST: usize = 4000;
/// Words that turn a request round.
const NEGATIONS: [&str; 14] = [
    "not",
    "no",
    "never",
    "without",
    "except",
    "don't",
    "dont",
    "не",
    "нет",
    "без",
    "никогда",
    "кроме",
    "нельзя",
    "ни",
];

/// A plan that ran well.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    plan: PlanId,
    draft: Draft,
    /// Who worked on it, and when they were last changed.
    agents: Vec<(AgentId, Timestamp)>,
}

/// What a request that resembles another is found by.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sketch {
    key: String,
    agents: Vec<AgentId>,
    /// Of the embedder of this name.
    vector: Vec<f32>,
    embedder: String,
    details: BTreeSet<String>,
    until: Timestamp,
}

/// A plan for the request that ran well before, if there is one and its agents are what they were.
pub(super) async fn find(app: &App, scope: Scope, team: &Team, request: &str) -> Option<Planned> {
    if request.chars().count() > LONGEST {
        return None;
    }
    let exact = key(scope, request);
    if let Some(entry) = read::<Entry>(app, &exact).await.filter(|entry| entry.stands(team)) {
        return Some(entry.planned(None));
    }
    let sketches: Vec<Sketch> = read(app, &index(scope)).await?;
    let (embedder, vector) = embed(app, request).await?;
    let (details, now) = (details(request), app.clock().now());
    let near = sketches
        .into_iter()
        .filter(|it| it.embedder == embedder && it.until > now && it.details == details)
        .map(|it| (dot(&it.vector, &vector), it))
        .filter(|(score, _)| *score >= NEAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let entry: Entry = read(app, &near.1.key).await?;
    entry.stands(team).then(|| entry.planned(Some(request)))
}

/// Keeps a plan that ran well.
pub(super) async fn keep(app: &App, scope: Scope, plan: &Plan, tasks: &[Task]) {
    let request = &plan.original_request;
    if request.chars().count() > LONGEST || plan.planner == Planner::Given {
        return;
    }
    let team = app.0.storage.db.read(move |conn| Box::pin(agents::all(conn, scope))).await;
    let Ok(team) = team else { return };
    let ids: BTreeSet<_> = tasks.iter().filter_map(|task| task.agent_id).collect();
    let known = team.iter().filter(|agent| ids.contains(&agent.id));
    let agents: Vec<_> = known.map(|agent| (agent.id, agent.updated_at)).collect();
    // Somebody of it has left, or changed while it ran: it need not run well again.
    let began = plan.created_at;
    if agents.len() < ids.len() || agents.iter().any(|(_, changed)| *changed > began) {
        return;
    }
    let draft = Draft { title: plan.title.clone(), tasks: tasks.iter().map(drafted).collect() };
    let exact = key(scope, request);
    write(app, &exact, &Entry { plan: plan.id, draft, agents }).await;
    let Some((embedder, vector)) = embed(app, request).await else { return };
    let now = app.clock().now();
    let mut sketches: Vec<Sketch> = read(app, &index(scope)).await.unwrap_or_default();
    sketches.retain(|sketch| sketch.key != exact && sketch.until > now);
    let over = (sketches.len() + 1).saturating_sub(MOST);
    sketches.drain(..over);
    sketches.push(Sketch {
        key: exact,
        agents: ids.into_iter().collect(),
        vector,
        embedder,
        details: details(request),
        until: now.plus(TTL),
    });
    write(app, &index(scope), &sketches).await;
}

/// An agent changed: no plan with it serves again.
pub(crate) async fn forget(app: &App, scope: Scope, agent: AgentId) {
    let Some(mut sketches) = read::<Vec<Sketch>>(app, &index(scope)).await else { return };
    let stale = sketches.extract_if(.., |sketch| sketch.agents.contains(&agent));
    let stale: Vec<_> = stale.collect();
    for sketch in &stale {
        if let Err(error) = app.0.storage.bus.forget(&sketch.key).await {
            tracing::warn!(%error, "a cached plan could not be forgotten; it is checked before use");
        }
    }
    if !stale.is_empty() {
        write(app, &index(scope), &sketches).await;
    }
}

impl Entry {
    /// Whether all who worked on it are ready and as they were.
    fn stands(&self, team: &Team) -> bool {
        let same = |(id, changed): &(AgentId, Timestamp)| {
            team.agents.iter().any(|agent| agent.id == *id && agent.updated_at == *changed)
        };
        self.agents.iter().all(same) && team.check(&self.draft).is_ok()
    }

    /// The plan again; for a request that only resembles the one it was made for, with that request.
    fn planned(mut self, resembling: Option<&str>) -> Planned {
        if let Some(request) = resembling {
            for task in &mut self.draft.tasks {
                task.description = format!(
                    "{}\n\n(This was asked in other words before. The request as it is put now: {request})",
                    task.description
                );
            }
        }
        let note = format!("As plan {}, which ran well", self.plan);
        Planned { draft: self.draft, planner: Planner::Cache, note: Some(note), cost: 0.0 }
    }
}

fn drafted(task: &Task) -> DraftTask {
    let told = task.description.split("\n\n(This was asked in other words before.").next();
    DraftTask {
        name: task.task_id.clone(),
        description: told.unwrap_or_default().to_owned(),
        agent: task.agent_name.clone(),
        capability: task.capability.clone(),
        depends_on: task.dependencies.clone(),
    }
}

/// The same for requests that differ in nothing but their looks.
fn normalised(request: &str) -> String {
    let words = request.split_whitespace().map(str::to_lowercase);
    let text = words.collect::<Vec<_>>().join(" ");
    text.trim_end_matches(['.', '!', '?', '…']).to_owned()
}

/// What must not differ between requests that are taken for the same: names, numbers, paths, quotes, negations.
fn details(request: &str) -> BTreeSet<String> {
    let quoted = request.split(['"', '`', '«', '»', '“', '”']).skip(1).step_by(2);
    let mut found: BTreeSet<_> = quoted.map(|quote| quote.trim().to_owned()).collect();
    for (at, word) in request.split_whitespace().enumerate() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let small = word.to_lowercase();
        let special =
            |c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | '/' | '\\' | ':' | '@');
        let named = word.chars().skip(usize::from(at == 0)).any(char::is_uppercase);
        if word.contains(special) || named || NEGATIONS.contains(&small.as_str()) {
            found.insert(small);
        }
    }
    found
}

fn key(scope: Scope, request: &str) -> String {
    let digest = Sha256::digest(normalised(request).as_bytes());
    format!("{}:plan:{}", user_prefix(scope), URL_SAFE_NO_PAD.encode(digest))
}

fn index(scope: Scope) -> String {
    format!("{}:plan:index", user_prefix(scope))
}

/// The vector of a request, from whatever costs nothing.
async fn embed(app: &App, request: &str) -> Option<(String, Vec<f32>)> {
    let embedder = app.embedder();
    let text = words::start(request, LONGEST).to_owned();
    match embedder.kind() {
        Kind::Service => Some((lexical::NAME.to_owned(), lexical::vector(&text))),
        Kind::Local | Kind::Lexical => {
            let vector = embedder.embed(&[text]).await.ok()?.pop()?;
            Some((embedder.name().to_owned(), vector))
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

async fn read<T: serde::de::DeserializeOwned>(app: &App, key: &str) -> Option<T> {
    match app.0.storage.bus.get(key).await {
        Ok(found) => serde_json::from_slice(&found?).ok(),
        Err(error) => {
            tracing::warn!(%error, "the plan cache cannot be read; planned anew");
            None
        }
    }
}

async fn write<T: Serialize + Sync>(app: &App, key: &str, value: &T) {
    let Ok(json) = serde_json::to_vec(value) else { return };
    if let Err(error) = app.0.storage.bus.put(key, Bytes::from(json), TTL).await {
        tracing::warn!(%error, "a plan could not be cached");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OR-10.2: what looks different and says the same is the same.
    #[test]
    fn looks_do_not_matter() {
        assert_eq!(normalised("  Check   AUTH.py! "), normalised("check auth.py"));
        assert_ne!(normalised("check auth.py"), normalised("check user.py"));
    }

    /// OR-10.2: however near their vectors are, requests about different things are different.
    #[test]
    fn details_tell_requests_apart() {
        for (one, other) in [
            ("check the code in auth.py", "check the code in user.py"),
            ("raise the limit to 20", "raise the limit to 30"),
            ("change the tests", "do not change the tests"),
            ("rename it to \"a\"", "rename it to \"b\""),
            ("find out about FastAPI", "find out about Flask"),
            ("удали файл без вопросов", "удали файл"),
        ] {
            assert_ne!(details(one), details(other), "{one} / {other}");
        }
        assert_eq!(details("Please check the login"), details("check the login please"));
    }
}
