//! Approvals that many decide at once: one answer wins, everybody learns of it, and what was approved is done once.
//!
//! In every round somebody wants a file written, and as many answer as there are connections, half of them yes, half
//! no, at the same moment. Now and then the server dies among the answers. A client that touches no file stands in for
//! the user's machine ([`hands`]); what must hold is said in [`judge`]. In the end some are left undecided until their
//! time is over, while the server is down.

mod hands;
mod judge;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::crash::Store;
use crate::postgres;
use crate::race::{LIMIT, Outcome, percentile, project, runtime, until_done};
use crate::server::Artel;
use hands::Hands;
use judge::{Reply, comment, verdict};

/// Answers to each approval, on a connection each.
const ANSWERS: usize = 8;
/// Approvals that nobody decides.
const LEFT: usize = 8;
/// The shortest time that a user may be given to decide.
const DEADLINE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(2);
/// No use in going on after so many.
const MOST: usize = 20;

#[derive(Debug, Clone)]
pub struct Options {
    pub artel: PathBuf,
    pub store: Store,
    pub rounds: u32,
    /// Rounds from kill to kill.
    pub kill_every: u32,
    pub seed: u64,
}

pub fn run(options: &Options) -> Result<Outcome> {
    let folder = tempfile::Builder::new().prefix("artel-approvals-").tempdir()?;
    let database = match options.store {
        Store::Sqlite => None,
        Store::Postgres => Some(postgres::database()?),
    };
    let mut builder = Artel::new(&options.artel).stable_port()?.data_dir(folder.path());
    builder = builder.env("ARTEL_RECONCILE_EVERY", "200ms").env("ARTEL_LOG_LEVEL", "warn");
    if let Some(database) = &database {
        builder = builder.database(database.url());
    }
    let mut artel = builder.start()?;
    // The server is killed and started on this thread, while those of the runtime go on.
    runtime()?.block_on(async {
        let mut race = Race::new(&artel, options.seed).await?;
        let begin = Instant::now();
        let went = race.whole(&mut artel, options).await;
        // Why it had nothing more to say, rather than that it had not.
        if let Some(stopped) = race.working.try_join_next() {
            stopped?.context("the client")?;
        }
        went?;
        Ok(race.tally.outcome(options, begin.elapsed()))
    })
}

/// Who is there, and what came of it so far.
struct Race {
    client: Client,
    project: String,
    answering: Vec<Client>,
    hands: Arc<Hands>,
    working: JoinSet<Result<()>>,
    rng: Rng,
    tally: Tally,
}

#[derive(Debug, Default)]
struct Tally {
    kills: u32,
    answers: usize,
    winners: usize,
    lost: usize,
    approved: u32,
    rejected: u32,
    /// Decided by an answer whose sender was not told.
    untold: u32,
    /// Still open after a kill.
    open: u32,
    expired: usize,
    /// From the first answer sent to the last reply.
    times: Vec<Duration>,
    violations: Vec<String>,
}

/// A call that waits, and what it waits for.
struct Asked {
    number: u32,
    call: String,
    approval: String,
}

impl Race {
    async fn new(artel: &Artel, seed: u64) -> Result<Self> {
        let client = artel.client("ada")?;
        let project = format!("/my/projects/{}", project(&client, "approvals").await?);
        let answering = (0..ANSWERS).map(|_| client.apart()).collect::<Result<_>>()?;
        let mut rng = Rng::with_seed(seed);
        let hands = Hands::new(client.apart()?, project.clone(), &mut rng);
        let mut working = JoinSet::new();
        working.spawn(Arc::clone(&hands).work(rng.fork()));
        let path = format!("{project}/client");
        let begin = Instant::now();
        while client.get(&path).await?.status != 200 {
            ensure!(begin.elapsed() < LIMIT, "no client is there");
            tokio::time::sleep(POLL).await;
        }
        Ok(Self { client, project, answering, hands, working, rng, tally: Tally::default() })
    }

