//! Protected files, recorded as they were at the start: whatever else prevents writes, at the end of a run
//! they are compared once more, byte for byte, without asking Git or ignore files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::git_folder_guard::{File, GitFolder, Restored, read, remove, same, write};
use super::path::WorkspacePath;

/// A predicate for paths that a rule protects from being written.
pub type IsProtected = std::sync::Arc<dyn Fn(&WorkspacePath) -> bool + Send + Sync>;

/// The protected files of a checkout, and those in the Git folder that would run or redirect something later.
pub struct ProtectedFiles {
    root: PathBuf,
    is_protected: IsProtected,
    files: BTreeMap<PathBuf, File>,
    git: Option<GitFolder>,
}

impl ProtectedFiles {
    /// Records the content of all protected files below `root`.
    pub fn remember(root: &Path, is_protected: IsProtected) -> Self {
        let paths = protected(root, &is_protected);
        let files = paths.into_iter().filter_map(|path| Some((path.clone(), read(&root.join(path)).ok()?)));
        Self { files: files.collect(), git: GitFolder::remember(root), root: root.to_owned(), is_protected }
    }

    /// Restores the files that differ, removes those that are new, and returns all of them. `after` says
    /// after what this is done, for the report.
    pub fn restore(&self, after: &str) -> Vec<Restored> {
        let mut restored = self.git.as_ref().map_or_else(Vec::new, |git| git.restore(after));
        let mut note = |path: &Path, back: bool| {
            restored.push(Restored { path: self.root.join(path), after: after.to_owned(), back });
        };
        let now = protected(&self.root, &self.is_protected);
        for path in now.iter().filter(|path| !self.files.contains_key(*path)) {
            note(path, remove(&self.root.join(path)).is_ok());
        }
        for (path, file) in &self.files {
            let full = self.root.join(path);
            if !read(&full).is_ok_and(|now| same(&now.content, &file.content)) {
                note(path, self.clear_way(path) && write(&full, &file.content).is_ok());
            }
        }
        restored
    }

    /// Replaces whatever is in the place of a folder above the file by a folder, so that nothing is
    /// written through a link. Returns whether the folder now exists.
    fn clear_way(&self, path: &Path) -> bool {
        let mut way = self.root.clone();
        for name in path.parent().into_iter().flat_map(Path::components) {
            way.push(name);
            match fs::symlink_metadata(&way) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => {
                    return fs::remove_file(&way)
                        .and_then(|()| fs::create_dir_all(self.root.join(path.parent().unwrap_or(path))))
                        .is_ok();
                }
                Err(_) => return fs::create_dir_all(self.root.join(path.parent().unwrap_or(path))).is_ok(),
            }
        }
        true
    }
}

/// Lists the protected files that exist, including those whose names are not UTF-8.
fn protected(root: &Path, is_protected: &IsProtected) -> BTreeSet<PathBuf> {
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(|entry| entry.depth() != 1 || entry.file_name() != ".git")
        .build();
    let found = walk.flatten().filter_map(|entry| {
        let is_file = entry.depth() > 0 && entry.file_type().is_some_and(|kind| !kind.is_dir());
        let relative = entry.path().strip_prefix(root).ok().filter(|_| is_file)?;
        let path = WorkspacePath::parse(&relative.to_string_lossy()).ok()?;
        is_protected(&path).then(|| relative.to_owned())
    });
    found.collect()
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn protected_files_are_put_back_whatever_hides_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path();
        let folder = root.join(".github/workflows");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("ci.yml"), "on: push\n").expect("a file");
        let rule: IsProtected = Arc::new(|path| path.as_str().starts_with(".github/workflows"));
        let protected = ProtectedFiles::remember(root, Arc::clone(&rule));
        assert_eq!(protected.restore("ls"), []);
        fs::write(root.join(".gitignore"), ".github\n").expect("a file");
        fs::write(folder.join("ci.yml"), "on: evil\n").expect("a file");
        fs::write(folder.join(OsStr::from_bytes(b"\xff.yml")), "on: evil\n").expect("a file");
        let restored = protected.restore("a server");
        assert_eq!(restored.len(), 2);
        assert!(restored.iter().all(|restored| restored.back));
        assert_eq!(fs::read_to_string(folder.join("ci.yml")).expect("a file"), "on: push\n");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
        // The folder became a link, whose target must not be touched.
        let elsewhere = tempfile::tempdir().expect("a folder");
        fs::write(elsewhere.path().join("ci.yml"), "mine").expect("a file");
        fs::remove_dir_all(&folder).expect("removed");
        std::os::unix::fs::symlink(elsewhere.path(), &folder).expect("a link");
        assert!(protected.restore("a server").iter().all(|restored| restored.back));
        assert_eq!(fs::read_to_string(folder.join("ci.yml")).expect("a file"), "on: push\n");
        assert_eq!(fs::read_to_string(elsewhere.path().join("ci.yml")).expect("a file"), "mine");
    }
}
