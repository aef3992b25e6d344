//! Delivery of changes: commits them to a branch, and opens or updates its pull request.
//!
//! A branch of our own is recognized by a trailer in each of its commits; a branch with any other commit is
//! never overwritten.

use std::collections::{BTreeMap, BTreeSet};

use workspace::{ChangeSet, FileChange, FileState, Mode};

use super::api::Api;
use super::branch_states::{BranchStates, OpenPull};
use super::commit::{Blob, Commit, Entry, point};
use super::delivered::{DeliverError, Delivered, Target};
use super::swap::{NewTip, replace_tip};
use super::trailers::{Author, trailer};
use crate::base::verbose_log::detail;
use crate::git::Repository;

/// Maximum number of attempts if the branch moves while we commit, or if the response about a new pull
/// request is lost.
pub(super) const MAX_TRIES: u32 = 3;

/// A change set and everything needed to deliver it.
#[derive(Debug)]
pub struct Delivery<'a> {
    /// The changes, relative to the checkout.
    pub changes: &'a ChangeSet,
    /// The path from the repository's root to the workspace: empty, or ending in `/`.
    pub prefix: &'a str,
    /// The commit that is checked out, if its files are as that commit has them; saves comparing them with
    /// the branch.
    pub base: Option<&'a str>,
    /// The branch that the changes go to.
    pub target: Target,
    /// The commit message, already neutralized, without the trailers.
    pub message: String,
    /// Who has made the changes.
    pub author: Author,
    /// The key that distinguishes our branches from those of other jobs.
    pub key: &'a str,
    /// The clone, which saves requests if it holds the commit to build on.
    pub repository: Option<&'a Repository>,
    /// States of branches that were requested together.
    pub states: Option<&'a BranchStates>,
}

/// The state of the branches before the commit: the commit to build on, and our own branch.
pub(super) struct BranchState {
    pub(super) parent: Commit,
    /// The tip of our own branch, if the branch exists.
    pub(super) own: Option<Commit>,
    /// The open pull request, as far as it is known.
    pub(super) pull: KnownPull,
}

/// What is known of the pull request of our branch.
pub(super) enum KnownPull {
    Unknown,
    None,
    Open(OpenPull),
}

