//! Prices of tokens.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::base::yaml;
use crate::event::Usage;

/// Price of a model, in USD per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    #[serde(deserialize_with = "rate")]
    pub input: f64,
    /// Input tokens read from the provider's cache; as `input`, if not given.
    #[serde(default, deserialize_with = "some_rate")]
    pub cached: Option<f64>,
    /// Input tokens written to the provider's cache; as `input`, if not given.
    #[serde(default, deserialize_with = "some_rate")]
    pub written: Option<f64>,
    /// Output tokens.
    #[serde(deserialize_with = "rate")]
    pub output: f64,
}

fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    checked(f64::deserialize(deserializer)?)
}

fn some_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Option::<f64>::deserialize(deserializer)?.map(checked).transpose()
}

/// Returns a rate unless it is below 0, which would raise the budget with every answer.
fn checked<E: serde::de::Error>(rate: f64) -> Result<f64, E> {
    let is_valid = rate.is_finite() && rate >= 0.0;
    is_valid.then_some(rate).ok_or_else(|| E::custom(format!("invalid price {rate}; use 0 or more")))
}

impl Price {
    /// Returns the cost of `usage`, in USD.
    pub fn cost(&self, usage: Usage) -> f64 {
        let fresh = usage.input.saturating_sub(usage.cached.saturating_add(usage.written));
        rated(fresh, self.input)
            + rated(usage.cached, self.cached.unwrap_or(self.input))
            + rated(usage.written, self.written.unwrap_or(self.input))
            + rated(usage.output, self.output)
    }

    /// Returns the usage of so many tokens that costs the most: the input may have been written to the provider's cache.
    pub(super) fn dearest(&self, input: u64, output: u64) -> Usage {
        let usage = Usage { input, output, ..Usage::default() };
        let written = Usage { written: input, ..usage };
        if self.cost(written) > self.cost(usage) { written } else { usage }
    }

    /// Returns the most that `tokens` of input can cost, however they are cached, in USD.
    pub(super) fn dearest_input(&self, tokens: u64) -> f64 {
        let rates = [Some(self.input), self.cached, self.written];
        let dearest = rates.into_iter().flatten().fold(0.0, f64::max);
        rated(tokens, dearest)
    }

    /// Returns the cost of an answer of `tokens`, in USD.
    pub(super) fn output(&self, tokens: u64) -> f64 {
        rated(tokens, self.output)
    }

    /// Returns the length of the answer that `usd` pay for, in tokens; `None` if they do not even pay for none.
    pub(super) fn output_for(&self, usd: f64) -> Option<u64> {
        if usd < 0.0 {
            return None;
        }
        if self.output <= 0.0 {
            return Some(u64::MAX);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast from float saturates, and the value is not negative"
        )]
        Some((usd / self.output * 1_000_000.0) as u64)
    }
}

/// Returns the cost of `tokens` at a rate in USD per million.
fn rated(tokens: u64, rate: f64) -> f64 {
    // Token counts are far below the range in which a float gets imprecise.
    #[expect(clippy::cast_precision_loss, reason = "as above")]
    let millions = tokens as f64 / 1_000_000.0;
    millions * rate
}

/// Built-in table: a line for each model.
const BUILT_IN: &str = include_str!("prices.yml");

/// Prices by model name.
#[derive(Clone, Debug, Default)]
pub struct Prices(BTreeMap<String, Entry>);

/// A price, or the text of one in the built-in table: of these, a run needs one.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Own(Price),
    BuiltIn(&'static str),
}

impl Entry {
    fn price(self) -> Option<Price> {
        match self {
            Self::Own(price) => Some(price),
            Self::BuiltIn(text) => yaml::from_str(text).ok(),
        }
    }
}

impl Prices {
    /// Returns the built-in table, with the entries of `more` (YAML of the same form) replacing or extending
    /// it.
    pub fn new(more: Option<&str>) -> Result<Self, yaml::Error> {
        let built_in = BUILT_IN.lines().filter(|line| !line.starts_with('#'));
        let mut prices: BTreeMap<String, Entry> = built_in
            .filter_map(|line| line.split_once(": "))
            .map(|(name, text)| (name.to_owned(), Entry::BuiltIn(text)))
            .collect();
        if let Some(more) = more {
            let more: BTreeMap<String, Price> = yaml::from_str(more)?;
            prices.extend(more.into_iter().map(|(name, price)| (name, Entry::Own(price))));
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
        let dated = || self.0.iter().rev().find(|(key, _)| is_version(key).is_some()).map(|(_, entry)| entry);
        exact.or_else(dated).copied().and_then(Entry::price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_prices_are_a_table_in_yaml_with_a_line_for_each() {
        let whole: BTreeMap<String, Price> = yaml::from_str(BUILT_IN).expect("YAML");
        let prices = Prices::new(None).expect("prices");
        let read = prices.0.into_iter().map(|(name, entry)| (name, entry.price().expect("a price")));
        assert_eq!(read.collect::<BTreeMap<_, _>>(), whole);
        assert!(whole.len() > 20);
    }

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
        for wrong in ["{ input: -1, output: 2 }", "{ input: 1, written: -0.1, output: 2 }"] {
            let error = Prices::new(Some(&format!("gpt-5: {wrong}"))).expect_err(wrong).to_string();
            assert!(error.contains("use 0 or more"), "{wrong}: {error}");
        }
    }

    #[test]
    fn cached_tokens_cost_less() {
        let price = Price { input: 10.0, cached: Some(1.0), written: Some(12.5), output: 100.0 };
        let usage = Usage { input: 100_000, cached: 50_000, written: 0, output: 1_000 };
        assert!((price.cost(usage) - 0.65).abs() < 1e-9);
        assert!((price.cost(Usage { written: 40_000, ..usage }) - 0.75).abs() < 1e-9);
        assert!((Price { cached: None, ..price }.cost(usage) - 1.1).abs() < 1e-9);
    }
}
