//! Plays a scenario: which rule answers a request, and with which of its steps.

use crate::scenario::template::Values;
use crate::scenario::{Fallback, Reply, Rule, Scenario, Step, When};
use crate::wire::{Asked, Wire};

/// A scenario and how far it has got.
#[derive(Debug)]
pub(crate) struct Player {
    scenario: Scenario,
    counts: Vec<Count>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// Requests for which the rule's conditions held, whoever answered them.
    seen: u64,
    /// Requests that the rule answered.
    used: u64,
}

/// What a request is to be answered with.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) rule: String,
    pub(crate) step: Step,
    pub(crate) values: Values,
}

impl Player {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let counts = vec![Count::default(); scenario.rules.len()];
        Self { scenario, counts }
    }

    pub(crate) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// `None` when no rule matches and there is no fallback.
    pub(crate) fn choose(&mut self, asked: &Asked) -> Option<Chosen> {
        let mut chosen = None;
        // All rules count what they see, also those behind the one that answers: the second turn
        // of a later rule is the second even if an earlier rule answered the first.
        for (rule, count) in self.scenario.rules.iter().zip(&mut self.counts) {
            if !holds(&rule.when, asked) {
                continue;
            }
            count.seen += 1;
            if chosen.is_none() && is_due(rule, *count) {
                count.used += 1;
                let at = usize::try_from(count.used - 1).unwrap_or(usize::MAX);
                let step = rule.steps[at.min(rule.steps.len() - 1)].clone();
                let values = values(asked, count.used);
                chosen = Some(Chosen { rule: rule.name.clone(), step, values });
            }
        }
        chosen.or_else(|| self.fall_back(asked))
    }

    fn fall_back(&self, asked: &Asked) -> Option<Chosen> {
        match self.scenario.fallback {
            Fallback::Echo if asked.wire != Wire::Embeddings => Some(Chosen {
                rule: "echo".to_owned(),
                step: Step { reply: Reply::text("{{last_user}}"), fault: None },
                values: values(asked, 1),
            }),
            Fallback::Echo | Fallback::Error => None,
        }
    }
}

fn is_due(rule: &Rule, count: Count) -> bool {
    rule.turn.is_none_or(|turn| turn == count.seen)
        && rule.times.is_none_or(|times| count.used < times)
}

fn holds(when: &When, asked: &Asked) -> bool {
    // Embeddings are answered without rules; one that does not name them means conversations.
    when.wire.map_or(asked.wire != Wire::Embeddings, |wire| wire == asked.wire)
        && when.model.as_ref().is_none_or(|glob| glob.matches(&asked.model))
        && when.last_user.as_ref().is_none_or(|text| text.is_in(asked.last_user()))
        && when.contains.as_ref().is_none_or(|text| text.is_in(&asked.raw))
        && when.system.as_ref().is_none_or(|text| text.is_in(&asked.system))
        && when.has_tool_result.is_none_or(|has| has == asked.ends_in_tool_result())
        && when.has_tools.is_none_or(|has| has != asked.tools.is_empty())
}

fn values(asked: &Asked, n: u64) -> Values {
    Values {
        last_user: asked.last_user().to_owned(),
        last_tool_result: asked.last_tool_result().to_owned(),
        model: asked.model.clone(),
        user_turns: asked.user_turns(),
        n,
    }
}