impl Delivery<'_> {
    /// Delivers the changes by the Git data API. Returns `None` if the branch to build on already has all
    /// of them.
    pub async fn by_api(&self, api: &Api) -> Result<Option<Delivered>, DeliverError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.commit(api).await {
                Err(DeliverError::Api(error)) if error.is_about_rule() => {
                    return Err(self.target.forbidden(&error.to_string()));
                }
                // Somebody pushed between our reading the branch and moving it.
                Err(DeliverError::Api(error)) if error.status() == Some(422) && tries < MAX_TRIES => {
                    detail!("{error}; trying again");
                }
                answer => return answer,
            }
        }
    }

    async fn commit(&self, api: &Api) -> Result<Option<Delivered>, DeliverError> {
        let ground = self.branch_state(api).await?;
        let (entries, merged) = self.entries(api, &ground.parent).await?;
        if entries.is_empty() {
            return Ok(None);
        }
        let branch = self.branch().to_owned();
        let is_on_parent = |own: &&Commit| own.parents.contains(&ground.parent.sha);
        // What the clone contains need not be requested.
        let local = self.repository.and_then(|clone| clone.tree_with(&ground.parent.sha, &entries).ok());
        let is_there = |own: &Commit| Some(&own.tree) == local.as_ref();
        if let Some(own) = ground.own.as_ref().filter(is_on_parent).filter(|own| is_there(own)) {
            let existing = Some(own.sha.clone());
            let pull = self.pull_of(api, &branch, &ground.pull, false).await?;
            return Ok(Some(Delivered { branch, commit: None, existing, pull, merged, is_pushed: false }));
        }
        let tree = ground.parent.tree_with(api, &entries).await?;
        if tree == ground.parent.tree {
            return Ok(None);
        }
        let same = |own: &Commit| own.tree == tree && is_on_parent(&own);
        let existing = ground.own.as_ref().filter(|own| same(own)).map(|own| own.sha.clone());
        let commit = if existing.is_some() {
            None
        } else {
            let (parent, message) = (&ground.parent, &self.full_message());
            Some(if let Some(own) = &ground.own {
                replace_tip(api, &branch, own, NewTip { parent, tree: &tree, message }).await?
            } else {
                let sha = parent.upon(api, &tree, message).await?;
                let exists = matches!(self.target, Target::Existing { .. });
                point(api, &branch, &sha, exists).await?;
                sha
            })
        };
        let pull = self.pull_of(api, &branch, &ground.pull, true).await?;
        Ok(Some(Delivered { branch, commit, existing, pull, merged, is_pushed: false }))
    }

    /// Returns the name of the branch that the commit goes to.
    pub fn branch(&self) -> &str {
        self.target.branch()
    }

    /// Returns the name of the branch that the commit is made on top of.
    fn onto(&self) -> &str {
        match &self.target {
            Target::Existing { branch, .. } => branch,
            Target::Own { onto, .. } => onto,
        }
    }

    /// Returns the commit message with the trailers.
    pub(super) fn full_message(&self) -> String {
        format!("{}\n\n{}{}\n", self.message.trim_end(), self.author.lines(), trailer(self.key))
    }

    /// Reads the branches and checks that they may be written to: the pull request's has to be where the
    /// plan was made, and our own may hold only commits with our trailer.
    pub(super) async fn branch_state(&self, api: &Api) -> Result<BranchState, DeliverError> {
        let mut state = self.found_state(api).await?;
        self.check_keeps_whole(api, &mut state).await?;
        Ok(state)
    }

    async fn found_state(&self, api: &Api) -> Result<BranchState, DeliverError> {
        let onto = self.onto();
        if let Some(state) = self.known_state(api, onto).await {
            return Ok(state);
        }
        let parent = Commit::tip(api, onto).await?.ok_or_else(|| self.target.missing())?;
        let branch = match &self.target {
            Target::Existing { branch, at: Some(at) } if parent.sha != *at => {
                return Err(DeliverError::Moved(branch.clone()));
            }
            Target::Existing { .. } => {
                return Ok(BranchState { parent, own: None, pull: KnownPull::Unknown });
            }
            Target::Own { branch, .. } => branch,
        };
        let own = Commit::tip(api, branch).await?;
        if let Some(own) = &own
            && let Some(message) = own.foreign_since(api, &parent.sha, self.key).await?
        {
            let first = message.lines().next().unwrap_or_default().to_owned();
            return Err(DeliverError::Foreign { branch: branch.clone(), first });
        }
        Ok(BranchState { parent, own, pull: KnownPull::Unknown })
    }

    /// Returns what is known of a branch of our own, if that says for certain that we may write to it.
    async fn known_state(&self, api: &Api, onto: &str) -> Option<BranchState> {
        let (Some(states), Target::Own { branch, .. }) = (self.states, &self.target) else { return None };
        let known = states.take(api, onto, branch).await?;
        let trailer = trailer(self.key);
        let is_ours =
            |own: &Commit| known.ahead == Some(1) && own.message.lines().any(|line| line.trim() == trailer);
        if known.own.as_ref().is_some_and(|own| !is_ours(own)) {
            return None;
        }
        let pull = known.pull.map_or(KnownPull::None, KnownPull::Open);
        Some(BranchState { parent: known.parent, own: known.own, pull })
    }

    /// Returns the files to commit on top of `parent`, deletions first, and the paths of those that had to
    /// be merged with changes of others.
    pub(super) async fn entries(
        &self,
        api: &Api,
        parent: &Commit,
    ) -> Result<(Vec<Entry>, Vec<String>), DeliverError> {
        let named = |change: &FileChange| format!("{}{}", self.prefix, change.path);
        if self.base == Some(parent.sha.as_str()) {
            let entry = |change: &FileChange| (named(change), change.after.clone());
            return Ok((deletions_first(self.changes.iter().map(entry).collect()), Vec::new()));
        }
        let files = parent.files(api).await?;
        let gone = |change: &&FileChange| change.after.is_none();
        let deleted: BTreeSet<String> = self.changes.iter().filter(gone).map(named).collect();
        let (mut entries, mut merged, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
        for change in self.changes {
            let path = named(change);
            let theirs = match &files {
                // A truncated list proves nothing, so the file itself is requested.
                None => BranchVersion::Unknown,
                Some(files) if change.after.is_some() && is_in_the_way(files, &path, &deleted) => {
                    conflicts.push(path);
                    continue;
                }
                Some(files) => files
                    .get(&path)
                    .map_or(BranchVersion::Gone, |blob| BranchVersion::Blob(blob.sha.clone(), blob.mode)),
            };
            let id = |state: &Option<FileState>| state.as_ref().map(FileState::blob_id);
            match theirs {
                BranchVersion::Gone if change.before.is_none() => entries.push((path, change.after.clone())),
                BranchVersion::Gone if change.after.is_none() => {}
                BranchVersion::Blob(sha, mode) if Some(&sha) == id(&change.after).as_ref() => {
                    if change.after.as_ref().is_some_and(|after| after.mode != mode) {
                        entries.push((path, change.after.clone()));
                    }
                }
                BranchVersion::Blob(sha, _) if Some(&sha) == id(&change.before).as_ref() => {
                    entries.push((path, change.after.clone()));
                }
                BranchVersion::Gone => conflicts.push(path),
                BranchVersion::Blob(..) | BranchVersion::Unknown => {
                    match merge(api, parent, change, &path).await? {
                        Merged::Clean(state) => {
                            merged.push(path.clone());
                            entries.push((path, state));
                        }
                        Merged::AsBefore => entries.push((path, change.after.clone())),
                        Merged::There => {}
                        Merged::Conflict => conflicts.push(path),
                    }
                }
            }
        }
        if conflicts.is_empty() {
            return Ok((deletions_first(entries), merged));
        }
        Err(DeliverError::Conflict { branch: self.onto().to_owned(), files: conflicts })
    }
}

