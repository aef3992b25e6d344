//! Folders of the run: a link in the repository must not lead them elsewhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::trust::normalize;

/// Makes a path absolute, and refuses one that goes through a link of the repository. Links above the repository
/// (or `border`, where all repositories of a job are) are the machine's, and followed.
pub(super) fn without_links(path: &Path, border: Option<&Path>) -> io::Result<PathBuf> {
    let full = normalize(&std::path::absolute(path)?);
    let border = border.and_then(|border| border.canonicalize().ok());
    let mut above: Vec<&Path> = full.ancestors().collect();
    above.reverse();
    let is_top = |folder: &Path| {
        fs::symlink_metadata(folder.join(".git")).is_ok()
            || border.as_deref().is_some_and(|border| folder.canonicalize().is_ok_and(|it| it == border))
    };
    let Some(top) = above.iter().position(|folder| is_top(folder)) else { return Ok(full) };
    for folder in &above[top + 1..] {
        match fs::symlink_metadata(folder) {
            Ok(metadata) if metadata.is_symlink() => {
                return Err(io::Error::other(format!(
                    "{} is a link, which the repository could point anywhere; use the folder itself",
                    folder.display()
                )));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        }
    }
    Ok(full)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_of_the_repository_are_refused_and_those_above_it_are_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("repo");
        fs::create_dir_all(root.join(".git")).expect("folders");
        fs::create_dir_all(root.join("real/below")).expect("folders");
        symlink("real", root.join("app")).expect("a link");
        symlink("repo", dir.path().join("alias")).expect("a link");
        symlink(&root, dir.path().join("absolute")).expect("a link");
        for good in
            ["repo", "repo/real/below", "alias/real", "absolute", "repo/new/folder", "repo/app/../real"]
        {
            assert!(without_links(&dir.path().join(good), None).is_ok(), "{good}");
        }
        for bad in ["repo/app", "repo/app/below", "alias/app", "repo/real/../app"] {
            assert!(without_links(&dir.path().join(bad), None).is_err(), "{bad}");
        }
        let other = dir.path().join("other");
        fs::create_dir_all(&other).expect("a folder");
        symlink("/", other.join("app")).expect("a link");
        assert!(without_links(&other.join("app"), None).is_ok());
        assert!(without_links(&other.join("app"), Some(&other)).is_err());
    }
}
