//! Section `costs`: what runs may cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::bounded::Usd;

/// What a run may cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// USD after which the run ends as partial.
    pub budget_usd: Option<Usd>,
    /// USD after which a warning is given, and the hooks of `budget_warning` run.
    pub warn_at_usd: Option<Usd>,
    /// USD that all runs with the same ledger may spend in a day (UTC).
    pub budget_per_day: Option<Usd>,
    /// USD that all runs with the same ledger may spend in a month (UTC).
    pub budget_per_month: Option<Usd>,
    /// What happens if these budgets cannot be enforced because the ledger cannot be read or written, a model's price is
    /// unknown, its answers do not say how many tokens they used, or the ledger contains answers whose cost is not
    /// known.
    pub unmeasured: Unmeasured,
    /// A YAML file of prices that override the built-in ones: `name: { input, cached, written, output }`, in
    /// USD per million tokens.
    pub prices_file: Option<String>,
}

/// What happens if a budget cannot be enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unmeasured {
    /// Nothing more is spent.
    #[default]
    Refuse,
    /// People are told.
    Warn,
}
