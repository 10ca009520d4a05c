//! `artel client`: the user's side. Follows the project's events, carries out what is addressed to it in one folder, and
//! lets the person at the terminal decide. It is the authority over the user's files: whatever the server says, a path is
//! opened through the handle of the root, a command runs in a sandbox, and what runs unattended is harmless by this
//! program's own rules.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use artel_domain::ClientId;
use artel_domain::event::Resync;
use artel_tools::files::Workspace;
use artel_tools::shell::{Sandbox, Shell};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::connection::{Connection, text};

mod hands;
pub(crate) mod stream;
pub(crate) mod terminal;

use hands::Hands;
use stream::{Fault, Stream};
pub(crate) use terminal::Terminal;

/// How often the client says that it is still there; what was said holds three times as long.
const ANNOUNCE: Duration = Duration::from_secs(5);
/// How long after a fault it is tried again, at first and at last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// How often one asks that waits for another client to go.
const STANDBY: Duration = Duration::from_secs(2);

/// Who decides what is not harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Approve {
    /// The person at this terminal, or from wherever else they are.
    Ask,
    /// Nobody: only what is harmless is done at all.
    Low,
    /// The person, but from elsewhere: nothing is asked here.
    Never,
}

/// What a client works on.
pub(crate) struct Settings {
    /// Made anew by every start.
    pub(crate) id: ClientId,
    pub(crate) connection: Connection,
    pub(crate) project: String,
    pub(crate) workspace: PathBuf,
    pub(crate) approve: Approve,
    pub(crate) environment: BTreeMap<String, String>,
}

/// A client that is set up.
struct Client {
    connection: Arc<Connection>,
    path: String,
    announcement: Value,
    id: ClientId,
    hands: Hands,
    terminal: Terminal,
}

/// Runs until it is stopped, or until there is no use in trying any more.
pub(crate) async fn run(
    settings: Settings,
    terminal: Terminal,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let client = Client::new(settings, terminal).await?;
    let worked = tokio::select! {
        worked = client.work() => worked,
        () = stop.cancelled() => Ok(()),
    };
    client.leave().await;
    worked
}

impl Client {
    async fn new(settings: Settings, terminal: Terminal) -> anyhow::Result<Self> {
        let Settings { id, connection, project, workspace, approve, environment } = settings;
        let workspace = Workspace::open(&workspace)
            .with_context(|| format!("the workspace {}", workspace.display()))?;
        let sandbox = Sandbox::find().await;
        if let Sandbox::Missing { why } = &sandbox {
            terminal.say(&format!(
                "No sandbox: {why}. Commands run only after a person approved them."
            ));
        }
        let me = connection.get("/my/me").await?;
        let user = me["id"].as_i64().context("the server did not say who I am")?;
        let announcement = json!({
            "client_id": id,
            "workspace": workspace.path(),
            "host": host(),
            "version": env!("CARGO_PKG_VERSION"),
            "sandbox": matches!(sandbox, Sandbox::Bubblewrap(_)),
        });
        let shell = Shell::new(workspace.path(), &environment, sandbox);
        let (connection, path) = (Arc::new(connection), format!("/my/projects/{project}"));
        let hands = Hands::new(hands::Tools {
            connection: Arc::clone(&connection),
            path: path.clone(),
            id,
            user: artel_domain::UserId(user),
            workspace,
            shell,
            approve,
            terminal: terminal.clone(),
        });
        Ok(Self { connection, path, announcement, id, hands, terminal })
    }

