//! The ledger of a run: where spending is recorded, and what days and months may cost.

use std::path::{Path, PathBuf};

use super::error::InputError;
use super::shared_ledger::SharedLedger;
use super::values::Inputs;
use crate::base::bounded::Usd;
use crate::base::env::{Variables, state_folder};
use crate::config::Config;
use crate::model::{Ledger, LedgerError, LedgerLabels, LedgerLimits};

/// Returns the ledger of this user, unless there is no folder for it.
pub fn default_ledger(variables: &Variables) -> Option<PathBuf> {
    Some(state_folder(variables)?.join("costs.jsonl"))
}

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

/// Opens the ledger of a run on `workspace`, if one is requested. `shared` is the one on a branch, of which a copy is opened.
pub(super) fn ledger(
    inputs: &Inputs,
    config: &Config,
    workspace: &Path,
    shared: Option<&SharedLedger>,
) -> Result<Option<Ledger>, InputError> {
    let limits = limits(config);
    let is_limited = limits.is_limited();
    let named = shared.map(|shared| shared.file().to_owned()).or_else(|| inputs.ledger.clone());
    let Some(path) = named.or_else(|| default_ledger(&inputs.variables).filter(|_| is_limited)) else {
        return if is_limited { Err(LedgerError::NoPlace.into()) } else { Ok(None) };
    };
    let path = std::path::absolute(&path).map_err(|error| LedgerError::Io { path: path.clone(), error })?;
    // Links on the way are resolved: what counts is where the file really lies.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    if folder.unwrap_or_else(|| path.clone()).starts_with(workspace) {
        return Err(LedgerError::InCheckout(path).into());
    }
    let ledger = Ledger::open(path, limits, labels(inputs, config))?;
    Ok(Some(if shared.is_some() { ledger.alone() } else { ledger }))
}
