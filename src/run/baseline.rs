//! Baseline: the state of the checkout before the run changes anything.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use workspace::{IsProtected, ProtectedFiles, Snapshot};

use crate::agent::News;
use crate::event::Base;
use crate::git::Repository;

/// What the agent is told of a checkout that does not hold what its commit holds.
const DIRTY: &str = "[The checkout contained uncommitted changes before you began. They are not yours, and are not part of \
                     what you deliver, unless the task says otherwise.]";

/// Where the checkout stood before the run.
#[derive(Default)]
pub(super) struct Baseline {
    pub(super) base: Option<Base>,
    /// The way from the repository's root to the workspace.
    pub(super) prefix: String,
    /// Taken in a dry run alone.
    pub(super) snapshot: Option<Snapshot>,
    /// Remembered where the checkout is changed.
    pub(super) protected: Option<ProtectedFiles>,
}

/// A checkout before a run.
pub(super) struct Checkout {
    pub(super) root: PathBuf,
    pub(super) repository: Option<Repository>,
    /// Whether its files have just been made from its commit.
    pub(super) is_fresh: bool,
}

/// The commit and where every file stands, or, where files may change (`protected` says which may not), what protected
/// ones hold: found out beside the first model call. The
/// receiver tells when that is done, and the first tool may run.
pub(super) fn capture_baseline(
    Checkout { root, repository, is_fresh }: Checkout,
    out: PathBuf,
    protected: Option<IsProtected>,
    news: Arc<News>,
) -> (JoinHandle<Baseline>, watch::Receiver<bool>) {
    let (tell, ready) = watch::channel(false);
    let baseline = tokio::task::spawn_blocking(move || {
        let baseline = Baseline {
            snapshot: protected.is_none().then(|| Snapshot::take(&root, &out)),
            protected: protected.map(|rule| ProtectedFiles::remember(&root, rule)),
            base: repository.as_ref().and_then(if is_fresh {
                Repository::fresh_base
            } else {
                Repository::base
            }),
            prefix: repository.as_ref().map(Repository::prefix).unwrap_or_default(),
        };
        if baseline.base.as_ref().is_some_and(|base| base.dirty) {
            news.add(DIRTY);
        }
        tell.send_replace(true);
        baseline
    });
    (baseline, ready)
}
