//! Projects: their teams, their borders, and creating them once.

use serde_json::{Value, json};

use crate::{Side, add_agent, empty_project, faults, on_both_sides};

fn names(agents: &Value) -> Vec<&str> {
    agents.as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect()
}

on_both_sides! {
    /// WS-2.1: a project comes with its default agents, as the pack says.
    async fn a_new_project_has_its_team(side) {
        let world = side.start();
        let ada = world.user("ada");
        let created = ada.post("/my/projects/", &json!({"name": "Shop", "workspace_path": "/home/ada/shop"})).await.unwrap();
        assert_eq!(created.status, 201);
        assert_eq!(created.body["name"], "Shop");
        assert_eq!(created.body["workspace_path"], "/home/ada/shop");
        let expected = [
            ("agent_coder", "developer", 0.3, 4096),
            ("agent_analyzer", "analyst", 0.5, 2048),
            ("agent_writer", "writer", 0.7, 2048),
            ("agent_researcher", "researcher", 0.6, 3096),
        ];
        for (agent, (name, role, temperature, max_tokens)) in created.body["agents"].as_array().unwrap().iter().zip(expected) {
            let config = &agent["config"];
            assert_eq!(agent["name"], name);
            assert_eq!(agent["status"], "ready");
            assert_eq!(config["metadata"]["role"], role);
            assert_eq!(config["model"], "gpt-4");
            assert_eq!(config["temperature"], temperature);
            assert_eq!(config["max_tokens"], max_tokens);
            assert!(!config["system_prompt"].as_str().unwrap().is_empty());
        }
        let listed = ada.get(&format!("/my/projects/{}/agents/", created.id().unwrap())).await.unwrap();
        assert_eq!(listed.body["total"], 4);
        assert_eq!(listed.body["agents"], created.body["agents"], "in the pack's order");
    }

    /// OR-1.3: the pack `roles`; OR-1.2: capabilities and risk come from `config.metadata`; WS-2.1: or no agents at all.
    async fn a_request_may_name_the_pack(side) {
        let world = side.start();
        let ada = world.user("ada");
        let created = ada.post("/my/projects/", &json!({"name": "R", "starter_pack": "roles"})).await.unwrap();
        let expected = [
            ("Ask", json!(["answer_question", "explain_concept"]), "LOW"),
            ("Debug", json!(["investigate_error", "add_logging"]), "MEDIUM"),
            ("Code", json!(["implement_feature", "fix_bug"]), "HIGH"),
            ("Architect", json!(["design_architecture", "create_specifications"]), "LOW"),
            ("Orchestrator", json!(["coordinate_workflow", "route_tasks"]), "LOW"),
        ];
        assert_eq!(created.body["agents"].as_array().unwrap().len(), 5);
        for (agent, (name, capabilities, risk)) in created.body["agents"].as_array().unwrap().iter().zip(expected) {
            assert_eq!(agent["name"], name);
            assert_eq!(agent["config"]["metadata"]["capabilities"], capabilities);
            assert_eq!(agent["config"]["metadata"]["risk_level"], risk);
        }
        let none = ada.post("/my/projects/", &json!({"name": "N", "starter_pack": "none"})).await.unwrap();
        assert_eq!(none.body["agents"], json!([]));
        let unknown = ada.post("/my/projects/", &json!({"name": "U", "starter_pack": "heroes"})).await.unwrap();
        assert!(faults(&unknown)["starter_pack"].contains("workspace, roles, none"));
    }

    /// WS-2.1: packs are data files, and the configuration may choose one.
    async fn an_operator_has_packs_of_their_own(side) {
        let mut world = side.start_with(&[]);
        let packs = world.artel.data_dir().join("packs");
        std::fs::create_dir(&packs).unwrap();
        let pack = "name = 'duo'\ndescription = ''\n[[agents]]\nname = 'solo'\nmodel = 'm'\nsystem_prompt = 'p'\ntemperature = 1.0\nmax_tokens = 5\nmetadata = { role = 'r' }\n";
        std::fs::write(packs.join("duo.toml"), pack).unwrap();
        world.artel.restart().unwrap();
        let created = world.user("ada").post("/my/projects", &json!({"name": "D", "starter_pack": "duo"})).await.unwrap();
        assert_eq!(names(&created.body["agents"]), ["solo"]);
    }

    /// PF-6.2: lists are paged, and a last slash makes no difference.
    async fn projects_are_listed_read_changed_and_deleted(side) {
        let world = side.start();
        let ada = world.user("ada");
        assert_eq!(ada.get("/my/projects/").await.unwrap().body, json!({"projects": [], "total": 0}));
        let mut paths = Vec::new();
        for number in 0..5 {
            let body = json!({"name": format!("P{number}"), "starter_pack": "none"});
            paths.push(format!("/my/projects/{}", ada.post("/my/projects", &body).await.unwrap().id().unwrap()));
        }
        let page = ada.get("/my/projects/?limit=2&offset=3").await.unwrap().body;
        assert_eq!(names(&page["projects"]), ["P3", "P4"]);
        assert_eq!(page["total"], 5);
        assert_eq!(ada.get("/my/projects?offset=999999").await.unwrap().body["projects"], json!([]));

        let changed = ada.put(&paths[0], &json!({"name": "New", "workspace_path": "/w"})).await.unwrap();
        assert_eq!((changed.status.as_u16(), &changed.body["name"]), (200, &json!("New")));
        let kept = ada.put(&format!("{}/", paths[0]), &json!({"workspace_path": null})).await.unwrap();
        assert_eq!((&kept.body["name"], &kept.body["workspace_path"]), (&json!("New"), &json!("/w")));
        assert_eq!(ada.get(&paths[0]).await.unwrap().body, kept.body);

        assert_eq!(ada.delete(&paths[1]).await.unwrap().status, 204);
        assert_eq!(ada.get(&paths[1]).await.unwrap().status, 404);
        assert_eq!(ada.delete(&paths[1]).await.unwrap().status, 404);
        assert_eq!(ada.get("/my/projects").await.unwrap().body["total"], 4);
    }

    /// WS-9.1, WS-9.3, OR-1.8: nothing of one user is reachable by another, and asking answers as if it did not exist.
    async fn another_users_project_does_not_exist(side) {
        let world = side.start();
        let (ada, eve) = (world.user("ada"), world.user("eve"));
        let project = empty_project(&ada).await;
        let agent = add_agent(&ada, &project, "mine").await;
        let nowhere = "/my/projects/01890000-0000-7000-8000-000000000000";
        let body = json!({"name": "x", "config": {"model": "m"}});
        for suffix in ["", "/agents", "/agents/{a}", "/events"] {
            let suffix = suffix.replace("{a}", &agent);
            let (foreign, unknown) = (eve.get(&format!("{project}{suffix}")).await.unwrap(), eve.get(&format!("{nowhere}{suffix}")).await.unwrap());
            assert_eq!(foreign.status, 404, "{suffix}");
            assert_eq!((&foreign.body["detail"], &foreign.body["error_code"]), (&unknown.body["detail"], &unknown.body["error_code"]), "{suffix}");
        }
        let agents = format!("{project}/agents");
        let one = format!("{agents}/{agent}");
        assert_eq!(eve.put(&project, &json!({"name": "stolen"})).await.unwrap().status, 404);
        assert_eq!(eve.delete(&project).await.unwrap().status, 404);
        assert_eq!(eve.post(&agents, &body).await.unwrap().status, 404);
        assert_eq!(eve.put(&one, &body).await.unwrap().status, 404);
        assert_eq!(eve.patch(&one, &json!({"name": "y"})).await.unwrap().status, 404);
        assert_eq!(eve.delete(&one).await.unwrap().status, 404);
        assert_eq!(eve.get("/my/projects").await.unwrap().body["total"], 0);
        assert_eq!(ada.get(&agents).await.unwrap().body["agents"][0]["name"], "mine");
    }

    /// WS-1.1, WS-9.2, OR-1.7: projects of one user share nothing; WS-1.2: they are used side by side.
    async fn projects_of_one_user_are_apart(side) {
        let world = side.start();
        let ada = world.user("ada");
        let (first, second) = tokio::join!(empty_project(&ada), empty_project(&ada));
        let (a, b) = tokio::join!(add_agent(&ada, &first, "same"), add_agent(&ada, &second, "same"));
        assert_ne!(a, b);
        assert_eq!(ada.get(&format!("{second}/agents/{a}")).await.unwrap().status, 404);
        assert_eq!(ada.delete(&format!("{first}/agents/{b}")).await.unwrap().status, 404);
        assert_eq!(ada.delete(&first).await.unwrap().status, 204);
        assert_eq!(ada.get(&format!("{second}/agents/{b}")).await.unwrap().status, 200);
        assert_eq!(ada.get(&format!("{first}/agents/{a}")).await.unwrap().status, 404, "it went with its project");
    }

    /// PF-3.5's mechanics, on creation: one key, one project, one answer; another body under it is refused.
    async fn a_key_creates_once(side) {
        let mut world = side.start();
        let ada = world.user("ada");
        let body = json!({"name": "Once", "starter_pack": "none"});
        let tries: Vec<_> = (0..20).map(|_| { let (ada, body) = (ada.clone(), body.clone()); tokio::spawn(async move { ada.post_once("/my/projects/", "key-1", &body).await.unwrap() }) }).collect();
        let mut answers = Vec::new();
        for attempt in tries {
            answers.push(attempt.await.unwrap());
        }
        assert!(answers.iter().all(|answer| answer.status == 201 && answer.body == answers[0].body));
        assert_eq!(ada.get("/my/projects").await.unwrap().body["total"], 1);
        world.artel.restart().unwrap();
        let ada = world.user("ada");
        assert_eq!(ada.post_once("/my/projects/", "key-1", &body).await.unwrap().body, answers[0].body, "across restarts");
        let other = ada.post_once("/my/projects/", "key-1", &json!({"name": "Other"})).await.unwrap();
        assert!(faults(&other).contains_key("Idempotency-Key"));
        let eve = world.user("eve");
        assert_eq!(eve.post_once("/my/projects/", "key-1", &body).await.unwrap().status, 201, "a key is its user's own");
        assert_ne!(eve.get("/my/projects").await.unwrap().body["projects"][0]["id"], answers[0].body["id"]);
    }

    /// Everything has a bound: projects of a user, agents of a project.
    async fn too_many_are_refused(side) {
        let world = side.start_with(&[("ARTEL_MAX_PROJECTS", "2"), ("ARTEL_MAX_AGENTS", "1")]);
        let ada = world.user("ada");
        let project = empty_project(&ada).await;
        empty_project(&ada).await;
        let refused = ada.post_once("/my/projects", "k", &json!({"name": "Third"})).await.unwrap();
        assert_eq!((refused.status.as_u16(), &refused.body["error_code"]), (409, &json!("too_many_projects")));
        add_agent(&ada, &project, "one").await;
        let refused = ada.post(&format!("{project}/agents"), &json!({"name": "two", "model": "m"})).await.unwrap();
        assert_eq!((refused.status.as_u16(), &refused.body["error_code"]), (409, &json!("too_many_agents")));
        ada.delete(&project).await.unwrap();
        let now = ada.post_once("/my/projects", "k", &json!({"name": "Third"})).await.unwrap();
        assert_eq!(now.status, 201, "a refusal is not remembered as the answer");
    }
}

/// WS-2.1: where the packs' model is not to be had, their agents can be given another.
#[tokio::test]
async fn a_pack_with_the_model_at_hand() {
    let world =
        Side::Embedded.start_with(&[("ARTEL_DEFAULT_MODEL", "anthropic/claude-sonnet-4-5")]);
    let made = world.user("ada").post("/my/projects", &json!({"name": "x"})).await.unwrap();
    let agents = made.body["agents"].as_array().unwrap();
    assert!(
        agents.len() == 4
            && agents.iter().all(|agent| agent["config"]["model"] == "anthropic/claude-sonnet-4-5")
    );
}
