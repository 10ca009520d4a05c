//! What agents remember: kept, found, bounded, exported, and nobody else's.

use std::time::Duration;

use artel_testkit::client::Client;
use reqwest::Method;
use serde_json::{Value, json};

use crate::chat::{say, session, start, talk, until};
use crate::{Side, add_agent, empty_project, faults, on_both_sides};

/// An agent in a project of its own: the paths of the project and of the agent's memory.
pub(crate) async fn remembering(client: &Client, config: &Value) -> (String, String) {
    let project = empty_project(client).await;
    let body = json!({"name": "keeper", "config": config});
    let made = client.post(&format!("{project}/agents"), &body).await.unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let memory = format!("{project}/agents/{}/context", made.id().unwrap());
    (project, memory)
}

pub(crate) async fn add(client: &Client, memory: &str, body: Value) -> Value {
    let added = client.post(memory, &body).await.unwrap();
    assert_eq!(added.status, 201, "{}", added.body);
    added.body
}

pub(crate) async fn find(client: &Client, memory: &str, body: Value) -> Vec<String> {
    let found = client.post(&format!("{memory}/search"), &body).await.unwrap();
    assert_eq!(found.status, 200, "{}", found.body);
    texts(&found.body["results"])
}

/// What is found with its scores, in an order of its own among equals; those that are as far as the last are left out,
/// since which of them are in is chance.
async fn ranked(client: &Client, memory: &str, body: &Value) -> Vec<(String, String)> {
    let found = client.post(&format!("{memory}/search"), body).await.unwrap().body;
    let found = found["results"].as_array().unwrap();
    let score = |it: &Value| format!("{:.5}", it["score"].as_f64().unwrap());
    let last = found.last().map(score);
    let one = |it: &Value| (score(it), it["text"].as_str().unwrap().to_owned());
    let mut ranked: Vec<_> = found.iter().filter(|it| Some(score(it)) != last).map(one).collect();
    ranked.sort();
    ranked
}

pub(crate) fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect()
}

pub(crate) async fn stats(client: &Client, memory: &str) -> Value {
    let stats = client.get(&format!("{memory}/stats")).await.unwrap();
    assert_eq!(stats.status, 200, "{}", stats.body);
    stats.body
}

async fn prune(client: &Client, memory: &str, body: Value) -> u64 {
    let pruned = client.post(&format!("{memory}/prune"), &body).await.unwrap();
    assert_eq!(pruned.status, 200, "{}", pruned.body);
    pruned.body["deleted"].as_u64().unwrap()
}

pub(crate) async fn export(client: &Client, memory: &str, parameters: &str) -> Value {
    let exported = client.get(&format!("{memory}/export?{parameters}")).await.unwrap();
    assert_eq!(exported.status, 200, "{}", exported.body);
    exported.body
}

/// A moment so many days ago, within what the server keeps apart.
pub(crate) fn days_ago(days: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let micros = i64::try_from(now.as_micros()).unwrap() - days * 86_400_000_000;
    artel_domain::Timestamp::from_micros(micros).to_string()
}

