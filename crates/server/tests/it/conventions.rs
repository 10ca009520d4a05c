//! What holds for every route: errors, lists, bounds, and the description of it all.

use std::collections::BTreeSet;

use artel_testkit::client::{Client, answer};
use reqwest::{Body, Method};
use serde_json::{Value, json};

use crate::{Side, add_agent, empty_project, faults};

/// Every operation of the description: method, path, and whether it wants a body.
fn operations(api: &Value) -> Vec<(Method, String, &Value)> {
    let mut all = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if let Ok(method) = method.to_uppercase().parse::<Method>() {
                all.push((method, path.clone(), operation));
            }
        }
    }
    all
}

/// The path with its ids; what is not there is asked for under an id that nobody has.
fn filled(path: &str, ids: &[(&str, &str)]) -> String {
    let nobody = [
        ("{session_id}", NOBODY),
        ("{task_id}", NOBODY),
        ("{plan_id}", NOBODY),
        ("{project_id}", NOBODY),
        ("{agent_id}", NOBODY),
        ("{interaction_id}", NOBODY),
        ("{tool_id}", NOBODY),
        ("{preference_id}", NOBODY),
        ("{approval_id}", NOBODY),
        ("{question_id}", NOBODY),
    ];
    ids.iter().chain(&nobody).fold(path.to_owned(), |path, (name, id)| path.replace(name, id))
}

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// PF-5.1: every route that is not open answers 401 without a token, whatever the method and path; from the
/// description, so that no later route is forgotten.
#[tokio::test]
async fn no_route_without_a_token() {
    let world = Side::Embedded.start();
    let nobody = Client::new(world.artel.url(), "").unwrap();
    let api = nobody.get("/openapi.json").await.unwrap().body;
    let open =
        ["/", "/health", "/ready", "/metrics", "/openapi.json", "/auth/login", "/auth/ticket"];
    let mut guarded = 0;
    for (method, path, _) in operations(&api) {
        if open.contains(&path.as_str()) {
            continue;
        }
        assert!(
            ["/my/", "/agents/", "/admin/"].iter().any(|root| path.starts_with(root)),
            "{path} is nowhere near a guard"
        );
        for slash in ["", "/"] {
            let path = format!("{}{slash}", filled(&path, &[]));
            let refused = answer(nobody.request(method.clone(), &path)).await.unwrap();
            assert_eq!(refused.status, 401, "{method} {path}");
            assert_eq!(refused.body["error_code"], "unauthorized");
            guarded += 1;
        }
    }
    assert!(guarded >= 20);
    for path in
        ["/my", "/my/", "/my/nothing/here", "/admin", "/agents/x/logs", "/my/../my/projects"]
    {
        assert_eq!(nobody.get(path).await.unwrap().status, 401, "{path}");
    }
}

/// PF-6.3: the description names every route of the contract so far, with examples, and `/docs` shows it;
/// PF-4.6: and every event with its payload.
#[tokio::test]
async fn the_api_describes_itself() {
    let world = Side::Embedded.start();
    let ada = world.user("ada");
    let api = ada.get("/openapi.json").await.unwrap().body;
    let routes: BTreeSet<_> =
        operations(&api).into_iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    for route in [
        "GET /health",
        "GET /ready",
        "GET /metrics",
        "POST /auth/login",
        "GET /my/me",
        "POST /my/projects",
        "GET /my/projects",
        "GET /my/projects/{project_id}",
        "PUT /my/projects/{project_id}",
        "DELETE /my/projects/{project_id}",
        "POST /my/projects/{project_id}/agents",
        "GET /my/projects/{project_id}/agents",
        "GET /my/projects/{project_id}/agents/{agent_id}",
        "PUT /my/projects/{project_id}/agents/{agent_id}",
        "PATCH /my/projects/{project_id}/agents/{agent_id}",
        "DELETE /my/projects/{project_id}/agents/{agent_id}",
        "GET /my/projects/{project_id}/events",
        "GET /admin/users",
    ] {
        assert!(routes.contains(route), "{route}");
    }
    let schemas = api["components"]["schemas"].as_object().unwrap();
    assert_eq!(schemas["CreateProject"]["properties"]["name"]["example"], "Web shop");
    assert_eq!(schemas["CreateProject"]["properties"]["name"]["maxLength"], 255);
    for payload in [
        "AgentStatusChanged",
        "ProjectUpdated",
        "ApprovalRequired",
        "ApprovalResolved",
        "Heartbeat",
        "Resync",
        "Envelope",
    ] {
        assert!(schemas.contains_key(payload), "{payload}");
    }
    let text = api.to_string();
    for word in ["agent_status_changed", "project_updated", "approval_timeout_warning", "resync"] {
        assert!(text.contains(word), "{word}");
    }
    let references: Vec<_> = text
        .match_indices("#/components/schemas/")
        .map(|(at, prefix)| text[at + prefix.len()..].split('"').next().unwrap())
        .collect();
    for name in references {
        assert!(schemas.contains_key(name), "{name} is referred to but not described");
    }
    assert_eq!(
        serde_json::from_str::<Value>(&world.artel.run(&["openapi"]).unwrap()).unwrap(),
        api
    );
    for path in ["/docs", "/docs/"] {
        let page = ada.get(path).await.unwrap();
        assert_eq!(page.status, 200, "{path}");
        assert!(page.body.as_str().unwrap().contains("swagger"));
    }
}

