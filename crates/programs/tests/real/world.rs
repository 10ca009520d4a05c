//! What stands around one agent: a model service, its tools, its folders, and the programs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use artel_modelstub::{Scenario, Stub};
use artel_programs::kind::{Credentials, Existing, Kind, Launch, OURS, Place, Wish};
use artel_programs::kinds;
use artel_programs::toolbox::endpoint::{Endpoint, Setup};
use artel_programs::toolbox::{Limits, ToolSpec, Toolbox};
use async_trait::async_trait;
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::process::Command;

/// One of the programs.
pub(crate) struct Cli {
    pub(crate) kind: &'static str,
    pub(crate) version: &'static str,
    model: &'static str,
    /// What its base URL has after the address.
    base: &'static str,
}

pub(crate) const CLAUDE: Cli =
    Cli { kind: "claude-code", version: "2.1.197", model: "claude-sonnet-4-5", base: "" };
pub(crate) const CODEX: Cli =
    Cli { kind: "codex", version: "0.166.0", model: "gpt-5.4", base: "/v1" };
pub(crate) const GEMINI: Cli =
    Cli { kind: "gemini-cli", version: "0.61.0", model: "gemini-2.5-pro", base: "" };
pub(crate) const DROID: Cli =
    Cli { kind: "factory-droid", version: "0.215.0", model: "stub-model", base: "/v1" };
pub(crate) const ACP: Cli = Cli { kind: "acp", version: "", model: "", base: "" };
pub(crate) const LINE: Cli = Cli { kind: "line", version: "", model: "", base: "" };

pub(crate) const KEY: &str = "sk-test";
pub(crate) const INSTRUCTIONS: &str = "You are the agent of a test.";
const TOKEN: &str = "the-token-of-a-test";
const SCENARIO: &str = include_str!("../../../modelstub/scenarios/cli.json");

impl Cli {
    pub(crate) fn kind(&self) -> &'static dyn Kind {
        kinds::find(self.kind).unwrap()
    }
}

pub(crate) struct World {
    pub(crate) cli: &'static Cli,
    pub(crate) place: Place,
    pub(crate) tools: Arc<Heard>,
    stub: Stub,
    _endpoint: Endpoint,
    folder: TempDir,
}

