//! A branch of ours that holds records instead of a project: files that are changed by commits of the API, whoever else
//! changes them at the same time.
//!
//! Each change is made from the tip that was read and moves the branch only forwards, so that GitHub refuses it if somebody
//! was faster; then it is made again from the new tip.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use serde::Deserialize;

use super::api::Api;
use super::commit::{Commit, CommitError, commit_to, text_entry};
use super::contents::content;
use super::error::ApiError;
use super::operation::Purpose;
use super::trailers::trailer;
use super::url_encoding::in_path;
use crate::base::backoff::doubling;
use crate::base::verbose_log::detail;

/// Maximum number of attempts at one change.
const MAX_TRIES: usize = 60;

/// The delays between attempts: writers that failed together must not come back together.
const DELAYS: ExponentialBuilder =
    doubling(Duration::from_millis(100), Duration::from_secs(10)).with_max_times(MAX_TRIES);

const READ: Purpose = Purpose { doing: "read the branch of records", permission: "contents: read" };

/// The value of the trailer by which commits of such a branch are recognized.
const RECORDS: &str = "records";

/// A branch of records.
#[derive(Clone, Debug)]
pub struct RecordBranch {
    api: Api,
    name: String,
}

/// Errors that can occur when records are read or changed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A request to GitHub failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The branch is somebody else's.
    #[error(
        "the branch {0} contains commits that are not records of architect-ci; delete it, or choose another branch"
    )]
    Foreign(String),
    /// A file is not text, or too large to be read.
    #[error("{path} on the branch {branch} is not readable text; repair it, or delete the branch")]
    Unreadable {
        /// The branch.
        branch: String,
        /// The file.
        path: String,
    },
    /// A folder that GitHub does not list.
    #[error(
        "{folder} on the branch {branch} has more files than GitHub lists; delete those that are no longer needed"
    )]
    TooMany {
        /// The branch.
        branch: String,
        /// The folder.
        folder: String,
    },
    /// Others were faster each time.
    #[error("the branch {0} moved at every attempt to write a record; try again later")]
    Busy(String),
}

impl RecordBranch {
    /// Returns the branch of this name, which need not exist yet.
    pub fn new(api: Api, name: &str) -> Self {
        Self { api, name: name.to_owned() }
    }

    /// Returns the name of the branch.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the branch for what tells of the end of the work, for which there is a short time more.
    #[must_use]
    pub fn for_results(&self) -> Self {
        Self { api: self.api.for_results(), name: self.name.clone() }
    }

    /// Reads a file, or returns `None` if there is no such branch or file.
    pub async fn read(&self, path: &str) -> Result<Option<String>, RecordError> {
        match self.tip().await? {
            Some(tip) => self.text(&tip, path).await,
            None => Ok(None),
        }
    }

    /// Returns the names of the files in a folder, which need not exist.
    pub async fn list(&self, folder: &str) -> Result<Vec<String>, RecordError> {
        let Some(tip) = self.tip().await? else { return Ok(Vec::new()) };
        let too_many = || RecordError::TooMany { branch: self.name.clone(), folder: folder.to_owned() };
        tip.names_in(&self.api, folder).await?.ok_or_else(too_many)
    }

    /// Changes a file. `change` makes the new text from the current one, again whenever somebody else was faster; if it
    /// returns `None`, nothing is written.
    pub async fn update<E: From<RecordError>>(
        &self,
        path: &str,
        message: &str,
        mut change: impl FnMut(Option<&str>) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        let alone = self.api.alone_on(&self.name).await;
        let _alone = alone.map_err(|why| RecordError::from(ApiError::CutOff(why)))?;
        for delay in DELAYS.build() {
            let tip = self.tip().await?;
            let old = match &tip {
                Some(tip) => self.text(tip, path).await?,
                None => None,
            };
            let Some(new) = change(old.as_deref())?.filter(|new| Some(new) != old.as_ref()) else {
                return Ok(());
            };
            let message = format!("{message}\n\n{}\n", trailer(RECORDS));
            let entries = [text_entry(path, &new)];
            match commit_to(&self.api, &self.name, tip.as_ref(), &entries, &message).await {
                Ok(_) => return Ok(()),
                // Somebody was faster, or the branch is there by now.
                Err(CommitError::Moved(error)) => detail!("{error}; trying again"),
                Err(CommitError::Api(error)) => return Err(RecordError::from(error).into()),
            }
            let waited = self.api.in_time(tokio::time::sleep(delay)).await;
            waited.map_err(|why| RecordError::from(ApiError::CutOff(why)))?;
        }
        Err(RecordError::Busy(self.name.clone()).into())
    }

    /// Appends lines to a file.
    pub async fn append(&self, path: &str, lines: &str, message: &str) -> Result<(), RecordError> {
        let longer =
            |old: Option<&str>| Ok::<_, RecordError>(Some(with_lines(old.unwrap_or_default(), lines)));
        self.update(path, message, longer).await
    }

    /// Returns the commit at the tip, which has to be one of ours.
    async fn tip(&self) -> Result<Option<Commit>, RecordError> {
        let tip = Commit::tip(&self.api, &self.name).await?;
        let trailer = trailer(RECORDS);
        let is_ours = |tip: &Commit| tip.message.lines().any(|line| line.trim() == trailer);
        if tip.as_ref().is_some_and(|tip| !is_ours(tip)) {
            return Err(RecordError::Foreign(self.name.clone()));
        }
        Ok(tip)
    }

    async fn text(&self, tip: &Commit, path: &str) -> Result<Option<String>, RecordError> {
        let unreadable = || RecordError::Unreadable { branch: self.name.clone(), path: path.to_owned() };
        let bytes = match content(&self.api, &tip.sha, path, READ).await {
            Ok(Some(bytes)) => bytes,
            // Over 1 MB, only the blob has it.
            Ok(None) => self.blob(tip, path).await?.ok_or_else(unreadable)?,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        String::from_utf8(bytes).map(Some).map_err(|_| unreadable())
    }

    async fn blob(&self, tip: &Commit, path: &str) -> Result<Option<Vec<u8>>, ApiError> {
        #[derive(Deserialize)]
        struct File {
            sha: String,
        }
        let address = format!("/contents/{}?ref={}", in_path(path), tip.sha);
        let File { sha } = self.api.get(&address, READ).await?;
        super::contents::blob(&self.api, &sha, READ).await
    }
}

/// Returns a text with lines at its end, whose last one may have no line break.
pub fn with_lines(text: &str, lines: &str) -> String {
    let separator = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{separator}{lines}")
}
