//! A scripted agent of the line protocol, for tests and for load: it echoes, and on demand does everything that a
//! program should not.
//!
//! `line-agent [MODE]` prints `__READY__`, answers each line with its number and its text, and ends each answer with
//! `__DONE__`. Modes: `mute` is never ready, `deaf` never reads, `stubborn` stays when its input ends, `exit CODE` ends
//! at once, `once TEXT` answers one message and ends. A line may be a command instead: see [`Agent::obey`].

use std::env;
use std::io::{self, BufRead, BufWriter, StdinLock, StdoutLock, Write};
use std::process::{Command, ExitCode, Stdio, abort};
use std::thread;
use std::time::{Duration, SystemTime};

const FOR_EVER: Duration = Duration::from_hours(24);

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let input = io::stdin().lock();
    let mut agent = Agent { input, output: BufWriter::new(io::stdout().lock()), count: 0 };
    match arguments.as_slice() {
        [] => agent.serve(),
        ["mute"] => agent.wait(),
        ["deaf"] => {
            agent.say("__READY__")?;
            agent.wait()
        }
        ["stubborn"] => {
            agent.serve()?;
            agent.wait()
        }
        ["exit", code] => {
            eprint_line("leaving at once");
            Ok(ExitCode::from(code.parse().unwrap_or(1)))
        }
        ["once", text] => {
            agent.say(&format!("once: {text}"))?;
            Ok(ExitCode::SUCCESS)
        }
        other => {
            eprint_line(&format!("there is no mode {other:?}"));
            Ok(ExitCode::from(2))
        }
    }
}

struct Agent<'a> {
    input: StdinLock<'a>,
    output: BufWriter<StdoutLock<'a>>,
    count: u64,
}

impl Agent<'_> {
    fn serve(&mut self) -> io::Result<ExitCode> {
        self.say("__READY__")?;
        while let Some(line) = self.read()? {
            let heard = now();
            // It came too late.
            if line == "__INTERRUPT__" {
                continue;
            }
            self.count += 1;
            if let Some(code) = self.obey(&line, heard)? {
                return Ok(code);
            }
            self.say("__DONE__")?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Does what a line says, which was heard at that moment; the exit code if that is its end.
    fn obey(&mut self, line: &str, heard: u128) -> io::Result<Option<ExitCode>> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "!crash" => {
                eprint_line(rest);
                abort()
            }
            "!exit" => return Ok(Some(ExitCode::from(rest.parse().unwrap_or(1)))),
            // Until it is interrupted.
            "!wait" => while self.read()?.is_some_and(|line| line != "__INTERRUPT__") {},
            "!sleep" => thread::sleep(Duration::from_secs(rest.parse().unwrap_or(1))),
            "!hang" => return self.wait().map(Some),
            "!stderr" => eprint_line(rest),
            "!when" => self.say(&heard.to_string())?,
            "!retry" => loop {
                self.say("__RETRY__")?;
                thread::sleep(Duration::from_millis(10));
            },
            // So many bytes: in lines, and in one.
            "!flood" => self.pour(rest, &[&[b'x'; 99][..], b"\n"].concat())?,
            "!unbroken" => {
                self.pour(rest, &[b'x'; 4096])?;
                self.say("")?;
            }
            "!noise" => pour_errors(rest)?,
            "!garble" => self.output.write_all(b"\xff\xfe\x00 not \xc3\x28 text\n")?,
            "!forge" => {
                for forged in ["{\"tool\":\"deploy\"", "[]", "{\"tool\":7}", "null", "\u{0}"] {
                    self.say(&format!("__TOOL_CALL__:{forged}"))?;
                }
                self.say("a file says __TOOL_CALL__:{\"tool\":\"deploy\",\"args\":{}}")?;
            }
            "!call" => {
                self.say(&format!("__TOOL_CALL__:{rest}"))?;
                let result = self.read()?.unwrap_or_default();
                self.say(&result)?;
            }
            // A child that ignores what ends others, and keeps our pipes.
            "!fork" => {
                let script = "trap '' TERM INT HUP; while :; do sleep 1; done";
                let child = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn()?;
                self.say(&child.id().to_string())?;
            }
            "!grow" => {
                let grown = vec![1_u8; rest.parse().unwrap_or(0)];
                self.say(&format!("{} bytes", grown.len()))?;
                Box::leak(grown.into_boxed_slice());
            }
            // Has so many and does not end: a turn that did could be over before anybody had looked.
            "!hog" => {
                let _held = std::hint::black_box(vec![1_u8; rest.parse().unwrap_or(0)]);
                return self.wait().map(Some);
            }
            "!last" => {
                // The last line has no newline.
                write!(self.output, "last words")?;
                self.output.flush()?;
                return Ok(Some(ExitCode::SUCCESS));
            }
            _ => {
                let count = self.count;
                self.say(&format!("{count}: {line}"))?;
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.input.read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim_end_matches('\n').to_owned()))
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.output, "{line}")?;
        self.output.flush()
    }

    fn pour(&mut self, bytes: &str, piece: &[u8]) -> io::Result<()> {
        for _ in 0..bytes.parse().unwrap_or(0) / piece.len() {
            self.output.write_all(piece)?;
        }
        Ok(())
    }

    fn wait(&mut self) -> io::Result<ExitCode> {
        self.output.flush()?;
        thread::sleep(FOR_EVER);
        Ok(ExitCode::SUCCESS)
    }
}

/// In nanoseconds since 1970: whoever wrote the line has the same clock.
#[expect(clippy::disallowed_methods, reason = "it is a program of its own, and tells the time")]
fn now() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

fn eprint_line(line: &str) {
    // Nobody need be there to read it.
    let _ = writeln!(io::stderr(), "{line}");
}

fn pour_errors(bytes: &str) -> io::Result<()> {
    let mut errors = BufWriter::new(io::stderr().lock());
    for _ in 0..bytes.parse().unwrap_or(0) / 100 {
        errors.write_all(&[&[b'e'; 99][..], b"\n"].concat())?;
    }
    errors.flush()
}
