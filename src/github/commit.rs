//! Commits by the Git data API: without a clone or a key, and signed by GitHub if the token belongs to a
//! bot.
//!
//! Short text goes into the tree itself, so that a thousand files take a few requests; anything else becomes a
//! blob first.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{FileState, Mode};

use super::api::Api;
use super::contents::content;
use super::error::ApiError;
use super::operation::{Method, Purpose};
use super::trailers::trailer;
use super::url_encoding::in_path;

/// Limits of one request for a tree: the number of files, and the bytes of their content.
const MAX_FILES: usize = 500;
const MAX_BYTES: usize = 4_000_000;

/// Length of a text from which on it becomes a blob, in bytes: GitHub gives up on trees that hold more.
const LONG_TEXT: usize = 500_000;

const READ: Purpose = Purpose { doing: "read the branch", permission: "contents: read" };
const WRITE: Purpose = Purpose { doing: "commit", permission: "contents: write" };

/// A path and the state of the file there; `None` deletes it.
pub(super) type Entry = (String, Option<FileState>);

/// A commit, as the Git data API returns it.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) sha: String,
    pub(super) tree: String,
    pub(super) parents: Vec<String>,
    pub(super) message: String,
}

#[derive(Deserialize)]
struct Id {
    sha: String,
}

impl Commit {
    /// Fetches a commit by its id.
    pub(super) async fn get(api: &Api, sha: &str) -> Result<Self, ApiError> {
        #[derive(Deserialize)]
        struct CommitResponse {
            sha: String,
            tree: Id,
            parents: Vec<Id>,
            message: String,
        }
        let CommitResponse { sha, tree, parents, message } =
            api.get(&format!("/git/commits/{sha}"), READ).await?;
        let parents = parents.into_iter().map(|parent| parent.sha).collect();
        Ok(Self { sha, tree: tree.sha, parents, message })
    }

