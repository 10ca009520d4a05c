//! `artel plan` and `artel plans`: have the team do something, see what it would take, decide, and watch it being done.

use std::collections::BTreeMap;

use artel_domain::approval::Decision;
use artel_domain::plan::{self, Status};
use artel_domain::{Clock, PlanId, SystemClock};
use artel_engine::PlanView;
use artel_tools::show::{visible, visible_lines};
use clap::{Args, Subcommand};
use serde_json::json;

use super::connection::Connection;
use super::print;

pub(crate) mod draw;
pub(crate) mod live;
pub(crate) mod pen;
mod rails;
pub(crate) mod remote;
pub(crate) mod screen;
pub(crate) mod watch;

use draw::Sheet;
use pen::{Pen, dollars, seconds, span};
use remote::{Plans, SHORT};
use screen::Screen;
use watch::Watch;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "A plan is named by its id, or by the end of it.")]
pub(crate) struct Planning {
    #[command(subcommand)]
    command: Option<Command>,
    /// What is wanted, in your own words.
    #[arg(required = true)]
    request: Option<String>,
    /// Let it run, whatever it takes.
    #[arg(long, conflicts_with = "no_run")]
    yes: bool,
    /// Only plan it; `artel plan run ID` lets it run.
    #[arg(long)]
    no_run: bool,
    /// The project's id; not needed when you have just one.
    #[arg(long, global = true, value_name = "ID")]
    project: Option<String>,
    /// Answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a plan, its graph, and what came of it.
    Show {
        id: String,
        /// Every task, however many there are.
        #[arg(long)]
        all: bool,
    },
    /// Let a plan run that was only made.
    Run {
        id: String,
        /// Whatever it takes.
        #[arg(long)]
        yes: bool,
    },
    /// Let a plan run that waits for your approval.
    Approve {
        id: String,
        /// A word with it.
        #[arg(long)]
        comment: Option<String>,
        /// Do not stay to see how it goes.
        #[arg(long)]
        no_wait: bool,
    },
    /// Keep a plan from running that waits for your approval.
    Reject {
        id: String,
        #[arg(long)]
        reason: Option<String>,
    },
    /// Change a plan that has not begun.
    Edit {
        id: String,
        /// Leave a task out; what needs it then needs what it needed.
        #[arg(long, value_name = "TASK")]
        drop: Vec<String>,
        /// Give a task to another agent.
        #[arg(long, value_name = "TASK=AGENT", value_parser = assignment)]
        assign: Vec<(String, String)>,
    },
    /// Stop a plan.
    Cancel { id: String },
    /// Do again what came to nothing.
    Retry {
        id: String,
        /// Only this task, and what was skipped because of it.
        #[arg(long, value_name = "NAME")]
        task: Option<String>,
        /// Also everything that depends on the task, done or not.
        #[arg(long, requires = "task")]
        from: bool,
        /// By another agent.
        #[arg(long, value_name = "NAME", requires = "task")]
        agent: Option<String>,
        /// Do not stay to see how it goes.
        #[arg(long)]
        no_wait: bool,
    },
    /// See how a plan goes, until it has ended.
    Watch { id: String },
}

#[derive(Debug, Args)]
pub(crate) struct Listing {
    /// Only those that stand so.
    #[arg(long, value_parser = [
        "pending", "waiting_approval", "executing", "completed", "partial_success", "failed", "cancelled", "rejected",
    ])]
    status: Option<String>,
    /// The project's id; not needed when you have just one.
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    connection: Connection,
    planning: Planning,
    environment: &BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let Planning { command, request, yes, no_run, project, json } = planning;
    let project = connection.project(project).await?;
    let plans = Plans::of(&connection, &project);
    let desk = Desk { plans: &plans, environment, json };
    match command {
        None => desk.take(&request.unwrap_or_default(), yes, no_run).await,
        Some(command) => desk.carry_out(command).await,
    }
}

/// The newest plans, a line each.
pub(super) async fn list(connection: Connection, listing: Listing) -> anyhow::Result<()> {
    let project = connection.project(listing.project).await?;
    let found = Plans::of(&connection, &project).newest(listing.status.as_deref()).await?;
    if listing.json {
        return print(&json!({ "plans": found.plans, "total": found.total }).to_string());
    }
    if found.plans.is_empty() {
        return print("No plans. `artel plan \"what you want\"` makes one.");
    }
    let mut lines: Vec<_> = found.plans.iter().map(line).collect();
    if found.total > lines.len() {
        lines.push(format!("{} more are older", found.total - lines.len()));
    }
    print(&lines.join("\n"))
}

/// A plan in one line.
fn line(plan: &plan::Plan) -> String {
    let id = plan.id.to_string();
    let tasks = format!("{}/{}", plan.completed_count, plan.task_count);
    format!(
        "{}  {:<16}  {tasks:>7}  {:>8}  {:>7}  {}",
        &id[id.len() - SHORT..],
        plan.status.as_str(),
        dollars(plan.actual_cost),
        span(SystemClock.now().since(plan.created_at)),
        visible(&plan.title)
    )
}

/// Where plans are worked on.
struct Desk<'a> {
    plans: &'a Plans<'a>,
    environment: &'a BTreeMap<String, String>,
    json: bool,
}

