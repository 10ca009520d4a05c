//! Running it: configuration, refusing to start unsafe, stopping, and the doctor.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use artel_testkit::server::Artel;
use serde_json::{Value, json};

use crate::{ARTEL, Side, empty_project};

/// Runs the binary with this environment and no other.
fn artel(environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    Command::new(ARTEL)
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn config(environment: &[(&str, &str)], arguments: &[&str]) -> Value {
    let output = artel(environment, arguments);
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// PF-7.1: without any configuration it runs embedded, with its data under one folder that is its owner's alone.
#[tokio::test]
async fn runs_without_configuration() {
    let home = tempfile::tempdir().unwrap();
    let world = Artel::new(ARTEL).env("HOME", home.path().to_str().unwrap()).start().unwrap();
    let health = world.client("ada").unwrap().get("/health").await.unwrap().body;
    assert_eq!(health["parts"]["database"]["kind"], "sqlite");
    assert_eq!(health["parts"]["bus"]["kind"], "in-process");
    let folder = config(&[("HOME", "/home/ada")], &["config", "--json"]);
    assert_eq!(
        folder["data_dir"],
        json!({"value": "/home/ada/.local/share/artel", "origin": "default", "about": folder["data_dir"]["about"]})
    );
    assert_eq!(folder["listen"]["value"], "127.0.0.1:8787");
}

/// PF-5.2: the secret is made at the first start and kept with owner-only rights; PF-7.1.
#[test]
fn the_first_start_makes_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let arguments = ["token", "ada", "--create", "--data-dir", data.to_str().unwrap()];
    let first = artel(&[], &arguments);
    assert!(first.status.success(), "{}", said(&first));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("jwt-secret")), 0o600);
    let secret = std::fs::read_to_string(data.join("jwt-secret")).unwrap();
    assert!(secret.len() >= 43, "32 bytes at least");
    artel(&[], &arguments);
    assert_eq!(std::fs::read_to_string(data.join("jwt-secret")).unwrap(), secret, "made once");
}

/// PF-7.3: defaults, then the file, then variables, then flags; each value says where it came from.
#[test]
fn configuration_has_an_order_and_origins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("artel.toml");
    std::fs::write(&file, "listen = '127.0.0.1:1'\nmax_agents = 7\ntoken_ttl = '2h'\nallowed_hosts = ['a.example.org']\nauto_provision = false\ndata_dir = '/from/file'\n").unwrap();
    let file = file.to_str().unwrap();
    let environment = [
        ("ARTEL_MAX_AGENTS", "8"),
        ("ARTEL_DATABASE_URL", "postgres://ada:hush@db/artel"),
        ("ARTEL_JWT_SECRET", "hush hush hush"),
        ("ARTEL_ALLOWED_HOSTS", "b.example.org, c.example.org"),
    ];
    let shown =
        config(&environment, &["config", "--json", "--config", file, "--data-dir", "/from/flag"]);
    let expected = [
        ("listen", "127.0.0.1:1", file),
        ("max_agents", "8", "$ARTEL_MAX_AGENTS"),
        ("token_ttl", "2h", file),
        ("auto_provision", "false", file),
        ("allowed_hosts", "b.example.org,c.example.org", "$ARTEL_ALLOWED_HOSTS"),
        ("data_dir", "/from/flag", "--data-dir"),
        ("max_projects", "1000", "default"),
        ("database_url", "postgres://ada:(hidden)@db/artel", "$ARTEL_DATABASE_URL"),
        ("jwt_secret", "(hidden)", "$ARTEL_JWT_SECRET"),
    ];
    for (key, value, origin) in expected {
        assert_eq!(
            (&shown[key]["value"], &shown[key]["origin"]),
            (&json!(value), &json!(origin)),
            "{key}"
        );
    }
    let text = artel(&environment, &["config", "--config", file]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("max_agents") && text.contains("$ARTEL_MAX_AGENTS"));
    assert!(!text.contains("hush"));
}

