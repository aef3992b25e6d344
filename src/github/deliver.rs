//! Takes changes to a branch, and opens or updates its pull request.
//!
//! A branch of our own is known by a trailer in its commits: what is not ours is never overwritten.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Method, Purpose};
use super::commit::{Blob, Commit, Entry, point};
use super::error::ApiError;
use crate::detail::detail;
use crate::workspace::{ChangeSet, FileChange, FileState, Mode};

/// How often a branch that moves while we commit is looked at again.
const MAX_TRIES: u32 = 3;

const PULLS: Purpose = Purpose { doing: "open a pull request", permission: "pull-requests: write" };
const LABEL: Purpose = Purpose { doing: "label the pull request", permission: "issues: write" };

/// The line of a commit message that says whose commit it is.
const TRAILER: &str = "Architect-CI:";

/// The line by which commits of a job are known.
pub fn trailer(key: &str) -> String {
    format!("{TRAILER} {key}")
}

/// Where changes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The branch of a pull request: a commit on top.
    Existing {
        /// The branch.
        branch: String,
        /// The commit that it has to be at, if it must not have moved.
        at: Option<String>,
    },
    /// A branch of our own, made anew upon another with each run.
    Own {
        /// Our branch.
        branch: String,
        /// The branch that it is made from, and goes to.
        onto: String,
        /// Its pull request, if it gets one.
        pull: Option<PullText>,
    },
}

/// What a pull request says; harmless already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullText {
    /// Its title.
    pub title: String,
    /// Its description, as Markdown.
    pub body: String,
    /// Whether it is opened as a draft.
    pub draft: bool,
    /// Labels that it gets.
    pub labels: Vec<String>,
}

/// What is to be delivered.
#[derive(Debug)]
pub struct Delivery<'a> {
    /// The changes, against the checkout.
    pub changes: &'a ChangeSet,
    /// The way from the repository to the workspace: empty, or ending in `/`.
    pub prefix: &'a str,
    /// The commit that the checkout stands on, if its files are as that commit has them.
    pub base: Option<&'a str>,
    /// Where it goes.
    pub target: Target,
    /// The commit's message; harmless already, without trailer.
    pub message: String,
    /// Tells our branches from those of other jobs.
    pub key: &'a str,
}

/// What was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The branch.
    pub branch: String,
    /// The commit; `None` where the branch has it all already.
    pub commit: Option<String>,
    /// Number and address of the pull request.
    pub pull: Option<(u64, String)>,
    /// Files that others have changed as well, and that were merged.
    pub merged: Vec<String>,
}

/// Why nothing was delivered.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// GitHub said no.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The branch has moved on, and the same lines were changed there.
    #[error("{branch} has moved since the checkout, and changes there conflict with {}; run again on its \
             latest commit", .files.join(", "))]
    Conflict {
        /// The branch that the changes go to.
        branch: String,
        /// Files that cannot be merged.
        files: Vec<String>,
    },
    /// The branch is somebody else's.
    #[error(
        "the branch {branch} contains commits that this job did not make ({first:?}); merge or delete it, or \
         set `deliver.branch`"
    )]
    Foreign {
        /// The branch.
        branch: String,
        /// The first line of such a commit's message.
        first: String,
    },
    /// The branch is not where the plan was made.
    #[error("{0} has moved since the plan was made; make a new plan")]
    Moved(String),
    /// The commit is there, its pull request is not.
    #[error(
        "the changes are on {branch}, but could not open a pull request: {error}; Actions can open pull \
         requests only if Settings, Actions, General allows it"
    )]
    NoPull {
        /// The branch.
        branch: String,
        /// Why.
        error: ApiError,
    },
    /// There is no such branch.
    #[error("the branch {0} does not exist; check `deliver.base`")]
    NoBranch(String),
}

/// What a commit on the target needs: where it starts, and what the branch is now.
pub(super) struct Ground {
    pub(super) parent: Commit,
    /// Our own branch as it stands.
    pub(super) own: Option<Commit>,
}

