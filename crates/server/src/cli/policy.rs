//! `artel policy`: when a person is asked, and why.

use artel_domain::RiskLevel;
use artel_tools::policy::{self, Verdict};
use artel_tools::show;
use clap::Subcommand;
use serde_json::{Value, json};

use super::print;

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Show what would be decided about a command, and by which rule.
    Check {
        /// It would reach the network.
        #[arg(long)]
        network: bool,
        #[arg(long)]
        json: bool,
        /// The command and its arguments, after `--`.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// List the rules.
    Rules {
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(policy: Policy) -> anyhow::Result<()> {
    match policy {
        Policy::Check { network, json: as_json, command } => {
            let words: Vec<_> = command.iter().map(String::as_str).collect();
            let Verdict { risk, rule, why } = policy::judge_command(&words, network);
            let word = word(risk);
            let next = match risk {
                Some(RiskLevel::Low) => "runs without asking, in a sandbox that can write nothing",
                Some(RiskLevel::Medium | RiskLevel::High) => "a person is asked",
                None => "never runs",
            };
            if as_json {
                let all = json!({ "command": command, "risk": word, "rule": rule, "why": why });
                return print(&all.to_string());
            }
            let shown = show::argv(words);
            print(&format!("{word}  {shown}\n  rule  {rule}\n  why   {why}\n  so    {next}"))
        }
        Policy::Rules { json: as_json } => {
            let rules = policy::rules();
            if as_json {
                let all: Vec<Value> = rules
                    .iter()
                    .map(|rule| json!({ "name": rule.name, "verdict": word(rule.risk), "why": rule.why }))
                    .collect();
                return print(&Value::from(all).to_string());
            }
            let lines: Vec<_> = rules
                .iter()
                .map(|rule| format!("{:<8} {:<28} {}", word(rule.risk), rule.name, rule.why))
                .collect();
            print(&lines.join("\n"))
        }
    }
}

fn word(risk: Option<RiskLevel>) -> &'static str {
    match risk {
        None => "REFUSED",
        Some(RiskLevel::Low) => "LOW",
        Some(RiskLevel::Medium) => "MEDIUM",
        Some(RiskLevel::High) => "HIGH",
    }
}
