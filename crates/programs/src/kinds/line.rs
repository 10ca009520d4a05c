//! Any program that reads messages as lines and writes lines, described by data alone.

use std::time::Duration;

use serde::Deserialize;

use super::described::Start;
use super::options;
use crate::codec::{Codec, line};
use crate::kind::{Abilities, Kind, Launch, Place, Program, Tools, Unusable, Wish};

#[derive(Debug)]
pub(super) struct Line;

const NAME: &str = "line";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    start: Start,
    /// How its lines are to be understood.
    #[serde(default)]
    protocol: line::Config,
}

impl Kind for Line {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            steer: false,
            resume: false,
            permissions: false,
            tools: Tools::Lines,
            // It waits for a line for as long as it likes.
            patience: Duration::from_hours(1),
            resume_after: Duration::ZERO,
        }
    }

    fn patience(&self, wish: &Wish) -> Duration {
        let usual = self.abilities().patience;
        options::<Options>(wish, NAME).map_or(usual, |options| options.start.patience(usual))
    }

    fn program(&self, wish: &Wish) -> Result<Program, Unusable> {
        options::<Options>(wish, NAME)?.start.program(wish, NAME)
    }

    fn launch(&self, wish: &Wish, place: &Place) -> Result<Launch, Unusable> {
        let Options { start, protocol } = options(wish, NAME)?;
        // What is wrong with its protocol is told before anything is started.
        line::Line::new(line::Setup { config: protocol, tools: Vec::new() })?;
        start.launch(wish, place, NAME, None)
    }

    fn codec(&self, wish: &Wish, _place: &Place) -> Result<Box<dyn Codec>, Unusable> {
        let Options { start: _, protocol } = options(wish, NAME)?;
        let setup = line::Setup { config: protocol, tools: wish.tools.clone() };
        Ok(Box::new(line::Line::new(setup)?))
    }

    fn single(&self, _wish: &Wish, _place: &Place, _text: &str) -> Option<Launch> {
        None
    }
}
