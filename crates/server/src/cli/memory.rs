//! `artel memory`: what an agent remembers, searched and managed from the terminal.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use futures_util::{StreamExt, TryStreamExt};
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;

use super::connection::{Connection, text};
use super::print;

#[derive(Debug, Args)]
pub(crate) struct Memory {
    #[command(subcommand)]
    command: Command,
    /// The project's id; not needed when you have just one.
    #[arg(long, global = true, value_name = "ID")]
    project: Option<String>,
    /// The agent's name or id; without one, the project's first.
    #[arg(long, global = true, value_name = "NAME")]
    agent: Option<String>,
    /// Answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the newest.
    List {
        /// How many at most.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
        #[command(flatten)]
        narrow: Narrow,
    },
    /// Find what is nearest in meaning.
    Search {
        text: String,
        /// How many at most.
        #[arg(long, default_value_t = 10)]
        top_k: u32,
        #[command(flatten)]
        narrow: Narrow,
    },
    /// Show figures.
    Stats {
        /// Also split over time.
        #[arg(long)]
        period: Option<Period>,
    },
    /// Write everything to a file, or to standard output.
    Export {
        file: Option<PathBuf>,
        /// The vectors too, so that an import need not make them again.
        #[arg(long)]
        embeddings: bool,
        #[command(flatten)]
        narrow: Narrow,
    },
    /// Add what was exported. What is there already is replaced, not doubled.
    Import { file: PathBuf },
    /// Forget one interaction, by the id that a search shows.
    Forget { id: String },
    /// Forget what all of the given options describe.
    Prune {
        /// What is older than so many days.
        #[arg(long)]
        days: Option<u32>,
        /// The oldest so many of a hundred; stands alone.
        #[arg(long, value_name = "PERCENT")]
        oldest: Option<u8>,
        #[command(flatten)]
        narrow: Narrow,
    },
}

/// Which part of a memory.
#[derive(Debug, Args)]
struct Narrow {
    /// `task_execution`, `tool_call`, `user_message` or `agent_response`.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only what went well (true), or only what failed (false).
    #[arg(long, value_name = "BOOL")]
    success: Option<bool>,
    /// The first moment that counts, such as 2026-01-31T00:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// The last moment that counts.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Period {
    Day,
    Week,
}

