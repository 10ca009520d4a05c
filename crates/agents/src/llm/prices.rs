//! What answers cost, from a table that is data (OR-5.1).
//!
//! The built-in table is `prices.toml` beside this crate; another can be read in its place. A model is found by its
//! name, or by its name without a date or revision at the end. A model that is not in the table has no price: nothing
//! is guessed from its relatives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use artel_domain::money::Money;
use serde::Deserialize;

use super::chat::Usage;

static BUILT_IN: LazyLock<Prices> = LazyLock::new(|| {
    Prices::parse(include_str!("../../prices.toml")).expect("the built-in table is tested")
});

/// A price table.
#[derive(Debug, Clone)]
pub struct Prices {
    updated: String,
    free: BTreeSet<String>,
    /// By provider, then by the name of the model.
    models: BTreeMap<String, BTreeMap<String, Price>>,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    pub amount: Money,
    /// The tokens were counted by us, not by the provider.
    pub estimated: bool,
}

/// What is wrong with a table.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("the price table cannot be read: {0}")]
    Toml(String),
    #[error("the price table has no valid price for {0}")]
    Price(String),
}

impl Prices {
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        let file: File = toml::from_str(text).map_err(|error| Error::Toml(error.to_string()))?;
        for (name, price) in file.provider.values().flatten() {
            let above = price.above.iter().flat_map(|above| [above.input, above.output]);
            let all = [price.input, price.output].into_iter().chain(above);
            let cached = price.cached.into_iter();
            if all.chain(cached).any(|dollars| per_million(dollars).is_none()) {
                return Err(Error::Price(name.clone()));
            }
        }
        Ok(Self { updated: file.updated, free: file.free, models: file.provider })
    }

    /// The day the table was last looked after.
    pub fn updated(&self) -> &str {
        &self.updated
    }

    /// Models of a provider that answer; others only turn text into vectors.
    pub fn answering(&self, provider: &str) -> impl Iterator<Item = &str> {
        let models = self.models.get(provider).into_iter().flatten();
        models.filter(|(_, price)| price.output > 0.0).map(|(name, _)| name.as_str())
    }

    /// What this usage costs with `provider/model`, or with the model of that name at any provider. `None` when the
    /// table does not know it.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Cost> {
        let amount = match model.split_once('/') {
            Some((provider, _)) if self.free.contains(provider) => Money::ZERO,
            Some((provider, name)) => match self.models.get(provider) {
                Some(models) => find(models, name)?.amount(usage)?,
                None => self.anywhere(model)?.amount(usage)?,
            },
            None => self.anywhere(model)?.amount(usage)?,
        };
        Some(Cost { amount, estimated: usage.estimated })
    }

    fn anywhere(&self, name: &str) -> Option<&Price> {
        self.models.values().find_map(|models| find(models, name))
    }
}

/// By the built-in table.
pub fn cost(model: &str, usage: &Usage) -> Option<Cost> {
    Prices::built_in().cost(model, usage)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    updated: String,
    free: BTreeSet<String>,
    provider: BTreeMap<String, BTreeMap<String, Price>>,
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: f64,
    /// Where there is none, cached input costs what all input does.
    cached: Option<f64>,
    output: f64,
    above: Option<Above>,
}

/// The price of the whole answer when its input is longer than `tokens`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Above {
    tokens: u64,
    input: f64,
    cached: Option<f64>,
    output: f64,
}

impl Price {
    fn amount(&self, usage: &Usage) -> Option<Money> {
        let (input, cached, output) = match self.above {
            Some(above) if usage.input > above.tokens => {
                (above.input, above.cached.unwrap_or(above.input), above.output)
            }
            Some(_) | None => (self.input, self.cached.unwrap_or(self.input), self.output),
        };
        let fresh = usage.input.saturating_sub(usage.cached);
        let parts = [(fresh, input), (usage.cached, cached), (usage.output, output)];
        let mut sum: i128 = 0;
        for (tokens, dollars) in parts {
            sum += i128::from(tokens) * i128::from(per_million(dollars)?.as_nanos());
        }
        let nanos = (sum + 500_000) / 1_000_000;
        Some(Money::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)))
    }
}

fn per_million(dollars: f64) -> Option<Money> {
    Money::from_dollars(dollars).filter(|price| *price >= Money::ZERO)
}

