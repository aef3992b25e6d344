//! Records of worktrees that nobody finishes: Git keeps one folder for each worktree, and a Git that is killed while it makes one
//! leaves a record that is half there. Some of these end every later command of Git in the repository, and Git itself never
//! removes those that it has marked as locked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{GitError, Repository};

/// Age from which a record that is half there is taken for one that nobody finishes, if it may be of a process that does not
/// take our lock. Git needs milliseconds.
const ABANDONED: Duration = Duration::from_mins(1);

/// The reason for which Git locks a record while it makes the worktree.
const INITIALIZING: &str = "initializing";

/// The record of a worktree.
struct WorktreeRecord {
    folder: PathBuf,
    /// The worktree, as far as the record names one.
    worktree: Option<PathBuf>,
}

impl WorktreeRecord {
    fn read(folder: PathBuf) -> Self {
        let named = fs::read_to_string(folder.join("gitdir")).unwrap_or_default();
        let named = Some(named.trim_end_matches(['\r', '\n'])).filter(|named| !named.is_empty());
        // It may be written relative to the record.
        let entry = named.map(|named| folder.join(named));
        let worktree = entry.and_then(|entry| entry.parent().map(Path::to_owned));
        Self { folder, worktree }
    }

    /// Returns whether Git, which writes these files one after the other, was not done with it.
    fn is_incomplete(&self) -> bool {
        let is_empty = |name: &str| !fs::metadata(self.folder.join(name)).is_ok_and(|file| file.len() > 0);
        self.worktree.is_none() || is_empty("HEAD") || is_empty("commondir")
    }

    /// Returns whether Git still makes the worktree, or was killed meanwhile.
    fn is_initializing(&self) -> bool {
        fs::read_to_string(self.folder.join("locked")).is_ok_and(|reason| reason.trim_end() == INITIALIZING)
    }

    /// Returns whether the worktree no longer exists.
    fn is_gone(&self) -> bool {
        let entry = self.worktree.as_ref().map(|worktree| fs::symlink_metadata(worktree.join(".git")));
        entry.is_none_or(|entry| entry.is_err_and(|error| error.kind() == io::ErrorKind::NotFound))
    }

    fn is_abandoned(&self) -> bool {
        let changed = fs::metadata(&self.folder).and_then(|folder| folder.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age >= ABANDONED))
    }

    /// Returns whether nobody needs the record. Nobody makes a worktree of ours at the moment, because the lock is held.
    fn is_left_over(&self, is_ours: impl Fn(&Path) -> bool) -> bool {
        if self.worktree.as_deref().is_some_and(is_ours) {
            return self.is_gone() || self.is_incomplete() || self.is_initializing();
        }
        // Worktrees of others may be on disks that are not mounted.
        let is_half_made = self.is_incomplete() || self.is_initializing() && self.is_gone();
        is_half_made && self.is_abandoned()
    }
}

impl Repository {
    /// Removes the records of worktrees of ours that are gone or were never finished, and those of others that were never
    /// finished. Needs the lock. `is_ours` tells whether a folder is a worktree of ours.
    pub(crate) fn clear_worktree_records(&self, is_ours: impl Fn(&Path) -> bool) -> Result<(), GitError> {
        let records = fs::read_dir(self.held.common.path()?.join("worktrees"));
        for entry in records.into_iter().flatten().flatten() {
            // A link leads to what is not Git's.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && WorktreeRecord::read(entry.path()).is_left_over(&is_ours) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::SystemTime;

    use super::*;

    const OURS: &str = "out/.worktrees";

    fn git(folder: &Path, args: &[&str]) -> bool {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(folder)
            .output()
            .expect("git runs")
            .status
            .success()
    }

    #[test]
    fn records_that_nobody_finishes_are_cleared() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("a path");
        let repo = top.join("repo");
        fs::create_dir(&repo).expect("a folder");
        assert!(
            git(&repo, &["init", "--quiet"])
                && git(&repo, &["commit", "--quiet", "--allow-empty", "-m", "a"])
        );
        let records = repo.join(".git/worktrees");
        let add = |below: &str, name: &str| {
            let path = top.join(below).join(name);
            assert!(git(&repo, &["worktree", "add", "--detach", path.to_str().expect("UTF-8")]), "{name}");
            (path, records.join(name))
        };
        let long_ago = SystemTime::now() - 2 * ABANDONED;
        let age = |record: &Path| {
            fs::File::open(record).and_then(|file| file.set_modified(long_ago)).expect("a time");
        };
        let write = |path: PathBuf, text: &str| fs::write(path, text).expect("a file");
        // What is alive stays, whosever it is; so does what people have locked or cannot reach now.
        let (alive, _) = add(OURS, "alive");
        let (_, others) = add("mine", "others");
        let (away, unmounted) = add("mine", "unmounted");
        write(unmounted.join("locked"), "on a stick\n");
        fs::remove_dir_all(away).expect("removed");
        // Another Git may be making these.
        let (_, young) = add("mine", "young");
        write(young.join("locked"), INITIALIZING);
        let (_, fresh) = add("mine", "fresh");
        fs::remove_file(fresh.join("gitdir")).expect("removed");
        // Those of a start that was killed.
        let (_, without) = add(OURS, "without");
        write(without.join("locked"), INITIALIZING);
        fs::remove_file(without.join("HEAD")).expect("removed");
        let (gone, _) = add(OURS, "gone");
        fs::remove_dir_all(gone).expect("removed");
        let (missing, locked) = add(OURS, "locked");
        write(locked.join("locked"), INITIALIZING);
        fs::remove_dir_all(missing).expect("removed");
        let (_, never) = add("elsewhere", "never");
        fs::remove_file(never.join("commondir")).expect("removed");
        fs::create_dir(records.join("empty")).expect("a folder");
        write(records.join("empty/locked"), INITIALIZING);
        for old in [&others, &unmounted, &never, &records.join("empty")] {
            age(old);
        }
        // The worst: with an empty file, nothing that looks at worktrees works any more.
        let (_, half) = add(OURS, "half");
        write(half.join("commondir"), "");
        assert!(!git(&repo, &["worktree", "list"]));

        let found = Repository::find(&repo, None).expect("a repository").expect("a repository");
        found.clear_worktree_records(|path| path.starts_with(top.join(OURS))).expect("cleared");
        let left = fs::read_dir(&records).expect("records").flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name().into_string().expect("UTF-8")).collect();
        left.sort();
        assert_eq!(left, ["alive", "fresh", "others", "unmounted", "young"]);
        assert!(git(&repo, &["worktree", "list"]) && git(&alive, &["status"]));
    }
}
