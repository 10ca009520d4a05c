//! An agent on a stage: `line-agent` as its program, short patience, and somebody who notes what happens.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use artel_domain::clock::SystemClock;
use artel_programs::codec::{Codec, Event, Outcome, Signal};
use artel_programs::kind::{Abilities, Kind, Launch, Place, Program, Tools, Unusable, Wish};
use artel_programs::life::{Backoff, Life, Parts, Policy, State, Status, Warning, Watcher};
use artel_programs::log::{Files, Log, Redactor};
use artel_programs::runner::{Patience, Turn};
use artel_programs::sandbox::{Limits, Mark, Network, Room};
use async_trait::async_trait;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::line::Line;
use crate::plain::Plain;

/// Longer than anything here takes on the slowest machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);

pub(crate) fn agent() -> String {
    env!("CARGO_BIN_EXE_line-agent").to_owned()
}

/// A kind whose program is what the wish names.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineKind {
    pub(crate) ready_within: Duration,
    pub(crate) resume: bool,
    pub(crate) resume_after: Duration,
    pub(crate) single: bool,
}

impl Kind for LineKind {
    fn name(&self) -> &'static str {
        "line"
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            steer: false,
            resume: self.resume,
            permissions: false,
            tools: Tools::Lines,
            patience: LONG,
            resume_after: self.resume_after,
        }
    }

    fn program(&self, _wish: &Wish) -> Result<Program, Unusable> {
        Ok(Program { name: "line-agent".to_owned(), install: "cargo build".to_owned() })
    }

    fn launch(&self, wish: &Wish, _place: &Place) -> Result<Launch, Unusable> {
        if wish.command.is_empty() {
            return Err(Unusable("there is no command: set `command`".to_owned()));
        }
        let resumes = wish.resume.clone().map(|session| ("RESUMES".to_owned(), session));
        Ok(Launch {
            argv: wish.command.clone(),
            environment: resumes.into_iter().collect(),
            files: vec![],
            ready_within: self.ready_within,
            stop: Signal::Terminate,
        })
    }

    fn codec(&self, wish: &Wish, _place: &Place) -> Result<Box<dyn Codec>, Unusable> {
        Ok(Box::new(Line::new(wish.resume.clone())))
    }

    fn single(&self, wish: &Wish, place: &Place, text: &str) -> Option<Launch> {
        let argv = vec![agent(), "once".to_owned(), text.to_owned()];
        let launch = self.launch(wish, place).ok().filter(|_| self.single)?;
        Some(Launch { argv, ..launch })
    }
}

/// Notes everything it is told.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) changes: Mutex<Vec<Status>>,
    pub(crate) warnings: Mutex<Vec<Warning>>,
}

#[async_trait]
impl Watcher for Notes {
    async fn changed(&self, status: &Status) {
        self.changes.lock().unwrap().push(status.clone());
    }

    async fn warned(&self, warning: Warning) {
        self.warnings.lock().unwrap().push(warning);
    }
}

/// How an agent is put on stage.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) command: Vec<String>,
    pub(crate) kind: LineKind,
    pub(crate) policy: Policy,
    pub(crate) session: Option<String>,
    pub(crate) secret: Option<&'static str>,
}

pub(crate) struct Stage {
    pub(crate) life: Life,
    pub(crate) notes: Arc<Notes>,
    pub(crate) plain: Arc<Plain>,
    pub(crate) log: Log,
    _folder: TempDir,
}

impl Default for Script {
    fn default() -> Self {
        let short = Duration::from_millis(300);
        Self {
            command: vec![agent()],
            kind: LineKind { ready_within: LONG, ..LineKind::default() },
            policy: Policy {
                backoff: Backoff {
                    pause: Duration::from_millis(5),
                    longest: Duration::from_millis(20),
                    most: 3,
                    window: LONG,
                },
                patience: Patience {
                    interrupted: short,
                    stop_turn: short,
                    stop_close: short,
                    stop_signal: short,
                    ..Patience::default()
                },
                ..Policy::default()
            },
            session: None,
            secret: None,
        }
    }
}

