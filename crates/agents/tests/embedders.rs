//! The law of [`artel_agents::embed`], held against every embedder, and what is special about each (CS-2.4): the service
//! against a stub that speaks the real wire, words on odd input, the local model against published figures.

#![expect(clippy::unwrap_used, reason = "helpers are called by tests and fail as they do")]

use std::path::PathBuf;
use std::sync::Arc;

use artel_agents::embed::local::Local;
use artel_agents::embed::{Choice, Embedder, Error, Kind, Settings, lexical, open};
use artel_modelstub::{Scenario, Stub};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEY: &str = "sk-canary-0123456789";

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn assert_unit(vector: &[f32], dimensions: usize) {
    assert_eq!(vector.len(), dimensions);
    assert!(vector.iter().all(|x| x.is_finite()));
    assert!((cosine(vector, vector) - 1.0).abs() < 1e-4);
}

mod service {
    use super::*;

    struct World {
        stub: Stub,
        embedder: Arc<dyn Embedder>,
    }

    impl World {
        async fn new(rules: Value, settings: Settings) -> Self {
            let scenario = json!({ "key": KEY, "rules": rules });
            let stub = Stub::start(Scenario::parse(&scenario.to_string()).unwrap()).await.unwrap();
            let settings = Settings {
                choice: Choice::OpenAi,
                openai_base_url: Some(format!("{}/v1", stub.url())),
                openai_api_key: settings.openai_api_key.or_else(|| Some(KEY.into())),
                ..settings
            };
            Self { embedder: open(&settings).unwrap(), stub }
        }

        async fn plain() -> Self {
            Self::new(json!([]), Settings::default()).await
        }

        /// One that answers like this.
        async fn answering(fault: Value, settings: Settings) -> Self {
            let rule = json!({ "when": { "wire": "embeddings" }, "fault": fault });
            Self::new(json!([rule]), settings).await
        }

        async fn fails(&self) -> Error {
            self.embedder.embed(&texts(["one", "two"])).await.unwrap_err()
        }
    }

    #[tokio::test]
    async fn many_texts_are_sent_in_batches_and_come_back_in_order() {
        let world = World::plain().await;
        let many: Vec<String> = (0..300).map(|n| format!("note {n} of all")).collect();
        let vectors = world.embedder.embed(&many).await.unwrap();
        let requests = world.stub.requests();
        let sizes: Vec<usize> = requests
            .iter()
            .map(|request| request.body["input"].as_array().unwrap().len())
            .collect();
        assert_eq!(sizes, [128, 128, 44]);
        assert_eq!(requests[0].body["model"], "text-embedding-3-small");
        assert!(requests[0].body.get("dimensions").is_none());

        let other = World::plain().await;
        for n in [0, 127, 128, 299] {
            let alone = other.embedder.embed(&many[n..=n]).await.unwrap();
            assert_unit(&vectors[n], 1536);
            assert!(cosine(&alone[0], &vectors[n]) > 0.9999, "{n}");
        }
    }

    #[tokio::test]
    async fn a_text_is_asked_for_once() {
        let world = World::plain().await;
        let first = world.embedder.embed(&texts(["a", "b", "a"])).await.unwrap();
        let again = world.embedder.embed(&texts(["b", "a", "c"])).await.unwrap();
        assert_eq!((&first[0], &first[1]), (&again[1], &again[0]));
        assert_eq!(first[0], first[2]);
        let asked = world.stub.requests().into_iter().map(|request| request.body["input"].clone());
        assert_eq!(asked.collect::<Vec<_>>(), [json!(["a", "b"]), json!(["c"])]);
        assert!(world.embedder.embed(&[]).await.unwrap().is_empty());
        assert_eq!(world.stub.requests().len(), 2);
    }

