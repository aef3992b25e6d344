//! The budget of a run: before every answer is requested, its possible price is reserved, so that the sum of all answers
//! never exceeds the limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::claims::{Claim, ClaimAttempt};
use super::ledger::Ledger;
use super::ledger_error::LedgerError;
use super::{Completion, Price};
use crate::event::Usage;

/// Maximum length of an answer within a budget, in tokens, where `llm.max_tokens` says nothing: every model with a known
/// price accepts this limit.
const MOST_OUTPUT: u64 = 16_000;

/// Length below which an answer is not worth asking for, in tokens.
const LEAST_OUTPUT: u64 = 400;

/// How long answers of other runs are waited for, before they are looked at again.
const PAUSE: Duration = Duration::from_millis(250);

/// Spending limit of a run, and what it has spent.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    price: Option<Price>,
    limit: Option<f64>,
    warn_at: Option<f64>,
    /// Maximum length of an answer, in tokens.
    most_output: Option<u64>,
    spent: Arc<Spent>,
    /// What all runs spend, and the model as the ledger names it.
    ledger: Option<(Arc<Ledger>, String)>,
}

/// Counters that the models of one run share.
#[derive(Debug, Default)]
struct Spent {
    usd: Mutex<Amounts>,
    warned: AtomicBool,
    /// Whether an answer did not say what it used.
    is_unmeasured: AtomicBool,
    /// Turns of sub-agents.
    steps: AtomicU32,
    /// Notifies waiting requests that a reservation was returned.
    returned: Notify,
}

/// Amounts in USD.
#[derive(Clone, Copy, Debug, Default)]
struct Amounts {
    spent: f64,
    /// Possible prices of answers that are under way.
    reserved: f64,
}

/// Permission to ask for one answer. Its possible price stays reserved until this is dropped.
#[derive(Debug)]
pub struct Allowance {
    /// Maximum length of the answer, in tokens; `None` where nothing is limited.
    pub max_output: Option<u64>,
    reserved: f64,
    /// What the answer may use at most; nothing where no price is known.
    most: Usage,
    spent: Arc<Spent>,
    /// The same for all runs that share the ledger.
    claim: Option<Claim>,
}

/// What an answer counts as, once it is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settlement {
    /// Tokens that it used, or that it can have used at most.
    pub usage: Usage,
    /// Whether it is the first whose usage is not known, although it costs something.
    pub is_first_unmeasured: bool,
    /// The cost so far, in USD, where it reaches the warning threshold with this answer.
    pub warn_at: Option<f64>,
}

impl Drop for Allowance {
    fn drop(&mut self) {
        let mut amounts = self.spent.amounts();
        amounts.reserved = (amounts.reserved - self.reserved).max(0.0);
        drop(amounts);
        self.spent.returned.notify_waiters();
    }
}

impl Allowance {
    /// Returns what an answer can have used at most, as far as is known: about one token for two bytes.
    fn most(&self, answer: &Completion) -> Usage {
        let arguments = answer.calls.iter().map(|call| call.arguments.to_string().len());
        let bytes = answer.text.len() + arguments.sum::<usize>();
        let received = if self.most == Usage::default() { 0 } else { bytes.div_ceil(2) as u64 };
        Usage { output: self.most.output.max(received), ..self.most }
    }
}

/// Reason why an answer cannot be requested now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Other answers are under way, and may leave enough of what is reserved for them.
    Reserved,
    /// What is left does not pay for any further answer.
    UsedUp,
}

impl Spent {
    fn amounts(&self) -> MutexGuard<'_, Amounts> {
        self.usd.lock()
    }
}

impl Budget {
    /// Creates a budget, with `limit` and `warn_at` in USD. Without a price, costs are unknown and nothing is
    /// limited.
    pub fn new(price: Option<Price>, limit: Option<f64>, warn_at: Option<f64>) -> Self {
        Self { price, limit, warn_at, most_output: None, spent: Arc::default(), ledger: None }
    }

    /// Returns the budget with a maximum length of answers, in tokens, as the configuration has it.
    #[must_use]
    pub fn with_max_output(self, most_output: Option<u64>) -> Self {
        Self { most_output, ..self }
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
        Self { price, ledger, ..self.clone() }
    }

