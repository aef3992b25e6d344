//! The ledger of a run: where spending is written down, and what days and months may cost.

use std::path::{Path, PathBuf};

use super::error::InputError;
use super::values::Inputs;
use crate::base::env::{Variables, state_folder};
use crate::config::{Config, Usd};
use crate::model::{Ledger, LedgerError, LedgerLabels, LedgerLimits};

/// Returns the ledger of this user, unless there is no folder for it.
pub fn default_ledger(variables: &Variables) -> Option<PathBuf> {
    Some(state_folder(variables)?.join("costs.jsonl"))
}

/// Opens the ledger of a run on `workspace`, if one is asked for.
pub(super) fn ledger(
    inputs: &Inputs,
    config: &Config,
    workspace: &Path,
) -> Result<Option<Ledger>, InputError> {
    let costs = &config.costs;
    let limits = LedgerLimits {
        per_day: costs.budget_per_day.map(Usd::get),
        per_month: costs.budget_per_month.map(Usd::get),
        unmeasured: costs.unmeasured,
    };
    let is_limited = limits.per_day.is_some() || limits.per_month.is_some();
    let Some(path) =
        inputs.ledger.clone().or_else(|| default_ledger(&inputs.variables).filter(|_| is_limited))
    else {
        return if is_limited { Err(LedgerError::NoPlace.into()) } else { Ok(None) };
    };
    let path = std::path::absolute(&path).map_err(|error| LedgerError::Io { path: path.clone(), error })?;
    // Links on the way are resolved: what counts is where the file really lies.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    if folder.unwrap_or_else(|| path.clone()).starts_with(workspace) {
        return Err(LedgerError::InCheckout(path).into());
    }
    let label = |name: &str| inputs.variables.get(name).cloned().unwrap_or_default();
    let labels = LedgerLabels {
        repository: label("GITHUB_REPOSITORY"),
        workflow: label("GITHUB_WORKFLOW"),
        task: config.github.comment_key.clone(),
    };
    Ok(Some(Ledger::open(path, limits, labels)?))
}
