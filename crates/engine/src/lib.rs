//! [`App`], the one door to everything Artel does.
//!
//! Whoever comes, over HTTP, from the terminal or from a chat, comes as a [`Caller`] and asks for a verb; who may
//! do what, what is written, and which events tell of it is decided here and nowhere else. No HTTP, no SQL.

pub mod access;
mod agents;
mod approvals;
mod calls;
mod conversations;
mod error;
mod estimator;
pub mod feeds;
mod idempotent;
pub mod input;
pub mod limits;
mod memory;
mod packs;
mod planner;
mod plans;
pub mod programs;
mod projects;
mod reconciler;
mod spaces;
mod spending;
mod tools;
mod waiting;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use artel_agents::embed::Embedder;
use artel_agents::llm::Providers;
use artel_domain::tool::ToolCall;
use artel_domain::{Clock, PlanId, Role, TaskId, ToolCallId, UserId};
use artel_storage::Storage;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use artel_storage::approvals::Which as WhichApprovals;
pub use artel_storage::calls::Which as WhichCalls;
pub use artel_storage::plans::Which as WhichPlans;
pub use artel_storage::sessions::Which;
pub use artel_storage::{Listed, Page};

pub use crate::agents::{CreateAgent, MemoryFate, PatchAgent};
pub use crate::approvals::{Approve, Confirm, ConfirmMany, Decided, Preferences, Reject, Verdict};
pub use crate::calls::{AllowTool, AnnounceClient, ExecuteTool, ToolOutcome, ToolPrepared};
pub use crate::conversations::{ChangeSession, CreateSession, SendMessage, Sent, Taken};
pub use crate::error::{Error, Field, Kind, Result};
pub use crate::idempotent::IdempotencyKey;
pub use crate::memory::{
    AddContext, Added, Archived, Cursor, Export, Forgotten, Found, Imported, Listing, MemoryStats,
    Narrow, Period, PeriodStats, PruneContext, SearchContext, StatsRange,
};
pub use crate::plans::{CreatePlan, EditPlan, GraphView, PlanView, RetryPlan};
pub use crate::projects::{CreateProject, UpdateProject};
pub use crate::spaces::care::{CleanedUp, Cleared, Reset};
pub use crate::spaces::health::{Health, Reason, Wellness};
pub use crate::spaces::view::{AgentMetrics, AgentStatusView, AlertView, Doing, SpaceView};
pub use crate::spending::{AgentSpent, DaySpent, Spending, Spent};
pub use crate::tools::{AvailableTool, Side};

use crate::access::Accounts;
use crate::feeds::Feeds;
use crate::input::Schemas;
use crate::limits::Limits;
use crate::memory::Memory;
use crate::packs::Packs;
use crate::programs::Programs;
use crate::spaces::Spaces;
use crate::spaces::cache::AgentCache;
use crate::tools::Tools;
use crate::waiting::Waiting;

/// Who asks. Made by [`Accounts`] from a token that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub user: UserId,
    pub name: String,
    pub role: Role,
}

impl Caller {
    /// What an agent does, it does for its owner, with no more rights than anybody's.
    pub(crate) fn on_behalf_of(user: UserId) -> Self {
        Self { user, name: String::new(), role: Role::User }
    }
}

/// What can be set about the engine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Identifies this node among those that share a database, over restarts. No two processes may run in its name
    /// at a time.
    pub node: String,
    pub access: access::Settings,
    pub limits: limits::Settings,
    /// The pack of a project whose request names none.
    pub starter_pack: String,
    /// The model of a pack's agents, instead of the one that the pack says.
    pub default_model: Option<String>,
    /// A folder with more packs, if it exists.
    pub packs_dir: Option<PathBuf>,
    /// Where memories go whose agents are deleted and whose owners want them kept.
    pub archive_dir: PathBuf,
    /// How long events can be resumed from.
    pub event_retention: Duration,
    /// How often the reconciler looks for what was left.
    pub reconcile_every: Duration,
    /// Programs that are agents.
    pub programs: programs::Settings,
    /// The models at hand.
    pub providers: artel_agents::llm::providers::Config,
    /// How long a direct message may take, from when it was sent.
    pub direct_timeout: Duration,
    /// How long a task of a plan may take, from when its agent begins.
    pub plan_task_timeout: Duration,
    /// Tasks of one plan that run at a time.
    pub plan_parallel: usize,
    /// The model that plans, where no agent of the project is there for it.
    pub planner_model: Option<String>,
    /// How long a model may take to plan before it is done without one.
    pub planner_timeout: Duration,
    /// How long a person has to decide, unless they set another time for themselves.
    pub approval_timeout: Duration,
    /// A space that nobody has used for so long is let go.
    pub space_idle: Duration,
    /// Agents at hand in this process, of all projects.
    pub cached_agents: u64,
    /// Projects per user and agents per project at most.
    pub max_projects: u64,
    pub max_agents: u64,
}