/// The first event of that name.
async fn event(client: &Client, project: &str, name: &str) -> Value {
    let mut events = client.events(&format!("{project}/events"), Some(0)).await.unwrap();
    let wait = async {
        loop {
            let frame = events.numbered().await.unwrap().unwrap().1;
            if frame.event == name {
                return frame.payload().clone();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait)
        .await
        .unwrap_or_else(|_| panic!("no {name}"))
}

on_both_sides! {
    /// CS-1.1, WS-6.3, WS-17.1, WS-18.1: an agent has a collection from the start, with the name and vector size that
    /// follow from it. CS-7.4: its limit is set at creation, a million otherwise. CS-6.1: an empty one says so.
    async fn an_agent_has_a_collection(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (project, memory) = remembering(&ada, &json!({})).await;
        let me = ada.get("/my/me").await.unwrap().body["id"].as_i64().unwrap();
        let id = project.rsplit('/').next().unwrap();
        let empty = stats(&ada, &memory).await;
        assert_eq!(empty["collection"], format!("user{me}_project{id}_keeper_context"));
        assert_eq!((&empty["total_vectors"], &empty["max_vectors"]), (&json!(0), &json!(1_000_000)));
        assert_eq!((&empty["oldest_interaction"], &empty["success_rate"]), (&Value::Null, &Value::Null));
        assert!(empty["vector_size"].as_u64().unwrap() >= 64);
        assert!(empty["embedding_model"].as_str().unwrap().starts_with("lexical"), "named as such: {empty}");
        assert!(world.has_collection(&memory), "it is there before anything is in it");
        let health = ada.get("/health").await.unwrap().body;
        assert_eq!(health["parts"]["embeddings"]["kind"], "lexical");
        assert_eq!(health["parts"]["memory"]["state"], "ok");
    }

    /// CS-1.2, WS-6.1, WS-18.2: opening the space checks for every agent's collection and makes what is missing.
    async fn a_missing_collection_is_made_again(side) {
        let mut world = side.start();
        let ada = world.user("ada");
        let (project, memory) = remembering(&ada, &json!({})).await;
        world.artel.kill().unwrap();
        world.lose_collections();
        assert!(!world.has_collection(&memory));
        world.artel.restart().unwrap();
        let ada = world.user("ada");
        assert_eq!(ada.get(&format!("{project}/space/health")).await.unwrap().status, 200);
        until(async || world.has_collection(&memory)).await;
        add(&ada, &memory, json!({"text": "and takes entries"})).await;
        assert_eq!(find(&ada, &memory, json!({"query": "takes entries"})).await.len(), 1);
    }

    /// WS-20.1, WS-19.1, CS-3.1, CS-2.3: what is added is searchable at once, of every type, nearest first, with scores
    /// and metadata; CS-3.2, CS-3.3, CS-3.4, WS-19.2: filters hold for every hit, alone and together.
    async fn what_is_added_is_found(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (_, memory) = remembering(&ada, &json!({})).await;
        let kinds = ["task_execution", "tool_call", "user_message", "agent_response"];
        for (at, kind) in (0i64..).zip(kinds) {
            let body = json!({
                "text": format!("The deployment of the shop failed on host {at}"), "interaction_type": kind,
                "success": at % 2 == 0, "timestamp": days_ago(10 * at), "metadata": {"branch": format!("b{at}")},
            });
            let added = add(&ada, &memory, body).await;
            assert_eq!(added["metadata"]["interaction_type"], kind);
        }
        add(&ada, &memory, json!({"text": "Кошка спит на подоконнике"})).await;
        let found = ada.post(&format!("{memory}/search"), &json!({"query": "the shop's deployment failed", "top_k": 4})).await.unwrap().body;
        let results = found["results"].as_array().unwrap();
        assert_eq!(results.len(), 4);
        assert!(results.iter().all(|it| it["text"].as_str().unwrap().contains("deployment")), "{found}");
        assert!(results.windows(2).all(|pair| pair[0]["score"].as_f64() >= pair[1]["score"].as_f64()));
        assert!(results[0]["metadata"]["branch"].as_str().unwrap().starts_with('b'));
        assert_eq!(found["partial"], false);
        assert_eq!(find(&ada, &memory, json!({"query": "спящая кошка", "top_k": 1})).await, ["Кошка спит на подоконнике"]);
        let query = "deployment of the shop";
        let tools = find(&ada, &memory, json!({"query": query, "interaction_type": "tool_call"})).await;
        assert_eq!(tools, ["The deployment of the shop failed on host 1"]);
        let failed = find(&ada, &memory, json!({"query": query, "success": false})).await;
        assert_eq!(failed.len(), 2);
        let recent = find(&ada, &memory, json!({"query": query, "from": days_ago(15), "interaction_type": "tool_call", "success": false})).await;
        assert_eq!(recent.len(), 1);
        let old = find(&ada, &memory, json!({"query": query, "from": days_ago(35), "to": days_ago(15)})).await;
        assert_eq!(old.len(), 2, "{old:?}");
        let none = find(&ada, &memory, json!({"query": query, "success": true, "interaction_type": "tool_call"})).await;
        assert!(none.is_empty());
    }

    /// Wrong questions get a clear answer, and nothing is stored or deleted by them.
    async fn odd_requests_are_refused(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (project, memory) = remembering(&ada, &json!({})).await;
        add(&ada, &memory, json!({"text": "one"})).await;
        for body in [
            json!({"query": ""}), json!({"query": "   "}), json!({}), json!({"query": "x", "top_k": 0}),
            json!({"query": "x", "top_k": 1_000_000_000}), json!({"query": "x", "top_k": -1}),
            json!({"query": "x", "interaction_type": "dream"}), json!({"query": "x", "from": "yesterday"}),
            json!({"query": "x", "from": days_ago(1), "to": days_ago(2)}), json!({"vector": [1.0, 2.0]}),
            json!({"vector": vec![0.0; 512]}), json!({"query": "x", "vector": [1.0]}), json!({"query": "x", "filter": 1}),
        ] {
            let answer = ada.post(&format!("{memory}/search"), &body).await.unwrap();
            assert_eq!(answer.status, 422, "{body}: {}", answer.body);
            assert!(!answer.body["detail"].as_str().unwrap().is_empty());
        }
        let too_long = "x".repeat(65_537);
        for body in [
            json!({}), json!({"text": ""}), json!({"text": too_long}), json!({"text": "x", "metadata": {"success": 1}}),
            json!({"text": "a\0b"}), json!({"text": "x", "metadata": {"big": "y".repeat(20_000)}}), json!({"text": "x", "task_id": "no"}),
        ] {
            assert_eq!(ada.post(&memory, &body).await.unwrap().status, 422);
        }
        for body in [json!({}), json!({"days": -1}), json!({"oldest_percent": 20, "success": false}), json!({"oldest_percent": 101})] {
            assert_eq!(ada.post(&format!("{memory}/prune"), &body).await.unwrap().status, 422, "{body}");
        }
        assert!(faults(&ada.post(&memory, &json!({"text": "x", "metadata": {"success": 1}})).await.unwrap()).contains_key("metadata.success"));
        assert_eq!(stats(&ada, &memory).await["total_vectors"], 1);
        let nobody = format!("{project}/agents/00000000-0000-7000-8000-000000000000/context");
        assert_eq!(ada.post(&format!("{nobody}/search"), &json!({"query": "x"})).await.unwrap().status, 404);
    }

    /// CS-4.1, WS-21.1: clear deletes everything and the collection takes more; CS-4.2: prune by age; CS-4.4: and by
    /// filter; and the oldest part.
    async fn memory_is_pruned_and_cleared(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (_, memory) = remembering(&ada, &json!({})).await;
        for age in [0, 5, 29, 31, 60, 90] {
            add(&ada, &memory, json!({"text": format!("{age} days old"), "timestamp": days_ago(age), "success": age % 2 == 0})).await;
        }
        assert_eq!(prune(&ada, &memory, json!({"days": 30})).await, 3);
        let left = find(&ada, &memory, json!({"query": "days old"})).await;
        assert_eq!(left.len(), 3);
        assert!(!left.contains(&"31 days old".to_owned()));
        assert_eq!(prune(&ada, &memory, json!({"success": false})).await, 2);
        assert_eq!(find(&ada, &memory, json!({"query": "days old"})).await, ["0 days old"]);
        for at in 0..9 {
            add(&ada, &memory, json!({"text": format!("entry {at}"), "timestamp": days_ago(20 - at)})).await;
        }
        assert_eq!(prune(&ada, &memory, json!({"oldest_percent": 20})).await, 2);
        let left = export(&ada, &memory, "").await;
        assert!(!texts(&left["interactions"]).contains(&"entry 0".to_owned()), "the oldest went: {left}");
        assert_eq!(left["total_interactions"], 8);
        let cleared = ada.delete(&memory).await.unwrap();
        assert_eq!((cleared.status.as_u16(), &cleared.body["deleted"]), (200, &json!(8)));
        assert_eq!(stats(&ada, &memory).await["total_vectors"], 0);
        assert!(find(&ada, &memory, json!({"query": "entry"})).await.is_empty());
        add(&ada, &memory, json!({"text": "a new beginning"})).await;
        assert_eq!(find(&ada, &memory, json!({"query": "beginning"})).await, ["a new beginning"]);
    }

    /// Without a question it is a list, the newest first, page after page, with the same filters; what is
    /// added or forgotten in between moves nothing, and it is nobody else's.
    async fn a_memory_is_listed(side) {
        let world = side.start();
        let (ada, eve) = (world.user("ada"), world.user("eve"));
        let (_, memory) = remembering(&ada, &json!({})).await;
        let list = async |parameters: &str| {
            let listed = ada.get(&format!("{memory}?{parameters}")).await.unwrap();
            assert_eq!(listed.status, 200, "{}", listed.body);
            (texts(&listed.body["interactions"]), listed.body["next_cursor"].clone())
        };
        assert_eq!(list("").await, (Vec::new(), Value::Null), "nothing yet");
        let moments: Vec<_> = (0..5).map(days_ago).collect();
        for at in [3, 0, 4, 1, 2] {
            let body = json!({"text": format!("note {at}"), "success": at != 1, "timestamp": moments[at]});
            add(&ada, &memory, body).await;
        }
        let (first, cursor) = list("limit=2").await;
        assert_eq!(first, ["note 0", "note 1"]);
        add(&ada, &memory, json!({"text": "a newer one"})).await;
        let (second, cursor) = list(&format!("limit=2&cursor={}", cursor.as_str().unwrap())).await;
        assert_eq!(second, ["note 2", "note 3"]);
        let (third, end) = list(&format!("limit=2&cursor={}", cursor.as_str().unwrap())).await;
        assert_eq!((third, end), (vec!["note 4".to_owned()], Value::Null));
        assert_eq!(list("limit=1").await.0, ["a newer one"]);
        assert_eq!(list("success=false").await.0, ["note 1"]);
        assert_eq!(list("interaction_type=tool_call").await.0, Vec::<String>::new());
        let days = format!("from={}&to={}", moments[3], moments[1]);
        assert_eq!(list(&days).await.0, ["note 1", "note 2", "note 3"]);
        for (odd, field) in [("limit=0", "limit"), ("limit=101", "limit"), ("cursor=soon", "cursor")] {
            let refused = ada.get(&format!("{memory}?{odd}")).await.unwrap();
            assert!(faults(&refused).contains_key(field), "{odd}: {}", refused.body);
        }
        assert_eq!(eve.get(&memory).await.unwrap().status, 404);
    }

    /// One that is wrong can be taken out alone; what is not there is not found, as is another's.
    async fn one_memory_is_forgotten(side) {
        let world = side.start();
        let (ada, eve) = (world.user("ada"), world.user("eve"));
        let (_, memory) = remembering(&ada, &json!({})).await;
        let wrong = add(&ada, &memory, json!({"text": "the key is under the mat"})).await;
        add(&ada, &memory, json!({"text": "the door is green"})).await;
        let one = format!("{memory}/{}", wrong["id"].as_str().unwrap());
        assert_eq!(eve.delete(&one).await.unwrap().status, 404);
        assert_eq!(ada.delete(&one).await.unwrap().status, 204);
        assert_eq!(find(&ada, &memory, json!({"query": "the key and the door"})).await, ["the door is green"]);
        assert_eq!(ada.delete(&one).await.unwrap().status, 404);
    }

    /// CS-4.3: above its limit the oldest are deleted down to it; CS-7.2: at 80 % the user is warned, once.
    async fn a_memory_keeps_its_limit(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (project, memory) = remembering(&ada, &json!({"max_vectors": 10})).await;
        for at in 0..7 {
            add(&ada, &memory, json!({"text": format!("entry {at}"), "timestamp": days_ago(50 - at)})).await;
        }
        for at in 7..13 {
            add(&ada, &memory, json!({"text": format!("entry {at}"), "timestamp": days_ago(50 - at)})).await;
        }
        let kept = export(&ada, &memory, "").await;
        let mut kept = texts(&kept["interactions"]);
        kept.sort();
        assert_eq!(kept.len(), 10);
        assert!(!kept.iter().any(|text| ["entry 0", "entry 1", "entry 2"].contains(&text.as_str())), "{kept:?}");
        let warning = event(&ada, &project, "memory_warning").await;
        assert_eq!((&warning["total_vectors"], &warning["max_vectors"], &warning["deleted"]), (&json!(8), &json!(10), &json!(0)));
        assert_eq!(warning["name"], "keeper");
    }

    /// CS-7.1: sizes are looked at every 24 hours; CS-7.3: at 100 % the oldest 20 % are deleted.
    async fn a_full_memory_makes_room_once_a_day(side) {
        let world = side.start_with(&[("ARTEL_RECONCILE_EVERY", "100ms")]);
        let ada = world.user("ada");
        let (project, memory) = remembering(&ada, &json!({"max_vectors": 10})).await;
        for at in 0..10 {
            add(&ada, &memory, json!({"text": format!("entry {at}"), "timestamp": days_ago(20 - at)})).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(stats(&ada, &memory).await["total_vectors"], 10, "not before its time");
        let day = 86_400_000_000_i64;
        world.tamper(&format!("update agents set memory_checked_at = memory_checked_at - {day} - 1"));
        until(async || stats(&ada, &memory).await["total_vectors"] == 8).await;
        let left = texts(&export(&ada, &memory, "").await["interactions"]);
        assert!(!left.contains(&"entry 0".to_owned()) && !left.contains(&"entry 1".to_owned()), "{left:?}");
        let mut events = ada.events(&format!("{project}/events"), Some(0)).await.unwrap();
        let told = loop {
            let frame = events.numbered().await.unwrap().unwrap().1;
            if frame.event == "memory_warning" && frame.payload()["deleted"] != 0 {
                break frame.payload().clone();
            }
        };
        assert_eq!((&told["deleted"], &told["total_vectors"]), (&json!(2), &json!(8)));
    }

    /// CS-5.1, CS-5.4: an export has everything but the vectors; CS-5.2: and those when asked; CS-5.3: filters narrow it.
    /// What was exported is imported again, and gives the same results in the same order, also over an import that is
    /// done twice.
    async fn an_export_comes_back(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (project, memory) = remembering(&ada, &json!({})).await;
        for at in 0..450 {
            let body = json!({
                "text": format!("Note {at} on subject {} \"quoted\" и по-русски 🦀", at % 17), "success": at % 3 != 0,
                "interaction_type": if at % 2 == 0 { "tool_call" } else { "agent_response" }, "timestamp": days_ago(at % 40),
                "error_details": (at % 3 == 0).then_some("it broke"), "metadata": {"number": at},
            });
            add(&ada, &memory, body).await;
        }
        let plain = export(&ada, &memory, "").await;
        assert_eq!((&plain["total_interactions"], plain["interactions"].as_array().unwrap().len()), (&json!(450), 450));
        assert_eq!(plain["agent_id"], memory.split('/').nth(5).unwrap());
        assert!(plain["export_date"].as_str().unwrap().starts_with("20"));
        assert!(plain["interactions"].as_array().unwrap().iter().all(|it| it.get("embedding").is_none()));
        let narrowed = export(&ada, &memory, &format!("interaction_type=tool_call&success=false&from={}", days_ago(20))).await;
        let narrowed = narrowed["interactions"].as_array().unwrap();
        assert!(!narrowed.is_empty() && narrowed.iter().all(|it| it["metadata"]["interaction_type"] == "tool_call" && it["metadata"]["success"] == false));
        let whole = export(&ada, &memory, "include_embeddings=true").await;
        let size = usize::try_from(stats(&ada, &memory).await["vector_size"].as_u64().unwrap()).unwrap();
        assert!(whole["interactions"].as_array().unwrap().iter().all(|it| it["embedding"].as_array().unwrap().len() == size));

        for (name, document) in [("with", &whole), ("without", &plain)] {
            let other = format!("{project}/agents/{}/context", add_agent(&ada, &project, name).await);
            for _ in 0..2 {
                let imported = ada.post(&format!("{other}/import"), document).await.unwrap();
                assert_eq!((imported.status.as_u16(), &imported.body["imported"]), (200, &json!(450)), "{}", imported.body);
            }
            until(async || stats(&ada, &other).await["waiting"] == 0).await;
            assert_eq!(stats(&ada, &other).await["total_vectors"], 450, "twice is as good as once");
            for query in ["Note 33 on subject 3", "по-русски note 77", "subject 16 quoted"] {
                let body = json!({"query": query, "top_k": 25});
                let (before, after) = (ranked(&ada, &memory, &body).await, ranked(&ada, &other, &body).await);
                assert!(!before.is_empty());
                assert_eq!(before, after, "{name}: {query}");
            }
            let again = export(&ada, &other, "").await;
            assert_eq!(again["interactions"], plain["interactions"], "{name}");
        }
    }

    /// What is not an export is refused with the place of the fault, and what came before it is kept.
    async fn a_broken_import_says_where(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (_, memory) = remembering(&ada, &json!({"max_vectors": 1000})).await;
        let path = format!("{memory}/import");
        for body in [json!([]), json!({}), json!({"interactions": 1}), json!({"interactions": [{"text": "no facts"}]})] {
            let refused = ada.post(&path, &body).await.unwrap();
            assert_eq!(refused.status, 422, "{body}: {}", refused.body);
        }
        let facts = json!({"interaction_type": "tool_call", "timestamp": days_ago(1), "success": true});
        let model = stats(&ada, &memory).await["embedding_model"].clone();
        let wrong = json!({"embedding_model": model, "interactions": [{"text": "x", "metadata": facts, "embedding": [1.0, 2.0]}]});
        let refused = ada.post(&path, &wrong).await.unwrap();
        assert_eq!(refused.status, 422);
        assert!(refused.body["detail"].as_str().unwrap().contains("interactions.0.embedding"), "{}", refused.body);
        let mut many: Vec<_> = (0..300).map(|at| json!({"text": format!("t{at}"), "metadata": facts})).collect();
        many.push(json!({"text": "", "metadata": facts}));
        let refused = ada.post(&path, &json!({"interactions": many})).await.unwrap();
        assert_eq!(refused.status, 422);
        assert!(refused.body["detail"].as_str().unwrap().contains("interactions.300.text"), "{}", refused.body);
        assert_eq!(stats(&ada, &memory).await["total_vectors"], 256, "whole batches before the fault");
        let cut = r#"{"interactions": [{"text": "x", "#;
        let request = ada.request(Method::POST, &path).header("content-type", "application/json").body(cut);
        assert_eq!(request.send().await.unwrap().status(), 422);
        let too_many: Vec<_> = (0..1300).map(|at| json!({"text": format!("t{at}"), "metadata": facts})).collect();
        let refused = ada.post(&path, &json!({"interactions": too_many})).await.unwrap();
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert!(refused.body["detail"].as_str().unwrap().contains("max_vectors"), "{}", refused.body);
        assert!(stats(&ada, &memory).await["total_vectors"].as_u64().unwrap() <= 1000);
    }

    /// CS-6.1, CS-6.2, CS-6.3, CS-6.4: how many, how large, from when to when, of what type, how well, day by day.
    async fn figures_are_right(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (_, memory) = remembering(&ada, &json!({})).await;
        for (day, number) in [(1, 3), (2, 2), (9, 5)] {
            for at in 0..number {
                let kind = if at == 0 { "tool_call" } else { "agent_response" };
                let body = json!({"text": format!("{day}.{at}"), "interaction_type": kind, "success": at != 1,
                    "timestamp": format!("2026-03-{day:02}T12:00:00Z")});
                add(&ada, &memory, body).await;
            }
        }
        let all = stats(&ada, &memory).await;
        assert_eq!((&all["total_vectors"], &all["waiting"]), (&json!(10), &json!(0)));
        assert_eq!(all["by_type"], json!({"tool_call": 3, "agent_response": 7}));
        assert!((all["success_rate"].as_f64().unwrap() - 0.7).abs() < 1e-9);
        assert_eq!((&all["oldest_interaction"], &all["newest_interaction"]), (&json!("2026-03-01T12:00:00.000000Z"), &json!("2026-03-09T12:00:00.000000Z")));
        assert!(all["collection_size_mb"].as_f64().unwrap() > 0.0);
        assert!(all.get("periods").is_none());
        let days = ada.get(&format!("{memory}/stats?period=day&from=2026-03-02T00:00:00Z")).await.unwrap().body;
        assert_eq!(days["total_vectors"], 7);
        let days: Vec<_> = days["periods"].as_array().unwrap().iter().map(|it| (it["start"].as_str().unwrap()[..10].to_owned(), it["total"].as_u64().unwrap(), it["successes"].as_u64().unwrap())).collect();
        assert_eq!(days, [("2026-03-02".to_owned(), 2, 1), ("2026-03-09".to_owned(), 5, 4)]);
        let weeks = ada.get(&format!("{memory}/stats?period=week")).await.unwrap().body;
        let weeks: Vec<_> = weeks["periods"].as_array().unwrap().iter().map(|it| (it["start"].as_str().unwrap()[..10].to_owned(), it["total"].as_u64().unwrap())).collect();
        assert_eq!(weeks, [("2026-02-23".to_owned(), 3), ("2026-03-02".to_owned(), 2), ("2026-03-09".to_owned(), 5)]);
        assert_eq!(ada.get(&format!("{memory}/stats?period=year")).await.unwrap().status, 422);
    }

    /// CS-1.4, CS-8.1, CS-8.2, CS-8.3, WS-6.2, WS-17.2: nobody sees another's memory: not another agent of the project,
    /// not an agent of the same name of somebody else, not somebody who knows the ids. What is done to one leaves the
    /// others alone, and an agent that takes an old one's name starts with an empty memory.
    async fn memories_are_apart(side) {
        let world = side.start();
        let (ada, bob) = (world.user("ada"), world.user("bob"));
        let (project, first) = remembering(&ada, &json!({})).await;
        let second = format!("{project}/agents/{}/context", add_agent(&ada, &project, "second").await);
        let (_, foreign) = remembering(&bob, &json!({})).await;
        for (client, memory, whose) in [(&ada, &first, "first"), (&ada, &second, "second"), (&bob, &foreign, "bob's")] {
            for at in 0..20 {
                add(client, memory, json!({"text": format!("The same secret number {at}"), "metadata": {"whose": whose}})).await;
            }
        }
        for at in 0..50 {
            for (client, memory, whose) in [(&ada, &first, "first"), (&ada, &second, "second"), (&bob, &foreign, "bob's")] {
                let body = json!({"query": format!("same secret number {at}"), "top_k": 100});
                let found = client.post(&format!("{memory}/search"), &body).await.unwrap().body;
                let results = found["results"].as_array().unwrap();
                assert_eq!(results.len(), 20);
                assert!(results.iter().all(|it| it["metadata"]["whose"] == whose));
            }
        }
        for path in ["", "/search", "/prune", "/import"] {
            let body = json!({"query": "x", "text": "x", "days": 1, "interactions": []});
            assert_eq!(bob.post(&format!("{first}{path}"), &body).await.unwrap().status.as_u16() / 100, 4);
        }
        assert_eq!(bob.get(&format!("{first}/export")).await.unwrap().status, 404);
        assert_eq!(bob.get(&format!("{first}/stats")).await.unwrap().status, 404);
        assert_eq!(bob.delete(&first).await.unwrap().status, 404);
        assert_eq!(ada.delete(&first).await.unwrap().body["deleted"], 20);
        assert_eq!(stats(&ada, &second).await["total_vectors"], 20);
        assert_eq!(stats(&bob, &foreign).await["total_vectors"], 20);
        let agent = second.trim_end_matches("/context");
        assert_eq!(ada.patch(agent, &json!({"name": "renamed"})).await.unwrap().status, 200);
        assert_eq!(stats(&ada, &second).await["total_vectors"], 20, "a name is only a name");
        assert!(stats(&ada, &second).await["collection"].as_str().unwrap().ends_with("_renamed_context"));
        let namesake = format!("{project}/agents/{}/context", add_agent(&ada, &project, "second").await);
        assert_eq!(stats(&ada, &namesake).await["total_vectors"], 0);
    }

    /// CS-2.1, WS-22.2, WS-24.3: a finished exchange is remembered with its task, question and answer; CS-2.2, WS-22.3:
    /// a failed one with the reason.
    async fn what_happens_is_remembered(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let answer = say(&ada, &path, "quick", "Which port has Redis?").await.body;
        let failed = say(&ada, &path, "broken", "please break").await.body;
        assert_eq!(failed["success"], false);
        let memory = |answer: &Value| format!("{project}/agents/{}/context", answer["agent_id"].as_str().unwrap());
        let kept = export(&ada, &memory(&answer), "").await;
        let kept: Vec<_> = kept["interactions"].as_array().unwrap().iter().map(|it| (it["metadata"]["interaction_type"].as_str().unwrap(), it["text"].as_str().unwrap(), &it["metadata"]["task_id"], &it["metadata"]["success"])).collect();
        let (task, yes) = (&answer["task_id"], &json!(true));
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(kept.contains(&("user_message", "Which port has Redis?", task, yes)));
        assert!(kept.contains(&("agent_response", "You said: Which port has Redis?", task, yes)));
        let found = ada.post(&format!("{}/search", memory(&answer)), &json!({"query": "Redis port", "interaction_type": "agent_response"})).await.unwrap().body;
        assert_eq!(found["results"][0]["metadata"]["request"], "Which port has Redis?");
        let kept = export(&ada, &memory(&failed), "").await;
        let only = &kept["interactions"][0];
        assert_eq!((&kept["total_interactions"], &only["metadata"]["success"], &only["metadata"]["interaction_type"]), (&json!(1), &json!(false), &json!("task_execution")));
        assert_eq!((&only["text"], &only["metadata"]["error_details"]), (&json!("please break"), &failed["error"]));
    }

    /// WS-22.2, WS-20.2, PF-3.3: what an agent's memory has for a task is in its result, and told as an event; what it is
    /// told anyway with the conversation is not told twice.
    async fn later_tasks_draw_from_memory(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let first = say(&ada, &path, "quick", "The staging database is called heron").await.body;
        assert_eq!(first["context"], json!([]), "there was nothing to remember");
        let again = say(&ada, &path, "quick", "What is the staging database called?").await.body;
        assert_eq!(again["context"], json!([]), "the conversation has it");
        let elsewhere = session(&ada, &project).await;
        // A task does not wait for what happened a moment ago; a look at the figures does.
        stats(&ada, &format!("{project}/agents/{}/context", first["agent_id"].as_str().unwrap())).await;
        let drawn = say(&ada, &elsewhere, "quick", "What is the staging database called?").await.body;
        let context = drawn["context"].as_array().unwrap();
        assert!(context.iter().any(|it| it["text"].as_str().unwrap().contains("heron") && it["score"].as_f64().unwrap() > 0.2), "{drawn}");
        assert!(context.len() <= 5);
        let told = event(&ada, &project, "context_retrieved").await;
        assert_eq!(told["task_id"], drawn["task_id"]);
        assert_eq!(told["items"][0]["id"], context[0]["id"]);
        let other = say(&ada, &elsewhere, "slow", "What is the staging database called?").await.body;
        assert_eq!(other["context"], json!([]), "WS-6.2: another agent's memory is its own");
    }

    /// WS-21.2: deleting an agent clears its memory, or archives it as an export, as its owner chooses; either way it is
    /// freed. A project that is deleted frees those of its agents.
    async fn a_deleted_agent_leaves_what_its_owner_wants(side) {
        let world = side.start_with(&[("ARTEL_RECONCILE_EVERY", "100ms")]);
        let ada = world.user("ada");
        let (project, cleared) = remembering(&ada, &json!({})).await;
        let archived = format!("{project}/agents/{}/context", add_agent(&ada, &project, "archived").await);
        let left = format!("{project}/agents/{}/context", add_agent(&ada, &project, "left").await);
        for memory in [&cleared, &archived, &left] {
            add(&ada, memory, json!({"text": "worth keeping"})).await;
        }
        let agent = |memory: &str| memory.trim_end_matches("/context").to_owned();
        assert_eq!(ada.delete(&format!("{}?memory=burn", agent(&cleared))).await.unwrap().status, 422);
        assert_eq!(ada.delete(&agent(&cleared)).await.unwrap().status, 204);
        until(async || !world.has_collection(&cleared)).await;
        let kept = ada.delete(&format!("{}?memory=archive", agent(&archived))).await.unwrap();
        assert_eq!((kept.status.as_u16(), &kept.body["interactions"]), (200, &json!(1)), "{}", kept.body);
        until(async || !world.has_collection(&archived)).await;
        let document = std::fs::read_to_string(kept.body["archive"].as_str().unwrap()).unwrap();
        let document: Value = serde_json::from_str(&document).unwrap();
        let again = format!("{project}/agents/{}/context", add_agent(&ada, &project, "again").await);
        assert_eq!(ada.post(&format!("{again}/import"), &document).await.unwrap().body["imported"], 1);
        assert_eq!(find(&ada, &again, json!({"query": "worth keeping"})).await, ["worth keeping"]);
        assert!(world.has_collection(&left));
        assert_eq!(ada.delete(&project).await.unwrap().status, 204);
        until(async || !world.has_collection(&left) && !world.has_collection(&again)).await;
    }

    /// PF-3.5 for memories: what is added twice under one key is there once.
    async fn under_one_key_it_is_kept_once(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (_, memory) = remembering(&ada, &json!({})).await;
        let body = json!({"text": "once"});
        let first = ada.post_once(&memory, "k1", &body).await.unwrap().body;
        let second = ada.post_once(&memory, "k1", &body).await.unwrap().body;
        assert_eq!(first["id"], second["id"]);
        ada.post_once(&memory, "k2", &body).await.unwrap();
        assert_eq!(stats(&ada, &memory).await["total_vectors"], 2);
    }
}

/// CS-3.5: every search is timed, and the figures tell how many took longer than 50 ms (`make bench` holds it to that).
#[tokio::test]
async fn searches_are_timed() {
    let world = Side::Embedded.start();
    let ada = world.user("ada");
    let (_, memory) = remembering(&ada, &json!({})).await;
    add(&ada, &memory, json!({"text": "something"})).await;
    find(&ada, &memory, json!({"query": "something"})).await;
    let metrics = ada.get("/metrics").await.unwrap().body;
    let metrics = metrics.as_str().unwrap();
    assert!(metrics.contains("artel_memory_search_seconds_bucket{le=\"0.05\"} "), "{metrics}");
    assert!(metrics.contains("artel_memory_search_seconds_count 1"), "{metrics}");
}