impl Desk<'_> {
    /// Plans a request, and lets the plan run.
    async fn take(&self, request: &str, yes: bool, no_run: bool) -> anyhow::Result<()> {
        let view = self.plans.create(request).await?;
        if no_run {
            return self.show(&view, false, &format!("\nRun it: artel plan run {}", view.plan.id));
        }
        let mut screen = self.screen();
        self.introduce(&view, &mut screen);
        self.execute(view.plan.id, yes, screen).await
    }

    async fn carry_out(&self, command: Command) -> anyhow::Result<()> {
        let (Command::Show { id, .. }
        | Command::Run { id, .. }
        | Command::Approve { id, .. }
        | Command::Reject { id, .. }
        | Command::Edit { id, .. }
        | Command::Cancel { id }
        | Command::Retry { id, .. }
        | Command::Watch { id }) = &command;
        let id = self.plans.find(id).await?;
        let mut screen = self.screen();
        match command {
            Command::Show { all, .. } => {
                let view = self.plans.get(id).await?;
                let answer = self.plans.answer(&view.plan).await?;
                let answer = answer.map(|answer| format!("\n\n{}", visible_lines(&answer)));
                self.show(&view, all, &answer.unwrap_or_default())
            }
            Command::Run { yes, .. } => {
                self.introduce(&self.plans.get(id).await?, &mut screen);
                self.execute(id, yes, screen).await
            }
            Command::Approve { comment, no_wait, .. } => {
                let watch = Watch::open(self.plans, &mut screen).await?;
                let mut view = self.plans.get(id).await?;
                let made = view.plan.status == Status::Pending;
                if made {
                    view = self.plans.execute(id).await?;
                }
                // What was only made may run without anybody being asked.
                if !made || view.plan.status == Status::WaitingApproval {
                    view = self.plans.decide(id, Decision::Approve, comment).await?;
                }
                self.go_on(watch, view, no_wait).await
            }
            Command::Reject { reason, .. } => {
                self.say_state(&self.plans.decide(id, Decision::Reject, reason).await?)
            }
            Command::Edit { drop, assign, .. } => {
                let assign: BTreeMap<_, _> = assign.into_iter().collect();
                let view = self.plans.edit(id, &json!({ "drop": drop, "assign": assign })).await?;
                self.show(&view, false, "")
            }
            Command::Cancel { .. } => self.say_state(&self.plans.cancel(id).await?),
            Command::Retry { task, from, agent, no_wait, .. } => {
                let watch = Watch::open(self.plans, &mut screen).await?;
                let what = json!({ "task": task, "from": from, "agent": agent });
                let view = self.plans.retry(id, &what).await?;
                self.go_on(watch, view, no_wait).await
            }
            Command::Watch { .. } => {
                self.introduce(&self.plans.get(id).await?, &mut screen);
                let watch = Watch::open(self.plans, &mut screen).await?;
                let view = self.plans.get(id).await?;
                self.go_on(watch, view, false).await
            }
        }
    }

    /// Lets a plan run and follows it; `yes` approves it where somebody has to.
    async fn execute(&self, id: PlanId, yes: bool, mut screen: Screen) -> anyhow::Result<()> {
        let watch = Watch::open(self.plans, &mut screen).await?;
        let mut view = self.plans.execute(id).await?;
        if yes && view.plan.status == Status::WaitingApproval {
            view = self.plans.decide(id, Decision::Approve, None).await?;
        }
        self.go_on(watch, view, false).await
    }

    /// Follows a plan to its end and says what came of it.
    async fn go_on(&self, watch: Watch<'_>, view: PlanView, leave: bool) -> anyhow::Result<()> {
        if leave {
            return self.say_state(&view);
        }
        let view = watch.follow(view).await?;
        let answer = self.plans.answer(&view.plan).await?;
        if self.json {
            let mut whole = json!(view);
            whole["answer"] = json!(answer);
            print(&whole.to_string())?;
        } else {
            print(&visible_lines(&answer.unwrap_or_default()))?;
            self.screen().say(&self.account(&view.plan));
        }
        self.plans.judge(&view.plan).await
    }

    /// What it took, beside what was expected.
    fn account(&self, plan: &plan::Plan) -> String {
        let pen = self.pen();
        format!(
            "({}: {} of {} tasks; {}, expected {}; {}, expected {})",
            plan.status.as_str(),
            plan.completed_count,
            plan.task_count,
            dollars(plan.actual_cost),
            pen.dollars_between(plan.total_estimated_cost),
            seconds(plan.actual_duration.unwrap_or_default()),
            pen.seconds_between(plan.total_estimated_duration),
        )
    }

    fn show(&self, view: &PlanView, all: bool, more: &str) -> anyhow::Result<()> {
        if self.json {
            return print(&json!(view).to_string());
        }
        print(&format!("{}\n{}{more}", self.picture(view, all), state(&view.plan)))
    }

    fn say_state(&self, view: &PlanView) -> anyhow::Result<()> {
        if self.json {
            return print(&json!(view).to_string());
        }
        print(&state(&view.plan))
    }

    /// Shows a plan that will be followed.
    fn introduce(&self, view: &PlanView, screen: &mut Screen) {
        if !self.json {
            screen.say(&format!("{}\n", self.picture(view, false)));
        }
    }

    fn picture(&self, view: &PlanView, all: bool) -> String {
        Sheet::from(view).draw(self.pen(), all)
    }

    fn pen(&self) -> Pen {
        Pen::of(self.environment)
    }

    fn screen(&self) -> Screen {
        Screen::new(self.environment, self.json)
    }
}

/// Where a plan stands, and why.
fn state(plan: &plan::Plan) -> String {
    let note = plan.note.as_deref().map(|note| format!(" ({})", visible(note)));
    format!("{}: {}{}", plan.status.as_str(), plan.id, note.unwrap_or_default())
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((task, agent)) if !task.is_empty() && !agent.is_empty() => {
            Ok((task.to_owned(), agent.to_owned()))
        }
        Some(_) | None => Err("must be TASK=AGENT".to_owned()),
    }
}
