//! Location of the workspace in its repository: rules name files from the repository's root, and calls from the workspace.

use std::borrow::Cow;
use std::path::{Component, Path};

use super::path::WorkspacePath;

/// Folder of a repository that is the workspace.
///
/// A run may work in a folder of the repository, and what protects a file must not depend on which one that is. So every
/// rule is asked for a file as it is named from the repository's root, and, because a rule may have been written for the
/// workspace, from each folder on the way down to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceLocation(WorkspacePath);

impl Default for WorkspaceLocation {
    /// Returns the location of a workspace that is the root itself.
    fn default() -> Self {
        Self(WorkspacePath::root())
    }
}

impl WorkspaceLocation {
    /// Returns the location of a workspace below the root of its repository.
    pub fn below(root: &Path, workspace: &Path) -> Self {
        let below = workspace.strip_prefix(root).unwrap_or(Path::new(""));
        let names = below.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        });
        Self(names.fold(WorkspacePath::root(), |folder, name| folder.child(&name)))
    }

    /// Returns a path of the workspace as it is named from the workspace, and from each folder above it up to the
    /// repository's root.
    pub fn names_of<'a>(&'a self, path: &'a WorkspacePath) -> impl Iterator<Item = Cow<'a, WorkspacePath>> {
        let names: Vec<&str> = self.0.names().collect();
        let from_above = (0..names.len()).rev().map(move |start| {
            let folder = names[start..].iter().fold(WorkspacePath::root(), |folder, name| folder.child(name));
            Cow::Owned(path.names().fold(folder, |folder, name| folder.child(name)))
        });
        std::iter::once(Cow::Borrowed(path)).chain(from_above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_name_from_every_folder_up_to_the_root() {
        let path = WorkspacePath::parse("src/main.rs").expect("a plain path");
        let names = |workspace: &str| {
            let location = WorkspaceLocation::below(Path::new("/repo"), Path::new(workspace));
            location.names_of(&path).map(|name| name.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("/repo"), "src/main.rs");
        assert_eq!(names("/repo/a/b"), "src/main.rs b/src/main.rs a/b/src/main.rs");
        assert_eq!(names("/elsewhere"), "src/main.rs");
    }
}
