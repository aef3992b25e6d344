//! The server side: fetches and pushes single commits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use workspace::FileState;

use super::commit::Author;
use super::private::PrivateRepository;
use super::program::{Call, CallLimit};
use super::{GitError, Repository};

/// A repository on a server.
#[derive(Clone, Copy, Debug)]
pub struct RemoteRepository<'a> {
    /// The URL of the repository.
    pub url: &'a str,
    /// The URL prefix to which the token may be sent.
    pub server: &'a str,
    /// The token for HTTP authentication, if any.
    pub token: Option<&'a str>,
    /// The end of what it is talked to for.
    pub limit: Option<&'a CallLimit>,
}

impl Repository {
    /// Fetches one commit without its history into a private repository; the clone is not changed.
    pub fn fetch(&self, place: RemoteRepository<'_>, commit: &str) -> Result<(), GitError> {
        let _alone = self.held.fetching.lock();
        let private = self.fetched()?;
        let args = ["fetch", "--quiet", "--no-tags", "--depth=1", place.url, commit];
        remotely(&private, place, args)?;
        self.forget_store();
        Ok(())
    }

    /// Returns the path of the repository for fetched commits.
    fn fetched(&self) -> Result<PathBuf, GitError> {
        if let Some(private) = &*self.held.fetched.lock() {
            return Ok(private.path().to_owned());
        }
        let private = PrivateRepository::new(&self.held)?;
        Ok(self.held.fetched.lock().insert(private).path().to_owned())
    }

    /// Creates a commit on top of `push.parent` and pushes it to a branch. Returns the id of the new commit.
    /// The parent is fetched first if the clone lacks it.
    pub fn push(&self, place: RemoteRepository<'_>, push: &Push<'_>) -> Result<String, GitError> {
        if !self.has_commit(push.parent) {
            self.fetch(place, push.parent)?;
        }
        let private = PrivateRepository::new(&self.held)?;
        let commit = self.commit_upon(&private, push.parent, push.files, push.message, push.author)?;
        let lease = push.expected.map(|id| format!("--force-with-lease=refs/heads/{}:{id}", push.branch));
        let target = format!("{commit}:refs/heads/{}", push.branch);
        let args = ["push", "--quiet", "--no-verify"]
            .into_iter()
            .chain(lease.as_deref())
            .chain([place.url, &target]);
        remotely(private.path(), place, args)?;
        Ok(commit)
    }
}

/// Runs `git` on a repository of this program, with the token for the server.
pub(super) fn remotely<'s>(
    git: &Path,
    place: RemoteRepository<'_>,
    args: impl IntoIterator<Item = &'s str>,
) -> Result<(), GitError> {
    let mut variables = Vec::new();
    // By way of the environment, because other processes can read arguments.
    let at_home = place.url.starts_with(&format!("{}/", place.server.trim_end_matches('/')));
    if let Some(token) = place.token.filter(|_| at_home) {
        let pair = STANDARD.encode(format!("x-access-token:{token}"));
        let key = format!("http.{}/.extraheader", place.server);
        variables = [
            ("GIT_CONFIG_COUNT", "1".to_owned()),
            ("GIT_CONFIG_KEY_0", key),
            ("GIT_CONFIG_VALUE_0", format!("AUTHORIZATION: basic {pair}")),
        ]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)))
        .into();
    }
    let folder = place.url.strip_prefix("file://").filter(|_| at_home).map(PathBuf::from);
    let call = Call {
        git_dir: git,
        root: git,
        folder: git,
        variables,
        input: &[],
        // For a `file://` server, the program itself writes to that folder.
        writable: std::iter::once(git.to_owned()).chain(folder).collect(),
        network: true,
        limit: place.limit,
    };
    call.run(args).map(drop)
}

/// A commit to create and push.
#[derive(Clone, Copy, Debug)]
pub struct Push<'a> {
    /// The id of the parent commit.
    pub parent: &'a str,
    /// The changed files, by path from the repository's root; `None` deletes a file.
    pub files: &'a [(String, Option<FileState>)],
    /// The commit message.
    pub message: &'a str,
    /// The author and committer.
    pub author: Author,
    /// The target branch, without `refs/heads/`.
    pub branch: &'a str,
    /// The commit at which the branch has to be for a forced push; `None` allows a fast-forward only.
    pub expected: Option<&'a str>,
}
