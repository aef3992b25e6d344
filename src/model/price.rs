//! Prices of tokens, and the budget of a run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, LedgerError};
use crate::base::yaml;
use crate::event::Usage;

/// Price of a model, in USD per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Input tokens read from the provider's cache; as `input`, if not given.
    #[serde(default)]
    pub cached: Option<f64>,
    /// Input tokens written to the provider's cache; as `input`, if not given.
    #[serde(default)]
    pub written: Option<f64>,
    /// Output tokens.
    pub output: f64,
}

impl Price {
    /// Returns the cost of `usage`, in USD.
    pub fn cost(&self, usage: Usage) -> f64 {
        // Token counts are far below the range in which a float gets imprecise.
        #[expect(clippy::cast_precision_loss, reason = "as above")]
        let million = |tokens: u64| tokens as f64 / 1_000_000.0;
        let fresh = usage.input.saturating_sub(usage.cached + usage.written);
        million(fresh) * self.input
            + million(usage.cached) * self.cached.unwrap_or(self.input)
            + million(usage.written) * self.written.unwrap_or(self.input)
            + million(usage.output) * self.output
    }
}

/// Prices by model name.
#[derive(Clone, Debug, Default)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Returns the built-in table, with the entries of `more` (YAML of the same form) replacing or extending
    /// it.
    pub fn new(more: Option<&str>) -> Result<Self, yaml::Error> {
        let read = |text: &str| yaml::from_str::<BTreeMap<String, Price>>(text);
        let mut prices = read(include_str!("prices.yml"))?;
        if let Some(more) = more {
            prices.extend(read(more)?);
        }
        Ok(Self(prices))
    }

    /// Returns the price of a model by its full name (`provider::name`), its bare name, or its name without a
    /// date.
    pub fn find(&self, model: &str) -> Option<Price> {
        // In `github::openai/gpt-5` and `open_router::…/gpt-5`, the part before the slash is the model's
        // maker.
        let name = model.split_once("::").map_or(model, |(_, name)| name);
        let name = name.rsplit('/').next().unwrap_or(name);
        let is_version = |key: &str| {
            let rest = name.strip_prefix(key)?.strip_prefix(['-', '@'])?;
            (rest.len() >= 8 && rest.chars().all(|c| c.is_ascii_digit() || c == '-')).then_some(())
        };
        let exact = self.0.get(model).or_else(|| self.0.get(name));
        let dated = || self.0.iter().rev().find(|(key, _)| is_version(key).is_some()).map(|(_, price)| price);
        exact.or_else(dated).copied()
    }
}

/// Spending limit of a run, and what it has spent.
#[derive(Debug, Default)]
pub struct Budget {
    price: Option<Price>,
    limit: Option<f64>,
    warn_at: Option<f64>,
    spent: Arc<Spent>,
    /// What all runs spend, and the model as the ledger names it.
    ledger: Option<(Arc<Ledger>, String)>,
}

/// Counters that the models of one run share.
#[derive(Debug, Default)]
struct Spent {
    usd: Mutex<f64>,
    warned: AtomicBool,
    /// Turns of sub-agents.
    steps: AtomicU32,
}

impl Budget {
    /// Creates a budget, with `limit` and `warn_at` in USD. Without a price, costs are unknown and nothing is
    /// limited.
    pub fn new(price: Option<Price>, limit: Option<f64>, warn_at: Option<f64>) -> Self {
        Self { price, limit, warn_at, spent: Arc::default(), ledger: None }
    }

    /// Returns the budget with a ledger, to which every further answer is appended.
    #[must_use]
    pub fn with_ledger(self, ledger: Arc<Ledger>, model: &str) -> Self {
        Self { ledger: Some((ledger, model.to_owned())), ..self }
    }

    /// Returns a budget with another model's price that shares limit and spending with this one.
    #[must_use]
    pub fn priced(&self, model: &str, price: Option<Price>) -> Self {
        let ledger = self.ledger.as_ref().map(|(ledger, _)| (Arc::clone(ledger), model.to_owned()));
        Self { price, limit: self.limit, warn_at: self.warn_at, spent: Arc::clone(&self.spent), ledger }
    }