    async fn whole(&mut self, artel: &mut Artel, options: &Options) -> Result<()> {
        for number in 1..=options.rounds {
            let asked = self.ask(number).await.with_context(|| format!("round {number}"))?;
            let kill = number.is_multiple_of(options.kill_every).then_some(&mut *artel);
            self.round(&asked, kill).await.with_context(|| format!("round {number}"))?;
            if self.tally.violations.len() > MOST {
                return Ok(());
            }
        }
        self.deadlines(artel, options.rounds).await.context("deadlines")
    }

    /// Somebody wants a file written; gives the call when it is to be approved.
    async fn ask(&mut self, number: u32) -> Result<Asked> {
        let arguments = json!({ "path": format!("{number}.txt"), "content": "x" });
        let body = json!({ "tool_name": "tool_write_file", "tool_params": arguments });
        let path = format!("{}/tools/execute", self.project);
        let key = format!("call {number}");
        let begun = until_done(&mut self.rng, || self.client.post_once(&path, &key, &body)).await?;
        let call = begun.id()?.to_owned();
        let waiting = self.call_once(&call, |status| status != "preparing").await?;
        let approval = waiting["approval_id"].as_str();
        let approval = approval.with_context(|| format!("nobody is asked: {waiting}"))?.to_owned();
        Ok(Asked { number, call, approval })
    }

    /// Everybody answers; with somebody to kill, he dies among the answers.
    async fn round(&mut self, asked: &Asked, kill: Option<&mut Artel>) -> Result<()> {
        let replies = if let Some(artel) = kill {
            let before = self.answer(asked, Some(artel)).await?;
            artel.restart()?;
            let kept = self.kept(asked).await?;
            self.tally.survived(&before, &kept);
            self.complain(asked, judge::survived(&before, &kept));
            let replies = self.answer(asked, None).await?;
            self.complain(asked, judge::repeated(&before, &replies));
            replies
        } else {
            self.answer(asked, None).await?
        };
        let kept = self.kept(asked).await?;
        self.complain(asked, judge::decided(&replies, &kept));
        if let Some(winner) = replies.iter().position(|reply| matches!(reply, Reply::Won(_))) {
            let again = self.send(asked, winner).await;
            self.complain(asked, judge::repeated(&replies[winner..=winner], &[again]));
        }
        let call = self.call_once(&asked.call, is_final).await?;
        self.complain(asked, judge::ended(&call, &kept, self.hands.executions(&asked.call)));
        self.tally.decided(&replies, &kept);
        Ok(())
    }

    /// What everybody was told who answered at the same moment.
    async fn answer(&mut self, asked: &Asked, kill: Option<&mut Artel>) -> Result<Vec<Reply>> {
        let start = Arc::new(Barrier::new(ANSWERS + 1));
        let mut answers = JoinSet::new();
        for number in 0..ANSWERS {
            let (start, answer) = (Arc::clone(&start), self.send(asked, number));
            answers.spawn(async move {
                start.wait().await;
                (number, answer.await)
            });
        }
        start.wait().await;
        let begin = Instant::now();
        let killed = kill.is_some();
        if let Some(artel) = kill {
            // Somewhere among the answers, as long as they took before.
            let usual = self.tally.times.last().map_or(10_000, Duration::as_micros);
            let wait = self.rng.u64(0..=u64::try_from(usual)?);
            std::thread::sleep(Duration::from_micros(wait));
            artel.kill()?;
        }
        let mut replies = vec![Reply::Lost; ANSWERS];
        while let Some(answer) = answers.join_next().await {
            let (number, reply) = answer?;
            replies[number] = reply;
        }
        if !killed {
            self.tally.times.push(begin.elapsed());
        }
        Ok(replies)
    }

