//! References: where `HEAD` is, and what the commits there say.

use std::fs;

use gix_hash::ObjectId;

use super::Repository;
use super::objects::Commit;
use crate::event::Base;

/// Maximum length of a chain of symbolic references.
const MAX_STEPS: usize = 5;

impl Repository {
    /// Returns the id of the commit that is checked out, or `None` before the first commit.
    pub fn head(&self) -> Option<String> {
        self.resolve_head().map(|id| id.to_string())
    }

    /// Returns the commit that is checked out with its branch, and whether tracked files differ from it.
    pub fn base(&self) -> Option<Base> {
        let commit = self.head()?;
        let branch = self.branch();
        Some(Base { commit, branch, dirty: self.is_dirty().unwrap_or(false) })
    }

    /// Returns the commit that is checked out with its branch, where the files have just been made from it.
    pub fn fresh_base(&self) -> Option<Base> {
        Some(Base { commit: self.head()?, branch: self.branch(), dirty: false })
    }

    /// Returns the name of the branch that is checked out, if one is.
    pub fn branch(&self) -> Option<String> {
        let head = fs::read_to_string(self.held.git_dir.path().ok()?.join("HEAD")).ok()?;
        head.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned)
    }

    /// Returns id and subject of the last commits, the newest first, as far as the clone has them.
    pub fn last_commits(&self, count: usize) -> Vec<(String, String)> {
        let mut next = self.resolve_head();
        let mut commits = Vec::new();
        while let Some((id, commit)) = next.and_then(|id| Some((id, self.commit(&id).ok()?))) {
            if commits.len() == count {
                break;
            }
            let subject = commit.message.lines().next().unwrap_or_default().to_owned();
            commits.push((id.to_string(), subject));
            next = commit.parents.first().copied();
        }
        commits
    }

    /// Returns whether the checkout is at `commit`, or at a merge of it, which is what runners check out for
    /// pull requests.
    pub fn stands_on(&self, commit: &str) -> bool {
        let id = ObjectId::from_hex(commit.as_bytes()).ok();
        id.is_some_and(|id| self.head_and_merged().iter().any(|(other, _)| *other == id))
    }

    /// Returns whether the message of the commit that is checked out contains this line. For a merge, the
    /// message of the merged commit counts as well.
    pub fn is_at_trailer(&self, trailer: &str) -> bool {
        let commits = self.head_and_merged();
        let messages = commits.iter().filter_map(|(_, commit)| commit.as_ref());
        messages.into_iter().any(|commit| commit.message.lines().any(|line| line == trailer))
    }

    /// Returns the commit that is checked out and, if it is a merge, its second parent.
    fn head_and_merged(&self) -> Vec<(ObjectId, Option<Commit>)> {
        let Some(head) = self.resolve_head() else { return Vec::new() };
        let commit = self.commit(&head).ok();
        let merged = commit.as_ref().and_then(|commit| commit.parents.get(1).copied());
        let merged = merged.map(|id| (id, self.commit(&id).ok()));
        std::iter::once((head, commit)).chain(merged).collect()
    }

    fn resolve_head(&self) -> Option<ObjectId> {
        let mut text = fs::read_to_string(self.held.git_dir.path().ok()?.join("HEAD")).ok()?;
        for _ in 0..MAX_STEPS {
            let Some(name) = text.trim_end().strip_prefix("ref: ") else {
                return ObjectId::from_hex(text.trim_end().as_bytes()).ok();
            };
            text = self.reference(name)?;
        }
        None
    }

    /// Reads the content of a reference, from its own file or from `packed-refs`.
    pub(super) fn reference(&self, name: &str) -> Option<String> {
        let is_plain =
            name.starts_with("refs/") && !name.split('/').any(|part| matches!(part, "" | "." | ".."));
        let common = self.held.common.path().ok()?;
        if !is_plain {
            return None;
        }
        // A worktree's own references are in its own folder.
        let own = self.held.git_dir.path().ok()?.join(name);
        if let Ok(text) = fs::read_to_string(own).or_else(|_| fs::read_to_string(common.join(name))) {
            return Some(text);
        }
        let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
        let lines = packed.lines().filter_map(|line| line.split_once(' '));
        lines.into_iter().find(|(_, packed)| *packed == name).map(|(id, _)| id.to_owned())
    }
}