impl Narrow {
    /// The fields that were given, as the API names them.
    fn fields(self) -> Map<String, Value> {
        let all = [
            ("interaction_type", self.kind.map(Value::from)),
            ("success", self.success.map(Value::from)),
            ("from", self.from.map(Value::from)),
            ("to", self.to.map(Value::from)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

pub(super) async fn run(connection: Connection, memory: Memory) -> anyhow::Result<()> {
    let Memory { command, project, agent, json } = memory;
    let project = connection.project(project).await?;
    let agent = connection.agent_id(&project, agent.as_deref()).await?;
    let path = format!("/my/projects/{project}/agents/{agent}/context");
    match command {
        Command::List { limit, narrow } => {
            let mut parameters = narrow.fields();
            parameters.insert("limit".to_owned(), json!(limit));
            let request = connection.request(Method::GET, &path).query(&parameters);
            let listed = connection.read(request).await?;
            show(&listed, json, listed_lines)
        }
        Command::Search { text, top_k, narrow } => {
            let mut body = narrow.fields();
            body.insert("query".to_owned(), json!(text));
            body.insert("top_k".to_owned(), json!(top_k));
            let found = connection.post(&format!("{path}/search"), &Value::Object(body)).await?;
            show(&found, json, found_lines)
        }
        Command::Stats { period } => {
            let period = match period {
                None => "",
                Some(Period::Day) => "?period=day",
                Some(Period::Week) => "?period=week",
            };
            let stats = connection.get(&format!("{path}/stats{period}")).await?;
            show(&stats, json, stats_lines)
        }
        Command::Export { file, embeddings, narrow } => {
            let mut parameters = narrow.fields();
            parameters.insert("include_embeddings".to_owned(), json!(embeddings));
            export(&connection, &path, &parameters, file.as_deref()).await
        }
        Command::Import { file } => {
            let imported = import(&connection, &path, &file).await?;
            show(&imported, json, |imported| {
                let waiting = match imported["waiting"].as_u64() {
                    Some(0) | None => String::new(),
                    Some(number) => {
                        format!("; {number} are searchable once their vectors are made")
                    }
                };
                vec![format!("{} interactions imported{waiting}", imported["imported"])]
            })
        }
        Command::Forget { id } => {
            connection.sent(connection.request(Method::DELETE, &format!("{path}/{id}"))).await?;
            show(&json!({"deleted": 1}), json, |_| vec![format!("{id} is forgotten")])
        }
        Command::Prune { days, oldest, narrow } => {
            let mut body = narrow.fields();
            body.extend(days.map(|days| ("days".to_owned(), json!(days))));
            body.extend(oldest.map(|percent| ("oldest_percent".to_owned(), json!(percent))));
            let pruned = connection.post(&format!("{path}/prune"), &Value::Object(body)).await?;
            show(&pruned, json, |pruned| vec![format!("{} forgotten", pruned["deleted"])])
        }
    }
}

fn show(
    answer: &Value,
    as_json: bool,
    lines: impl FnOnce(&Value) -> Vec<String>,
) -> anyhow::Result<()> {
    if as_json { print(&answer.to_string()) } else { print(&lines(answer).join("\n")) }
}

/// An interaction: when, what, its id, and beneath it the text.
fn interaction_lines(it: &Value) -> String {
    let facts = &it["metadata"];
    let day = text(&facts["timestamp"]).split('T').next().unwrap_or_default();
    let failed = if facts["success"] == false { " (failed)" } else { "" };
    let kind = text(&facts["interaction_type"]);
    let words = text(&it["text"]).replace('\n', "\n  ");
    format!("{day}  {kind}{failed}  {}\n  {words}", text(&it["id"]))
}

fn listed_lines(listed: &Value) -> Vec<String> {
    let all = listed["interactions"].as_array().into_iter().flatten();
    let mut lines: Vec<_> = all.map(interaction_lines).collect();
    if lines.is_empty() {
        lines.push("Nothing is remembered.".to_owned());
    }
    if !listed["next_cursor"].is_null() {
        lines.push("(There is more: --limit, --to, or search.)".to_owned());
    }
    lines
}

fn found_lines(found: &Value) -> Vec<String> {
    let results = found["results"].as_array().into_iter().flatten();
    let mut lines: Vec<_> = results
        .map(|it| {
            let score = it["score"].as_f64().unwrap_or_default();
            format!("{score:.3}  {}", interaction_lines(it))
        })
        .collect();
    if lines.is_empty() {
        lines.push("Nothing was found.".to_owned());
    }
    if found["partial"] == true {
        lines.push("(Some entries have no vector yet and were not searched.)".to_owned());
    }
    lines
}

fn stats_lines(stats: &Value) -> Vec<String> {
    let share = |rate: &Value| {
        rate.as_f64().map_or("-".to_owned(), |rate| format!("{:.1} %", rate * 100.0))
    };
    let mut lines = vec![
        format!("collection   {}", text(&stats["collection"])),
        format!(
            "model        {} ({} dimensions)",
            text(&stats["embedding_model"]),
            stats["vector_size"]
        ),
        format!("entries      {} of {} at most", stats["total_vectors"], stats["max_vectors"]),
        format!("waiting      {}", stats["waiting"]),
        format!("size         {:.1} MB", stats["collection_size_mb"].as_f64().unwrap_or_default()),
        format!("oldest       {}", stats["oldest_interaction"].as_str().unwrap_or("-")),
        format!("newest       {}", stats["newest_interaction"].as_str().unwrap_or("-")),
        format!("went well    {}", share(&stats["success_rate"])),
    ];
    for (kind, number) in stats["by_type"].as_object().into_iter().flatten() {
        lines.push(format!("  {kind:<15} {number}"));
    }
    for period in stats["periods"].as_array().into_iter().flatten() {
        let day = text(&period["start"]).split('T').next().unwrap_or_default();
        lines.push(format!("  {day}  {:>8}  {}", period["total"], share(&period["success_rate"])));
    }
    lines
}

/// Writes the export as it arrives. A file is there whole, or not at all.
async fn export(
    connection: &Connection,
    path: &str,
    parameters: &Map<String, Value>,
    file: Option<&Path>,
) -> anyhow::Result<()> {
    let stats = connection.get(&format!("{path}/stats")).await?;
    let request = connection.request(Method::GET, &format!("{path}/export")).query(parameters);
    let mut pieces = connection.sent(request).await?.bytes_stream();
    let bar =
        bar(stats["total_vectors"].as_u64().unwrap_or_default(), "{human_pos} of {human_len}");
    let Some(file) = file else {
        let mut out = tokio::io::stdout();
        while let Some(piece) = pieces.next().await {
            out.write_all(&piece?).await?;
        }
        return Ok(out.flush().await?);
    };
    let unfinished = file.with_extension("part");
    let mut out = tokio::fs::File::create(&unfinished)
        .await
        .with_context(|| format!("{}", unfinished.display()))?;
    while let Some(piece) = pieces.next().await {
        let piece = piece.context("the export broke off; try again")?;
        // Every interaction begins a line.
        bar.inc(piece.split(|byte| *byte == b'\n').skip(1).count() as u64);
        out.write_all(&piece).await?;
    }
    out.sync_all().await?;
    tokio::fs::rename(&unfinished, file).await?;
    bar.finish_and_clear();
    print(&format!("written to {}", file.display()))
}

async fn import(connection: &Connection, path: &str, file: &Path) -> anyhow::Result<Value> {
    let source =
        tokio::fs::File::open(file).await.with_context(|| format!("{}", file.display()))?;
    let bar = bar(source.metadata().await?.len(), "{bytes} of {total_bytes}");
    let told = bar.clone();
    let pieces = ReaderStream::with_capacity(source, 256 * 1024)
        .inspect_ok(move |piece| told.inc(piece.len() as u64));
    let request = connection
        .request(Method::POST, &format!("{path}/import"))
        .header("content-type", "application/json")
        .body(reqwest::Body::wrap_stream(pieces));
    let imported = connection.read(request).await;
    bar.finish_and_clear();
    imported
}

/// A bar on a terminal; nothing where nobody looks.
fn bar(length: u64, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {what} ({{eta}} left)"));
    let bar = ProgressBar::new(length);
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
