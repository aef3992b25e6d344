//! Git's own folders among the paths of a checkout.

use std::path::{Path, PathBuf};

use crate::inventory::Inventory;

/// Returns the `.git` entry that a path is in or names, if there is one.
pub(super) fn repository_above(path: &Path) -> Option<PathBuf> {
    let is_git = |name: &Path| name.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    path.ancestors().filter(|path| is_git(path)).last().map(Path::to_owned)
}

/// Returns what of a path in one of Git's own folders is new as a whole, that folder at most; or the path.
pub(super) fn outermost_of_repository(path: &Path, before: &Inventory) -> PathBuf {
    match (repository_above(path), before.first_new(path)) {
        (Some(repository), Some(new)) if new.starts_with(&repository) => new,
        (Some(repository), Some(_)) => repository,
        _ => path.to_owned(),
    }
}
