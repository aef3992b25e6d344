//! Tally of a run's changes: how many files and lines differ from the checkout at the start. What was counted once is counted again
//! only if the run writes it again, because a run makes thousands of calls, and each is asked about all changes so far.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use workspace::{FileChange, LineCounts, Workspace, WorkspacePath};

use super::Refusal;
use crate::base::time_limit::{Grace, TimeLimit};

/// The files that differ, with their lines.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// Number of writes of the workspace that are counted.
    touches: usize,
    lines: BTreeMap<WorkspacePath, usize>,
    sum: usize,
}

/// Number of files and of lines that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) files: usize,
    pub(super) lines: usize,
}

impl Amount {
    /// Returns the amount of these changes, each of another file.
    pub(super) fn of<'c>(changes: impl IntoIterator<Item = &'c FileChange>) -> Self {
        changes.into_iter().fold(Self::default(), |sum, change| Self {
            files: sum.files + 1,
            lines: sum.lines + lines(change),
        })
    }
}

impl Tally {
    /// Returns the amount of the changes in a workspace, which is always the same one, once `later` ones are made.
    pub(super) fn with(
        &self,
        workspace: &dyn Workspace,
        later: &[FileChange],
        time_limit: &TimeLimit,
    ) -> Result<Amount, Refusal> {
        let mut counted = self.0.lock();
        let touched = workspace.touched_after(counted.touches);
        for path in touched.iter().collect::<BTreeSet<_>>() {
            let change = workspace.change_of(path)?;
            counted.set(path, change.as_ref());
        }
        counted.touches += touched.len();
        let mut amount = Amount { files: counted.lines.len(), lines: counted.sum };
        for (path, (first, last)) in ends(later) {
            if time_limit.is_over(Grace::Changes) {
                return Err(Refusal::TimeUp);
            }
            // A file that does not differ so far is as it was at the start.
            let before = match workspace.change_of(path)? {
                Some(change) => change.before,
                None => first.before.clone(),
            };
            let change = FileChange::new(path.clone(), before, last.after.clone());
            let earlier = counted.lines.get(path);
            amount.files = amount.files - usize::from(earlier.is_some()) + usize::from(change.is_some());
            amount.lines = amount.lines - earlier.copied().unwrap_or(0) + change.as_ref().map_or(0, lines);
        }
        Ok(amount)
    }
}

impl Counted {
    fn set(&mut self, path: &WorkspacePath, change: Option<&FileChange>) {
        self.sum -= self.lines.remove(path).unwrap_or(0);
        if let Some(change) = change {
            let lines = lines(change);
            self.lines.insert(path.clone(), lines);
            self.sum += lines;
        }
    }
}

/// Returns the first and the last change of each file.
fn ends(changes: &[FileChange]) -> BTreeMap<&WorkspacePath, (&FileChange, &FileChange)> {
    let mut ends = BTreeMap::new();
    for change in changes {
        ends.entry(&change.path).or_insert((change, change)).1 = change;
    }
    ends
}

fn lines(change: &FileChange) -> usize {
    let LineCounts { added, removed } = change.line_counts();
    added + removed
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use workspace::{DiskWorkspace, FileState, Mode, OverlayWorkspace, ResolvedPath, TrackedWorkspace};

    use super::*;

    /// Returns a file of so many lines, or none.
    fn state(lines: usize) -> Option<FileState> {
        let content = (0..lines).map(|line| format!("{line}\n")).collect::<String>();
        (lines > 0).then(|| FileState { content: content.into_bytes().into(), mode: Mode::Regular })
    }

    fn write(workspace: &dyn Workspace, path: &ResolvedPath, lines: usize) {
        let written = match state(lines) {
            Some(state) => workspace.write(path, &state.content),
            None => workspace.remove(path),
        };
        written.expect("it is written");
    }

    #[test]
    fn tally_is_what_a_look_at_all_changes_finds() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("0"), &*state(5).expect("a file").content).expect("a file");
        let disk = Arc::new(DiskWorkspace::open(folder.path()).expect("a folder"));
        let planned = OverlayWorkspace::new(Arc::clone(&disk));
        let real = TrackedWorkspace::new(disk);
        for workspace in [&planned as &dyn Workspace, &real] {
            let (tally, unlimited) = (Tally::default(), TimeLimit::default());
            for _ in 0..300 {
                let name = fastrand::usize(0..4).to_string();
                let path = WorkspacePath::parse(&name).expect("a path");
                let path = workspace.resolve(&path, workspace::LastLink::Follow).expect("a path");
                let now =
                    workspace.stat(&path).expect("a folder").map(|_| workspace.read(&path).expect("text"));
                let lines = fastrand::usize(usize::from(now.is_none())..9);
                let own = FileChange::new((*path).clone(), now, state(lines));
                let own: Vec<FileChange> = own.into_iter().collect();
                let expected = Amount::of(&workspace.changes().expect("changes").and(&own));
                assert_eq!(tally.with(workspace, &own, &unlimited).expect("an amount"), expected);
                if fastrand::bool() {
                    write(workspace, &path, lines);
                    let now = Amount::of(&workspace.changes().expect("changes"));
                    assert_eq!(tally.with(workspace, &[], &unlimited).expect("an amount"), now);
                }
            }
        }
    }
}