/// PF-7.3: a wrong key or value is an error that names it.
#[test]
fn mistakes_in_the_configuration_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let file = |text: &str| {
        let path = folder.path().join("c.toml");
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cases = [
        ("lisen = 'x'", "unknown key \"lisen\""),
        ("max_agents = 'many'", "max_agents: \"many\" is not a number"),
        ("max_agents = -1", "max_agents: -1 is below 0"),
        ("token_ttl = '1 fortnight'", "token_ttl: \"1 fortnight\" is not a span"),
        ("allowed_hosts = [1]", "allowed_hosts: 1 is not text"),
        ("listen = 'here'", "listen: must be an address"),
        ("log_format = 'xml'", "log_format: must be text or json"),
        ("database_url = 'mysql://x'", "database_url: must start with postgres://"),
        ("redis_url = 'http://x'", "redis_url: must start with redis://"),
        ("cors_origins = ['*']", "cors_origins: \"*\" is not an origin"),
        ("starter_pack = 'heroes'", "starter_pack: is not a known pack"),
        ("not toml", "expected"),
    ];
    for (text, expected) in cases {
        let output = artel(&[], &["serve", "--config", &file(text), "--data-dir", data]);
        assert!(!output.status.success(), "{text}");
        assert!(said(&output).contains(expected), "{text}: {}", said(&output));
    }
    let unknown = artel(&[("ARTEL_LISSEN", "x")], &["config"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said(&unknown).contains("unknown variable ARTEL_LISSEN"));
    let missing = artel(&[], &["serve", "--config", "/no/such/file"]);
    assert!(said(&missing).contains("/no/such/file"));
}

/// PF-5.2, PF-5.5: it refuses to start unsafe, with the remedy in the message.
#[test]
fn refuses_to_start_unsafe() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let refusal = |environment: &[(&str, &str)], listen: &str| {
        let output = artel(environment, &["serve", "--data-dir", data, "--listen", listen]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    let open = refusal(&[], "0.0.0.0:0");
    assert!(open.contains("refused to start") && open.contains("ARTEL_ALLOWED_HOSTS"), "{open}");
    let short = refusal(&[("ARTEL_JWT_SECRET", "short")], "127.0.0.1:0");
    assert!(short.contains("at least 32 bytes") && short.contains("openssl rand"), "{short}");
    artel(&[], &["token", "ada", "--create", "--data-dir", data]);
    let secret = format!("{data}/jwt-secret");
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o644)).unwrap();
    let readable = refusal(&[], "127.0.0.1:0");
    assert!(
        readable.contains("others can read the secret") && readable.contains("chmod 600"),
        "{readable}"
    );
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::set_permissions(data, PermissionsExt::from_mode(0o777)).unwrap();
    assert!(refusal(&[], "127.0.0.1:0").contains("chmod 700"));
}

/// One server per data folder; the second says who is in the way.
#[test]
fn two_servers_do_not_share_a_folder() {
    let world = Side::Embedded.start();
    let data = world.artel.data_dir().to_str().unwrap();
    let second = artel(&[], &["serve", "--data-dir", data, "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(said(&second).contains("another artel serves the data folder"), "{}", said(&second));
    let address = world.artel.url().trim_start_matches("http://");
    let other = tempfile::tempdir().unwrap();
    let taken = artel(
        &[],
        &["serve", "--data-dir", other.path().join("d").to_str().unwrap(), "--listen", address],
    );
    assert!(said(&taken).contains("--listen"), "{}", said(&taken));
}

/// PF-7.4: SIGTERM ends it with 0, after what was in flight; and a second signal at once.
#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_it_in_order() {
    let mut world = Side::Embedded.start();
    let ada = world.user("ada");
    let project = empty_project(&ada).await;
    let mut events = ada.events(&format!("{project}/events"), None).await.unwrap();
    let (status, took) = tokio::task::block_in_place(|| world.artel.terminate()).unwrap();
    assert!(status.success(), "{status}");
    assert!(took.as_secs() < 3, "{took:?}");
    assert!(events.next().await.unwrap().is_none(), "the stream was ended, not broken off");
    world.artel.restart().unwrap();
    let ada = world.user("ada");
    assert_eq!(ada.get(&project).await.unwrap().status, 200);
}

/// PF-7.2: two nodes start at once on an empty database; one migrates while the other waits.
#[test]
fn two_nodes_start_at_once() {
    let database = artel_testkit::postgres::database().unwrap();
    for _ in 0..3 {
        let start = || {
            std::thread::spawn({
                let url = database.url().to_owned();
                move || Artel::new(ARTEL).database(&url).start().map(drop)
            })
        };
        let nodes: Vec<_> = (0..4).map(|_| start()).collect();
        for node in nodes {
            node.join().unwrap().unwrap();
        }
    }
}

/// PF-7.5: the doctor finds what is wrong, and says how to mend it.
#[test]
fn the_doctor_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("d");
    let data = data.to_str().unwrap();
    let examine = |environment: &[(&str, &str)]| {
        let output = artel(environment, &["doctor", "--json", "--data-dir", data]);
        let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), findings)
    };
    let find = |findings: &[Value], what: &str| {
        findings.iter().find(|finding| finding["what"] == what).unwrap().clone()
    };
    let (code, well) = examine(&[]);
    assert_eq!(code, Some(0), "{well:?}");
    assert_eq!(find(&well, "database")["state"], "ok");
    assert!(find(&well, "accounts")["remedy"].as_str().unwrap().contains("artel user add"));
    let (code, ill) = examine(&[("ARTEL_DATABASE_URL", "postgres://nobody@127.0.0.1:1/x")]);
    assert_eq!(code, Some(1));
    let database = find(&ill, "database");
    assert_eq!(database["state"], "wrong");
    assert!(database["remedy"].as_str().unwrap().contains("database_url"));
    let (code, ill) = examine(&[("ARTEL_REDIS_URL", "redis://127.0.0.1:1")]);
    assert_eq!((code, &find(&ill, "bus")["state"]), (Some(1), &json!("wrong")));
    let (code, ill) = examine(&[("ARTEL_LISTEN", "nowhere")]);
    assert_eq!((code, &find(&ill, "configuration")["state"]), (Some(1), &json!("wrong")));
}

/// Completions and help come from the same description of the commands.
#[test]
fn completions_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let output = artel(&[], &["completions", shell]);
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("doctor"), "{shell}");
    }
}
