//! Accounts, log-in, limits, and what browsers may do.

use artel_testkit::client::{Client, answer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{World, empty_project, on_both_sides};

/// Runs `artel` on the world's store: its exit code, and what it said on both outputs.
fn artel_with_input(world: &World, arguments: &[&str], input: &str) -> (i32, String, String) {
    let output = world.artel.output(arguments, input).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn stranger(world: &World) -> Client {
    Client::new(world.artel.url(), "").unwrap()
}

on_both_sides! {
    /// PF-5.3: an account by the command line, log-in by password, a token that works; roles.
    async fn a_user_logs_in(side) {
        let world = side.start();
        let (code, said, _) = artel_with_input(&world, &["user", "add", "ada", "--admin", "--password-stdin"], "correct horse\n");
        assert_eq!(code, 0, "{said}");
        let nobody = stranger(&world);
        let logged_in = nobody.post("/auth/login", &json!({"username": "ada", "password": "correct horse"})).await.unwrap();
        assert_eq!(logged_in.status, 200, "{}", logged_in.body);
        assert_eq!(logged_in.body["token_type"], "bearer");
        assert_eq!(logged_in.body["expires_in"], 86_400);
        let ada = nobody.with_token(logged_in.body["access_token"].as_str().unwrap());
        let me = ada.get("/my/me").await.unwrap().body;
        assert_eq!((&me["name"], &me["role"]), (&json!("ada"), &json!("admin")));
        assert_eq!(ada.get("/admin/users").await.unwrap().body["users"][0]["name"], "ada");
        assert_eq!(world.user("bob").get("/admin/users").await.unwrap().status, 403);
        for (name, password) in [("ada", "wrong horse"), ("nobody", "correct horse"), ("bob", "x")] {
            let refused = nobody.post("/auth/login", &json!({"username": name, "password": password})).await.unwrap();
            assert_eq!((refused.status.as_u16(), &refused.body["detail"]), (401, &json!("Wrong name or password")));
        }
        let (code, _, _) = artel_with_input(&world, &["user", "passwd", "ada", "--password-stdin"], "another horse\n");
        assert_eq!(code, 0);
        let old = nobody.post("/auth/login", &json!({"username": "ada", "password": "correct horse"})).await.unwrap();
        assert_eq!(old.status, 401);
    }

    /// PF-5.3: accounts on the command line: mistakes have their exit codes, and a disabled user is refused.
    async fn accounts_on_the_command_line(side) {
        let world = side.start();
        let run = |arguments: &[&str]| artel_with_input(&world, arguments, "");
        assert_eq!(run(&["token", "ghost"]).0, 3, "not found");
        assert_eq!(run(&["user", "add", "ada"]).0, 0);
        let (code, _, said) = run(&["user", "add", "ada"]);
        assert_eq!(code, 1);
        assert!(said.contains("\"ada\" already"), "{said}");
        assert_eq!(artel_with_input(&world, &["user", "add", "eve", "--password-stdin"], "short\n").0, 2);
        assert_eq!(run(&["frobnicate"]).0, 2, "usage");
        let token = run(&["token", "ada", "--ttl", "1h"]).1;
        let ada = stranger(&world).with_token(token.trim());
        assert_eq!(ada.get("/my/me").await.unwrap().body["name"], "ada");
        let listed: Value = serde_json::from_str(&run(&["user", "list", "--json"]).1).unwrap();
        assert_eq!(listed["total"], 1);
        assert_eq!(run(&["user", "disable", "ada"]).0, 0);
        let refused = async {
            // Remembered for a few seconds at most.
            while ada.get("/my/me").await.unwrap().status != 401 {
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(10), refused).await.unwrap();
        assert_eq!(run(&["user", "disable", "ghost"]).0, 3);
    }

    /// PF-5.3: log-in attempts are limited.
    async fn guessing_is_slowed(side) {
        let world = side.start_with(&[("ARTEL_LOGIN_ATTEMPTS_PER_MINUTE", "3")]);
        let nobody = stranger(&world);
        let attempt = json!({"username": "ada", "password": "guess"});
        let mut statuses = Vec::new();
        for _ in 0..5 {
            let answer = nobody.post("/auth/login", &attempt).await.unwrap();
            if answer.status == 429 {
                assert!(answer.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
            }
            statuses.push(answer.status.as_u16());
        }
        assert_eq!(statuses, [401, 401, 401, 429, 429]);
    }

    /// PF-5.4: requests per user are limited, told in headers, and one user's do not count for another.
    async fn a_user_has_a_limit(side) {
        let world = side.start_with(&[("ARTEL_RATE_LIMIT_PER_MINUTE", "5")]);
        let (ada, bob) = (world.user("ada"), world.user("bob"));
        let first = ada.get("/my/projects").await.unwrap();
        assert_eq!((&first.headers["x-ratelimit-limit"], &first.headers["x-ratelimit-remaining"]), (&"5".parse().unwrap(), &"4".parse().unwrap()));
        let mut last = first;
        for _ in 0..5 {
            last = ada.get("/my/projects").await.unwrap();
        }
        assert_eq!((last.status.as_u16(), &last.body["error_code"]), (429, &json!("rate_limited")));
        assert!(last.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() <= 60);
        assert_eq!(bob.get("/my/projects").await.unwrap().status, 200);
        assert_eq!(stranger(&world).get("/health").await.unwrap().status, 200);
    }
}

/// PF-5.5: the server answers to its own names only, and to pages of its own or configured origins only.
#[tokio::test]
async fn names_and_origins_are_checked() {
    let world =
        crate::Side::Embedded.start_with(&[("ARTEL_CORS_ORIGINS", "https://app.example.org")]);
    let ada = world.user("ada");
    let host = world.artel.url().trim_start_matches("http://").to_owned();
    let port = host.rsplit(':').next().unwrap();
    let get = |headers: &[(&str, &str)]| {
        let mut request = ada.request(Method::GET, "/my/me");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request)
    };
    for (name, value) in [
        ("host", "evil.test"),
        ("host", "127.0.0.1:1"),
        ("host", "localhost"),
        ("origin", "https://evil.test"),
        ("origin", "null"),
        ("origin", "http://localhost:3000"),
    ] {
        let refused = get(&[(name, value)]).await.unwrap();
        assert_eq!(refused.status, 403, "{name}: {value}");
    }
    assert_eq!(get(&[("host", &format!("localhost:{port}"))]).await.unwrap().status, 200);
    assert_eq!(get(&[("origin", world.artel.url())]).await.unwrap().status, 200);
    let page = get(&[("origin", "https://app.example.org")]).await.unwrap();
    assert_eq!(page.headers["access-control-allow-origin"], "https://app.example.org");
    assert!(!page.headers.contains_key("set-cookie"), "there is no cookie to ride on");
    assert!(!page.headers.contains_key("access-control-allow-credentials"));
    let preflight = answer(
        ada.request(Method::OPTIONS, "/my/projects")
            .header("origin", "https://app.example.org")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type"),
    );
    let preflight = preflight.await.unwrap();
    assert_eq!(preflight.status, 200);
    assert!(preflight.headers["access-control-allow-methods"].to_str().unwrap().contains("POST"));
    let data = ada.get("/health").await.unwrap();
    assert!(
        data.headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'")
    );
    assert!(
        ada.get("/docs/").await.unwrap().headers["content-security-policy"]
            .to_str()
            .unwrap()
            .contains("default-src 'self'")
    );
}

/// PF-5.6: no secret in logs, errors or events, wherever it came in.
#[tokio::test]
async fn secrets_stay_secret() {
    let world = crate::Side::Embedded.start_with(&[("ARTEL_LOG_LEVEL", "debug")]);
    let ada = world.user("ada");
    let canary = "canary-4f1d-secret";
    let nobody = stranger(&world);
    nobody.post("/auth/login", &json!({"username": "ada", "password": canary})).await.unwrap();
    let echoed = nobody
        .post("/auth/login", &json!({"username": "ada", "password": [canary]}))
        .await
        .unwrap();
    assert!(!echoed.body.to_string().contains(canary), "{}", echoed.body);
    ada.with_token(canary).get("/my/me").await.unwrap();
    ada.get(&format!("/my/me?token={canary}")).await.unwrap();
    let project = empty_project(&ada).await;
    ada.events(&format!("{project}/events"), Some(0)).await.unwrap();
    let log = world.artel.log();
    assert!(log.contains("/my/me"), "the log has the requests");
    assert!(!log.contains(canary));
    assert!(!log.contains(ada.token()));
    let shown = world.artel.run(&["config", "--json"]).unwrap();
    assert!(shown.contains("(hidden)"));
    assert!(!shown.contains(artel_testkit::server::SECRET));
}
