//! Shallow clones of repositories on a server: one commit and its files, kept and brought up to date.

use std::fs;
use std::path::Path;

use super::remote::remotely;
use super::worktree::SPARSE;
use super::{Cone, GitError, RemoteRepository, Repository};

/// The configuration of a clone. It is rewritten each time, because whatever worked in the clone may have changed it.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

/// Reason why a clone is not at the commit.
enum CloneError {
    /// The server did not give it.
    Server(GitError),
    /// The clone cannot be used, or does not take it.
    Clone(GitError),
}

impl<E: Into<GitError>> From<E> for CloneError {
    fn from(error: E) -> Self {
        Self::Clone(error.into())
    }
}

impl Repository {
    /// Brings the files of a folder to a commit of a repository on a server, without its history; a folder that is not there
    /// yet is made. `commit` is an id; with `cone`, only that part of its files is there. A broken clone is made afresh, and so is
    /// one with another part; one that the server gives nothing to stays.
    pub fn shallow_clone(
        folder: &Path,
        place: RemoteRepository<'_>,
        commit: &str,
        cone: Option<&Cone>,
    ) -> Result<Self, GitError> {
        if folder.join(".git").is_dir() && has_part(folder, cone) {
            match Self::bring_to(folder, place, commit, cone) {
                Ok(found) => return Ok(found),
                Err(CloneError::Server(error)) if is_sound(folder) => return Err(error),
                Err(_) => {}
            }
        }
        // An earlier process may have been killed in the middle.
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        Self::bring_to(folder, place, commit, cone)
            .map_err(|(CloneError::Server(error) | CloneError::Clone(error))| error)
    }

    fn bring_to(
        folder: &Path,
        place: RemoteRepository<'_>,
        commit: &str,
        cone: Option<&Cone>,
    ) -> Result<Self, CloneError> {
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
            let args = ["fetch", "--quiet", "--no-tags", "--depth=1", place.url, commit];
            remotely(&git, place, args).map_err(CloneError::Server)?;
        }
        clone.on_clone(&root, ["update-ref", "--no-deref", "HEAD", commit], None)?;
        match cone {
            Some(cone) => clone.fill_sparsely(cone, None)?,
            None => clone.on_clone(&root, ["reset", "--quiet", "--hard"], None)?,
        }
        clone.on_clone(&root, ["clean", "--quiet", "-ffdx"], None)?;
        // Objects that came with the fetch are seen by whoever looks for the first time.
        Ok(Self::at(&git, &root)?)
    }
}

/// Returns whether a clone has this part of its commit on disk, and not another one.
fn has_part(folder: &Path, cone: Option<&Cone>) -> bool {
    let has = fs::read_to_string(folder.join(".git").join(SPARSE)).ok();
    has == cone.map(Cone::patterns)
}

/// Returns whether a clone holds all of the commit that it is at, and nothing of a fetch that was cut off.
fn is_sound(folder: &Path) -> bool {
    let git = folder.join(".git");
    // A fetch that was killed leaves these, and each later one fails because of them.
    let is_cut_off = ["shallow.lock", "index.lock", "HEAD.lock"].iter().any(|name| git.join(name).exists());
    let check = || {
        let (git, root) = (git.canonicalize()?, folder.canonicalize()?);
        let check = ["fsck", "--connectivity-only", "--no-dangling"];
        Repository::at(&git, &root)?.on_clone(&root, check, None)
    };
    !is_cut_off && check().is_ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(args)
            .current_dir(folder)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[test]
    fn clone_is_made_afresh_only_if_it_is_broken() {
        let folder = tempfile::tempdir().expect("a folder");
        let (origin, clone) = (folder.path().join("origin"), folder.path().join("clone"));
        fs::create_dir(&origin).expect("a folder");
        git(&origin, &["init", "--quiet"]);
        let commit = |text: &str| {
            fs::write(origin.join("a.txt"), text).expect("a file");
            git(&origin, &["add", "a.txt"]);
            git(&origin, &["commit", "--quiet", "-m", text]);
            git(&origin, &["rev-parse", "HEAD"])
        };
        let url = |name: &str| format!("file://{}", folder.path().join(name).display());
        let bring = |name: &str, commit: &str| {
            let url = url(name);
            let place =
                RemoteRepository { url: &url, server: "https://github.com", token: None, limit: None };
            Repository::shallow_clone(&clone, place, commit, None).map(drop)
        };
        let first = commit("one");
        bring("origin", &first).expect("a clone");
        let mark = clone.join(".git/mark");
        fs::write(&mark, "").expect("a file");
        let second = commit("two");
        // The server is gone: what is there stays, and is used again.
        bring("nowhere", &second).expect_err("no server");
        assert!(mark.exists());
        bring("origin", &second).expect("brought up to date");
        assert!(mark.exists());
        assert_eq!(fs::read_to_string(clone.join("a.txt")).expect("a file"), "two");
        // A fetch was killed.
        let third = commit("three");
        fs::write(clone.join(".git/shallow.lock"), "").expect("a file");
        bring("origin", &third).expect("made afresh");
        assert!(!mark.exists());
        assert_eq!(fs::read_to_string(clone.join("a.txt")).expect("a file"), "three");
        // Objects are lost.
        fs::write(&mark, "").expect("a file");
        let fourth = commit("four");
        fs::remove_dir_all(clone.join(".git/objects")).expect("objects");
        bring("origin", &fourth).expect("made afresh or mended");
        assert_eq!(fs::read_to_string(clone.join("a.txt")).expect("a file"), "four");
    }

    #[test]
    fn clone_has_the_part_that_is_wanted_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let (origin, clone) = (folder.path().join("origin"), folder.path().join("clone"));
        fs::create_dir_all(origin.join("a/b")).expect("a folder");
        fs::create_dir_all(origin.join("c")).expect("a folder");
        git(&origin, &["init", "--quiet"]);
        let commit = |text: &str| {
            for file in ["top.txt", "a/next.txt", "a/b/own.txt", "c/other.txt"] {
                fs::write(origin.join(file), text).expect("a file");
            }
            git(&origin, &["add", "--all"]);
            git(&origin, &["commit", "--quiet", "-m", text]);
            git(&origin, &["rev-parse", "HEAD"])
        };
        let url = format!("file://{}", origin.display());
        let bring = |commit: &str, cone: Option<&Cone>| {
            let place =
                RemoteRepository { url: &url, server: "https://github.com", token: None, limit: None };
            let clone = Repository::shallow_clone(&clone, place, commit, cone).expect("a clone");
            let changes = clone.local_changes().expect("a status");
            assert_eq!(changes, super::super::LocalChanges::default(), "what is not there is not changed");
        };
        let has = |file: &str| fs::read_to_string(clone.join(file)).ok();
        let cone = Cone::new(["a/b".to_owned()]).expect("a cone");
        for (text, cone, is_whole) in [
            ("1", Some(&cone), false),
            ("2", Some(&cone), false),
            ("3", None, true),
            ("4", Some(&cone), false),
        ] {
            // What an earlier run left in the place of what is not there; where that is a folder, nothing.
            let _ = fs::write(clone.join("c"), "in the way");
            bring(&commit(text), cone);
            for file in ["top.txt", "a/next.txt", "a/b/own.txt"] {
                assert_eq!(has(file).as_deref(), Some(text), "{file}");
            }
            assert_eq!(has("c/other.txt").as_deref(), is_whole.then_some(text), "{text}");
        }
    }
}
