//! The files that Git tracks, listed when something first asks for them.

use std::sync::{Arc, LazyLock};

use workspace::{Tracked, TrackedFiles, WorkspacePath};

use crate::git::Repository;

/// Returns the files that Git tracks: what ignore files say of them does not count.
pub(crate) fn tracked_files(repository: Option<Repository>) -> TrackedFiles {
    Arc::new(LazyLock::new(Box::new(move || {
        let names = repository.and_then(|repository| repository.tracked().ok()).unwrap_or_default();
        names.iter().filter_map(|name| WorkspacePath::parse(name).ok()).collect()
    })))
}

/// Returns the files that Git tracks in the checkout, and around it.
pub(crate) fn tracked(repository: Option<&Repository>) -> Tracked {
    let whole = repository.map(|repository| repository.seen_from(repository.root()));
    Tracked { checkout: tracked_files(repository.cloned()), repository: tracked_files(whole) }
}
