//! Where the checkout stood before anything touched it.

use std::path::PathBuf;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::git::{Base, Repository};
use crate::workspace::Snapshot;

/// Where the checkout stood before the run.
#[derive(Default)]
pub(super) struct Before {
    pub(super) base: Option<Base>,
    /// The way from the repository's root to the workspace.
    pub(super) prefix: String,
    /// Taken in a dry run alone.
    pub(super) snapshot: Option<Snapshot>,
}

/// The commit and, in a dry run, where every file stands: found out beside the first model call. The
/// receiver tells when that is done, and the first tool may run.
pub(super) fn look_before(
    root: PathBuf,
    repository: Option<Repository>,
    out: PathBuf,
    dry_run: bool,
) -> (JoinHandle<Before>, watch::Receiver<bool>) {
    let (tell, looked) = watch::channel(false);
    let before = tokio::task::spawn_blocking(move || {
        let before = Before {
            snapshot: dry_run.then(|| Snapshot::take(&root, &out)),
            base: repository.as_ref().and_then(Repository::base),
            prefix: repository.as_ref().map(Repository::prefix).unwrap_or_default(),
        };
        tell.send_replace(true);
        before
    });
    (before, looked)
}