    /// Counts one turn of a sub-agent.
    pub fn count_step(&self) {
        self.spent.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of turns that sub-agents have taken so far.
    pub fn steps(&self) -> u32 {
        self.spent.steps.load(Ordering::Relaxed)
    }

    /// Waits until an answer to at most `input` tokens can be paid for whatever its length, and reserves its possible
    /// price, for all runs that share the ledger as well. Returns `None` if what is left does not suffice.
    pub async fn allow(&self, input: u64) -> Option<Allowance> {
        loop {
            // Made first, so that no return between the look and the wait is missed.
            let returned = self.spent.returned.notified();
            match self.try_allow(input) {
                Ok(mut allowance) => {
                    if let ClaimAttempt::Granted(claim) = self.claim(allowance.most) {
                        allowance.claim = claim;
                        return Some(allowance);
                    }
                    drop(allowance);
                    tokio::time::sleep(PAUSE).await;
                    if self.bar().is_some() {
                        return None;
                    }
                }
                Err(Refused::Reserved) => returned.await,
                Err(Refused::UsedUp) => return None,
            }
        }
    }

    /// Claims the possible price of an answer in the ledger, if there is one.
    fn claim(&self, most: Usage) -> ClaimAttempt {
        let (Some((ledger, _)), Some(price)) = (&self.ledger, self.price) else {
            return ClaimAttempt::Granted(None);
        };
        ledger.claim(price.cost(most))
    }

    /// Reserves the possible price of an answer to at most `input` tokens.
    pub fn try_allow(&self, input: u64) -> Result<Allowance, Refused> {
        let most = self.most_output.unwrap_or(MOST_OUTPUT);
        let allowance = |reserved, max_output: Option<u64>| Allowance {
            max_output,
            reserved,
            most: self
                .price
                .map(|price| price.dearest(input, max_output.unwrap_or(most)))
                .unwrap_or_default(),
            spent: Arc::clone(&self.spent),
            claim: None,
        };
        let (Some(price), Some(limit)) = (self.price, self.limit) else { return Ok(allowance(0.0, None)) };
        let mut amounts = self.spent.amounts();
        let Amounts { spent, reserved } = *amounts;
        let least = most.min(LEAST_OUTPUT);
        let left = limit - spent - reserved;
        let affordable = price.output_for(left - price.dearest_input(input)).map(|tokens| tokens.min(most));
        match affordable {
            // Nothing is left even where answers cost nothing.
            _ if left <= 0.0 => {}
            Some(tokens) if tokens >= least => {
                let possible = price.dearest_input(input) + price.output(tokens);
                amounts.reserved += possible;
                return Ok(allowance(possible, Some(tokens)));
            }
            _ => {}
        }
        Err(if reserved > 0.0 { Refused::Reserved } else { Refused::UsedUp })
    }

    /// Counts an answer, in the ledger as well. One that does not say what it used has used all that was reserved for it.
    pub fn settle(&self, allowance: &Allowance, answer: &Completion) -> Settlement {
        let is_measured = answer.usage.is_some() || self.price.is_none();
        let usage = answer.usage.unwrap_or_else(|| allowance.most(answer));
        if let Some((ledger, model)) = &self.ledger {
            ledger.append(model, usage, self.price(usage));
            if !is_measured {
                ledger.note_unmeasured(model);
            }
        }
        let is_first_unmeasured = !is_measured && !self.spent.is_unmeasured.swap(true, Ordering::Relaxed);
        Settlement { usage, is_first_unmeasured, warn_at: self.add(usage) }
    }

    /// Counts an answer that was lost after so many bytes had arrived, in the ledger as well: the request, and what is known of the
    /// answer. Returns that, and the cost so far, in USD, where it reaches the warning threshold with this answer.
    pub fn settle_lost(&self, allowance: &Allowance, received: usize) -> (Usage, Option<f64>) {
        // However much arrives, nobody is charged for more than was asked for.
        let most = allowance.max_output.unwrap_or(u64::MAX);
        let output = (received.div_ceil(2) as u64).min(most);
        let usage = self.price.map(|_| Usage { output, ..allowance.most }).unwrap_or_default();
        if let Some((ledger, model)) = &self.ledger {
            ledger.append(model, usage, self.price(usage));
        }
        (usage, self.add(usage))
    }

    /// Adds the cost of `usage`. Returns the cost so far, in USD, the first time it reaches the warning
    /// threshold.
    pub fn add(&self, usage: Usage) -> Option<f64> {
        let price = self.price(usage)?;
        self.spent.amounts().spent += price;
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
        self.price.map(|_| self.spent.amounts().spent)
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

    const PRICE: Price = Price { input: 10.0, cached: Some(1.0), written: Some(12.5), output: 100.0 };

    #[test]
    fn the_warning_comes_once() {
        let usage = Usage { input: 100_000, cached: 50_000, written: 0, output: 1_000 };
        let budget = Budget::new(Some(PRICE), Some(2.0), Some(1.0));
        assert_eq!(budget.add(usage), None);
        assert!(budget.add(usage).is_some_and(|cost| (cost - 1.3).abs() < 1e-9));
        assert_eq!((budget.add(usage), budget.is_used_up()), (None, false));
        budget.add(usage);
        assert!(budget.is_used_up());
        let unknown = Budget::new(None, Some(0.0), Some(0.0));
        assert_eq!((unknown.add(usage), unknown.cost(), unknown.is_used_up()), (None, None, false));
        assert_eq!(unknown.try_allow(1_000_000).map(|allowance| allowance.max_output), Ok(None));
    }

    #[test]
    fn an_answer_is_asked_for_only_if_its_possible_price_is_left() {
        let budget = Budget::new(Some(PRICE), Some(1.0), None);
        // 20,000 tokens may all be written to the cache, 0.25 USD; 0.75 USD pay for 7,500 tokens.
        let first = budget.try_allow(20_000).expect("enough");
        assert_eq!(first.max_output, Some(7_500));
        assert_eq!(budget.try_allow(1_000).err(), Some(Refused::Reserved));
        budget.add(Usage { input: 20_000, cached: 0, written: 20_000, output: 7_000 });
        drop(first);
        assert_eq!(budget.try_allow(1_000).err(), Some(Refused::UsedUp));
        // An answer of a few words is not worth it.
        assert_eq!(Budget::new(Some(PRICE), Some(0.02), None).try_allow(10).err(), Some(Refused::UsedUp));
        let free = Price { input: 0.0, cached: None, written: None, output: 0.0 };
        let free = Budget::new(Some(free), Some(0.01), None).with_max_output(Some(50));
        assert_eq!(free.try_allow(u64::MAX).map(|allowance| allowance.max_output), Ok(Some(50)));
    }

    #[test]
    fn an_answer_without_usage_costs_what_was_reserved() {
        let budget = Budget::new(Some(PRICE), Some(1.0), None);
        let answer = |usage| Completion { text: "done".to_owned(), usage, ..Completion::default() };
        let known = Usage { input: 1_000, output: 100, ..Usage::default() };
        let allowance = budget.try_allow(20_000).expect("enough");
        let settled = budget.settle(&allowance, &answer(Some(known)));
        assert_eq!((settled.usage, settled.is_first_unmeasured), (known, false));
        drop(allowance);
        // 0.98 USD are left: 0.25 for the input, written to the cache, and 0.73 for 7,300 tokens.
        let allowance = budget.try_allow(20_000).expect("enough");
        let settled = budget.settle(&allowance, &answer(None));
        let Usage { input, written, output, .. } = settled.usage;
        assert_eq!((input, written, settled.is_first_unmeasured), (20_000, 20_000, true));
        assert!((7_299..=7_300).contains(&output), "{output}");
        assert!(!budget.settle(&allowance, &answer(None)).is_first_unmeasured, "it is told once");
        assert!(budget.is_used_up());
        // An answer that is longer than was asked for.
        let long = Completion { text: "x".repeat(40_000), ..Completion::default() };
        assert_eq!(budget.settle(&allowance, &long).usage.output, 20_000);
        // One of which 2,000 bytes arrived before it was lost.
        let budget = Budget::new(Some(PRICE), Some(1.0), None);
        let allowance = budget.try_allow(20_000).expect("enough");
        let (lost, _) = budget.settle_lost(&allowance, 2_000);
        assert!(budget.price(lost).is_some_and(|usd| (usd - 0.35).abs() < 1e-9));
        // More can have arrived than may have been asked for, and the limit holds all the same.
        let (lost, _) = budget.settle_lost(&allowance, 2_000_000);
        assert_eq!(Some(lost.output), allowance.max_output);
        assert!(budget.price(lost).is_some_and(|usd| usd <= 1.0));
        // Without a price, nothing is measured in money.
        let unknown = Budget::new(None, Some(1.0), None);
        let allowance = unknown.try_allow(20_000).expect("nothing is limited");
        let settled = unknown.settle(&allowance, &long);
        assert_eq!((settled.usage, settled.is_first_unmeasured), (Usage::default(), false));
    }

    #[tokio::test]
    async fn a_second_answer_waits_for_what_the_first_leaves() {
        let budget = Budget::new(Some(PRICE), Some(1.0), None);
        let first = budget.allow(20_000).await.expect("enough");
        let second = budget.allow(1_000);
        tokio::pin!(second);
        assert!(futures::poll!(&mut second).is_pending());
        budget.add(Usage { input: 1_000, output: 100, ..Usage::default() });
        drop(first);
        assert!(second.await.is_some_and(|allowance| allowance.max_output > Some(7_500)));
    }
}
