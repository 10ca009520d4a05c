//! Which name finds which provider, and what is said where there is none.

use super::*;

fn resolved(config: Config, name: &str) -> (Provider, String, bool) {
    let resolved = Providers::from(config).resolve(name).unwrap();
    (resolved.provider, resolved.name, resolved.stand_in)
}

fn refused(config: Config, name: &str) -> String {
    Providers::from(config).resolve(name).unwrap_err().to_string()
}

#[tokio::test]
async fn a_name_finds_its_provider() {
    let config = Config {
        openai_api_key: Some("sk-1".into()),
        anthropic_api_key: Some("sk-2".into()),
        gemini_api_key: Some("sk-3".into()),
        ollama_host: Some("localhost".to_owned()),
        ..Config::default()
    };
    for (name, provider, model) in [
        ("openai/gpt-4o", Provider::OpenAi, "gpt-4o"),
        ("openai/meta-llama/Llama-3", Provider::OpenAi, "meta-llama/Llama-3"),
        ("anthropic/claude-sonnet-4-5", Provider::Anthropic, "claude-sonnet-4-5"),
        ("gemini/gemini-2.5-pro", Provider::Gemini, "gemini-2.5-pro"),
        ("ollama/llama3.2:3b", Provider::Ollama, "llama3.2:3b"),
        ("scripted/demo", Provider::Scripted, "demo"),
        ("gpt-4", Provider::OpenAi, "gpt-4"),
    ] {
        let expected = (provider, model.to_owned(), false);
        assert_eq!(resolved(config.clone(), name), expected, "{name}");
    }
    let full = Providers::from(config).resolve("gpt-4o").unwrap().full_name();
    assert_eq!(full, "openai/gpt-4o");
}

#[tokio::test]
async fn a_bare_name_means_the_default_provider() {
    let two = Config {
        anthropic_api_key: Some("sk-2".into()),
        ollama_host: Some("localhost".to_owned()),
        // As an empty variable of the environment: not given.
        openai_api_key: Some(" ".into()),
        ..Config::default()
    };
    assert_eq!(resolved(two.clone(), "m").0, Provider::Anthropic);
    let chosen = Config { default_provider: Some("ollama".to_owned()), ..two.clone() };
    assert_eq!(resolved(chosen, "m").0, Provider::Ollama);
    let mistaken = Config { default_provider: Some("olama".to_owned()), ..two };
    assert!(refused(mistaken, "m").contains("\"olama\""));
}

#[tokio::test]
async fn with_nothing_configured_the_demo_answers_and_it_is_said() {
    let expected = (Provider::Scripted, "demo".to_owned(), true);
    assert_eq!(resolved(Config::default(), "gpt-4"), expected);
    let found = Providers::from(Config::default()).found();
    let default: Vec<_> = found.iter().filter(|found| found.is_default).collect();
    assert_eq!(default.len(), 1);
    assert_eq!(default[0].provider, Provider::Scripted);
    assert_eq!(found[0].state, State::Missing { variable: "OPENAI_API_KEY" });
}

#[tokio::test]
async fn errors_say_what_to_set() {
    for (name, variable) in [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/x", "ANTHROPIC_API_KEY"),
        ("gemini/x", "GEMINI_API_KEY"),
        ("ollama/x", "OLLAMA_HOST"),
    ] {
        assert!(refused(Config::default(), name).contains(variable), "{name}");
    }
    assert!(refused(Config::default(), "mistral/x").contains("\"mistral\""));
    assert!(refused(Config::default(), "scripted/nobody").contains("\"nobody\""));
    assert!(refused(Config::default(), "scripted/").contains("missing"));
}

/// PF-5.6: what is broken is shown, and the key is not.
#[tokio::test]
async fn mistakes_of_one_provider_are_shown_and_leave_the_others_alone() {
    let config = Config {
        openai_api_key: Some("sk-canary\nsecond line".into()),
        anthropic_api_key: Some("sk-canary".into()),
        anthropic_base_url: Some("api.example".to_owned()),
        gemini_api_key: Some("sk-canary".into()),
        scripts: BTreeMap::from([("bad".to_owned(), "rules = 1".to_owned())]),
        ..Config::default()
    };
    let providers = Providers::from(config.clone());
    let shown = format!("{config:?} {providers:?} {:?}", providers.found());
    assert!(!shown.contains("canary"), "{shown}");
    // A mistake is not papered over by answering from somewhere else.
    assert!(refused(config.clone(), "gpt-4").contains("OPENAI_API_KEY"));
    assert!(refused(config.clone(), "anthropic/x").contains("ANTHROPIC_BASE_URL"));
    assert!(refused(config.clone(), "scripted/bad").contains("bad"));
    assert_eq!(resolved(config, "gemini/x").0, Provider::Gemini);
    let host = "generativelanguage.googleapis.com".to_owned();
    assert_eq!(providers.found()[2].state, State::Ready { host: Some(host) });
}

#[tokio::test]
async fn a_compatible_service_needs_no_key() {
    let config = Config {
        openai_base_url: Some("http://localhost:8000/v1".to_owned()),
        ..Config::default()
    };
    assert_eq!(resolved(config, "gpt-4").0, Provider::OpenAi);
}

#[test]
fn ollama_is_found_as_it_names_itself() {
    for (host, base) in [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
        (":8080", "http://127.0.0.1:8080/v1"),
        ("http://box:1234/", "http://box:1234/v1"),
        ("http://box", "http://box:11434/v1"),
        ("https://ollama.example", "https://ollama.example/v1"),
        ("http://box:1234/v1", "http://box:1234/v1"),
        ("http://box:1234/ollama", "http://box:1234/ollama/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
    ] {
        assert_eq!(ollama_base(host), base, "{host}");
    }
}
