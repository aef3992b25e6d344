//! Commits by the Git data API: no clone, no key, and signed by GitHub where a bot's token makes them.
//!
//! Text goes into the tree itself, so that a thousand files are a few requests; anything else becomes a
//! blob first.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Method, Purpose};
use super::contents::content;
use super::error::ApiError;
use crate::workspace::{FileState, Mode};

/// Files of one request for a tree, and bytes of theirs.
const MAX_FILES: usize = 500;
const MAX_BYTES: usize = 4_000_000;

const READ: Purpose = Purpose { doing: "read the branch", permission: "contents: read" };
const WRITE: Purpose = Purpose { doing: "commit", permission: "contents: write" };

/// A file as a commit has it; `None` is no file.
pub(super) type Entry = (String, Option<FileState>);

/// What GitHub knows of a commit.
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
    pub(super) async fn get(api: &Api, sha: &str) -> Result<Self, ApiError> {
        #[derive(Deserialize)]
        struct Answer {
            sha: String,
            tree: Id,
            parents: Vec<Id>,
            message: String,
        }
        let Answer { sha, tree, parents, message } = api.get(&format!("/git/commits/{sha}"), READ).await?;
        let parents = parents.into_iter().map(|parent| parent.sha).collect();
        Ok(Self { sha, tree: tree.sha, parents, message })
    }

    /// The tip of a branch; `None` where there is no such branch.
    pub(super) async fn tip(api: &Api, branch: &str) -> Result<Option<Self>, ApiError> {
        #[derive(Deserialize)]
        struct Ref {
            object: Id,
        }
        match api.get::<Ref>(&format!("/git/ref/heads/{}", in_path(branch)), READ).await {
            Ok(Ref { object }) => Self::get(api, &object.sha).await.map(Some),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Commits of `tip` that this one does not have, newest last; `None` where there are more than GitHub
    /// tells.
    pub(super) async fn ahead(&self, api: &Api, tip: &str) -> Result<Option<Vec<String>>, ApiError> {
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
        let found: Comparison = api.get(&format!("/compare/{}...{tip}", self.sha), READ).await?;
        let whole = found.commits.len() == found.ahead_by;
        let messages = found.commits.into_iter().map(|compared| compared.commit.message);
        Ok(whole.then(|| messages.collect()))
    }

    /// The files of the commit: id and mode by path. `None` where GitHub does not list them all.
    pub(super) async fn files(&self, api: &Api) -> Result<Option<BTreeMap<String, Blob>>, ApiError> {
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
        let tree: Tree = api.get(&format!("/git/trees/{}?recursive=1", self.tree), READ).await?;
        if tree.truncated {
            return Ok(None);
        }
        let file = |entry: Listed| Some((entry.path, Blob { mode: mode(&entry.mode)?, sha: entry.sha }));
        Ok(Some(tree.tree.into_iter().filter_map(file).collect()))
    }

    /// A file's content at the commit.
    pub(super) async fn content(&self, api: &Api, path: &str) -> Result<Option<Vec<u8>>, ApiError> {
        content(api, &self.sha, path, READ).await
    }

    /// The tree that this commit's becomes with these files.
    pub(super) async fn tree_with(&self, api: &Api, entries: &[Entry]) -> Result<String, ApiError> {
        let mut tree = self.tree.clone();
        let mut batch = Vec::new();
        let mut bytes = 0;
        for (path, state) in entries {
            let entry = match state {
                None => json!({"path": path, "mode": "100644", "type": "blob", "sha": null}),
                Some(state) => match std::str::from_utf8(&state.content) {
                    Ok(text) if !text.contains('\0') => {
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
                tree = grow(api, &tree, std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
        }
        if batch.is_empty() { Ok(tree) } else { grow(api, &tree, batch).await }
    }

    /// A commit upon this one, by whoever the token belongs to: named authors would go unsigned.
    pub(super) async fn upon(&self, api: &Api, tree: &str, message: &str) -> Result<String, ApiError> {
        let body = json!({"message": message, "tree": tree, "parents": [self.sha]});
        let made: Id = api.send(Method::PostAgain, "/git/commits", Some(&body), WRITE).await?;
        Ok(made.sha)
    }
}

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) sha: String,
    pub(super) mode: Mode,
}

fn mode(text: &str) -> Option<Mode> {
    match text {
        "100644" => Some(Mode::Regular),
        "100755" => Some(Mode::Executable),
        "120000" => Some(Mode::Link),
        // A folder or a submodule.
        _ => None,
    }
}

async fn grow(api: &Api, base: &str, entries: Vec<Value>) -> Result<String, ApiError> {
    let body = json!({"base_tree": base, "tree": entries});
    let made: Id = api.send(Method::PostAgain, "/git/trees", Some(&body), WRITE).await?;
    Ok(made.sha)
}

async fn blob(api: &Api, content: &Arc<[u8]>) -> Result<String, ApiError> {
    let body = json!({"content": STANDARD.encode(content), "encoding": "base64"});
    let made: Id = api.send(Method::PostAgain, "/git/blobs", Some(&body), WRITE).await?;
    Ok(made.sha)
}

/// Makes a branch, or moves it; `force` moves it back as well.
pub(super) async fn point(
    api: &Api,
    branch: &str,
    to: &str,
    exists: bool,
    force: bool,
) -> Result<(), ApiError> {
    let (method, path, body) = if exists {
        let path = format!("/git/refs/heads/{}", in_path(branch));
        (Method::Patch, path, json!({"sha": to, "force": force}))
    } else {
        let body = json!({"ref": format!("refs/heads/{branch}"), "sha": to});
        (Method::PostAgain, "/git/refs".to_owned(), body)
    };
    match api.send::<Value>(method, &path, Some(&body), WRITE).await {
        // The first of two equal requests may have been the one that was heard.
        Err(error) if !exists && error.status() == Some(422) => match Commit::tip(api, branch).await? {
            Some(tip) if tip.sha == to => Ok(()),
            _ => Err(error),
        },
        answer => answer.map(drop),
    }
}

/// A name as part of an address; its slashes stay.
pub(super) fn in_path(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, super::IN_PATH).collect()
}
