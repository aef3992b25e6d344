//! A repository of our own, for the `git` program to work on: its objects are borrowed from the clone, and
//! everything else, above all the configuration, is ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use gix_hash::Kind;
use tempfile::TempDir;

use super::GitError;
use super::find::Held;

/// Settings that say how files on disk relate to those in commits. Each value is one word.
const COPIED: [&str; 5] = ["autocrlf", "eol", "filemode", "ignorecase", "symlinks"];

/// The repository; it goes with this value.
#[derive(Debug)]
pub(super) struct Private(TempDir);

impl Private {
    /// Makes one that borrows the objects of the clone.
    pub(super) fn new(held: &Held) -> Result<Self, GitError> {
        let folder = tempfile::Builder::new().prefix("architect-ci-git-").tempdir()?;
        let path = folder.path();
        fs::create_dir_all(path.join("objects/info"))?;
        fs::create_dir_all(path.join("refs/heads"))?;
        fs::write(path.join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(path.join("config"), config(held))?;
        let common = held.common.path()?;
        let fetched = held.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let source = fetched.last().map_or(common, Self::path);
        let objects = source.join("objects");
        let name = objects.to_str().filter(|name| !name.contains('\n') && !name.starts_with('"'));
        let name = name.ok_or_else(|| GitError::Unusable {
            path: objects.display().to_string(),
            problem: "its path cannot be represented in a Git file".to_owned(),
        })?;
        fs::write(path.join("objects/info/alternates"), format!("{name}\n"))?;
        // Where the clone's history ends.
        if let Ok(shallow) = fs::read(source.join("shallow")) {
            fs::write(path.join("shallow"), shallow)?;
        }
        Ok(Self(folder))
    }

    /// Returns the folder.
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the folder of the objects.
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
