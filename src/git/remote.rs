//! The server: fetching a commit, and pushing one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::PoisonError;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::commit::Author;
use super::private::Private;
use super::program::Call;
use super::{GitError, Repository};
use crate::workspace::FileState;

/// Where a repository is on a server.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The repository's address.
    pub url: &'a str,
    /// The beginning of addresses that get the token.
    pub server: &'a str,
    /// The token.
    pub token: Option<&'a str>,
}

impl Repository {
    /// Fetches one commit without its history; the clone stays as it is.
    pub fn fetch(&self, place: Place<'_>, commit: &str) -> Result<(), GitError> {
        let private = Private::new(&self.held)?;
        let args = ["fetch", "--quiet", "--no-tags", "--depth=1", place.url, commit];
        Self::remotely(&private, place, args)?;
        // Each borrows the objects of the one before.
        self.held.fetched.lock().unwrap_or_else(PoisonError::into_inner).push(private);
        self.forget_store();
        Ok(())
    }

    /// Makes a commit upon another and pushes it to a branch; answers with its id. `expected` is what the
    /// branch has to be, if it may be moved back.
    pub fn push(&self, place: Place<'_>, push: &Push<'_>) -> Result<String, GitError> {
        if !self.has_commit(push.parent) {
            self.fetch(place, push.parent)?;
        }
        let private = Private::new(&self.held)?;
        let commit = self.commit_upon(&private, push.parent, push.files, push.message, push.author)?;
        let lease = push.expected.map(|id| format!("--force-with-lease=refs/heads/{}:{id}", push.branch));
        let target = format!("{commit}:refs/heads/{}", push.branch);
        let args = ["push", "--quiet", "--no-verify"]
            .into_iter()
            .chain(lease.as_deref())
            .chain([place.url, &target]);
        Self::remotely(&private, place, args)?;
        Ok(commit)
    }

    fn remotely<'s>(
        private: &Private,
        place: Place<'_>,
        args: impl IntoIterator<Item = &'s str>,
    ) -> Result<(), GitError> {
        let mut variables = Vec::new();
        // By the environment, which others cannot read as they can arguments.
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
            git_dir: private.path(),
            root: private.path(),
            folder: private.path(),
            variables,
            input: &[],
            // A server that is a folder of this machine is written to by the program itself.
            writable: std::iter::once(private.path().to_owned()).chain(folder).collect(),
            network: true,
        };
        call.run(args).map(drop)
    }
}

/// A commit to be made and pushed.
#[derive(Clone, Copy, Debug)]
pub struct Push<'a> {
    /// The commit that it is made upon.
    pub parent: &'a str,
    /// The files that it changes; no content is a deletion.
    pub files: &'a [(String, Option<FileState>)],
    /// Its message.
    pub message: &'a str,
    /// Who makes it.
    pub author: Author,
    /// The branch.
    pub branch: &'a str,
    /// What the branch has to be, if it may be moved back.
    pub expected: Option<&'a str>,
}
