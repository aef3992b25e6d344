//! Limits of a ledger, and the labels of its entries.

use super::values::Inputs;
use crate::base::bounded::Usd;
use crate::config::Config;
use crate::model::{LedgerLabels, LedgerLimits};

/// Returns the limits that a configuration sets.
pub(super) fn limits(config: &Config) -> LedgerLimits {
    let costs = &config.costs;
    LedgerLimits {
        per_day: costs.budget_per_day.map(Usd::get),
        per_month: costs.budget_per_month.map(Usd::get),
        unmeasured: costs.unmeasured,
    }
}

/// Returns who spends.
pub(super) fn labels(inputs: &Inputs, config: &Config) -> LedgerLabels {
    let label = |name: &str| inputs.variables.get(name).cloned().unwrap_or_default();
    LedgerLabels {
        repository: label("GITHUB_REPOSITORY"),
        workflow: label("GITHUB_WORKFLOW"),
        task: config.github.comment_key.clone(),
    }
}