/// PF-6.1: errors have one shape; a body that is not valid has every fault named.
#[tokio::test]
async fn errors_have_one_shape() {
    let world = Side::Embedded.start();
    let ada = world.user("ada");
    let project = empty_project(&ada).await;
    let agents = format!("{project}/agents");
    let several = ada.post(&agents, &json!({"name": "", "colour": "red", "config": {"temperature": 3, "concurrency_limit": 0, "tools": "all", "metadata": {"risk_level": "EXTREME"}, "runtime": {}}})).await.unwrap();
    let found: Vec<_> = faults(&several).into_keys().collect();
    assert_eq!(
        found,
        [
            "colour",
            "config.concurrency_limit",
            "config.metadata.risk_level",
            "config.runtime.kind",
            "config.temperature",
            "config.tools",
            "name"
        ]
    );
    let missing = ada.post("/my/projects", &json!({})).await.unwrap();
    assert_eq!(faults(&missing)["name"], "is required");
    let answers = [
        (404, ada.get("/my/nothing").await.unwrap()),
        (404, ada.get("/my/projects/not-an-id").await.unwrap()),
        (404, ada.get("/nothing").await.unwrap()),
        (405, answer(ada.request(Method::PATCH, "/my/projects")).await.unwrap()),
        (415, answer(ada.request(Method::POST, "/my/projects").body("name=x")).await.unwrap()),
        (
            422,
            answer(
                ada.request(Method::POST, "/my/projects")
                    .header("content-type", "application/json")
                    .body("{"),
            )
            .await
            .unwrap(),
        ),
        (422, ada.get("/my/projects?limit=0").await.unwrap()),
        (422, ada.get("/my/projects?limit=101").await.unwrap()),
        (422, ada.get("/my/projects?offset=-1").await.unwrap()),
        (422, ada.get("/my/projects?limit=x").await.unwrap()),
    ];
    for (status, answer) in answers {
        assert_eq!(answer.status, status, "{}", answer.body);
        let body = answer.body.as_object().unwrap();
        assert!(body["detail"].is_string() && body["error_code"].is_string(), "{}", answer.body);
        assert!(body["timestamp"].as_str().unwrap().ends_with('Z'));
        assert!(answer.headers.contains_key("x-request-id"));
    }
    assert!(faults(&ada.get("/my/projects?limit=x").await.unwrap()).contains_key("limit"));
}