/// Sorts deletions to the front, so that a file can make room for a folder, and a folder for a file.
fn deletions_first(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by_key(|(_, state)| state.is_some());
    entries
}

/// Returns whether a folder of others stands where the file at `path` is to be, or a file of others where
/// one of its folders is to be. What we delete ourselves is not in the way.
fn is_in_the_way(files: &BTreeMap<String, Blob>, path: &str, deleted: &BTreeSet<String>) -> bool {
    let below = format!("{path}/");
    let inside = files.range(below.clone()..).map(|(name, _)| name);
    let mut inside = inside.take_while(|name| name.starts_with(&below));
    let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
    inside.any(|name| !deleted.contains(name))
        || above.any(|name| files.contains_key(name) && !deleted.contains(name))
}

/// The branch's version of a file that we change.
enum BranchVersion {
    Gone,
    Blob(String, Mode),
    Unknown,
}

/// The result of merging our change of a file with the branch's version.
enum Merged {
    /// Both sides changed the file, in different places.
    Clean(Option<FileState>),
    /// Nobody else changed the file.
    AsBefore,
    /// The branch already has our version.
    There,
    Conflict,
}

/// Merges a change with the branch's version of the file, three ways: the checkout's version is the base,
/// ours and the branch's are the two sides.
async fn merge(api: &Api, parent: &Commit, change: &FileChange, path: &str) -> Result<Merged, DeliverError> {
    let theirs = match parent.content(api, path).await {
        Ok(theirs) => theirs,
        Err(error) if error.is_missing() => {
            return Ok(match (&change.before, &change.after) {
                (None, _) => Merged::AsBefore,
                (_, None) => Merged::There,
                _ => Merged::Conflict,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let Some(theirs) = theirs else { return Ok(Merged::Conflict) };
    let content = |state: &Option<FileState>| state.as_ref().map(|state| state.content.to_vec());
    if content(&change.before).as_ref() == Some(&theirs) {
        return Ok(Merged::AsBefore);
    }
    if content(&change.after).as_ref() == Some(&theirs) {
        return Ok(Merged::There);
    }
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return Ok(Merged::Conflict) };
    if change.is_binary() || theirs.contains(&0) || before.mode == Mode::Link || after.mode == Mode::Link {
        return Ok(Merged::Conflict);
    }
    Ok(match diffy::merge_bytes(&before.content, &after.content, &theirs) {
        Ok(merged) => Merged::Clean(Some(FileState { content: merged.into(), mode: after.mode })),
        Err(_) => Merged::Conflict,
    })
}
