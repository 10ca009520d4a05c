//! `artel approvals`: what waits for you, of all your projects, and your decisions.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

use super::connection::{Connection, text};
use super::plan::pen::Pen;
use super::print;
use crate::client::terminal;

#[derive(Debug, Args)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    command: Option<Command>,
    /// Also what was decided.
    #[arg(long)]
    all: bool,
    /// Answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say yes; to a question, answer it.
    Approve {
        id: String,
        /// A word with it, or the answer.
        #[arg(long)]
        comment: Option<String>,
    },
    /// Say no.
    Reject {
        id: String,
        /// Why; the agent is told.
        #[arg(long)]
        reason: Option<String>,
    },
}

pub(super) async fn run(
    connection: Connection,
    approvals: Approvals,
    pen: Pen,
) -> anyhow::Result<()> {
    let Approvals { command, all, json: as_json } = approvals;
    let (id, body) = match command {
        None => return list(&connection, all, as_json, pen).await,
        Some(Command::Approve { id, comment }) => {
            (id, json!({ "decision": "approve", "comment": comment }))
        }
        Some(Command::Reject { id, reason }) => {
            (id, json!({ "decision": "reject", "comment": reason }))
        }
    };
    let request = connection.request(Method::POST, &format!("/my/approvals/{id}/confirm"));
    let decided = connection.read(request.header("x-artel-from", "terminal").json(&body)).await?;
    if as_json {
        return print(&decided.to_string());
    }
    print(&format!("{}: {id}", text(&decided["status"])))
}

async fn list(connection: &Connection, all: bool, as_json: bool, pen: Pen) -> anyhow::Result<()> {
    let which = if all { "" } else { "&status=pending" };
    let found = connection.get(&format!("/my/approvals?limit=100{which}")).await?;
    if as_json {
        return print(&found.to_string());
    }
    let approvals = found["approvals"].as_array().cloned().unwrap_or_default();
    if approvals.is_empty() {
        return print("Nothing waits for you.");
    }
    let one = |approval: &Value| {
        let state = match approval["status"].as_str() {
            Some("pending") => format!("until {}", text(&approval["expires_at"])),
            _ => format!("{} ({})", text(&approval["status"]), text(&approval["decided_from"])),
        };
        format!("{}  {state}\n{}", text(&approval["id"]), terminal::question(approval, pen))
    };
    print(&approvals.iter().map(one).collect::<Vec<_>>().join("\n\n"))
}
