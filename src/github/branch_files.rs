//! Files on a branch that only this program writes to: read with who has written them, and replaced by compare and swap.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::api::Api;
use super::commit::{Commit, CommitError, commit_to, text_entry};
use super::contents::blob;
use super::error::ApiError;
use super::login::{Login, is_same_login};
use super::operation::Purpose;

const READ: Purpose = Purpose { doing: "read the state's branch", permission: "contents: read" };

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
        "the branch {branch} was last written by {author}, not by {expected}; inspect its commit {commit}, \
         then reset the branch to the last commit made by architect-ci, or delete it: existing pull requests are found again"
    )]
    Foreign {
        /// The branch.
        branch: String,
        /// Who wrote the commit.
        author: String,
        /// Whose commits are trusted.
        expected: String,
        /// The commit.
        commit: String,
    },
    /// It was moved since it was read.
    #[error(
        "another start is at work and has written to the branch {0} meanwhile, so this one ends; what it did on GitHub is found \
         again; let one start end before the next begins (`concurrency` in a workflow)"
    )]
    Moved(String),
    /// A file is too large, or not text.
    #[error("{0} on the state branch could not be read")]
    Unreadable(String),
}

/// Whose commits are trusted.
#[derive(Clone, Debug)]
pub struct Writers<'a> {
    /// The account of the token.
    pub own: &'a str,
    /// Others.
    pub others: &'a [String],
}

impl BranchFiles {
    /// Reads the files of a branch whose last commit is by one of the writers. A bot's commit has to be signed, by GitHub or
    /// by one of the writers: a pushed commit can bear any name as its author's, and a signature is only its committer's.
    pub async fn read(api: &Api, branch: &str, writers: &Writers<'_>) -> Result<Self, BranchFilesError> {
        let Some(tip) = Commit::tip(api, branch).await? else {
            return Ok(Self { tip: None, files: BTreeMap::new() });
        };
        check(api, branch, &tip.sha, writers).await?;
        let listed = tip.files(api).await?.ok_or_else(|| BranchFilesError::Unreadable(branch.to_owned()))?;
        let mut files = BTreeMap::new();
        for (name, entry) in listed.into_iter().filter(|(name, _)| !name.contains('/')) {
            let bytes = blob(api, &entry.sha, READ).await?;
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
        let gone = self.files.keys().filter(|name| !files.contains_key(*name));
        let changed = files.iter().filter(|(name, text)| self.files.get(*name) != Some(*text));
        let entries: Vec<_> = gone
            .map(|name| (name.clone(), None))
            .chain(changed.map(|(name, text)| text_entry(name, text)))
            .collect();
        let sha = match commit_to(api, branch, self.tip.as_ref(), &entries, message).await {
            Ok(sha) => sha,
            Err(CommitError::Moved(_)) => return Err(BranchFilesError::Moved(branch.to_owned())),
            Err(CommitError::Api(error)) => return Err(error.into()),
        };
        self.tip = Some(Commit::get(api, &sha).await?);
        self.files = files;
        Ok(())
    }
}

/// The account as which GitHub itself commits and signs what others make by its API.
const GITHUB: &str = "web-flow";

/// Checks who has written a commit.
async fn check(api: &Api, branch: &str, sha: &str, writers: &Writers<'_>) -> Result<(), BranchFilesError> {
    #[derive(Deserialize)]
    struct CommitResponse {
        commit: Signed,
        author: Option<Login>,
        committer: Option<Login>,
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
    let CommitResponse { commit, author, committer } = api.get(&format!("/commits/{sha}"), READ).await?;
    let is_signed = commit.verification.is_some_and(|verification| verification.verified);
    let author = author.map_or_else(|| "an author unknown to GitHub".to_owned(), |author| author.login);
    let is_known = |login: &str| {
        let mut known = writers.others.iter().map(String::as_str).chain([writers.own]);
        known.any(|known| is_same_login(known, login))
    };
    let is_signer = |login: &str| login == GITHUB || is_known(login);
    let doubt = match committer {
        _ if !author.ends_with("[bot]") => None,
        _ if !is_signed => Some("not signed by GitHub".to_owned()),
        Some(committer) if is_signer(&committer.login) => None,
        Some(committer) => Some(format!("signed by {}, not by GitHub", committer.login)),
        None => Some("not signed by a user known to GitHub".to_owned()),
    };
    if is_known(&author) && doubt.is_none() {
        return Ok(());
    }
    Err(BranchFilesError::Foreign {
        branch: branch.to_owned(),
        author: doubt.map_or_else(|| author.clone(), |doubt| format!("{author} ({doubt})")),
        expected: writers.own.to_owned(),
        commit: sha.to_owned(),
    })
}