/// PF-6.5: sizes, nesting, lengths and numbers are bounded: 413 or 422 with the reason, never 500.
#[tokio::test]
async fn bad_bodies_are_named() {
    let world = Side::Embedded.start_with(&[("ARTEL_BODY_LIMIT", "100000")]);
    let ada = world.user("ada");
    let send = |bytes: Vec<u8>| {
        let request =
            ada.request(Method::POST, "/my/projects").header("content-type", "application/json");
        answer(request.body(bytes))
    };
    let deep = format!("{{\"name\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let cases: Vec<(u16, &str, Vec<u8>)> = vec![
        (413, "larger than", format!("{{\"name\":\"{}\"}}", "x".repeat(200_000)).into_bytes()),
        (422, "recursion limit", deep.into_bytes()),
        (422, "not UTF-8", b"{\"name\":\"\xff\xfe\"}".to_vec()),
        (422, "not valid JSON", Vec::new()),
        (422, "not valid JSON", b"{\"name\":\"a\"} trailing".to_vec()),
        (422, "not valid JSON", b"{\"name\":\"\\ud800\"}".to_vec()),
        (422, "NUL", b"{\"name\":\"a\\u0000b\"}".to_vec()),
        (422, "longer than 255", format!("{{\"name\":\"{}\"}}", "я".repeat(256)).into_bytes()),
        (422, "not of type", b"[]".to_vec()),
        (422, "not of type", b"null".to_vec()),
        (422, "not of type", b"{\"name\":{\"a\":1}}".to_vec()),
        (422, "not of type", b"{\"name\":1e400}".to_vec()),
        (422, "known field", b"{\"name\":\"a\",\"Name\":\"b\"}".to_vec()),
    ];
    for (status, said, bytes) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let answer = send(bytes).await.unwrap();
        // A number that JSON cannot hold is a fault of the text, not of the field.
        let named = answer.body.to_string();
        assert_eq!(answer.status, status, "{shown}: {named}");
        assert!(named.contains(said) || named.contains("number out of range"), "{shown}: {named}");
    }
    let longest = send(
        format!("{{\"name\":\"{}\",\"starter_pack\":\"none\"}}", "я".repeat(255)).into_bytes(),
    )
    .await
    .unwrap();
    assert_eq!(longest.status, 201, "characters count, not bytes");
    let endless = Body::from(vec![b' '; 10_000_000]);
    let request = ada
        .request(Method::POST, "/my/projects")
        .header("content-type", "application/json")
        .body(endless);
    // The server answers before it has read it all, and closes; either is seen.
    if let Ok(answer) = answer(request).await {
        assert_eq!(answer.status, 413);
    }
}

/// PF-6.3: whatever is sent to whichever route, nothing answers 500. Values are taken from a list of nasty ones,
/// placed at every field of every body of the description, beside fields that are as they should be.
#[tokio::test]
async fn nothing_answers_500() {
    let world = Side::Embedded.start_with(&[
        ("ARTEL_MAX_PROJECTS", "100000"),
        ("ARTEL_LOGIN_ATTEMPTS_PER_MINUTE", "1000"),
        ("ARTEL_LOG_LEVEL", "error"),
    ]);
    let ada = world.user("ada");
    let project = empty_project(&ada).await.rsplit('/').next().unwrap().to_owned();
    let agent = add_agent(&ada, &format!("/my/projects/{project}"), "a").await;
    let chat = format!("/my/projects/{project}/chat/sessions");
    let session = ada.post(&chat, &json!({})).await.unwrap().id().unwrap().to_owned();
    let api = ada.get("/openapi.json").await.unwrap().body;
    let bodies = Bodies { api: &api, nasty: nasty_values() };
    let mut sent = 0;
    for (method, path, operation) in operations(&api) {
        // The project must live until the end.
        if method == Method::DELETE || path.ends_with("/events") {
            continue;
        }
        let path = filled(
            &path,
            &[("{project_id}", &project), ("{agent_id}", &agent), ("{session_id}", &session)],
        );
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let mut wrong: Vec<Option<Value>> = vec![None];
        if !schema.is_null() {
            wrong.extend(bodies.wrong(schema, 0).into_iter().map(Some));
        }
        for body in wrong {
            let mut request = ada.request(method.clone(), &path);
            if let Some(body) = &body {
                request = request.json(body);
            }
            let answer = answer(request).await.unwrap();
            assert!(
                answer.status.as_u16() < 500,
                "{method} {path} {body:?}: {} {}",
                answer.status,
                answer.body
            );
            sent += 1;
        }
    }
    for query in [
        "?limit=&offset=",
        "?limit=1e9",
        "?limit=1&limit=2",
        "?%00=%ff",
        "?offset=18446744073709551615",
        "?after=x",
        "?session_id=%00",
    ] {
        for path in ["/my/projects", "/admin/users", &format!("/my/projects/{project}/agents")] {
            assert!(
                ada.get(&format!("{path}{query}")).await.unwrap().status.as_u16() < 500,
                "{path}{query}"
            );
        }
    }
    assert!(sent > 1000, "{sent}");
    assert!(!world.artel.log().contains("panicked"), "{}", world.artel.log_tail());
}

