//! The person's side of a plan that is followed: what they see of it, and what they type.
//!
//! All of it is beside the answer, so it goes to standard error: redrawn in place on a terminal, and line by line where
//! there is none.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal};

use artel_domain::{Clock, SystemClock};
use artel_tools::show::visible_lines;
use console::Term;
use tokio::sync::mpsc;

use super::live::Live;
use super::pen::{self, Pen};

pub(crate) struct Screen {
    term: Term,
    pen: Pen,
    /// Whether lines can be redrawn.
    redraws: bool,
    /// Nothing is shown of how it goes.
    quiet: bool,
    /// Lines that stand there and are drawn anew.
    drawn: usize,
    /// The cursor stands behind a question.
    asking: bool,
}

impl Screen {
    pub(crate) fn new(environment: &BTreeMap<String, String>, quiet: bool) -> Self {
        let redraws = std::io::stderr().is_terminal() && !pen::is_dumb(environment);
        let (term, pen) = (Term::buffered_stderr(), Pen::of(environment));
        Self { term, pen, redraws, quiet, drawn: 0, asking: false }
    }

    pub(crate) const fn pen(&self) -> Pen {
        self.pen
    }

    /// Something that stays to be read.
    pub(crate) fn say(&mut self, words: &str) {
        self.clear();
        let before = if std::mem::take(&mut self.asking) { "\n" } else { "" };
        self.write(&format!("{before}{}\n", visible_lines(words)));
    }

    /// A question; what is typed next answers it.
    pub(crate) fn ask(&mut self, words: &str) {
        self.say("");
        self.write(&visible_lines(words));
        self.asking = true;
    }

    /// It was answered: the cursor is on a line of its own again.
    pub(crate) const fn answered(&mut self) {
        self.asking = false;
    }

    /// A step, where it cannot be seen from what is redrawn.
    pub(super) fn step(&mut self, words: &str) {
        if !self.quiet && !self.redraws {
            self.say(words);
        }
    }

    pub(super) const fn redraws(&self) -> bool {
        self.redraws && !self.quiet
    }

    /// Draws how it stands over what stood there.
    pub(super) fn draw(&mut self, live: &Live) {
        if !self.redraws() || self.asking || !live.has_begun() {
            return;
        }
        let (rows, columns) = self.term.size();
        let lines = live.lines(SystemClock.now(), rows.into(), columns.into(), self.pen);
        self.clear();
        self.drawn = lines.len();
        self.write(&format!("{}\n", lines.join("\n")));
    }

    /// Takes away what is drawn anew; it shows once something is written.
    fn clear(&mut self) {
        // Nobody need be there to see it.
        self.term.clear_last_lines(std::mem::take(&mut self.drawn)).ok();
    }

    fn write(&self, text: &str) {
        self.term.write_str(text).and_then(|()| self.term.flush()).ok();
    }
}

/// Lines that the person types.
#[derive(Default)]
pub(crate) struct Typed {
    lines: Option<mpsc::Receiver<String>>,
}

impl Typed {
    /// Starts to listen, if somebody sits there and can be asked.
    pub(crate) fn listen(&mut self) -> bool {
        if !std::io::stdin().is_terminal() {
            return false;
        }
        if self.lines.is_none() {
            let (sender, receiver) = mpsc::channel(1);
            self.lines = Some(receiver);
            // A thread of its own: a read from the terminal cannot be called off, and must keep nobody from ending.
            std::thread::spawn(move || {
                for line in std::io::stdin().lock().lines() {
                    let Ok(line) = line else { return };
                    if sender.blocking_send(line).is_err() {
                        return;
                    }
                }
            });
        }
        true
    }

    /// The next line; never, while nobody listens or when nothing more can come. Nothing is lost when the future is
    /// dropped.
    pub(crate) async fn next(&mut self) -> String {
        let line = match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => None,
        };
        match line {
            Some(line) => line,
            None => std::future::pending().await,
        }
    }
}
