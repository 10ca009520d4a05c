//! Finds the provider for a model's name, and says what is configured.
//!
//! `openai/gpt-4o` names the provider; a bare `gpt-4` means the default one: the one that was chosen, or the first
//! configured of `OpenAI`, Anthropic, Gemini and Ollama. Where none is, the scripted `demo` answers, and the resolution
//! says so. Something wrong in the configuration of one provider leaves the others alone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::anthropic::{self, Anthropic};
use super::chat::ChatModel;
use super::gemini::{self, Gemini};
use super::http::{Bad, Http};
use super::openai::{self, OpenAi};
use super::scripted::{DEMO, Scripted};

const OLLAMA_PORT: u16 = 11434;

/// What the server was told. Empty values count as not given.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub openai_api_key: Option<SecretString>,
    /// A compatible service; it may want no key.
    pub openai_base_url: Option<String>,
    pub anthropic_api_key: Option<SecretString>,
    pub anthropic_base_url: Option<String>,
    pub gemini_api_key: Option<SecretString>,
    pub gemini_base_url: Option<String>,
    /// `http://host:port`, or `host:port` as Ollama itself takes it.
    pub ollama_host: Option<String>,
    /// Scripts in TOML or JSON by their names; `demo` is always there.
    pub scripts: BTreeMap<String, String>,
    /// The provider of bare names.
    pub default_provider: Option<String>,
}

/// A kind of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
    Scripted,
}

impl Provider {
    pub const ALL: [Self; 5] =
        [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama, Self::Scripted];

    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Scripted => "scripted",
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// What to set to have it.
    const fn variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::Ollama => "OLLAMA_HOST",
            Self::Scripted => "",
        }
    }

    const fn address_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Gemini => "GEMINI_BASE_URL",
            Self::Ollama => "OLLAMA_HOST",
            Self::Scripted => "",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A model to ask.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub model: Arc<dyn ChatModel>,
    pub provider: Provider,
    /// The provider's own name of the model, for [`super::Request::model`].
    pub name: String,
    /// No provider is configured, so a script answers in the place of the model that was asked for.
    pub stand_in: bool,
}

impl Resolved {
    /// `provider/model`, the name in the price table.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }
}

/// Why there is no such model, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error(
        "there is no model provider {0:?}; write openai/…, anthropic/…, gemini/…, ollama/… or scripted/…, \
         and openai/{0}/… for a model behind an OpenAI-compatible service"
    )]
    UnknownProvider(String),
    #[error("the model provider {provider} is not configured: set {variable}")]
    NotConfigured { provider: Provider, variable: &'static str },
    #[error("the model provider {provider} cannot be used: {reason}")]
    Broken { provider: Provider, reason: String },
    #[error("there is no script {0:?}")]
    UnknownScript(String),
    #[error("the name of the model is missing")]
    NoName,
}

/// What is known of a provider, for `doctor` and `/health`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub provider: Provider,
    pub state: State,
    /// Whether bare names go there.
    pub is_default: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Configured; `host` is where it is, and nothing for scripts.
    Ready {
        host: Option<String>,
    },
    Missing {
        variable: &'static str,
    },
    Broken {
        reason: String,
    },
}

type Service = Result<(Arc<dyn ChatModel>, String), Unavailable>;

/// All providers, as they were configured.
#[derive(Debug)]
pub struct Providers {
    services: BTreeMap<Provider, Service>,
    scripts: BTreeMap<String, Result<Arc<dyn ChatModel>, Unavailable>>,
    default: Result<Provider, Unavailable>,
}

impl From<Config> for Providers {
    fn from(config: Config) -> Self {
        let http = Http::new();
        let services = BTreeMap::from([
            (Provider::OpenAi, openai(&http, &config)),
            (Provider::Anthropic, anthropic(&http, &config)),
            (Provider::Gemini, gemini(&http, &config)),
            (Provider::Ollama, ollama(&http, &config)),
        ]);
        let demo: Arc<dyn ChatModel> = Arc::new(Scripted::demo());
        let mut scripts = BTreeMap::from([(DEMO.to_owned(), Ok(demo))]);
        scripts
            .extend(config.scripts.iter().map(|(name, text)| (name.clone(), script(name, text))));
        let default = match given(config.default_provider.as_ref()) {
            Some(name) => {
                Provider::by_name(name).ok_or_else(|| Unavailable::UnknownProvider(name.to_owned()))
            }
            // One that is broken counts: to answer by script instead would hide the mistake.
            None => Ok(services
                .iter()
                .find(|(_, service)| !matches!(service, Err(Unavailable::NotConfigured { .. })))
                .map_or(Provider::Scripted, |(provider, _)| *provider)),
        };
        Self { services, scripts, default }
    }
}

impl Providers {
    /// The model of that name.
    pub fn resolve(&self, name: &str) -> Result<Resolved, Unavailable> {
        let name = name.trim();
        let (provider, model) = match name.split_once('/') {
            Some((provider, model)) => (
                Provider::by_name(provider)
                    .ok_or_else(|| Unavailable::UnknownProvider(provider.to_owned()))?,
                model,
            ),
            None => (self.default.clone()?, name),
        };
        if model.is_empty() {
            return Err(Unavailable::NoName);
        }
        let bare = !name.contains('/');
        let (model, name, stand_in) = match provider {
            // The name that was asked for is no script's.
            Provider::Scripted if bare && !self.scripts.contains_key(model) => {
                (self.script(DEMO)?, DEMO, true)
            }
            Provider::Scripted => (self.script(model)?, model, false),
            Provider::OpenAi | Provider::Anthropic | Provider::Gemini | Provider::Ollama => {
                (self.service(provider)?.0, model, false)
            }
        };
        Ok(Resolved { model, provider, name: name.to_owned(), stand_in })
    }

