//! What a plan will take: a guess from the prices of the models, corrected by what the agents' tasks really took.

use artel_agents::embed::{Embedder, Kind};
use artel_agents::llm::chat::Usage;
use artel_agents::llm::providers::Provider;
use artel_agents::llm::{Providers, prices, tokens};
use artel_domain::Agent;
use artel_domain::plan::estimate::{Estimate, learn};
use artel_domain::plan::{DraftTask, Range};
use artel_storage::{Conn, plans};

/// Tokens that come with every question besides the task itself: memory, history, tools.
const AROUND: u64 = 1000;
/// Tokens of each result that is handed on.
const HANDED_ON: u64 = 1500;
/// How much an agent says each time it is asked, at least and at most.
const SAID: (u64, u64) = (150, 1500);
/// How often the model of an agent with tools is asked for one task, at most.
const CALLS_WITH_TOOLS: u32 = 6;
/// How long an agent takes each time, in seconds, until there is something measured.
const SECONDS: Range = Range::new(3.0, 20.0);
const SECONDS_SCRIPTED: Range = Range::new(0.0, 1.0);

/// What one task will take, and how often its model is asked at most.
pub(crate) async fn estimate(
    conn: &mut Conn,
    providers: &Providers,
    embedder: &dyn Embedder,
    agent: &Agent,
    task: &DraftTask,
) -> artel_storage::Result<(Estimate, u32)> {
    let (guess, calls) = guess(providers, embedder, agent, task);
    // What this agent did of this kind counts before what it did at all.
    let all = plans::record(conn, agent.id, None).await?;
    let mut cost = learn(guess.cost, all.cost);
    let mut duration = learn(guess.duration, all.duration);
    if let Some(capability) = &task.capability {
        let same = plans::record(conn, agent.id, Some(capability)).await?;
        cost = learn(cost, same.cost);
        duration = learn(duration, same.duration);
    }
    Ok((Estimate { cost, duration, unpriced: guess.unpriced }, calls))
}

fn guess(
    providers: &Providers,
    embedder: &dyn Embedder,
    agent: &Agent,
    task: &DraftTask,
) -> (Estimate, u32) {
    let config = &agent.config;
    let calls = if config.tools.is_empty() { 1 } else { CALLS_WITH_TOOLS };
    let words = tokens::estimate(&task.description);
    let handed = HANDED_ON * task.depends_on.len() as u64;
    let asked = AROUND + tokens::estimate(&config.system_prompt) + words + handed;
    let most = SAID.1.min(config.max_tokens.into());
    let resolved = match &config.runtime {
        None => providers.resolve(&config.model).ok(),
        // A program asks the model that it was told, or one that is not known.
        Some(_) => None,
    };
    let scripted = resolved.as_ref().is_some_and(|it| it.provider == Provider::Scripted);
    let said = match &config.runtime {
        None => config.model.clone(),
        Some(runtime) => runtime.model.clone().unwrap_or_else(|| runtime.kind.clone()),
    };
    let model = resolved.map_or(said, |resolved| resolved.full_name());
    let price = |calls: u64, output: u64| {
        // Each time everything that was said before is read again.
        let input = asked * calls + output * calls * calls.saturating_sub(1) / 2;
        let usage = Usage { input, cached: 0, output: output * calls, estimated: true };
        prices::cost(&model, &usage).map(|cost| cost.amount.as_dollars())
    };
    let least = price(1, SAID.0.min(most));
    let dearest = price(calls.into(), most);
    let recalled = embedding(embedder, words);
    let unpriced = dearest.is_none() || recalled.is_none();
    let recalled = recalled.unwrap_or(0.0);
    let each = if scripted { SECONDS_SCRIPTED } else { SECONDS };
    let estimate = Estimate {
        cost: Range::new(least.unwrap_or(0.0) + recalled, dearest.unwrap_or(0.0) + recalled),
        duration: Range::new(each.min, each.max * f64::from(calls)),
        unpriced,
    };
    (estimate, calls)
}

/// What looking into the agent's memory costs, where that is somebody's service; none where its price is not known.
fn embedding(embedder: &dyn Embedder, words: u64) -> Option<f64> {
    match embedder.kind() {
        Kind::Service => {
            let usage = Usage { input: words, cached: 0, output: 0, estimated: true };
            let cost = prices::cost(embedder.name(), &usage);
            cost.map(|cost| cost.amount.as_dollars())
        }
        Kind::Local | Kind::Lexical => Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use artel_agents::embed::lexical::Lexical;
    use artel_agents::embed::{self, Choice};
    use artel_agents::llm::providers::Config;
    use artel_domain::{AgentConfig, AgentId, AgentStatus, Clock, SystemClock};

    use super::*;

    fn agent(model: &str, tools: &[&str]) -> Agent {
        let config: AgentConfig = serde_json::from_value(
            serde_json::json!({ "model": model, "tools": tools, "system_prompt": "Be exact." }),
        )
        .unwrap();
        let now = SystemClock.now();
        Agent {
            id: AgentId::new(&SystemClock),
            name: "a".to_owned(),
            status: AgentStatus::Ready,
            created_at: now,
            updated_at: now,
            registered: true,
            config,
        }
    }

    fn task() -> DraftTask {
        DraftTask { description: "Do it well".to_owned(), ..DraftTask::default() }
    }

    fn providers() -> Providers {
        Providers::from(Config {
            openai_api_key: Some("k".to_owned().into()),
            anthropic_api_key: Some("k".to_owned().into()),
            ..Config::default()
        })
    }

    /// OR-5.1, OR-5.3: calls and their price, as a range that is wider for an agent with tools.
    #[test]
    fn prices_come_from_the_table() {
        let (plain, one) = guess(&providers(), &Lexical, &agent("openai/gpt-4o", &[]), &task());
        let tools = ["tool_read_file"];
        let (tooled, six) = guess(&providers(), &Lexical, &agent("openai/gpt-4o", &tools), &task());
        assert_eq!((one, six), (1, 6));
        assert!(plain.cost.min > 0.0 && plain.cost.min < plain.cost.max, "{plain:?}");
        assert!(tooled.cost.max > 5.0 * plain.cost.max, "{tooled:?}");
        assert!(!plain.unpriced);
        let (unknown, _) = guess(&providers(), &Lexical, &agent("openai/not-listed", &[]), &task());
        assert!(unknown.unpriced);
        let (free, _) = guess(&providers(), &Lexical, &agent("scripted/demo", &[]), &task());
        assert_eq!((free.cost, free.unpriced), (Range::default(), false));
    }

    /// OR-5.2: where memory is searched by somebody's service, that is part of the price.
    #[test]
    fn memory_searches_cost_where_they_do() {
        let settings = embed::Settings {
            choice: Choice::OpenAi,
            openai_api_key: Some("k".to_owned().into()),
            ..embed::Settings::default()
        };
        let service = embed::open(&settings).unwrap();
        let free = agent("scripted/demo", &[]);
        let (with, _) = guess(&providers(), service.as_ref(), &free, &task());
        assert!(with.cost.min > 0.0, "{with:?}");
    }
}