/// The engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    storage: Storage,
    clock: Arc<dyn Clock>,
    settings: Settings,
    accounts: Accounts,
    limits: Limits,
    feeds: Feeds,
    packs: Packs,
    spaces: Spaces,
    cache: AgentCache,
    tools: Tools,
    calls: Waiting<ToolCallId, ToolCall>,
    plans: Waiting<PlanId, ()>,
    memory: Memory,
    programs: Programs,
    providers: Providers,
    schemas: Schemas,
    /// Identifies this process among all that ever shared the database.
    node: String,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl App {
    /// Builds the engine on an opened storage and starts its background work, which ends with [`App::stop`].
    pub fn start(
        storage: Storage,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Result<Self> {
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let packs = Packs::load(settings.packs_dir.as_deref())?;
        packs.find(&settings.starter_pack)?;
        let accounts = Accounts::new(storage.db.clone(), Arc::clone(&clock), &settings.access)?;
        let node = format!("{}:{}", settings.node, TaskId::new(clock.as_ref()));
        let feeds = Feeds::start(&storage, Arc::clone(&clock), &node, &tracker, stop.clone());
        let (programs, left) = Programs::new(&settings, &storage.bus, &clock, &tracker);
        let app = Self(Arc::new(Inner {
            limits: Limits::new(&settings.limits),
            accounts,
            feeds,
            packs,
            spaces: Spaces::default(),
            tools: Tools::new(),
            calls: Waiting::default(),
            plans: Waiting::default(),
            memory: Memory::new(embedder),
            programs,
            cache: AgentCache::new(
                storage.db.clone(),
                Arc::clone(&storage.bus),
                settings.cached_agents,
            ),
            providers: Providers::from(settings.providers.clone()),
            schemas: Schemas::new()?,
            node,
            storage,
            clock,
            settings,
            tracker,
            stop,
        }));
        app.0.tracker.spawn(reconciler::run(app.clone(), app.0.stop.clone()));
        app.0.tracker.spawn(spaces::word::hear(app.clone(), app.0.stop.clone()));
        if let Some(left) = left {
            app.0.tracker.spawn(programs::hear_left(app.clone(), left));
        }
        let clearing = app.clone();
        app.0.tracker.spawn(async move {
            if let Err(error) = clearing.clear_programs().await {
                tracing::warn!(%error, "what an earlier server left is ended later");
            }
        });
        app.0.tracker.spawn(memory::keeping::run(app.clone(), app.0.stop.clone()));
        app.0.tracker.spawn(memory::upkeep::run(app.clone(), app.0.stop.clone()));
        Ok(app)
    }

    pub fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub fn schemas(&self) -> &Schemas {
        &self.0.schemas
    }

    pub fn providers(&self) -> &Providers {
        &self.0.providers
    }

    pub fn storage(&self) -> &Storage {
        &self.0.storage
    }

    pub fn clock(&self) -> &dyn Clock {
        self.0.clock.as_ref()
    }

    /// Ends every event stream, so that whoever waits for connections to close is not kept waiting.
    pub fn close_streams(&self) {
        self.0.feeds.close();
        self.0.programs.close_streams();
    }

    /// Stops the background work and waits for it.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.close_programs().await;
        self.0.tracker.close();
        self.0.tracker.wait().await;
        reconciler::end_leases(self, self.0.node.clone()).await;
    }
}