    #[tokio::test]
    async fn long_texts_are_cut_and_large_batches_divided() {
        let world = World::plain().await;
        let long: Vec<String> = (0..12).map(|n| format!("{n} word ").repeat(20_000)).collect();
        let vectors = world.embedder.embed(&long).await.unwrap();
        assert_eq!(vectors.len(), 12);
        let requests = world.stub.requests();
        assert!(requests.len() > 1, "{}", requests.len());
        for request in requests {
            let inputs = request.body["input"].as_array().unwrap().clone();
            let lengths: Vec<usize> =
                inputs.iter().map(|input| input.as_str().unwrap().len()).collect();
            assert!(lengths.iter().sum::<usize>() <= 256 * 1024);
            assert!(lengths.iter().all(|length| (20_000..40_000).contains(length)), "{lengths:?}");
        }
    }

    #[tokio::test]
    async fn an_empty_text_has_a_vector_too() {
        let world = World::plain().await;
        let vectors = world.embedder.embed(&texts(["", " \n"])).await.unwrap();
        assert_unit(&vectors[0], 1536);
        assert_unit(&vectors[1], 1536);
    }

    #[tokio::test]
    async fn fewer_dimensions_are_asked_for() {
        let settings = Settings {
            model: Some("text-embedding-3-large".to_owned()),
            dimensions: Some(256),
            ..Settings::default()
        };
        let world = World::new(json!([]), settings).await;
        let vectors = world.embedder.embed(&texts(["one"])).await.unwrap();
        assert_unit(&vectors[0], 256);
        assert_eq!(world.stub.requests()[0].body["dimensions"], 256);
        assert_eq!(world.embedder.name(), "openai/text-embedding-3-large");
        assert_eq!((world.embedder.dimensions(), world.embedder.kind()), (256, Kind::Service));
    }

    #[tokio::test]
    async fn a_busy_service_is_asked_again() {
        let busy = json!({ "type": "status", "status": 429, "retry_after": 0 });
        let rule = json!({ "when": { "wire": "embeddings", "times": 1 }, "fault": busy });
        let world = World::new(json!([rule]), Settings::default()).await;
        assert_eq!(world.embedder.embed(&texts(["one"])).await.unwrap().len(), 1);
        assert_eq!(world.stub.requests().len(), 2);
    }

    #[tokio::test]
    async fn a_wrong_key_lasts_and_is_not_shown() {
        let key = Some("sk-wrong-canary".into());
        let settings = Settings { openai_api_key: key, ..Settings::default() };
        let world = World::new(json!([]), settings).await;
        let error = world.fails().await;
        assert!(!error.is_passing());
        assert!(!format!("{error} {error:?} {:?}", world.embedder).contains("canary"));
        assert_eq!(world.stub.requests().len(), 1);
    }

    fn answer(vectors: &[(usize, &[f32])]) -> Value {
        let data: Vec<Value> = vectors
            .iter()
            .map(|(index, vector)| json!({ "index": index, "embedding": vector }))
            .collect();
        json!({ "type": "status", "status": 200, "body": { "object": "list", "data": data } })
    }

    #[tokio::test]
    async fn the_index_decides_and_numbers_are_understood() {
        let settings = Settings { dimensions: Some(2), ..Settings::default() };
        let shuffled = answer(&[(1, &[0.0, 5.0]), (0, &[3.0, 4.0])]);
        let world = World::answering(shuffled, settings).await;
        let vectors = world.embedder.embed(&texts(["one", "two"])).await.unwrap();
        assert_eq!(vectors, [[0.6, 0.8], [0.0, 1.0]]);
    }