    /// Returns the commit at the tip of a branch, or `None` if there is no such branch.
    pub(super) async fn tip(api: &Api, branch: &str) -> Result<Option<Self>, ApiError> {
        match Self::tip_id(api, branch).await? {
            Some(sha) => Self::get(api, &sha).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the id of the commit at the tip of a branch, or `None` if there is no such branch.
    pub(super) async fn tip_id(api: &Api, branch: &str) -> Result<Option<String>, ApiError> {
        #[derive(Deserialize)]
        struct Ref {
            object: Id,
        }
        match api.get::<Ref>(&format!("/git/ref/heads/{}", in_path(branch)), READ).await {
            Ok(Ref { object }) => Ok(Some(object.sha)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the message of a commit on the way from `base` to this one that the job with this `key` did not make, if there
    /// is one.
    pub(super) async fn foreign_since(
        &self,
        api: &Api,
        base: &str,
        key: &str,
    ) -> Result<Option<String>, ApiError> {
        let trailer = trailer(key);
        let is_ours = |message: &String| message.lines().any(|line| line.trim() == trailer);
        Ok(match Self::between(api, base, &self.sha).await? {
            Some(messages) => messages.into_iter().find(|message| !is_ours(message)),
            None => Some(self.message.clone()),
        })
    }

    /// Returns the messages of the commits that `tip` has and `base` lacks, newest last, or `None` if GitHub does not list all
    /// of them.
    async fn between(api: &Api, base: &str, tip: &str) -> Result<Option<Vec<String>>, ApiError> {
        #[derive(Deserialize)]
        struct Comparison {
            ahead_by: usize,
            commits: Vec<Compared>,
        }
        #[derive(Deserialize)]
        struct Compared {
            commit: Message,
        }
        #[derive(Deserialize)]
        struct Message {
            message: String,
        }
        let found: Comparison = api.get(&format!("/compare/{base}...{tip}"), READ).await?;
        let whole = found.commits.len() == found.ahead_by;
        let messages = found.commits.into_iter().map(|compared| compared.commit.message);
        Ok(whole.then(|| messages.collect()))
    }

    /// Lists the files of the commit by path. Returns `None` if GitHub does not list all of them.
    pub(super) async fn files(&self, api: &Api) -> Result<Option<BTreeMap<String, Blob>>, ApiError> {
        let tree: Tree = api.get(&format!("/git/trees/{}?recursive=1", self.tree), READ).await?;
        if tree.truncated {
            return Ok(None);
        }
        let file = |entry: Listed| Some((entry.path, Blob { mode: mode(&entry.mode)?, sha: entry.sha }));
        Ok(Some(tree.tree.into_iter().filter_map(file).collect()))
    }

    /// Lists the names of the files in a folder of the commit, which need not exist. Returns `None` if GitHub does not list
    /// all of them; it lists many more than of the folder's content.
    pub(super) async fn names_in(&self, api: &Api, folder: &str) -> Result<Option<Vec<String>>, ApiError> {
        let mut sha = self.tree.clone();
        for name in folder.split('/') {
            let Tree { tree, truncated } = api.get(&format!("/git/trees/{sha}"), READ).await?;
            match tree.into_iter().find(|entry| entry.path == name && entry.mode == FOLDER) {
                Some(entry) => sha = entry.sha,
                None if truncated => return Ok(None),
                None => return Ok(Some(Vec::new())),
            }
        }
        let Tree { tree, truncated } = api.get(&format!("/git/trees/{sha}"), READ).await?;
        let names = tree.into_iter().filter(|entry| mode(&entry.mode).is_some()).map(|entry| entry.path);
        Ok((!truncated).then(|| names.collect()))
    }

    /// Returns the content of a file at this commit, or `None` if the response does not include it.
    pub(super) async fn content(&self, api: &Api, path: &str) -> Result<Option<Vec<u8>>, ApiError> {
        content(api, &self.sha, path, READ).await
    }

    /// Creates a tree from that of this commit and `entries`. Returns its id.
    pub(super) async fn tree_with(&self, api: &Api, entries: &[Entry]) -> Result<String, ApiError> {
        tree_of(api, Some(&self.tree), entries).await
    }

    /// Creates a commit on top of this one. Returns its id.
    pub(super) async fn upon(&self, api: &Api, tree: &str, message: &str) -> Result<String, ApiError> {
        create_commit(api, tree, &[&self.sha], message).await
    }
}

/// Returns an entry that is a file with this text.
pub(super) fn text_entry(path: &str, text: &str) -> Entry {
    let state = FileState { content: text.as_bytes().to_vec().into(), mode: Mode::Regular };
    (path.to_owned(), Some(state))
}

/// Reasons why nothing was committed to a branch.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommitError {
    /// The branch is not where it was: somebody else was faster.
    #[error(transparent)]
    Moved(ApiError),
    /// A request failed.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// Commits to a branch of ours on top of its tip, or begins the branch where it has none. Returns the commit's id.
pub(super) async fn commit_to(
    api: &Api,
    branch: &str,
    tip: Option<&Commit>,
    entries: &[Entry],
    message: &str,
) -> Result<String, CommitError> {
    let tree = tree_of(api, tip.map(|tip| tip.tree.as_str()), entries).await?;
    let parents: Vec<&str> = tip.iter().map(|tip| tip.sha.as_str()).collect();
    let commit = create_commit(api, &tree, &parents, message).await?;
    match point(api, branch, &commit, tip.is_some()).await {
        Ok(()) => Ok(commit),
        // Rules of the repository refuse with the same status, each time.
        Err(error) if matches!(error.status(), Some(409 | 422)) => {
            let now = Commit::tip_id(api, branch).await?;
            let has_moved = now.as_ref() != tip.map(|tip| &tip.sha) || says_moved(&error);
            Err(if has_moved { CommitError::Moved(error) } else { CommitError::Api(error) })
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns whether GitHub says that a branch is not where it was, even if another of its servers does not know yet.
fn says_moved(error: &ApiError) -> bool {
    let text = error.to_string().to_ascii_lowercase();
    ["fast forward", "fast-forward", "reference already exists", "but expected"]
        .iter()
        .any(|words| text.contains(words))
}

/// A tree, as the Git data API lists it.
#[derive(Deserialize)]
struct Tree {
    tree: Vec<Listed>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct Listed {
    path: String,
    mode: String,
    sha: String,
}

/// The mode of a folder.
const FOLDER: &str = "040000";

/// A file in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) sha: String,
    pub(super) mode: Mode,
}

/// Parses the mode of a tree's entry; `None` for an entry that is not a file.
fn mode(text: &str) -> Option<Mode> {
    match text {
        "100644" => Some(Mode::Regular),
        "100755" => Some(Mode::Executable),
        "120000" => Some(Mode::Link),
        // A folder or a submodule.
        _ => None,
    }
}

/// Creates a tree from `base`, if there is one, and `entries`. Returns its id.
async fn tree_of(api: &Api, base: Option<&str>, entries: &[Entry]) -> Result<String, ApiError> {
    let mut tree = base.map(str::to_owned);
    let mut batch = Vec::new();
    let mut bytes = 0;
    for (path, state) in entries {
        let entry = match state {
            None => json!({"path": path, "mode": "100644", "type": "blob", "sha": null}),
            Some(state) => match std::str::from_utf8(&state.content) {
                Ok(text) if text.len() < LONG_TEXT && !text.contains('\0') => {
                    bytes += text.len();
                    json!({"path": path, "mode": state.mode.to_string(), "type": "blob", "content": text})
                }
                _ => {
                    let sha = blob(api, &state.content).await?;
                    json!({"path": path, "mode": state.mode.to_string(), "type": "blob", "sha": sha})
                }
            },
        };
        batch.push(entry);
        if batch.len() >= MAX_FILES || bytes >= MAX_BYTES {
            tree = Some(create_tree(api, tree.as_deref(), std::mem::take(&mut batch)).await?);
            bytes = 0;
        }
    }
    match tree {
        Some(tree) if batch.is_empty() => Ok(tree),
        base => create_tree(api, base.as_deref(), batch).await,
    }
}

/// Creates a commit. Returns its id. The author is left to GitHub, because commits with a named author go unsigned.
pub(super) async fn create_commit(
    api: &Api,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, ApiError> {
    let body = json!({"message": message, "tree": tree, "parents": parents});
    let made: Id = api.send(Method::PostAgain, "/git/commits", Some(&body), WRITE).await?;
    Ok(made.sha)
}

/// Creates a tree from `base`, if there is one, and further entries. Returns its id.
async fn create_tree(api: &Api, base: Option<&str>, entries: Vec<Value>) -> Result<String, ApiError> {
    let mut body = json!({ "tree": entries });
    if let Some(base) = base {
        body["base_tree"] = base.into();
    }
    let made: Id = api.send(Method::PostAgain, "/git/trees", Some(&body), WRITE).await?;
    Ok(made.sha)
}

/// Creates a blob. Returns its id.
async fn blob(api: &Api, content: &Arc<[u8]>) -> Result<String, ApiError> {
    let body = json!({"content": STANDARD.encode(content), "encoding": "base64"});
    let made: Id = api.send(Method::PostAgain, "/git/blobs", Some(&body), WRITE).await?;
    Ok(made.sha)
}

/// Creates a branch, or moves it forwards. Another commit than `to` descends from is never lost: GitHub refuses to move the branch
/// away from it.
pub(super) async fn point(api: &Api, branch: &str, to: &str, exists: bool) -> Result<(), ApiError> {
    let (method, path, body) = if exists {
        let path = format!("/git/refs/heads/{}", in_path(branch));
        (Method::Patch, path, json!({"sha": to, "force": false}))
    } else {
        let body = json!({"ref": format!("refs/heads/{branch}"), "sha": to});
        (Method::PostAgain, "/git/refs".to_owned(), body)
    };
    match api.send::<Value>(method, &path, Some(&body), WRITE).await {
        // If the request was sent twice, the first one may have created the branch.
        Err(error) if !exists && error.status() == Some(422) => match Commit::tip_id(api, branch).await? {
            Some(tip) if tip == to => Ok(()),
            _ => Err(error),
        },
        answer => answer.map(drop),
    }
}