impl Script {
    pub(crate) fn mode(mut self, arguments: &[&str]) -> Self {
        self.command.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    pub(crate) fn shell(mut self, script: &str) -> Self {
        self.command = ["sh", "-c", script, "sh", &agent()].map(str::to_owned).to_vec();
        self
    }

    pub(crate) async fn play(self) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let inside = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let room = Room {
            name: "agent".to_owned(),
            home: inside("home"),
            workspace: inside("workspace"),
            tools: inside("tools"),
            programs: Vec::<PathBuf>::new(),
            shown: vec![],
            network: Network::None,
            limits: Limits { memory: u64::MAX, processes: 100, cpu: 1000 },
        };
        let secrets: Vec<_> = self.secret.into_iter().map(Into::into).collect();
        let sink = Arc::new(Files::new(inside("log")));
        let log = Log::open(sink, Arc::new(SystemClock), Redactor::new(&secrets)).await.unwrap();
        let (notes, plain) = (Arc::new(Notes::default()), Arc::new(Plain::default()));
        let life = Life::new(Parts {
            kind: Arc::new(self.kind),
            wish: Wish { command: self.command, resume: self.session, ..Wish::default() },
            room,
            starter: Arc::clone(&plain) as _,
            policy: self.policy,
            clock: Arc::new(SystemClock),
            log: log.clone(),
            watcher: Arc::clone(&notes) as _,
        });
        Stage { life, notes, plain, log, _folder: folder }
    }
}

impl Stage {
    /// Says something, and returns what came of it.
    pub(crate) async fn say(&self, text: &str) -> (String, Outcome) {
        self.try_say(text).await.unwrap()
    }

    pub(crate) async fn try_say(&self, text: &str) -> Result<(String, Outcome), String> {
        let turn = timeout(LONG, self.life.turn(text.to_owned())).await.expect("it hangs");
        let turn = turn.map_err(|error| error.to_string())?;
        Ok(timeout(LONG, told(turn)).await.expect("the turn hangs"))
    }

    /// Waits for a state.
    pub(crate) async fn reach(&self, state: State) {
        let reached = async {
            while self.life.status().state != state {
                sleep(Duration::from_millis(2)).await;
            }
        };
        let status = || self.life.status();
        timeout(LONG, reached).await.unwrap_or_else(|_| panic!("it stays {:?}", status()));
    }

    pub(crate) fn starts(&self) -> u64 {
        self.plain.starts.load(Ordering::SeqCst)
    }

    pub(crate) fn pid(&self) -> u32 {
        match self.life.status().mark {
            Some(Mark::Process { pid, .. }) => pid,
            Some(Mark::Container { .. }) | None => panic!("there is no process"),
        }
    }

    /// The states that were told, each once in a row.
    pub(crate) fn states(&self) -> Vec<State> {
        let changes = self.notes.changes.lock().unwrap();
        let mut states: Vec<_> = changes.iter().map(|status| status.state).collect();
        states.dedup();
        states
    }

    pub(crate) fn warnings(&self) -> Vec<Warning> {
        self.notes.warnings.lock().unwrap().clone()
    }
}

/// All text of a turn, and its end.
pub(crate) async fn told(mut turn: Turn) -> (String, Outcome) {
    let mut text = String::new();
    let mut outcome = None;
    while let Some(event) = turn.next().await {
        assert_eq!(outcome, None, "nothing comes after the end");
        match event {
            Event::Text(more) => text.push_str(&more),
            Event::Ended(how) => outcome = Some(how),
            Event::Garbage { why } => text.push_str(&why),
            Event::Ready { .. }
            | Event::Unfit { .. }
            | Event::Session(_)
            | Event::Thinking(_)
            | Event::ToolStarted { .. }
            | Event::ToolEnded { .. }
            | Event::Permission(_)
            | Event::Question { .. }
            | Event::Withdrawn(_)
            | Event::Call { .. }
            | Event::Usage(_)
            | Event::Retrying { .. } => (),
        }
    }
    (text, outcome.expect("a turn has an end"))
}
