//! What is done with each agent until the server dies, and how it is brought to an end afterwards.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Agent;
use crate::client::Answer;
use crate::race::until_done;

/// Before somebody begins, and between two things of one who goes on, in milliseconds.
const FIRST: Range<u64> = 0..400;
const NEXT: Range<u64> = 0..150;
/// For an answer, in seconds: less than a client waits.
const WAIT: u64 = 20;
/// How long something may take to end when the server is up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A message, sent or on its way, under a key of its own.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    pub(super) text: String,
    /// Its task, once the server has told of it.
    pub(super) task: Option<String>,
    /// Whether the server has told its end.
    pub(super) answered: bool,
    /// The server would not have it.
    pub(super) refused: Option<String>,
}

/// How a process should stand when the server dies.
#[derive(Debug, Clone, Copy)]
enum Part {
    Idle,
    /// With a child that ignores what ends others.
    Forked,
    /// In the middle of a turn.
    Waits,
    ForkedWaits,
    /// Another message whenever one is answered.
    Talks,
    /// Stopped and started again and again.
    Stops,
    /// Not started before some moment, perhaps the last.
    Late,
}

const PARTS: [Part; 7] = [
    Part::Idle,
    Part::Forked,
    Part::Waits,
    Part::ForkedWaits,
    Part::Talks,
    Part::Stops,
    Part::Late,
];

impl Letter {
    fn new(text: String) -> Self {
        Self { text, task: None, answered: false, refused: None }
    }

    fn take(&mut self, answer: &Answer) {
        if !answer.status.is_success() {
            self.refused = Some(format!("{} {}", answer.status, answer.body));
            return;
        }
        self.task = answer.body["task"]["id"].as_str().map(str::to_owned);
        self.answered = !answer.body["answer"].is_null();
    }

    pub(super) fn waits(&self) -> bool {
        self.text.starts_with("!wait")
    }
}

/// Somebody who deals with one agent until the server is down.
pub(super) struct Hand {
    pub(super) agent: Agent,
    pub(super) round: u32,
    pub(super) rng: Rng,
    pub(super) down: watch::Receiver<bool>,
    letters: Vec<Letter>,
}

impl Hand {
    pub(super) fn new(agent: Agent, round: u32, rng: Rng, down: watch::Receiver<bool>) -> Self {
        Self { agent, round, rng, down, letters: Vec::new() }
    }

    /// Plays some part; everything that was said, in order.
    pub(super) async fn play(mut self, last_moment: u64) -> Vec<Letter> {
        let part = PARTS[self.rng.usize(0..PARTS.len())];
        let first = if matches!(part, Part::Late) { 0..last_moment } else { FIRST };
        // Whoever finds the server gone is done.
        let _ = self.act(part, first).await;
        self.letters
    }

    async fn act(&mut self, part: Part, first: Range<u64>) -> Option<()> {
        self.pause(first).await?;
        match part {
            Part::Idle | Part::Late => self.say("", WAIT).await,
            Part::Forked => self.say("!fork ", WAIT).await,
            Part::Waits => self.say("!wait ", 0).await,
            Part::ForkedWaits => {
                self.say("!fork ", WAIT).await?;
                self.say("!wait ", 0).await
            }
            Part::Talks => loop {
                self.say("", WAIT).await?;
                self.pause(NEXT).await?;
            },
            Part::Stops => loop {
                self.say("", WAIT).await?;
                self.pause(NEXT).await?;
                let path = format!("/agents/{}/stop", self.agent.id);
                self.agent.client.post(&path, &json!({})).await.ok()?;
            },
        }
    }

    async fn say(&mut self, command: &str, wait: u64) -> Option<()> {
        if *self.down.borrow() {
            return None;
        }
        let (round, number) = (self.round, self.agent.number);
        let text = format!("{command}{number}.{round}.{}", self.letters.len());
        self.letters.push(Letter::new(text.clone()));
        let answer = post(&self.agent, &text, wait).await.ok()?;
        self.letters.last_mut()?.take(&answer);
        Some(())
    }

    async fn pause(&mut self, range: Range<u64>) -> Option<()> {
        let pause = Duration::from_millis(self.rng.u64(range));
        // Woken early only when the server is down.
        tokio::time::timeout(pause, self.down.wait_for(|down| *down)).await.err().map(|_| ())
    }
}

async fn post(agent: &Agent, text: &str, wait: u64) -> Result<Answer, reqwest::Error> {
    agent.client.post_once(&agent.door(wait), text, &json!({"message": text})).await
}

/// After the restart: what was not answered is sent again under its key, and everything comes to its end. What went
/// wrong.
pub(super) async fn settle(
    agent: &Agent,
    letters: &mut [Letter],
    mut rng: Rng,
) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    for letter in letters.iter_mut().filter(|letter| !letter.answered && letter.refused.is_none()) {
        let text = letter.text.clone();
        let answer = until_done(&mut rng, || post(agent, &text, 0)).await;
        letter.take(&answer.with_context(|| format!("{text:?} again"))?);
        let task = letter.task.as_ref().context("a message has a task")?;
        let (begin, path) = (Instant::now(), format!("{}/tasks/{task}", agent.project));
        loop {
            let now = agent.client.get(&path).await?.success()?;
            if !now["finished_at"].is_null() {
                break;
            }
            if begin.elapsed() > PATIENCE {
                violations.push(format!("{text:?} does not end: {now}"));
                break;
            }
            if letter.waits() {
                // It would wait for ever. It may have ended meanwhile.
                agent.client.post(&format!("{path}/cancel"), &json!({})).await?;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
    Ok(violations)
}

/// A last message of the round; it must be answered.
pub(super) async fn greet(
    agent: &Agent,
    round: u32,
    letters: &mut Vec<Letter>,
) -> Result<Vec<String>> {
    let mut letter = Letter::new(format!("hello {}.{round}", agent.number));
    let answer = post(agent, &letter.text, WAIT).await?;
    letter.take(&answer);
    let said = &answer.body["answer"];
    let good = said["outcome"]["success"] == true && is_echo(&said["content"], &letter.text);
    let wrong = format!("{:?} was answered {}", letter.text, answer.body);
    letters.push(letter);
    Ok(if good { Vec::new() } else { vec![wrong] })
}

/// A count and the text.
pub(super) fn is_echo(content: &Value, text: &str) -> bool {
    let echo = content.as_str().and_then(|content| content.trim_end().split_once(": "));
    echo.is_some_and(|(count, echoed)| count.parse::<u64>().is_ok() && echoed == text)
}
