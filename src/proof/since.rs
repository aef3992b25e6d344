//! The change of a checkout since a commit, with what is not committed.

use std::collections::BTreeSet;

use workspace::{
    ChangeSet, DiskWorkspace, FileChange, FileError, FileState, Mode, SensitiveFiles, WorkspacePath,
};

use crate::git::{GitError, Repository, TreeKind};

use super::ProofError;

/// Returns how the files of a checkout differ from a commit: the files that Git tracks, and new ones that it does not
/// ignore. Links, files that are too large, and those that commands must not see are left out.
pub(crate) fn changes_since(
    repository: &Repository,
    commit: &str,
    disk: &DiskWorkspace,
    sensitive: &SensitiveFiles,
) -> Result<ChangeSet, ProofError> {
    let paths: BTreeSet<String> =
        repository.changed_since(commit)?.into_iter().chain(repository.not_in_index()?).collect();
    let prefix = repository.prefix();
    let mut changes = Vec::new();
    for path in paths {
        let Ok(path) = WorkspacePath::parse(&path) else { continue };
        if sensitive.hides(&path) {
            continue;
        }
        let Some(before) = state_at(repository, commit, &format!("{prefix}{path}"))? else { continue };
        let after = match disk.state_of(&path) {
            Ok(after) => after,
            Err(FileError::TooLarge { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        if after.as_ref().is_some_and(|state| state.mode == Mode::Link) {
            continue;
        }
        changes.extend(FileChange::new(path, before, after));
    }
    Ok(ChangeSet::new(changes))
}

/// Returns the state of a file at a commit; `None` if it is something else than a file.
fn state_at(
    repository: &Repository,
    commit: &str,
    path: &str,
) -> Result<Option<Option<FileState>>, GitError> {
    let Some(entry) = repository.entry_at(commit, path)? else { return Ok(Some(None)) };
    let mode = match entry.kind {
        TreeKind::File => Mode::Regular,
        TreeKind::Executable => Mode::Executable,
        // A folder that a file has replaced holds files of their own.
        TreeKind::Folder => return Ok(Some(None)),
        TreeKind::Link | TreeKind::Submodule => return Ok(None),
    };
    let content = repository.read_at(commit, path)?;
    Ok(Some(content.map(|content| FileState { content: content.into(), mode })))
}
