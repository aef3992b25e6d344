//! Location of a path relative to the repository, decided by its text and not by links that the repository
//! contains.

use std::path::{Component, Path, PathBuf};

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// Into the repository; the path relative to its root.
    Inside(String),
    /// To a file of the machine.
    Outside(PathBuf),
    /// Into the repository, by a link from outside of it.
    Linked(PathBuf),
}

/// Locates a path, without following the repository's own links. `root` is the repository's root, absolute
/// and without links.
pub(super) fn locate(root: &Path, path: &Path) -> Location {
    let full = normalize(path);
    // From the top: folders above the root belong to the machine, so their links may be followed.
    let mut above: Vec<&Path> = full.ancestors().collect();
    above.reverse();
    for folder in above {
        if folder.canonicalize().is_ok_and(|folder| folder == root)
            && let Ok(below) = full.strip_prefix(folder)
        {
            let names: Vec<_> = below.components().map(|name| name.as_os_str().to_string_lossy()).collect();
            return Location::Inside(names.join("/"));
        }
    }
    let folder = path.parent().and_then(|parent| parent.canonicalize().ok());
    let file = path.canonicalize().ok();
    if folder.into_iter().chain(file).any(|place| place.starts_with(root)) {
        Location::Linked(path.to_owned())
    } else {
        Location::Outside(path.to_owned())
    }
}

/// Removes `.` and `..` from a path by its text alone, without following links.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normalized.pop()),
            other => normalized.push(other),
        }
    }
    normalized
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn words_decide_and_links_of_the_repository_do_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path().canonicalize().expect("a path");
        let root = dir.join("repo");
        std::fs::create_dir_all(root.join("app")).expect("folders");
        std::fs::create_dir_all(dir.join("other")).expect("folders");
        symlink("app", root.join("ci")).expect("a link");
        symlink("../other", root.join("out")).expect("a link");
        symlink("repo", dir.join("alias")).expect("a link");
        symlink("repo/app", dir.join("into")).expect("a link");
        let inside = |path: &str| Location::Inside(path.to_owned());
        assert_eq!(locate(&root, &root.join("ci/a.yml")), inside("ci/a.yml"));
        assert_eq!(locate(&root, &root.join("out/a.yml")), inside("out/a.yml"));
        assert_eq!(locate(&root, &root.join("app/../b.yml")), inside("b.yml"));
        assert_eq!(locate(&root, &dir.join("alias/x/a.yml")), inside("x/a.yml"));
        assert_eq!(locate(&root, &dir.join("into/a.yml")), Location::Linked(dir.join("into/a.yml")));
        assert_eq!(locate(&root, &dir.join("other/a.yml")), Location::Outside(dir.join("other/a.yml")));
    }
}
