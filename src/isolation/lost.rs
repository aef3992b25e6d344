//! Changes that commands and hooks made, and that could not be kept. Unless somebody makes them again, the run has not done what it
//! says.

use std::collections::BTreeSet;

use workspace::WorkspacePath;

use super::{IsolatedRun, Isolation, Keep};
use crate::event::NoticeLevel;

impl Isolation {
    /// Records and reports that the changes of a command, or of the hook `owner`, were lost.
    pub(super) fn note_lost(&self, ran: &IsolatedRun, keep: Keep, owner: Option<&str>) {
        let Some(lost) = ran.lost.as_ref().filter(|_| keep == Keep::Changes) else { return };
        let files = lost.files.clone().unwrap_or_else(|| vec![WorkspacePath::root()]);
        self.lost.lock().extend(files);
        let whose = owner.map_or_else(|| "a command".to_owned(), |owner| format!("the {owner}"));
        let message = format!("what {whose} changed could not be kept: {}", lost.reason);
        self.events.notice(NoticeLevel::Warning, message);
    }

    /// Returns the files whose changes were lost, and that nobody has changed at another time; of files that are not known, the
    /// folder of the workspace stands for all.
    pub fn lost_changes(&self) -> Vec<WorkspacePath> {
        let lost: BTreeSet<WorkspacePath> = self.lost.lock().clone();
        let changed =
            if lost.is_empty() { BTreeSet::new() } else { self.below.changed().unwrap_or_default() };
        lost.into_iter().filter(|path| !changed.contains(path)).collect()
    }
}
