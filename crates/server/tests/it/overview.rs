//! What a person looks for on the page: conversations found again, what was spent, what there is to work with.

use artel_testkit::client::{Client, Events};
use serde_json::{Value, json};

use crate::chat::{messages_of, say, session, start, talk};
use crate::{empty_project, on_both_sides};

fn titles(body: &Value) -> Vec<&str> {
    let all = body["sessions"].as_array().unwrap();
    all.iter().map(|session| session["title"].as_str().unwrap()).collect()
}

/// How much is said to wait, when something is said again.
async fn pending(events: &mut Events) -> u64 {
    loop {
        let frame = events.next().await.unwrap().unwrap();
        if frame.event == "approvals_changed" {
            return frame.data["pending"].as_u64().unwrap();
        }
    }
}

/// A project with a plan that waits for its user: the approval.
async fn asked(user: &Client) -> String {
    let (project, _) = talk(user).await;
    let task = |name: &str| json!({"name": name, "agent": "quick", "description": "do it"});
    let plan = json!({"request": "Do it", "tasks": [task("one"), task("two"), task("three"), task("four")]});
    let plan = user.post(&format!("{project}/plans"), &plan).await.unwrap();
    let path = format!("{project}/plans/{}/execute", plan.id().unwrap());
    let begun = user.post(&path, &json!({})).await.unwrap().body;
    begun["approval_id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned()
}

on_both_sides! {
    /// PF-3.1: a conversation is found by its title and by what was said in it, pinned and renamed; others' are not.
    async fn conversations_are_found_and_pinned(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        say(&ada, &path, "quick", "Where does the parcel go?").await;
        let other = session(&ada, &project).await;
        say(&ada, &other, "quick", "100% of a_b ~ done").await;
        say(&ada, &other, "quick", "and the PARCEL, too").await;
        let list = format!("{project}/chat/sessions");
        let found = async |words: &[(&str, &str)]| {
            let request = ada.request(reqwest::Method::GET, &list).query(words);
            request.send().await.unwrap().json::<Value>().await.unwrap()
        };
        let both = found(&[("search", "Parcel")]).await;
        assert_eq!((titles(&both).len(), &both["total"]), (2, &json!(2)), "{both}");
        assert_eq!(titles(&found(&[("search", "does the parcel")]).await), ["Where does the parcel go?"]);
        for literal in ["100%", "a_b", "~"] {
            assert_eq!(titles(&found(&[("search", literal)]).await), ["100% of a_b ~ done"], "{literal}");
        }
        assert_eq!(found(&[("search", "1%0")]).await["total"], 0);
        assert_eq!(found(&[("search", " ")]).await["total"], 2);
        assert_eq!(found(&[("search", "parcel"), ("limit", "1")]).await["total"], 2);
        let long = "x".repeat(201);
        assert_eq!(found(&[("search", &long)]).await["error_code"], "validation_error");

        let one = messages_of(&path).replace("/messages/", "");
        assert_eq!(ada.get(&one).await.unwrap().body["pinned"], false);
        let pinned = ada.patch(&one, &json!({"pinned": true})).await.unwrap().body;
        assert_eq!((&pinned["pinned"], &pinned["title"]), (&json!(true), &json!("Where does the parcel go?")));
        let renamed = ada.patch(&one, &json!({"title": "The parcel"})).await.unwrap().body;
        assert_eq!((&renamed["pinned"], &renamed["title"]), (&json!(true), &json!("The parcel")));
        assert_eq!(ada.patch(&one, &json!({"pinned": "yes"})).await.unwrap().status, 422);
        let bob = world.user("bob");
        assert_eq!(bob.patch(&one, &json!({"pinned": false})).await.unwrap().status, 404);
        assert_eq!(bob.get(&format!("{list}?search=parcel")).await.unwrap().status, 404);
    }

    /// What tasks took is added up by day and by agent, also of conversations that are gone; WS-25.2.
    async fn what_was_spent_is_told(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        let nothing = ada.get(&format!("{project}/spending")).await.unwrap().body;
        assert_eq!((&nothing["total"]["tasks"], &nothing["days"]), (&json!(0), &json!([])));
        let mut output = 0;
        for agent in ["quick", "quick", "broken"] {
            let answer = say(&ada, &path, agent, "well").await;
            output += answer.body["usage"]["output_tokens"].as_u64().unwrap();
        }
        say(&ada, &path, "broken", "break").await;
        let session = messages_of(&path).replace("/messages/", "");
        assert_eq!(ada.delete(&session).await.unwrap().status, 204);
        let spent = ada.get(&format!("{project}/spending?days=2")).await.unwrap().body;
        assert_eq!((&spent["total"]["tasks"], &spent["total"]["output_tokens"]), (&json!(3), &json!(output)), "{spent}");
        let tasks = |of: &str| -> Vec<u64> {
            spent[of].as_array().unwrap().iter().map(|it| it["tasks"].as_u64().unwrap()).collect()
        };
        assert_eq!(tasks("days").iter().sum::<u64>(), 3, "{spent}");
        let mut agents = tasks("agents");
        agents.sort_unstable();
        assert_eq!(agents, [1, 2]);
        let today = spent["days"][0]["day"].as_str().unwrap();
        assert!(today.len() == 10 && spent["since"].as_str().unwrap() < today, "{spent}");
        for wrong in ["0", "367", "x"] {
            assert_eq!(ada.get(&format!("{project}/spending?days={wrong}")).await.unwrap().status, 422);
        }
        assert_eq!(world.user("bob").get(&format!("{project}/spending")).await.unwrap().status, 404);
    }

    /// PF-2.5: what waits for a person is told over all their projects as it comes and goes, and to nobody else.
    async fn what_waits_is_told_as_it_comes(side) {
        let world = start(side, &[]);
        let (ada, bob) = (world.user("ada"), world.user("bob"));
        let mut heard = ada.events("/my/approvals/events", None).await.unwrap();
        let mut others = bob.events("/my/approvals/events", None).await.unwrap();
        assert_eq!((pending(&mut heard).await, pending(&mut others).await), (0, 0));
        let first = asked(&ada).await;
        assert_eq!(pending(&mut heard).await, 1);
        asked(&ada).await;
        assert_eq!(pending(&mut heard).await, 2);
        let path = format!("/my/approvals/{first}/confirm");
        assert_eq!(ada.post(&path, &json!({"decision": "reject"})).await.unwrap().status, 200);
        assert_eq!(pending(&mut heard).await, 1);
        asked(&bob).await;
        assert_eq!(pending(&mut others).await, 1, "the first word of it since nothing waited");
    }

    /// WS-25.2: what every agent does in one question; whether a client is there, without an error when none is;
    /// which services of models there are.
    async fn what_there_is_is_told_at_once(side) {
        let world = start(side, &[]);
        let ada = world.user("ada");
        let (project, path) = talk(&ada).await;
        say(&ada, &path, "quick", "x").await;
        let all = ada.get(&format!("{project}/status")).await.unwrap().body;
        let agents = all["agents"].as_array().unwrap();
        assert_eq!(agents.len(), 4, "{all}");
        let one = agents[0]["agent_id"].as_str().unwrap();
        let alone = ada.get(&format!("{project}/agents/{one}/status")).await.unwrap().body;
        assert_eq!(agents[0], alone);
        let clients = ada.get(&format!("{project}/clients")).await.unwrap();
        assert_eq!(clients.status, 200);
        assert_eq!(clients.body["total"], 0);
        let other = empty_project(&world.user("bob")).await;
        for door in ["status", "clients"] {
            assert_eq!(ada.get(&format!("{other}/{door}")).await.unwrap().status, 404);
        }
        let services = ada.get("/my/models").await.unwrap().body;
        let of = |name: &str| {
            services.as_array().unwrap().iter().find(|it| it["provider"] == name).unwrap().clone()
        };
        assert_eq!(of("anthropic")["status"], "not_configured");
        assert!(of("anthropic")["detail"].as_str().unwrap().contains("ANTHROPIC_API_KEY"));
        let scripts = of("scripted");
        assert_eq!((&scripts["status"], &scripts["is_default"]), (&json!("ready"), &json!(true)), "{services}");
        assert!(scripts["models"].as_array().unwrap().contains(&json!("scripted/quick")));
    }
}
