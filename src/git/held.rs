//! A repository that is held open once it is found.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix_hash::Kind;
use parking_lot::Mutex;

use super::GitError;
use super::private::PrivateRepository;
use super::recent_objects::RecentObjects;
use super::settings::Settings;

/// The state that all views of a repository share.
pub(super) struct Held {
    /// The folder that contains the `.git` entry.
    pub(super) root: PathBuf,
    /// The folder of `HEAD` and the index.
    pub(super) git_dir: HeldFolder,
    /// The folder of objects, branches, and configuration. For a worktree, it is that of the main repository.
    pub(super) common: HeldFolder,
    pub(super) hash: Kind,
    pub(super) settings: Settings,
    /// The private repository that holds all fetched commits; dropping it deletes it. There is but one: Git does not follow
    /// repositories that borrow from each other deeper than a few.
    pub(super) fetched: Mutex<Option<PrivateRepository>>,
    /// Held while a commit is fetched, because two fetches would lock each other out of the same files.
    pub(super) fetching: Mutex<()>,
    pub(super) store: Mutex<Option<Arc<gix_odb::Store>>>,
    pub(super) recent: RecentObjects,
}

/// A folder that is held open, so that a replacement at the same path is detected.
#[derive(Debug)]
pub(super) struct HeldFolder {
    path: PathBuf,
    #[cfg_attr(not(unix), allow(dead_code, reason = "other systems have no device and inode to compare"))]
    opened: Option<File>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("root", &self.root)
            .field("git_dir", &self.git_dir)
            .finish_non_exhaustive()
    }
}

impl HeldFolder {
    fn open(path: PathBuf) -> Self {
        let opened = File::open(&path).ok();
        Self { path, opened }
    }

    /// Returns the path, or [`GitError::Replaced`] if it no longer names the folder that was opened.
    pub(super) fn path(&self) -> Result<&Path, GitError> {
        if self.is_same() { Ok(&self.path) } else { Err(GitError::Replaced(self.path.display().to_string())) }
    }

    #[cfg(unix)]
    fn is_same(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let then = self.opened.as_ref().and_then(|opened| opened.metadata().ok());
        let now = fs::symlink_metadata(&self.path).ok();
        then.zip(now).is_some_and(|(then, now)| (then.dev(), then.ino()) == (now.dev(), now.ino()))
    }

    #[cfg(not(unix))]
    fn is_same(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|now| now.is_dir())
    }
}

impl Held {
    pub(super) fn new(root: PathBuf, git_dir: PathBuf, common: PathBuf) -> Result<Self, GitError> {
        let settings = Settings::read(&common, &git_dir)?;
        let unusable = |problem: String| GitError::Unusable { path: common.display().to_string(), problem };
        let hash = match settings.own("extensions", "objectformat") {
            None | Some("sha1") => Kind::Sha1,
            Some("sha256") => Kind::Sha256,
            Some(other) => return Err(unusable(format!("its objects use the unsupported hash {other:?}"))),
        };
        if let Some(other) = settings.own("extensions", "refstorage").filter(|kind| *kind != "files") {
            return Err(unusable(format!("its branches are stored in the unsupported format {other:?}")));
        }
        let (git_dir, common) = (HeldFolder::open(git_dir), HeldFolder::open(common));
        Ok(Self {
            root,
            git_dir,
            common,
            hash,
            settings,
            fetched: Mutex::default(),
            fetching: Mutex::default(),
            store: Mutex::default(),
            recent: RecentObjects::default(),
        })
    }
}