    /// Counts one turn of a sub-agent.
    pub fn count_step(&self) {
        self.spent.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of turns that sub-agents have taken so far.
    pub fn steps(&self) -> u32 {
        self.spent.steps.load(Ordering::Relaxed)
    }

    /// Adds the cost of `usage`. Returns the cost so far, in USD, the first time it reaches the warning
    /// threshold.
    pub fn add(&self, usage: Usage) -> Option<f64> {
        if let Some((ledger, model)) = &self.ledger {
            ledger.append(model, usage, self.price(usage));
        }
        *self.spent.usd.lock().unwrap_or_else(PoisonError::into_inner) += self.price(usage)?;
        let cost = self.cost()?;
        (self.warn_at.is_some_and(|mark| cost >= mark) && !self.spent.warned.swap(true, Ordering::Relaxed))
            .then_some(cost)
    }

    /// Returns the cost of `usage` in USD, if the model's price is known.
    pub fn price(&self, usage: Usage) -> Option<f64> {
        self.price.map(|price| price.cost(usage))
    }

    /// Returns the cost so far in USD, if the model's price is known.
    pub fn cost(&self) -> Option<f64> {
        self.price.map(|_| *self.spent.usd.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns `true` if the spending limit has been reached.
    pub fn is_used_up(&self) -> bool {
        self.limit.zip(self.cost()).is_some_and(|(limit, cost)| cost >= limit) || self.bar().is_some()
    }

    /// Returns why the ledger allows no further answer, if it does not.
    pub fn bar(&self) -> Option<LedgerError> {
        self.ledger.as_ref()?.0.check().err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_name_version_and_override() {
        let more = "gpt-5: { input: 1, output: 2 }\nmine::local: { input: 0, output: 0 }\n";
        let prices = Prices::new(Some(more)).expect("prices");
        let input = |model: &str| prices.find(model).map(|price| price.input);
        assert_eq!(input("openai::gpt-5"), Some(1.0));
        assert_eq!(input("openai::gpt-5-2025-08-07"), Some(1.0));
        assert_eq!(input("openai::gpt-5-mini"), Some(0.25));
        assert_eq!(input("github::openai/gpt-5-mini"), Some(0.25));
        assert_eq!(input("anthropic::claude-sonnet-4-5-20250929"), Some(3.0));
        assert_eq!(input("mine::local"), Some(0.0));
        assert_eq!(input("openai::gpt-5-pro"), None);
        assert_eq!(input("gpt"), None);
        assert!(
            Prices::new(Some("gpt-5: { inputs: 1 }"))
                .is_err_and(|error| error.to_string().contains("inputs"))
        );
    }

    #[test]
    fn cached_tokens_cost_less_and_the_warning_comes_once() {
        let price = Price { input: 10.0, cached: Some(1.0), written: Some(12.5), output: 100.0 };
        let usage = Usage { input: 100_000, cached: 50_000, written: 0, output: 1_000 };
        assert!((price.cost(usage) - 0.65).abs() < 1e-9);
        assert!((price.cost(Usage { written: 40_000, ..usage }) - 0.75).abs() < 1e-9);
        assert!((Price { cached: None, ..price }.cost(usage) - 1.1).abs() < 1e-9);
        let budget = Budget::new(Some(price), Some(2.0), Some(1.0));
        assert_eq!(budget.add(usage), None);
        assert!(budget.add(usage).is_some_and(|cost| (cost - 1.3).abs() < 1e-9));
        assert_eq!((budget.add(usage), budget.is_used_up()), (None, false));
        budget.add(usage);
        assert!(budget.is_used_up());
        let unknown = Budget::new(None, Some(0.0), Some(0.0));
        assert_eq!((unknown.add(usage), unknown.cost(), unknown.is_used_up()), (None, None, false));
    }
}
