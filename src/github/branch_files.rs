//! Files on a branch that only this program writes to: read with who has written them, and replaced by compare and swap.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{FileState, Mode};

use super::api::{Api, Login, Method, Purpose, is_same_login};
use super::commit::{Commit, in_path};
use super::error::ApiError;

const READ: Purpose = Purpose { doing: "read the state's branch", permission: "contents: read" };
const WRITE: Purpose = Purpose { doing: "write the state's branch", permission: "contents: write" };

/// Files on a branch.
#[derive(Clone, Debug)]
pub struct BranchFiles {
    /// The commit that they are from; `None` if there is no branch yet.
    tip: Option<Commit>,
    /// The files at its root, by name.
    pub files: BTreeMap<String, String>,
}

/// Error for a branch of files.
#[derive(Debug, thiserror::Error)]
pub enum BranchFilesError {
    /// A request failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// Somebody else has written to it.
    #[error(
        "the branch {branch} was last written by {author}, and not by {expected}; look at its commit {commit}, then \
         reset the branch to the last commit of ours, or delete it: pull requests that are there are found again"
    )]
    Foreign {
        /// The branch.
        branch: String,
        /// Who wrote the commit.
        author: String,
        /// Whose commits are believed.
        expected: String,
        /// The commit.
        commit: String,
    },
    /// It was moved since it was read.
    #[error("another machine has written to the branch {0} meanwhile")]
    Moved(String),
    /// A file is too large, or not text.
    #[error("{0} on the state's branch cannot be read")]
    Unreadable(String),
}

/// Whose commits are believed.
#[derive(Clone, Debug)]
pub struct Writers<'a> {
    /// The account of the token.
    pub own: &'a str,
    /// Others.
    pub others: &'a [String],
}

impl BranchFiles {
    /// Reads the files of a branch whose last commit is by one of the writers. A bot's commit has to be signed by GitHub,
    /// because a pushed commit can bear any name.
    pub async fn read(api: &Api, branch: &str, writers: &Writers<'_>) -> Result<Self, BranchFilesError> {
        let Some(tip) = Commit::tip(api, branch).await? else {
            return Ok(Self { tip: None, files: BTreeMap::new() });
        };
        check(api, branch, &tip.sha, writers).await?;
        let listed = tip.files(api).await?.ok_or_else(|| BranchFilesError::Unreadable(branch.to_owned()))?;
        let mut files = BTreeMap::new();
        for name in listed.into_keys().filter(|name| !name.contains('/')) {
            let bytes = tip.content(api, &name).await?;
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            files.insert(name.clone(), text.ok_or(BranchFilesError::Unreadable(name))?);
        }
        Ok(Self { tip: Some(tip), files })
    }

    /// Replaces the files, if the branch is still where it was read.
    pub async fn replace(
        &mut self,
        api: &Api,
        branch: &str,
        files: BTreeMap<String, String>,
        message: &str,
    ) -> Result<(), BranchFilesError> {
        if self.tip.is_some() && files == self.files {
            return Ok(());
        }
        let sha = match &self.tip {
            Some(tip) => {
                let gone = self.files.keys().filter(|name| !files.contains_key(*name));
                let changed = files.iter().filter(|(name, text)| self.files.get(*name) != Some(*text));
                let entries: Vec<_> = gone
                    .map(|name| (name.clone(), None))
                    .chain(changed.map(|(name, text)| (name.clone(), Some(state(text)))))
                    .collect();
                let tree = tip.tree_with(api, &entries).await?;
                tip.upon(api, &tree, message).await?
            }
            None => first(api, &files, message).await?,
        };
        let (method, path, body) = if self.tip.is_some() {
            let path = format!("/git/refs/heads/{}", in_path(branch));
            (Method::Patch, path, json!({"sha": sha, "force": false}))
        } else {
            let body = json!({"ref": format!("refs/heads/{branch}"), "sha": sha});
            (Method::PostAgain, "/git/refs".to_owned(), body)
        };
        match api.send::<Value>(method, &path, Some(&body), WRITE).await {
            Ok(_) => {}
            // Either the first of two tries has done it, or somebody else was faster.
            Err(error) if matches!(error.status(), Some(409 | 422)) => {
                let now = Commit::tip(api, branch).await?.map(|tip| tip.sha);
                if now.as_ref() != Some(&sha) {
                    return Err(BranchFilesError::Moved(branch.to_owned()));
                }
            }
            Err(error) => return Err(error.into()),
        }
        self.tip = Some(Commit::get(api, &sha).await?);
        self.files = files;
        Ok(())
    }
}

fn state(text: &str) -> FileState {
    FileState { content: text.as_bytes().to_vec().into(), mode: Mode::Regular }
}

/// Makes a commit without a parent. Returns its id.
async fn first(api: &Api, files: &BTreeMap<String, String>, message: &str) -> Result<String, ApiError> {
    #[derive(Deserialize)]
    struct Id {
        sha: String,
    }
    let entry = |(name, text): (&String, &String)| json!({"path": name, "mode": "100644", "type": "blob", "content": text});
    let body = json!({"tree": files.iter().map(entry).collect::<Vec<_>>()});
    let tree: Id = api.send(Method::PostAgain, "/git/trees", Some(&body), WRITE).await?;
    let body = json!({"message": message, "tree": tree.sha, "parents": []});
    let commit: Id = api.send(Method::PostAgain, "/git/commits", Some(&body), WRITE).await?;
    Ok(commit.sha)
}

/// Checks who has written a commit.
async fn check(api: &Api, branch: &str, sha: &str, writers: &Writers<'_>) -> Result<(), BranchFilesError> {
    #[derive(Deserialize)]
    struct Answer {
        commit: Signed,
        author: Option<Login>,
    }
    #[derive(Deserialize)]
    struct Signed {
        #[serde(default)]
        verification: Option<Verification>,
    }
    #[derive(Deserialize)]
    struct Verification {
        verified: bool,
    }
    let Answer { commit, author } = api.get(&format!("/commits/{sha}"), READ).await?;
    let is_signed = commit.verification.is_some_and(|verification| verification.verified);
    let author = author.map_or_else(|| "nobody that GitHub knows".to_owned(), |author| author.login);
    let is_bot = author.ends_with("[bot]");
    let mut known = writers.others.iter().map(String::as_str).chain([writers.own]);
    if known.any(|known| is_same_login(known, &author)) && (is_signed || !is_bot) {
        return Ok(());
    }
    let unsigned = if is_signed || !is_bot { "" } else { " (not signed by GitHub)" };
    Err(BranchFilesError::Foreign {
        branch: branch.to_owned(),
        author: format!("{author}{unsigned}"),
        expected: writers.own.to_owned(),
        commit: sha.to_owned(),
    })
}
