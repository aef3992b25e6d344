//! Baseline: the state of the checkout before the run changes anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sanitize::untrusted::visible;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use workspace::{IsProtected, ProtectedFiles, Snapshot};

use crate::agent::PendingMessages;
use crate::base::text::{grouped, shortened};
use crate::event::Base;
use crate::git::{LocalChanges, Repository};

/// Number of files of each kind that are named, and the longest part of a name in characters.
const MAX_NAMED: usize = 4;
const MAX_NAME: usize = 40;

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

/// Captures the commit and the states of files in the background; the receiver resolves when this is done, and the first tool waits for
/// it. Where files may change, only the protected ones are captured (`protected` says which they are).
pub(super) fn capture_baseline(
    Checkout { root, repository, is_fresh }: Checkout,
    out: PathBuf,
    protected: Option<IsProtected>,
    pending: Arc<PendingMessages>,
) -> (JoinHandle<Baseline>, watch::Receiver<bool>) {
    let (tell, ready) = watch::channel(false);
    let baseline = tokio::task::spawn_blocking(move || {
        let changed = repository.as_ref().filter(|_| !is_fresh);
        let mut changed = changed.and_then(|repository| repository.local_changes().ok()).unwrap_or_default();
        let own = repository.as_ref().and_then(|repository| out.strip_prefix(repository.root()).ok());
        changed.untracked.retain(|path| own.is_none_or(|own| !Path::new(path).starts_with(own)));
        let base = repository.as_ref().and_then(Repository::fresh_base);
        let base = base.map(|base| Base { dirty: !changed.tracked.is_empty(), ..base });
        let baseline = Baseline {
            snapshot: protected.is_none().then(|| Snapshot::take(&root, &out)),
            protected: protected.map(|rule| ProtectedFiles::remember(&root, rule)),
            base,
            prefix: repository.as_ref().map(Repository::prefix).unwrap_or_default(),
        };
        if let Some(told) = told(&changed) {
            pending.add(told);
        }
        tell.send_replace(true);
        baseline
    });
    (baseline, ready)
}

/// Returns what the agent is told of a checkout that does not hold what its commit holds.
fn told(changes: &LocalChanges) -> Option<String> {
    let kinds = [("changed", &changes.tracked), ("untracked", &changes.untracked)];
    let named = |(kind, files): (&str, &Vec<String>)| {
        let names: Vec<String> =
            files.iter().take(MAX_NAMED).map(|name| shortened(&visible(name), MAX_NAME)).collect();
        let more = files.len() - names.len();
        let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
        (!files.is_empty()).then(|| format!("{kind} {}{more}", names.join(", ")))
    };
    let named: Vec<String> = kinds.into_iter().filter_map(named).collect();
    (!named.is_empty()).then(|| {
        format!(
            "[The checkout contained uncommitted changes before you began: {}. They are not yours, and are not part of what you \
             deliver, unless the task says otherwise.]",
            named.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_others_are_named() {
        let names = |count: usize| (0..count).map(|n| format!("{n}.txt")).collect::<Vec<_>>();
        let changes =
            |tracked, untracked| LocalChanges { tracked: names(tracked), untracked: names(untracked) };
        assert_eq!(told(&changes(0, 0)), None);
        let one = told(&changes(1, 2)).expect("a note");
        assert!(one.contains("you began: changed 0.txt; untracked 0.txt, 1.txt. They are"), "{one}");
        let many = told(&changes(0, 1_009)).expect("a note");
        assert!(many.contains("untracked 0.txt, ") && many.contains(" 3.txt and 1,005 more. They"), "{many}");
    }
}