    /// One answer under its own key; the first one goes by the call.
    fn send(
        &self,
        asked: &Asked,
        number: usize,
    ) -> impl Future<Output = Reply> + Send + 'static + use<> {
        let key = format!("{} {number}", asked.approval);
        let (verb, word) = match verdict(number) {
            "approved" => ("approve", "comment"),
            _ => ("reject", "reason"),
        };
        let path = match number {
            0 => format!("{}/tools/{}/{verb}", self.project, asked.call),
            _ => format!("/my/approvals/{}/{verb}", asked.approval),
        };
        let (client, body) = (self.answering[number].clone(), json!({ word: comment(number) }));
        async move { Reply::read(client.post_once(&path, &key, &body).await) }
    }

    /// Leaves some undecided until their time is over, while the server is down.
    async fn deadlines(&mut self, artel: &mut Artel, last: u32) -> Result<()> {
        let preferences = json!({ "approval_timeout": DEADLINE.as_secs() });
        self.client.put("/my/preferences", &preferences).await?.success()?;
        let mut left = Vec::new();
        for number in (last + 1..).take(LEFT) {
            left.push(self.ask(number).await?);
        }
        artel.kill()?;
        std::thread::sleep(DEADLINE);
        artel.restart()?;
        for asked in left {
            let call = self.call_once(&asked.call, is_final).await?;
            let late = self.send(&asked, 0).await;
            let kept = self.kept(&asked).await?;
            if kept["status"] != "timeout" || late != Reply::Late(kept.clone()) {
                let what = format!("its time was over, kept is {kept}, and told was {late:?}");
                self.complain(&asked, vec![what]);
            }
            self.complain(&asked, judge::ended(&call, &kept, self.hands.executions(&asked.call)));
            self.tally.expired += 1;
        }
        Ok(())
    }

    /// The approval as it is stored.
    async fn kept(&mut self, asked: &Asked) -> Result<Value> {
        let path = format!("/my/approvals/{}", asked.approval);
        Ok(until_done(&mut self.rng, || self.client.get(&path)).await?.body)
    }

    /// The call, once its status is such.
    async fn call_once(&mut self, call: &str, such: impl Fn(&str) -> bool) -> Result<Value> {
        let (path, begin) = (format!("{}/tools/{call}", self.project), Instant::now());
        loop {
            let found = until_done(&mut self.rng, || self.client.get(&path)).await?.body;
            if such(found["status"].as_str().context("a call has a status")?) {
                return Ok(found);
            }
            ensure!(begin.elapsed() < LIMIT, "the call does not go on: {found}");
            tokio::time::sleep(POLL).await;
        }
    }

    fn complain(&mut self, asked: &Asked, violations: Vec<String>) {
        let name = |what: String| format!("round {}, {}: {what}", asked.number, asked.approval);
        self.tally.violations.extend(violations.into_iter().map(name));
    }
}

fn is_final(status: &str) -> bool {
    !matches!(status, "preparing" | "pending" | "running")
}

impl Tally {
    /// Counts what a kill left.
    fn survived(&mut self, replies: &[Reply], kept: &Value) {
        self.kills += 1;
        self.lost += replies.iter().filter(|reply| matches!(reply, Reply::Lost)).count();
        if kept["status"] == "pending" {
            self.open += 1;
        } else if replies.iter().all(|reply| reply.told().is_none()) {
            self.untold += 1;
        }
    }

    fn decided(&mut self, replies: &[Reply], kept: &Value) {
        self.answers += replies.len();
        self.winners += replies.iter().filter(|reply| matches!(reply, Reply::Won(_))).count();
        match kept["status"].as_str() {
            Some("approved") => self.approved += 1,
            _ => self.rejected += 1,
        }
    }

    fn outcome(mut self, options: &Options, took: Duration) -> Outcome {
        let figures = format!(
            "{} rounds in {:.0} s, {} answers, {} winners: {} approved, {} rejected; p50 {:.1} ms, p99 {:.1} ms for \
             {ANSWERS} at once; {} kills among them: {} answers lost, {} approvals still open, {} decided untold; \
             {} left to their deadline",
            options.rounds,
            took.as_secs_f64(),
            self.answers,
            self.winners,
            self.approved,
            self.rejected,
            percentile(&mut self.times, 50).as_secs_f64() * 1000.0,
            percentile(&mut self.times, 99).as_secs_f64() * 1000.0,
            self.kills,
            self.lost,
            self.open,
            self.untold,
            self.expired,
        );
        Outcome { name: "approvals", figures, violations: self.violations }
    }
}