    /// Follows the stream, from cut to cut.
    async fn work(&self) -> anyhow::Result<()> {
        let (mut after, mut pause) = (None, PAUSES.0);
        let mut told = String::new();
        loop {
            let fault = match self.follow(&mut after, &mut pause).await {
                Fault::Refused(error) => return Err(error),
                fault @ (Fault::Cut(_) | Fault::Another(_)) => fault,
            };
            // The same trouble is told once.
            let words = fault.to_string();
            if words != told {
                self.terminal.say(&words);
                told = words;
            }
            let wait = if fault.is_standby() { STANDBY } else { pause };
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Announces itself and does what comes, until something fails.
    async fn follow(&self, after: &mut Option<u64>, pause: &mut Duration) -> Fault {
        // The stream first: a signal is sent once the announcement holds, and must not be missed.
        let mut stream = match Stream::open(&self.connection, &self.path, *after).await {
            Ok(stream) => stream,
            Err(fault) => return fault,
        };
        if let Err(fault) = self.announce().await {
            return fault;
        }
        if after.is_none() {
            // It may have been cut off before it saw any event.
            if let Err(fault) = self.catch_up().await {
                return fault;
            }
            self.greet().await;
        } else {
            self.terminal.say("Connected again.");
        }
        *pause = PAUSES.0;
        let mut again = tokio::time::interval(ANNOUNCE);
        again.reset();
        loop {
            tokio::select! {
                event = stream.next() => match event {
                    Ok(event) => {
                        *after = event.id.or(*after);
                        let kind = event.event_type;
                        if let Err(fault) = self.attend(&kind, event.payload, after).await {
                            return fault;
                        }
                    }
                    Err(fault) => return fault,
                },
                _ = again.tick() => if let Err(fault) = self.announce().await {
                    return fault;
                },
            }
        }
    }

    async fn announce(&self) -> Result<(), Fault> {
        let path = format!("{}/client", self.path);
        let request = self.connection.request(reqwest::Method::PUT, &path);
        stream::checked(request.json(&self.announcement)).await.map(|_| ())
    }

    async fn greet(&self) {
        let folder = text(&self.announcement["workspace"]);
        self.terminal.say(&format!("Connected. Agents of this project work in {folder}."));
        let path = format!("/my/approvals?status=pending&project_id={}", self.project());
        let pending = self.connection.get(&path).await.unwrap_or_default();
        for approval in pending["approvals"].as_array().into_iter().flatten() {
            self.terminal.ask(&self.connection, approval);
        }
    }

    fn project(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    async fn attend(
        &self,
        kind: &str,
        payload: Value,
        after: &mut Option<u64>,
    ) -> Result<(), Fault> {
        match kind {
            "tool_execution_signal" => self.hands.signal(payload),
            "tool_result" => {
                self.hands.ended(&payload);
            }
            "approval_required" => {
                let mut approval = payload;
                approval["id"] = approval["approval_id"].take();
                self.terminal.ask(&self.connection, &approval);
            }
            "approval_resolved" | "approval_timeout" => {
                let how = payload["status"].as_str().unwrap_or("timeout");
                let from = payload["decided_from"].as_str().unwrap_or("deadline");
                self.terminal.decided(text(&payload["approval_id"]), how, from);
            }
            "resync" => {
                if let Ok(Resync { resumed_after, .. }) = serde_json::from_value(payload) {
                    *after = Some(resumed_after);
                }
                self.catch_up().await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes what is addressed to this client from the calls themselves, when events were missed.
    async fn catch_up(&self) -> Result<(), Fault> {
        for (status, phase) in [("running", "execute"), ("preparing", "prepare")] {
            let path = format!("{}/tools?status={status}&limit=100", self.path);
            let asked = self.connection.request(reqwest::Method::GET, &path);
            let open = stream::checked(asked).await?.json::<Value>().await;
            let open = open.map_err(|error| Fault::Cut(error.to_string()))?;
            for call in open["calls"].as_array().into_iter().flatten() {
                if call["client_id"] == json!(self.id) {
                    let mut signal = call.clone();
                    signal["tool_id"] = call["id"].clone();
                    signal["phase"] = phase.into();
                    self.hands.signal(signal);
                }
            }
        }
        Ok(())
    }

    /// Says goodbye, so that nobody waits for an answer.
    async fn leave(&self) {
        self.hands.stop().await;
        let path = format!("{}/client?client_id={}", self.path, self.id);
        let request = self.connection.request(reqwest::Method::DELETE, &path);
        let left = tokio::time::timeout(Duration::from_secs(2), self.connection.sent(request));
        if !matches!(left.await, Ok(Ok(_))) {
            self.terminal.say("The server could not be told that this client goes.");
        }
    }
}

/// The name of this machine.
fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "this machine".to_owned() } else { name }
}