/// The longest name in the table that the model's name begins with, if only a date or a revision follows.
fn find<'a>(models: &'a BTreeMap<String, Price>, name: &str) -> Option<&'a Price> {
    let fits = |known: &str| name.strip_prefix(known).is_some_and(is_revision);
    let found = models.iter().filter(|(known, _)| fits(known));
    found.max_by_key(|(known, _)| known.len()).map(|(_, price)| price)
}

/// `-2024-08-06`, `-20250929`, `-0613`, `-001`, `-latest`, or nothing. A single digit is another model: `-5`.
fn is_revision(rest: &str) -> bool {
    let digits = |text: &str| text.len() >= 3 && text.chars().all(|c| c.is_ascii_digit());
    match rest.strip_prefix('-') {
        None => rest.is_empty(),
        Some("latest") => true,
        Some(date) => {
            digits(date.split('-').next().unwrap_or("")) && digits(&date.replace('-', ""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, cached: u64, output: u64) -> Usage {
        Usage { input, cached, output, estimated: false }
    }

    fn nanos(model: &str, usage: &Usage) -> Option<i64> {
        cost(model, usage).map(|cost| cost.amount.as_nanos())
    }

    /// OR-5.1: prices are data, and the sum is exact.
    #[test]
    fn costs_add_up_to_the_billionth() {
        // 600 fresh at $2.50, 400 cached at $1.25, 100 out at $10, for a million each.
        let expected = 600 * 2_500 + 400 * 1_250 + 100 * 10_000;
        assert_eq!(nanos("openai/gpt-4o", &usage(1_000, 400, 100)), Some(expected));
        assert_eq!(nanos("gpt-4o-2024-08-06", &usage(1_000, 400, 100)), Some(expected));
        assert_eq!(nanos("openai/gpt-5-nano", &usage(0, 1, 0)), Some(5));
        // Without a price for the cache, it is input.
        assert_eq!(nanos("gpt-4", &usage(1_000, 1_000, 0)), Some(30_000_000));
    }

    #[test]
    fn long_questions_may_cost_more() {
        let short = nanos("gemini/gemini-2.5-pro", &usage(200_000, 0, 1_000)).unwrap();
        assert_eq!(short, 200_000 * 1_250 + 1_000 * 10_000);
        let long = nanos("gemini/gemini-2.5-pro", &usage(200_001, 0, 1_000)).unwrap();
        assert_eq!(long, 200_001 * 2_500 + 1_000 * 15_000);
    }

    /// OR-5.1: a price is never invented.
    #[test]
    fn what_is_not_in_the_table_has_no_price() {
        for model in [
            "openai/gpt-4o-ultra",
            "openai/gpt-99",
            "anthropic/claude-sonnet-4-99",
            "anthropic/gpt-4o",
            "mystery",
            "gpt-",
            "",
        ] {
            assert_eq!(nanos(model, &usage(1, 0, 1)), None, "{model}");
        }
    }

    #[test]
    fn what_runs_here_costs_nothing() {
        for model in ["ollama/llama3.2", "scripted/demo"] {
            assert_eq!(nanos(model, &usage(1_000_000, 0, 1_000_000)), Some(0), "{model}");
        }
    }

    #[test]
    fn an_estimate_stays_one() {
        let guess = Usage { estimated: true, ..usage(10, 0, 10) };
        assert!(cost("gpt-4o", &guess).unwrap().estimated);
    }

    #[test]
    fn revisions_are_told_from_other_models() {
        for rest in ["", "-latest", "-2024-08-06", "-20250929", "-0613", "-001"] {
            assert!(is_revision(rest), "{rest}");
        }
        for rest in ["-5", "-mini", ".1", "o", "-4-20250514", "-preview", "-", "-20x"] {
            assert!(!is_revision(rest), "{rest}");
        }
    }

    #[test]
    fn the_built_in_table_is_whole() {
        let table = Prices::built_in();
        assert!(table.updated().parse::<jiff::civil::Date>().is_ok());
        for (name, price) in table.models.values().flatten() {
            // What only embeds gives no tokens back.
            let answers = price.output >= price.input;
            let embeds = name.contains("embedding") && price.output == 0.0;
            assert!(price.input > 0.0 && (answers || embeds), "{name}");
            assert!(price.cached.is_none_or(|cached| cached < price.input), "{name}");
        }
        let bad =
            "updated = \"2026-01-01\"\nfree = []\n[provider.x]\ny = { input = -1.0, output = 1.0 }";
        assert!(matches!(Prices::parse(bad), Err(Error::Price(_))));
    }
}
