//! Private repository for the `git` program to work on: it borrows the clone's objects, and everything else
//! in it, above all the configuration, is written here.

use std::fs;
use std::path::{Path, PathBuf};

use gix_hash::Kind;
use tempfile::TempDir;

use super::GitError;
use super::held::Held;

/// Keys in `core` that say how files on disk relate to those in commits. A value is copied only if it is
/// alphanumeric.
const COPIED: [&str; 5] = ["autocrlf", "eol", "filemode", "ignorecase", "symlinks"];

/// A temporary repository; dropping it deletes it.
#[derive(Debug)]
pub(super) struct PrivateRepository(TempDir);

impl PrivateRepository {
    /// Creates a repository that borrows the objects of the clone, and those that were fetched.
    pub(super) fn new(held: &Held) -> Result<Self, GitError> {
        let folder = tempfile::Builder::new().prefix("architect-ci-git-").tempdir()?;
        let path = folder.path();
        fs::create_dir_all(path.join("objects/info"))?;
        fs::create_dir_all(path.join("refs/heads"))?;
        fs::write(path.join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(path.join("config"), config(held))?;
        let common = held.common.path()?;
        let fetched = held.fetched.lock();
        let source = fetched.as_ref().map_or(common, Self::path);
        let objects = source.join("objects");
        let name = objects.to_str().filter(|name| !name.contains('\n') && !name.starts_with('"'));
        let name = name.ok_or_else(|| GitError::Unusable {
            path: objects.display().to_string(),
            problem: "its path cannot be represented in a Git file".to_owned(),
        })?;
        fs::write(path.join("objects/info/alternates"), format!("{name}\n"))?;
        // The boundary of a shallow history.
        if let Ok(shallow) = fs::read(source.join("shallow")) {
            fs::write(path.join("shallow"), shallow)?;
        }
        Ok(Self(folder))
    }

    /// Returns the path of the repository.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the folder of its objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.path().join("objects")
    }
}

fn config(held: &Held) -> String {
    let mut text = match held.hash {
        Kind::Sha256 => {
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n".to_owned()
        }
        _ => "[core]\n\trepositoryformatversion = 0\n".to_owned(),
    };
    text += "[core]\n\tbare = false\n";
    for key in COPIED {
        let value = held.settings.last("core", key);
        if let Some(word) = value.filter(|value| value.chars().all(|c| c.is_ascii_alphanumeric())) {
            text += &format!("\t{key} = {word}\n");
        }
    }
    text
}
