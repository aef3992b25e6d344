//! Shallow clones of repositories on a server: one commit and its files, kept and brought up to date.

use std::fs;
use std::path::Path;

use super::remote::remotely;
use super::{GitError, RemoteRepository, Repository};

/// The configuration of a clone. It is written anew each time, because whatever worked in the clone may have changed it.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

impl Repository {
    /// Brings the files of a folder to a commit of a repository on a server, without its history; a folder that is not there
    /// yet is made. `commit` is an id. One that cannot be brought there is made afresh.
    pub fn shallow_clone(folder: &Path, place: RemoteRepository<'_>, commit: &str) -> Result<Self, GitError> {
        if folder.join(".git").is_dir()
            && let Ok(found) = Self::bring_to(folder, place, commit)
        {
            return Ok(found);
        }
        // An earlier process may have been killed in the middle.
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        Self::bring_to(folder, place, commit)
    }

    fn bring_to(folder: &Path, place: RemoteRepository<'_>, commit: &str) -> Result<Self, GitError> {
        let git = folder.join(".git");
        fs::create_dir_all(git.join("objects/info"))?;
        fs::create_dir_all(git.join("refs/heads"))?;
        fs::write(git.join("config"), CONFIG)?;
        let git = git.canonicalize()?;
        if !git.join("HEAD").is_file() {
            fs::write(git.join("HEAD"), "ref: refs/heads/none\n")?;
        }
        let root = folder.canonicalize()?;
        let clone = Self::at(&git, &root)?;
        if !clone.has_commit(commit) {
            remotely(&git, place, ["fetch", "--quiet", "--no-tags", "--depth=1", place.url, commit])?;
        }
        clone.on_clone(&root, ["update-ref", "--no-deref", "HEAD", commit])?;
        clone.on_clone(&root, ["reset", "--quiet", "--hard"])?;
        clone.on_clone(&root, ["clean", "--quiet", "-ffdx"])?;
        // Objects that came with the fetch are seen by whoever looks for the first time.
        Self::at(&git, &root)
    }
}