impl Delivery<'_> {
    /// Delivers by the API.
    pub async fn by_api(&self, api: &Api) -> Result<Option<Delivered>, DeliverError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.commit(api).await {
                // Somebody pushed between our look and our commit.
                Err(DeliverError::Api(error)) if error.status() == Some(422) && tries < MAX_TRIES => {
                    detail!("{error}; trying again");
                }
                answer => return answer,
            }
        }
    }

    async fn commit(&self, api: &Api) -> Result<Option<Delivered>, DeliverError> {
        let ground = self.ground(api).await?;
        let (entries, merged) = self.entries(api, &ground.parent).await?;
        if entries.is_empty() {
            return Ok(None);
        }
        let tree = ground.parent.tree_with(api, &entries).await?;
        if tree == ground.parent.tree {
            return Ok(None);
        }
        let branch = self.branch().to_owned();
        let same = |own: &Commit| own.tree == tree && own.parents == [ground.parent.sha.clone()];
        let commit = if ground.own.as_ref().is_some_and(same) {
            None
        } else {
            let sha = ground.parent.upon(api, &tree, &self.full_message()).await?;
            let (exists, force) = match &self.target {
                Target::Existing { .. } => (true, false),
                Target::Own { .. } => (ground.own.is_some(), true),
            };
            point(api, &branch, &sha, exists, force).await?;
            Some(sha)
        };
        let pull = self.pull_of(api, &branch).await?;
        Ok(Some(Delivered { branch, commit, pull, merged }))
    }

    /// The branch that the commit goes to.
    pub fn branch(&self) -> &str {
        match &self.target {
            Target::Existing { branch, .. } | Target::Own { branch, .. } => branch,
        }
    }

    /// The branch that it stands upon.
    fn onto(&self) -> &str {
        match &self.target {
            Target::Existing { branch, .. } => branch,
            Target::Own { onto, .. } => onto,
        }
    }

    pub(super) fn full_message(&self) -> String {
        format!("{}\n\n{}\n", self.message.trim_end(), trailer(self.key))
    }

    pub(super) async fn ground(&self, api: &Api) -> Result<Ground, DeliverError> {
        let onto = self.onto();
        let parent = Commit::tip(api, onto).await?.ok_or_else(|| DeliverError::NoBranch(onto.to_owned()))?;
        let branch = match &self.target {
            Target::Existing { branch, at: Some(at) } if parent.sha != *at => {
                return Err(DeliverError::Moved(branch.clone()));
            }
            Target::Existing { .. } => return Ok(Ground { parent, own: None }),
            Target::Own { branch, .. } => branch,
        };
        let own = Commit::tip(api, branch).await?;
        if let Some(own) = &own {
            let trailer = trailer(self.key);
            let is_ours = |message: &String| message.lines().any(|line| line.trim() == trailer);
            let ahead = parent.ahead(api, &own.sha).await?;
            let foreign = match &ahead {
                Some(messages) => messages.iter().find(|message| !is_ours(message)).cloned(),
                None => Some(own.message.clone()),
            };
            if let Some(message) = foreign {
                let first = message.lines().next().unwrap_or_default().to_owned();
                return Err(DeliverError::Foreign { branch: branch.clone(), first });
            }
        }
        Ok(Ground { parent, own })
    }

    /// The files of the commit upon `parent`, and those of them that had to be merged.
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
                // A list that is not whole says nothing: the file itself is asked for.
                None => Theirs::Unknown,
                Some(files) if change.after.is_some() && is_in_the_way(files, &path, &deleted) => {
                    conflicts.push(path);
                    continue;
                }
                Some(files) => {
                    files.get(&path).map_or(Theirs::Gone, |blob| Theirs::Blob(blob.sha.clone(), blob.mode))
                }
            };
            let id = |state: &Option<FileState>| state.as_ref().map(FileState::blob_id);
            match theirs {
                Theirs::Gone if change.before.is_none() => entries.push((path, change.after.clone())),
                Theirs::Gone if change.after.is_none() => {}
                Theirs::Blob(sha, mode) if Some(&sha) == id(&change.after).as_ref() => {
                    if change.after.as_ref().is_some_and(|after| after.mode != mode) {
                        entries.push((path, change.after.clone()));
                    }
                }
                Theirs::Blob(sha, _) if Some(&sha) == id(&change.before).as_ref() => {
                    entries.push((path, change.after.clone()));
                }
                Theirs::Gone => conflicts.push(path),
                Theirs::Blob(..) | Theirs::Unknown => match merge(api, parent, change, &path).await? {
                    Merged::Clean(state) => {
                        merged.push(path.clone());
                        entries.push((path, state));
                    }
                    Merged::AsBefore => entries.push((path, change.after.clone())),
                    Merged::There => {}
                    Merged::Conflict => conflicts.push(path),
                },
            }
        }
        if conflicts.is_empty() {
            return Ok((deletions_first(entries), merged));
        }
        Err(DeliverError::Conflict { branch: self.onto().to_owned(), files: conflicts })
    }

    /// The pull request of a branch that has its commit.
    pub(super) async fn pull_of(
        &self,
        api: &Api,
        branch: &str,
    ) -> Result<Option<(u64, String)>, DeliverError> {
        let no_pull = |error| DeliverError::NoPull { branch: branch.to_owned(), error };
        self.pull(api).await.map_err(no_pull)
    }

    /// Opens the pull request, or brings the open one up to date.
    async fn pull(&self, api: &Api) -> Result<Option<(u64, String)>, ApiError> {
        #[derive(Deserialize)]
        struct Pull {
            number: u64,
            html_url: String,
        }
        let Target::Own { branch, onto, pull: Some(text) } = &self.target else { return Ok(None) };
        let head = format!("{}:{branch}", api.owner());
        let head: String = percent_encoding::utf8_percent_encode(&head, super::IN_QUERY).collect();
        let base: String = percent_encoding::utf8_percent_encode(onto, super::IN_QUERY).collect();
        let list = format!("/pulls?state=open&head={head}&base={base}");
        let open = async || api.find(&list, PULLS, Some::<Pull>).await;
        let mut tries = 0;
        let Pull { number, html_url } = loop {
            tries += 1;
            if let Some(found) = open().await? {
                let body = json!({"title": text.title, "body": text.body});
                let path = format!("/pulls/{}", found.number);
                api.send::<Value>(Method::Patch, &path, Some(&body), PULLS).await?;
                break found;
            }
            let body = json!({
                "title": text.title, "body": text.body, "head": branch, "base": onto, "draft": text.draft
            });
            match api.send(Method::Post, "/pulls", Some(&body), PULLS).await {
                // It may be there all the same.
                Err(ApiError::Unclear { .. }) if tries < MAX_TRIES => {}
                answer => break answer?,
            }
        };
        if !text.labels.is_empty() {
            let body = json!({ "labels": text.labels });
            let path = format!("/issues/{number}/labels");
            api.send::<Value>(Method::PostAgain, &path, Some(&body), LABEL).await?;
        }
        Ok(Some((number, html_url)))
    }
}

/// So that a file can make room for a folder, and a folder for a file.
fn deletions_first(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by_key(|(_, state)| state.is_some());
    entries
}

/// Whether a folder of others stands where a file is to be, or a file of others where its folder is.
fn is_in_the_way(files: &BTreeMap<String, Blob>, path: &str, deleted: &BTreeSet<String>) -> bool {
    let below = format!("{path}/");
    let inside = files.range(below.clone()..).map(|(name, _)| name);
    let mut inside = inside.take_while(|name| name.starts_with(&below));
    let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
    inside.any(|name| !deleted.contains(name))
        || above.any(|name| files.contains_key(name) && !deleted.contains(name))
}

enum Theirs {
    Gone,
    Blob(String, Mode),
    Unknown,
}

enum Merged {
    /// Both changed it, in different places.
    Clean(Option<FileState>),
    /// Nobody else changed it.
    AsBefore,
    /// It is as we want it already.
    There,
    Conflict,
}

/// Three ways: as the checkout had it, as we leave it, as the branch has it.
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
