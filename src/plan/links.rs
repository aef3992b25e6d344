//! Links that a plan makes, and where they lead: none may lead out of the workspace, or into a Git folder.

use std::path::Path;
use std::sync::Arc;

use workspace::{
    ChangeSet, DiskWorkspace, FileChange, FileError, LastLink, Mode, OverlayWorkspace, Workspace,
    WorkspacePath,
};

/// Returns a link that these changes make, and that a plan of them would be refused for: one that may lead out of the
/// workspace or into a Git folder, by its target alone or by where it leads once all of them are made.
pub(crate) fn link_outside(root: &Path, changes: &ChangeSet) -> Result<Option<WorkspacePath>, FileError> {
    let by_target = changes.iter().find(|change| {
        let link = change.after.as_ref().filter(|after| after.mode == Mode::Link);
        link.is_some_and(|link| may_lead_outside(&change.path, &link.content))
    });
    match by_target {
        Some(change) => Ok(Some(change.path.clone())),
        None => leads_outside(root, changes),
    }
}

/// Returns the reason for which such a link is refused.
pub(crate) fn outside(link: &WorkspacePath) -> String {
    format!("{link} would be a link that may lead outside of the workspace")
}

/// Returns a link among the changes that leads out of the workspace or into a Git folder once all of them are made,
/// whatever other links it leads through.
fn leads_outside(root: &Path, changes: &ChangeSet) -> Result<Option<WorkspacePath>, FileError> {
    let is_link = |change: &&FileChange| change.after.as_ref().is_some_and(|after| after.mode == Mode::Link);
    let links: Vec<&WorkspacePath> = changes.iter().filter(is_link).map(|change| &change.path).collect();
    if links.is_empty() {
        return Ok(None);
    }
    let disk = DiskWorkspace::open(root);
    let disk = disk.map_err(|error| FileError::Io { path: WorkspacePath::root(), error })?;
    let planned = OverlayWorkspace::new(Arc::new(disk));
    planned.absorb(&changes.iter().cloned().collect::<Vec<_>>())?;
    let is_inside = |link: &WorkspacePath| match planned.resolve(link, LastLink::Follow) {
        Ok(to) => !to.folded().split('/').any(|name| name == ".git"),
        // A circle leads nowhere.
        Err(error) => matches!(error, FileError::LinkLoop(_)),
    };
    Ok(links.into_iter().find(|link| !is_inside(link)).cloned())
}

/// Returns `true` if a link may lead outside by its target alone. A target may first climb, then descend: no folder above the
/// link is a link itself, so the way up is known, but a `..` after a name may lead anywhere. On Windows, a backslash separates names as
/// well, and a drive may come first.
pub(crate) fn may_lead_outside(link: &WorkspacePath, target: &[u8]) -> bool {
    let Ok(target) = std::str::from_utf8(target) else { return true };
    let mut names = target.split('/').filter(|name| !matches!(*name, "" | ".")).peekable();
    let mut climbed = 0;
    while names.next_if(|name| *name == "..").is_some() {
        climbed += 1;
    }
    let folders = link.names().count().saturating_sub(1);
    let has_drive = target.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && target.get(1..).is_some_and(|rest| rest.starts_with(':'));
    target.starts_with('/')
        || target.contains('\\')
        || has_drive
        || climbed > folders
        || names.any(|name| name == "..")
        || WorkspacePath::parse(target.trim_start_matches("../"))
            .is_ok_and(|path| path.folded().split('/').any(|name| name == ".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_lead_outside_on_any_system_are_found() {
        for (link, target, is_outside) in [
            ("l", r"..\..\..\evil", true),
            ("l", r"a\..\..\evil", true),
            ("l", r"a\b", true),
            ("l", "C:/Windows/x", true),
            ("l", "c:x", true),
            ("l", "/etc", true),
            ("l", "../x", true),
            ("a/l", "../x", false),
            ("l", "a/b", false),
            ("l", "é:x", false),
        ] {
            let link = WorkspacePath::parse(link).expect("a path");
            assert_eq!(may_lead_outside(&link, target.as_bytes()), is_outside, "{target}");
        }
    }
}
