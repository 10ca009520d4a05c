//! `/my/models`: services of models, and whether each can be used here.

use artel_agents::llm::prices::Prices;
use artel_agents::llm::providers::{Found, Provider, Providers, State as Stands};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::Http;
use super::error::Answer;
use super::extract::Authenticated;
use super::responses::Guarded;

/// A service of models, or the scripts that stand in for one.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ModelService {
    /// What names of its models begin with.
    #[schema(example = "anthropic")]
    provider: &'static str,
    status: Readiness,
    /// Where it is, what to set to have it, or what is wrong with what was set.
    detail: String,
    /// Whether names without a provider go there.
    is_default: bool,
    /// Models that are known by name, which are those with a known price; a service has more.
    models: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Readiness {
    Ready,
    NotConfigured,
    Broken,
}

impl ModelService {
    fn of(found: Found, providers: &Providers) -> Self {
        let Found { provider, state, is_default } = found;
        let named = |name: &str| format!("{}/{name}", provider.name());
        let models = match provider {
            Provider::Scripted => providers.scripts().map(named).collect(),
            Provider::OpenAi | Provider::Anthropic | Provider::Gemini | Provider::Ollama => {
                Prices::built_in().answering(provider.name()).map(named).collect()
            }
        };
        let (status, detail) = match state {
            Stands::Ready { host: Some(host) } => (Readiness::Ready, host),
            Stands::Ready { host: None } => {
                let what = "Scripts answer in place of a model; every answer says so";
                (Readiness::Ready, what.to_owned())
            }
            Stands::Missing { variable } => {
                (Readiness::NotConfigured, format!("Set {variable} and start the server again"))
            }
            Stands::Broken { reason } => (Readiness::Broken, reason),
        };
        Self { provider: provider.name(), status, detail, is_default, models }
    }
}

/// Services of models that agents can be, and whether each can be used here.
#[utoipa::path(
    get, path = "/my/models", tag = "agents",
    responses((status = 200, body = Vec<ModelService>), Guarded)
)]
pub(super) async fn list(
    State(http): State<Http>,
    Authenticated(_caller): Authenticated,
) -> Answer<Json<Vec<ModelService>>> {
    let providers = http.app().providers();
    let all = providers.found().into_iter().map(|found| ModelService::of(found, providers));
    Ok(Json(all.collect()))
}