    #[tokio::test]
    async fn answers_that_do_not_fit_last() {
        let two = || Settings { dimensions: Some(2), ..Settings::default() };
        for (what, fault) in [
            ("3 dimensions", answer(&[(0, &[1.0, 0.0, 0.0]), (1, &[1.0, 0.0, 0.0])])),
            ("fewer", answer(&[(0, &[1.0, 0.0])])),
            ("entry 0", answer(&[(0, &[1.0, 0.0]), (0, &[1.0, 0.0])])),
            ("entry 2", answer(&[(0, &[1.0, 0.0]), (2, &[1.0, 0.0])])),
            ("understood", json!({ "type": "status", "status": 200, "body": "<html>" })),
        ] {
            let world = World::answering(fault, two()).await;
            let error = world.fails().await;
            assert!(!error.is_passing() && error.to_string().contains(what), "{what}: {error}");
            assert_eq!(world.stub.requests().len(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_stays_away_is_a_passing_error() {
        let settings = Settings {
            choice: Choice::OpenAi,
            openai_api_key: Some(KEY.into()),
            // Nothing listens there.
            openai_base_url: Some("http://127.0.0.1:9/v1".to_owned()),
            ..Settings::default()
        };
        let error = open(&settings).unwrap().embed(&texts(["one"])).await.unwrap_err();
        assert!(error.is_passing(), "{error}");
    }
}

mod choice {
    use super::*;

    fn kind(settings: &Settings) -> Kind {
        open(settings).unwrap().kind()
    }

    #[tokio::test]
    async fn without_a_wish_the_best_that_is_there_is_taken() {
        let bare = Settings::default();
        assert_eq!(kind(&bare), Kind::Lexical);
        let gone = Settings { weights: Some("no/such/folder".into()), ..Settings::default() };
        assert_eq!(kind(&gone), Kind::Lexical);
        let here = Settings { weights: Some(weights()), ..Settings::default() };
        assert_eq!(kind(&here), Kind::Local);
        let key = Settings { openai_api_key: Some(KEY.into()), ..here.clone() };
        assert_eq!(kind(&key), Kind::Service);
        let blank = Settings { openai_api_key: Some(" ".into()), ..here };
        assert_eq!(kind(&blank), Kind::Local);
        let wish = Settings { choice: Choice::Lexical, ..key };
        assert_eq!(kind(&wish), Kind::Lexical);
    }

    #[tokio::test]
    async fn a_wish_that_cannot_be_met_names_the_remedy() {
        let wish = |choice: Choice| Settings { choice, ..Settings::default() };
        let key = Settings { openai_api_key: Some(KEY.into()), ..wish(Choice::OpenAi) };
        for (settings, remedy) in [
            (wish(Choice::OpenAi), "OPENAI_API_KEY"),
            (wish(Choice::Local), "fetch-weights.sh"),
            (Settings { weights: Some("no/such".into()), ..wish(Choice::Local) }, "fetch-weights"),
            (
                Settings { openai_base_url: Some("nowhere".into()), ..key.clone() },
                "OPENAI_BASE_URL",
            ),
            (Settings { model: Some("unheard-of".into()), ..key.clone() }, "dimensions"),
            (Settings { dimensions: Some(0), ..key }, "dimensions"),
        ] {
            let error = open(&settings).unwrap_err();
            assert!(!error.is_passing() && error.to_string().contains(remedy), "{error}");
        }
        assert_eq!("local".parse(), Ok(Choice::Local));
        assert!("words".parse::<Choice>().is_err());
    }
}

mod words {
    use super::*;

    fn near(a: &str, b: &str) -> f32 {
        cosine(&lexical::vector(a), &lexical::vector(b))
    }

    proptest! {
        #[test]
        fn any_text_has_a_unit_vector(text in "\\PC*|[ \\t\\n_.^-]*|[a-z_А-Яё0-9日]{0,40}") {
            let vector = lexical::vector(&text);
            assert_unit(&vector, lexical::DIMENSIONS);
            prop_assert_eq!(vector, lexical::vector(&text));
        }
    }

    #[test]
    fn odd_texts_have_vectors() {
        let huge = "слово word_два 42 ".repeat(60_000);
        let endless = "ё".repeat(1_000_001);
        for text in ["", " ", "!!!", "\0", "the", "и", "🙂🙂", "日本語のテキスト", &huge, &endless]
        {
            assert_unit(&lexical::vector(text), lexical::DIMENSIONS);
        }
        assert_eq!(lexical::vector(""), lexical::vector(" \n"));
        assert!(near("!!!", "???") < 0.9);
    }

    #[test]
    fn forms_of_words_are_nearer_than_other_words() {
        for (text, form, other) in [
            ("миграция базы данных", "миграцию баз данных отложили", "письмо клиенту отправили"),
            ("сервер перезапустился ночью", "перезапуск сервера", "скидка в корзине"),
            ("ещё ёлки", "еще елки", "новые окна"),
            ("deploying the server", "server deployment", "invoice template"),
            ("default_pool_size is 20", "what is the pool size", "who likes the colour"),
            ("parseHTTPHeader fails", "http header parsing", "cat food prices"),
            ("error W0090 came up", "where does w0090 come from", "error W0091 came up"),
            ("Xcode 15.4 is needed", "xcode 15.4", "xcode 16.2"),
        ] {
            let (nearer, farther) = (near(text, form), near(text, other));
            assert!(nearer > farther + 0.1, "{text}: {nearer} {farther}");
        }
    }

    /// Vectors that were stored must still fit.
    #[test]
    fn vectors_stay_as_they_are() {
        let vector = lexical::vector("Redis listens on port 6390, не на 6379.");
        let places: Vec<usize> = (0..vector.len()).filter(|n| vector[*n] > 0.3).collect();
        assert_eq!(places, [292, 438]);
    }
}

/// The folder of the weights. A test that is skipped without them would be a silent hole.
#[expect(clippy::disallowed_methods, reason = "set by the scripts that run the tests")]
fn weights() -> PathBuf {
    std::env::var("ARTEL_TEST_WEIGHTS").map(PathBuf::from).expect(
        "ARTEL_TEST_WEIGHTS names no folder: run scripts/fetch-weights.sh DIR, and set it to DIR",
    )
}

mod local {
    use super::*;

    /// The figures that the authors of the model publish for these sentences.
    #[tokio::test]
    async fn the_model_says_what_its_authors_publish() {
        let local = Local::open(&weights()).unwrap();
        let sentences = texts([
            "The weather is lovely today.",
            "It's so sunny outside!",
            "He drove to the stadium.",
        ]);
        let vectors = local.meanings(&sentences).await.unwrap();
        for (a, b, expected) in [(0, 1, 0.6660), (0, 2, 0.1046), (1, 2, 0.1411)] {
            let found = cosine(&vectors[a], &vectors[b]);
            assert!((found - expected).abs() < 1e-4, "{a} {b}: {found}");
        }
    }

    #[tokio::test]
    async fn together_and_alone_are_the_same() {
        let settings =
            Settings { choice: Choice::Local, weights: Some(weights()), ..Settings::default() };
        let embedder = open(&settings).unwrap();
        assert_eq!(embedder.name(), "all-MiniLM-L6-v2+lexical-1");
        assert_eq!((embedder.dimensions(), embedder.kind()), (896, Kind::Local));
        let long = "The pool ran dry because the nightly import held its connections. ".repeat(90);
        let huge = "много слов ".repeat(100_000);
        let all =
            texts(["", "a", "Redis listens on port 6390.", "Где лежат ключи?", "🙂", &long, &huge]);
        let together = Local::open(&weights()).unwrap().embed(&all).await.unwrap();
        for (n, text) in all.iter().enumerate() {
            let alone = embedder.embed(std::slice::from_ref(text)).await.unwrap();
            assert_unit(&together[n], 896);
            assert!(cosine(&alone[0], &together[n]) > 0.9999, "{n}");
        }
        assert!(embedder.embed(&[]).await.unwrap().is_empty());
        let short = embedder.embed(&texts(["The pool had no connections left."])).await.unwrap();
        assert!(cosine(&short[0], &together[5]) > cosine(&short[0], &together[2]) + 0.1);
    }

    #[tokio::test]
    async fn weights_that_are_none_are_an_error_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["model.safetensors", "tokenizer.json"] {
            std::fs::write(folder.path().join(name), "nonsense").unwrap();
        }
        let local = Local::open(folder.path()).unwrap();
        let error = local.embed(&texts(["one"])).await.unwrap_err();
        assert!(!error.is_passing() && error.to_string().contains("fetch-weights"), "{error}");
    }
}
