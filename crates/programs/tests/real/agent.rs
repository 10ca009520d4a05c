//! One process and its codec: a driver that is as small as can be.

use std::collections::VecDeque;
use std::time::Duration;

use artel_programs::codec::{
    Codec, Command, Decision, Event, Out, Outcome, Permission, Signal, Usage,
};
use artel_programs::kind::Wish;
use artel_programs::toolbox::Toolbox;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Split};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::world::World;

/// A program that says nothing for so long says nothing more. No test passes by it.
const STUCK: Duration = Duration::from_mins(2);

pub(crate) struct Agent<'a> {
    world: &'a World,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Split<BufReader<ChildStdout>>,
    codec: Box<dyn Codec>,
    events: VecDeque<Event>,
    quiet: Option<Duration>,
    session: Option<String>,
    stop: Signal,
    /// Everything it wrote, for whoever must find out why a test fails.
    log: Vec<String>,
}

/// What happened in a turn.
pub(crate) struct Turn {
    pub(crate) said: String,
    /// In how many pieces it came.
    pub(crate) pieces: usize,
    pub(crate) asked: Vec<Permission>,
    /// How many tools of its own it used.
    pub(crate) tools: usize,
    pub(crate) usage: Usage,
    pub(crate) outcome: Outcome,
}

impl<'a> Agent<'a> {
    /// Starts it and waits until it is ready.
    pub(crate) async fn start(world: &'a World, wish: &Wish) -> Self {
        let kind = world.cli.kind();
        let launch = kind.launch(wish, &world.place).unwrap();
        let mut child = world.process(&launch).spawn().unwrap();
        let mut agent = Self {
            world,
            stdin: child.stdin.take(),
            lines: BufReader::new(child.stdout.take().unwrap()).split(b'\n'),
            child,
            codec: kind.codec(wish, &world.place).unwrap(),
            events: VecDeque::new(),
            quiet: None,
            session: None,
            stop: launch.stop,
            log: Vec::new(),
        };
        let mut out = Out::default();
        agent.codec.start(&mut out);
        agent.carry_out(out).await;
        loop {
            let event = agent.event().await;
            assert!(!matches!(event, Event::Unfit { .. }), "{event:?}\n{}", agent.story());
            if matches!(event, Event::Ready { .. }) {
                return agent;
            }
        }
    }

    /// One message, to its end. Whatever it asks is decided so.
    pub(crate) async fn turn(&mut self, text: &str, decision: &Decision) -> Turn {
        self.command(Command::Say { text: text.to_owned() }).await;
        self.rest_of_turn(decision).await
    }

    pub(crate) async fn rest_of_turn(&mut self, decision: &Decision) -> Turn {
        let (mut said, mut asked) = (String::new(), Vec::new());
        let (mut pieces, mut tools) = (0, 0);
        let mut usage = Usage::default();
        loop {
            match self.event().await {
                Event::Text(text) => {
                    pieces += 1;
                    said.push_str(&text);
                }
                Event::Usage(of_turn) => usage = of_turn,
                Event::ToolEnded { .. } => tools += 1,
                Event::Permission(permission) => {
                    let request = permission.request.clone();
                    asked.push(permission);
                    self.command(Command::Decide { request, decision: decision.clone() }).await;
                }
                Event::Call { call, tool, arguments } => {
                    let result = self.world.tools.call(&tool, arguments).await;
                    self.command(Command::Return { call, result }).await;
                }
                Event::Ended(outcome) => {
                    return Turn { said, pieces, asked, tools, usage, outcome };
                }
                Event::Garbage { why } => panic!("{why}\n{}", self.story()),
                Event::Ready { .. }
                | Event::Unfit { .. }
                | Event::Session(_)
                | Event::Thinking(_)
                | Event::ToolStarted { .. }
                | Event::Question { .. }
                | Event::Withdrawn(_)
                | Event::Retrying { .. } => {}
            }
        }
    }

    pub(crate) async fn command(&mut self, command: Command) {
        let mut out = Out::default();
        let taken = self.codec.command(command.clone(), &mut out);
        assert_eq!(taken, Ok(()), "{command:?}\n{}", self.story());
        self.carry_out(out).await;
    }

    pub(crate) async fn event(&mut self) -> Event {
        loop {
            if let Some(event) = self.events.pop_front() {
                if let Event::Session(name) = &event {
                    self.session = Some(name.clone());
                }
                return event;
            }
            let mut out = Out::default();
            let line = timeout(self.quiet.unwrap_or(STUCK), self.lines.next_segment()).await;
            if let Ok(line) = line {
                let Some(line) = line.unwrap() else { panic!("it has ended\n{}", self.story()) };
                self.log.push(String::from_utf8_lossy(&line).into_owned());
                self.codec.line(&line, &mut out);
            } else {
                assert!(self.quiet.is_some(), "it says nothing any more\n{}", self.story());
                self.codec.quiet(&mut out);
            }
            self.carry_out(out).await;
        }
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Ends it in its own way, and sees that it does.
    pub(crate) async fn close(mut self) {
        self.command(Command::Close).await;
        self.stdin = None;
        if timeout(Duration::from_secs(6), self.child.wait()).await.is_err() {
            let pid = self.child.id().unwrap().to_string();
            let signal = match self.stop {
                Signal::Interrupt => "-INT",
                Signal::Terminate => "-TERM",
            };
            std::process::Command::new("kill").args([signal, &pid]).status().unwrap();
            let ended = timeout(STUCK, self.child.wait()).await;
            assert!(ended.is_ok(), "it does not end\n{}", self.story());
        }
    }

    /// As if its machine had lost its power.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    async fn carry_out(&mut self, out: Out) {
        self.quiet = out.quiet;
        self.events.extend(out.events);
        if !out.write.is_empty() {
            self.log.push(format!("> {}", String::from_utf8_lossy(&out.write)));
            let stdin = self.stdin.as_mut().unwrap();
            stdin.write_all(&out.write).await.unwrap();
            stdin.flush().await.unwrap();
        }
        if out.close {
            self.stdin = None;
        }
    }

    fn story(&self) -> String {
        let last = self.log.len().saturating_sub(40);
        let short = |line: &String| line.chars().take(2000).collect::<String>();
        let lines: Vec<String> = self.log[last..].iter().map(short).collect();
        format!("{}\n{}", lines.join("\n"), self.world.complaints())
    }
}