fn nasty_values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1e308),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1),
        json!(""),
        json!(" "),
        json!("\u{0}"),
        json!("\u{202e}\u{feff}"),
        json!("'; drop table users; --"),
        json!("%s%n{}{0}"),
        json!("x".repeat(70_000)),
        json!("😀"),
        json!([]),
        json!([null]),
        json!([[[[]]]]),
        json!({}),
        json!({"": ""}),
        json!({"$ref": "#/x"}),
        json!({"__proto__": 1}),
        json!({"a": {"b": {"c": [1, {"d": null}]}}}),
    ]
}

/// Bodies after the description of the API.
struct Bodies<'a> {
    api: &'a Value,
    nasty: Vec<Value>,
}

impl<'a> Bodies<'a> {
    /// How far down fields are looked at: some are described by themselves.
    const DEEP: usize = 4;

    /// What a schema stands for: itself, what it refers to, or each of what it may be.
    fn meant(&self, schema: &'a Value) -> Vec<&'a Value> {
        if let Some(name) = schema["$ref"].as_str() {
            let named = self.api.pointer(name.trim_start_matches('#')).expect("it is described");
            return self.meant(named);
        }
        for several in ["oneOf", "anyOf", "allOf"] {
            if let Some(several) = schema[several].as_array() {
                return several.iter().flat_map(|one| self.meant(one)).collect();
            }
        }
        vec![schema]
    }

    /// As it should be.
    fn right(&self, schema: &'a Value) -> Value {
        let schema = self.meant(schema)[0];
        if let Some(known) = schema.get("example").or_else(|| schema["enum"].get(0)) {
            return known.clone();
        }
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
        match kind.unwrap_or("object") {
            "string" => json!("a"),
            "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
            "boolean" => json!(true),
            "array" => json!([]),
            _ => {
                let needed = schema["required"].as_array().into_iter().flatten();
                let needed = needed.map(|name| name.as_str().expect("a name"));
                let fields = &schema["properties"];
                needed.map(|name| (name.to_owned(), self.right(&fields[name]))).collect()
            }
        }
    }

    /// Each with one thing in it that is not.
    fn wrong(&self, schema: &'a Value, depth: usize) -> Vec<Value> {
        let mut wrong = self.nasty.clone();
        if depth == Self::DEEP {
            return wrong;
        }
        for schema in self.meant(schema) {
            if let Some(fields) = schema["properties"].as_object() {
                let right = self.right(schema);
                let unknown = self.nasty.iter().map(|value| ("zzz", value.clone()));
                let known = fields.iter().flat_map(|(name, schema)| {
                    self.wrong(schema, depth + 1).into_iter().map(|value| (name.as_str(), value))
                });
                wrong.extend(known.chain(unknown).map(|(name, value)| {
                    let mut body = right.clone();
                    body[name] = value;
                    body
                }));
            }
            if let Some(item) = schema.get("items") {
                wrong.extend(self.wrong(item, depth + 1).into_iter().map(|item| json!([item])));
            }
        }
        wrong
    }
}

/// PF-6.4: `/health`, `/ready` and `/metrics` tell how the server is.
#[tokio::test]
async fn the_server_says_how_it_is() {
    let world = Side::Embedded.start();
    let nobody = Client::new(world.artel.url(), "").unwrap();
    let health = nobody.get("/health").await.unwrap().body;
    assert_eq!(
        (&health["status"], &health["version"]),
        (&json!("ok"), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(health["parts"]["database"], json!({"kind": "sqlite", "state": "ok"}));
    assert_eq!(health["parts"]["bus"], json!({"kind": "in-process", "state": "ok"}));
    assert_eq!(nobody.get("/ready").await.unwrap().body, json!({"status": "ready", "reasons": []}));
    let metrics = nobody.get("/metrics").await.unwrap();
    let text = metrics.body.as_str().unwrap();
    assert!(
        text.contains(
            "artel_http_requests_total{method=\"GET\",route=\"/health\",status=\"200\"} 1"
        ),
        "{text}"
    );
    assert!(text.contains("artel_event_streams") || text.contains("artel_uptime_seconds"));
    for _ in 0..3 {
        nobody.get("/no/such/route").await.unwrap();
    }
    let text = nobody.get("/metrics").await.unwrap().body;
    assert!(
        text.as_str().unwrap().contains("route=\"other\",status=\"404\"} 3"),
        "unknown paths share one name"
    );
}
