//! The ledger of a run: where spending is recorded, and what days and months may cost.

use std::path::{Path, PathBuf};

use super::error::InputError;
use super::ledger_limits::{labels, limits};
use super::shared_ledger::SharedLedger;
use super::values::Inputs;
use crate::base::env::{Variables, state_folder};
use crate::config::Config;
use crate::model::{Ledger, LedgerError};

/// Most links that lead from one to the next.
const MAX_LINKS: usize = 40;

/// Returns the ledger of this user, unless there is no folder for it.
pub fn default_ledger(variables: &Variables) -> Option<PathBuf> {
    Some(state_folder(variables)?.join("costs.jsonl"))
}

/// Returns where a file really lies, or would: links are followed, its own as well, even if they lead to nothing yet.
fn place_of(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = std::fs::read_link(&place) else { break };
        place = place.parent().map(|folder| folder.join(&target)).unwrap_or(target);
    }
    let folder = place.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(place.file_name()).map(|(folder, name)| folder.join(name)).unwrap_or(place)
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
    if place_of(&path).starts_with(workspace) {
        return Err(LedgerError::InCheckout(path).into());
    }
    let ledger = Ledger::open(path, limits, labels(inputs, config))?;
    Ok(Some(if shared.is_some() { ledger.alone() } else { ledger }))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn place_of_ledger_is_where_links_lead() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("checkout")).unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        link("checkout", "linked");
        link("checkout/costs.jsonl", "dangling");
        link("dangling", "twice");
        for (name, place) in [
            ("costs.jsonl", "costs.jsonl"),
            ("linked/costs.jsonl", "checkout/costs.jsonl"),
            ("dangling", "checkout/costs.jsonl"),
            ("twice", "checkout/costs.jsonl"),
        ] {
            assert_eq!(place_of(&root.join(name)), root.join(place), "{name}");
        }
    }
}