impl World {
    pub(crate) async fn new(cli: &'static Cli) -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["home", "workspace", "tmp"] {
            fs::create_dir(at(name)).unwrap();
        }
        let scenario = SCENARIO.replace("/workspace", at("workspace").to_str().unwrap());
        let stub = Stub::start(Scenario::parse(&scenario).unwrap()).await.unwrap();
        let tools = Arc::new(Heard::default());
        let endpoint = Endpoint::open(Setup {
            socket: at("tools/socket"),
            spool: at("tools/spool"),
            loopback: true,
            token: TOKEN.into(),
            toolbox: tools.clone(),
            limits: Limits::default(),
        })
        .unwrap();
        let orchestrator = Path::new(env!("CARGO_BIN_EXE_orchestrator")).parent().unwrap();
        let mut path = vec![orchestrator.to_owned(), clis().join("bin")];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap()));
        let place = Place {
            home: at("home"),
            workspace: at("workspace"),
            path,
            socket: at("tools/socket"),
            spool: at("tools/spool"),
            loopback: endpoint.url().map(str::to_owned),
            token: TOKEN.into(),
        };
        Self { cli, place, tools, stub, _endpoint: endpoint, folder }
    }

    pub(crate) fn wish(&self) -> Wish {
        Wish {
            model: Some(self.cli.model.to_owned()),
            instructions: INSTRUCTIONS.to_owned(),
            tools: self.tools.tools(),
            credentials: Credentials {
                key: Some(KEY.into()),
                base_url: Some(format!("{}{}", self.stub.url(), self.cli.base)),
                login: None,
            },
            ..Wish::default()
        }
    }

    /// What a launch says, ready to be started.
    pub(crate) fn process(&self, launch: &Launch) -> Command {
        for file in &launch.files {
            let foreign = fs::read_to_string(&file.path).is_ok_and(|text| !text.starts_with(OURS));
            if file.existing == Existing::Replace || !foreign {
                fs::create_dir_all(file.path.parent().unwrap()).unwrap();
                fs::write(&file.path, &file.content).unwrap();
            }
        }
        let mut process = Command::new(&launch.argv[0]);
        process
            .args(&launch.argv[1..])
            .current_dir(&self.place.workspace)
            .env_clear()
            .env("PATH", self.path())
            .env("HOME", &self.place.home)
            .env("TMPDIR", self.folder.path().join("tmp"))
            .envs([("LANG", "C.UTF-8"), ("TERM", "dumb"), ("SHELL", "/bin/bash")])
            .env("ORCH_SOCK", &self.place.socket)
            .env("ORCH_SPOOL", &self.place.spool)
            .envs(self.place.loopback.as_ref().map(|url| ("ORCH_URL", url)))
            .env("ORCH_AUTH", self.place.token.expose_secret())
            .envs(&launch.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(self.stderr()).unwrap())
            .kill_on_drop(true);
        process
    }

    /// What a process for one message alone says.
    pub(crate) async fn alone(&self, wish: &Wish, text: &str) -> String {
        let launch = self.cli.kind().single(wish, &self.place, text).unwrap();
        let output = self.process(&launch).stdin(Stdio::null()).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}\n{}", self.complaints());
        said
    }

    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        self.place.workspace.join(name)
    }

    /// What its user was told.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.tools.0.lock().unwrap().clone()
    }

    /// The last question to the model in which tools were offered, as it was sent.
    pub(crate) fn last_request(&self) -> String {
        let requests = self.stub.requests();
        let last = requests
            .iter()
            .rev()
            .find(|asked| asked.wire.is_some() && asked.body["tools"].is_array());
        last.unwrap().body.to_string()
    }

    /// Gemini CLI names the file of a conversation by the minute in which it began.
    pub(crate) fn let_a_minute_pass(&self) {
        let folders = self.place.home.join(".gemini/tmp");
        for folder in fs::read_dir(folders).into_iter().flatten().flatten() {
            for file in fs::read_dir(folder.path().join("chats")).into_iter().flatten().flatten() {
                let name = file.file_name().into_string().unwrap();
                let earlier = name.replacen("session-2", "session-1", 1);
                fs::rename(file.path(), file.path().with_file_name(earlier)).unwrap();
            }
        }
    }

    /// What it wrote on its standard error.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(self.stderr()).unwrap_or_default()
    }

    fn stderr(&self) -> PathBuf {
        self.folder.path().join("stderr")
    }

    fn path(&self) -> OsString {
        env::join_paths(&self.place.path).unwrap()
    }
}

/// A user who listens.
#[derive(Debug, Default)]
pub(crate) struct Heard(Mutex<Vec<String>>);

#[async_trait]
impl Toolbox for Heard {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "answer".to_owned(),
            description: "Sends a message to your user.".to_owned(),
            parameters: json!({
                "type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"],
            }),
        }]
    }

    async fn call(&self, _tool: &str, arguments: Map<String, Value>) -> Result<String, String> {
        let message = arguments["message"].as_str().unwrap_or_default();
        self.0.lock().unwrap().push(message.to_owned());
        Ok("delivered".to_owned())
    }
}

/// The folder of the programs. A test that is skipped without them would be a silent hole.
#[expect(clippy::disallowed_methods, reason = "set by the scripts that run the tests")]
fn clis() -> PathBuf {
    env::var("ARTEL_TEST_CLIS")
        .map(PathBuf::from)
        .expect("ARTEL_TEST_CLIS names no folder: run scripts/fetch-clis.sh DIR, and set it to DIR")
}