    /// Every provider with its state.
    pub fn found(&self) -> Vec<Found> {
        let found = |provider: Provider| {
            let state = match provider {
                Provider::Scripted => self.scripts_state(),
                Provider::OpenAi | Provider::Anthropic | Provider::Gemini | Provider::Ollama => {
                    match self.service(provider) {
                        Ok((_, host)) => State::Ready { host: Some(host) },
                        Err(Unavailable::NotConfigured { variable, .. }) => {
                            State::Missing { variable }
                        }
                        Err(
                            error @ (Unavailable::Broken { .. }
                            | Unavailable::UnknownProvider(_)
                            | Unavailable::UnknownScript(_)
                            | Unavailable::NoName),
                        ) => State::Broken { reason: error.to_string() },
                    }
                }
            };
            Found { provider, state, is_default: self.default.as_ref() == Ok(&provider) }
        };
        Provider::ALL.into_iter().map(found).collect()
    }

    /// The names of scripts, for `scripted/NAME`.
    pub fn scripts(&self) -> impl Iterator<Item = &str> {
        self.scripts.keys().map(String::as_str)
    }

    /// Where bare names go.
    pub fn default_provider(&self) -> Result<Provider, Unavailable> {
        self.default.clone()
    }

    fn service(&self, provider: Provider) -> Service {
        let not_configured = Unavailable::NotConfigured { provider, variable: provider.variable() };
        self.services.get(&provider).cloned().unwrap_or(Err(not_configured))
    }

    fn script(&self, name: &str) -> Result<Arc<dyn ChatModel>, Unavailable> {
        let unknown = || Err(Unavailable::UnknownScript(name.to_owned()));
        self.scripts.get(name).cloned().unwrap_or_else(unknown)
    }

    fn scripts_state(&self) -> State {
        match self.scripts.values().find_map(|script| script.as_ref().err()) {
            Some(error) => State::Broken { reason: error.to_string() },
            None => State::Ready { host: None },
        }
    }
}

fn openai(http: &Http, config: &Config) -> Service {
    let key = secret(config.openai_api_key.as_ref());
    let base = given(config.openai_base_url.as_ref());
    // A compatible service on one's own machine has no key.
    if key.is_none() && base.is_none() {
        return missing(Provider::OpenAi);
    }
    let service = OpenAi::new(http.clone(), base.unwrap_or(openai::BASE), key);
    service
        .map(|service| ready(service.host().to_owned(), service))
        .map_err(broken(Provider::OpenAi))
}

fn anthropic(http: &Http, config: &Config) -> Service {
    let Some(key) = secret(config.anthropic_api_key.as_ref()) else {
        return missing(Provider::Anthropic);
    };
    let base = given(config.anthropic_base_url.as_ref()).unwrap_or(anthropic::BASE);
    let service = Anthropic::new(http.clone(), base, Some(key));
    service
        .map(|service| ready(service.host().to_owned(), service))
        .map_err(broken(Provider::Anthropic))
}

fn gemini(http: &Http, config: &Config) -> Service {
    let Some(key) = secret(config.gemini_api_key.as_ref()) else {
        return missing(Provider::Gemini);
    };
    let base = given(config.gemini_base_url.as_ref()).unwrap_or(gemini::BASE);
    let service = Gemini::new(http.clone(), base, Some(key));
    service
        .map(|service| ready(service.host().to_owned(), service))
        .map_err(broken(Provider::Gemini))
}

fn ollama(http: &Http, config: &Config) -> Service {
    let Some(host) = given(config.ollama_host.as_ref()) else {
        return missing(Provider::Ollama);
    };
    let service = OpenAi::new(http.clone(), &ollama_base(host), None);
    service
        .map(|service| ready(service.host().to_owned(), service))
        .map_err(broken(Provider::Ollama))
}

/// `OLLAMA_HOST` is also what Ollama listens on, so it may be all addresses, and lack a scheme or a port.
fn ollama_base(host: &str) -> String {
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = match address.strip_prefix("0.0.0.0") {
        Some(port) => format!("127.0.0.1{port}"),
        None if address.starts_with(':') => format!("127.0.0.1{address}"),
        None => address.to_owned(),
    };
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let port = if has_port || host.contains("://") && scheme == "https" {
        String::new()
    } else {
        format!(":{OLLAMA_PORT}")
    };
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("v1").unwrap_or(path).trim_end_matches('/');
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{address}{port}{slash}{path}/v1")
}

fn script(name: &str, text: &str) -> Result<Arc<dyn ChatModel>, Unavailable> {
    match Scripted::parse(text) {
        Ok(script) => Ok(Arc::new(script)),
        Err(error) => Err(Unavailable::Broken {
            provider: Provider::Scripted,
            reason: format!("{name}: {error}"),
        }),
    }
}

fn ready(host: String, service: impl ChatModel + 'static) -> (Arc<dyn ChatModel>, String) {
    (Arc::new(service), host)
}

fn missing(provider: Provider) -> Service {
    Err(Unavailable::NotConfigured { provider, variable: provider.variable() })
}

fn broken(provider: Provider) -> impl FnOnce(Bad) -> Unavailable {
    move |bad| {
        let variable = match bad {
            Bad::Key => provider.variable(),
            Bad::Address | Bad::Userinfo => provider.address_variable(),
        };
        Unavailable::Broken { provider, reason: format!("{variable} {bad}") }
    }
}

fn given(value: Option<&String>) -> Option<&str> {
    value.map(|value| value.trim()).filter(|value| !value.is_empty())
}

fn secret(key: Option<&SecretString>) -> Option<SecretString> {
    key.filter(|key| !key.expose_secret().trim().is_empty()).cloned()
}

#[cfg(test)]
mod tests;
