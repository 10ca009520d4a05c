//! A message in a runner's hands, without the server around it: until the program has read it, beside a bare pipe to the
//! same program.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use artel_domain::process::Sandbox;
use artel_domain::{AgentId, SystemClock, UserId};
use artel_programs::codec::Event;
use artel_programs::host::{Ears, Host, Opening, Settings};
use artel_programs::kind::Credentials;
use artel_programs::life::{Status, Warning, Watcher};
use artel_programs::log::Files;
use artel_programs::member::Member;
use async_trait::async_trait;

use super::{GOAL, MESSAGES, ROUNDS, SANDBOXES, now, runtime, shares};
use crate::place::{self, Place};
use crate::report::{Goal, Report, Row};
use crate::usage::median;

const ASKED: &str = "!when";

pub(super) fn measure(place: &Place, programs: &Path, report: &mut Report) -> Result<()> {
    let tokio = place::clients()?;
    let dir = place.at("runner");
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    let host = Host::new(Settings {
        node: "bench".to_owned(),
        dir: dir.clone(),
        binary: place.artel().to_owned(),
        path: [programs.to_owned()].into_iter().chain(folders).collect(),
        sandboxes: vec![Sandbox::Bubblewrap, Sandbox::None],
        workspaces: Vec::new(),
        docker: PathBuf::new(),
        image: String::new(),
        turn_timeout: Duration::from_mins(1),
        most: 10,
        most_per_user: 10,
    });
    for sandbox in SANDBOXES {
        let member = tokio.block_on(open(&host, &dir, sandbox))?;
        let mut pipe = Pipe::open(&programs.join("line-agent"))?;
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        // The first warms up.
        for _ in 0..=ROUNDS {
            bare.push(shares((0..MESSAGES).map(|_| pipe.message()).collect::<Result<_>>()?));
            ours.push(shares(tokio.block_on(async {
                let mut spans = Vec::with_capacity(MESSAGES);
                for _ in 0..MESSAGES {
                    spans.push(message(&member).await?);
                }
                anyhow::Ok(spans)
            })?));
        }
        tokio.block_on(member.stop("It was measured"));
        tell(report, sandbox, &ours[1..], &bare[1..]);
    }
    Ok(())
}

async fn open(host: &Host, dir: &Path, sandbox: &str) -> Result<Member> {
    let opening = Opening {
        agent: AgentId::new(&SystemClock),
        user: UserId(1),
        runtime: serde_json::from_value(runtime(sandbox))?,
        instructions: String::new(),
        tools: Vec::new(),
        credentials: Credentials::default(),
        resume: None,
    };
    let log = Arc::new(Files::new(dir.join(format!("log-{sandbox}"))));
    let ears = Ears { watcher: Arc::new(Nobody), log, clock: Arc::new(SystemClock) };
    let member = host.open(opening, ears).await?;
    member.start().await?;
    Ok(member)
}

async fn message(member: &Member) -> Result<Duration> {
    let given = now()?;
    let mut turn = member.turn(ASKED.to_owned()).await?;
    let mut said = String::new();
    while let Some(event) = turn.next().await {
        if let Event::Text(text) = event {
            said.push_str(&text);
        }
    }
    since(given, &said)
}

fn since(given: Duration, said: &str) -> Result<Duration> {
    let heard = said.trim().parse().with_context(|| format!("it said {said:?}"))?;
    Ok(Duration::from_nanos(heard).saturating_sub(given))
}

/// The program on two pipes, and nothing around it.
struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn open(program: &Path) -> Result<Self> {
        let mut child =
            Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("it has an input")?;
        let output = BufReader::new(child.stdout.take().context("it has an output")?);
        let mut pipe = Self { child, input, output };
        ensure!(pipe.line()? == "__READY__");
        Ok(pipe)
    }

    fn message(&mut self) -> Result<Duration> {
        let given = now()?;
        writeln!(self.input, "{ASKED}")?;
        let said = self.line()?;
        ensure!(self.line()? == "__DONE__");
        since(given, &said)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tell(report: &mut Report, sandbox: &str, ours: &[[f64; 2]], bare: &[[f64; 2]]) {
    for (at, share) in ["p50", "p99"].into_iter().enumerate() {
        let figure = median(ours.iter().map(|round| round[at]));
        let peer = median(bare.iter().map(|round| round[at]));
        let ratio = median(ours.iter().zip(bare).map(|(ours, bare)| ours[at] / bare[at]));
        let row = Row::new(format!("runner to stdin, {share}, {sandbox}"), figure, "µs");
        let row = row.beside("a bare pipe", peer, ratio);
        report.add(if share == "p99" { row.goal(Goal::AtMost(GOAL)) } else { row });
    }
}

/// Does not want to hear of it.
#[derive(Debug)]
struct Nobody;

#[async_trait]
impl Watcher for Nobody {
    async fn changed(&self, _: &Status) {}
    async fn warned(&self, _: Warning) {}
}
