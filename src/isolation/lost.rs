//! Changes that commands and hooks made, and that could not be kept. Unless somebody makes them again, the run has not done what it
//! says.

use std::collections::BTreeSet;

use workspace::{FileState, WorkspacePath};

use super::{IsolatedRun, Isolation, Keep};
use crate::event::NoticeLevel;

/// What a file was when a change of it was lost.
#[derive(Clone, Debug)]
pub(super) enum AtLoss {
    /// As it was before the run.
    Original,
    /// The run had changed it already.
    Changed(Option<FileState>),
}

impl Isolation {
    /// Records and reports that the changes of a command, or of the hook `owner`, were lost.
    pub(super) fn note_lost(&self, ran: &IsolatedRun, keep: Keep, owner: Option<&str>) {
        let Some(lost) = ran.lost.as_ref().filter(|_| keep == Keep::Changes) else { return };
        let files = lost.files.clone().unwrap_or_else(|| vec![WorkspacePath::root()]);
        let changed = self.below.changed().unwrap_or_default();
        let at_loss = |path: WorkspacePath| {
            let state = if changed.contains(&path) {
                AtLoss::Changed(self.below.state(&path).unwrap_or_default())
            } else {
                AtLoss::Original
            };
            (path, state)
        };
        let states: Vec<(WorkspacePath, AtLoss)> = files.into_iter().map(at_loss).collect();
        self.lost.lock().extend(states);
        let whose = owner.map_or_else(|| "a command".to_owned(), |owner| format!("the {owner}"));
        let message = format!("what {whose} changed could not be kept: {}", lost.reason);
        self.events.notice(NoticeLevel::Warning, message);
    }

    /// Returns the files whose changes were lost, and that nobody has changed since then; of files that are not known, the
    /// folder of the workspace stands for all.
    pub fn lost_changes(&self) -> Vec<WorkspacePath> {
        let lost = self.lost.lock().clone();
        let changed =
            if lost.is_empty() { BTreeSet::new() } else { self.below.changed().unwrap_or_default() };
        let is_made_again = |path: &WorkspacePath, at_loss: &AtLoss| match at_loss {
            AtLoss::Original => changed.contains(path),
            AtLoss::Changed(before) => self.below.state(path).is_ok_and(|now| now != *before),
        };
        let still = lost.into_iter().filter(|(path, at_loss)| !is_made_again(path, at_loss));
        still.map(|(path, _)| path).collect()
    }
}
