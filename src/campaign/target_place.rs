//! A target that is worked on, and the folder for it.

use std::path::Path;
use std::sync::Arc;

use sanitize::Masker;
use tracing::Dispatch;

use super::target::TargetId;
use super::work_error::WorkError;
use crate::batch::Entry;
use crate::git::Cone;
use crate::github::RepositoryName;
use crate::report::file_log;
use crate::request::JobRequest;

/// A target, with what is done there and where that is.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) id: &'a TargetId,
    pub(super) entry: &'a Entry,
    pub(super) name: &'a RepositoryName,
    pub(super) branch: &'a str,
    pub(super) commit: &'a str,
}

impl Target<'_> {
    /// Returns the part of the repository that a clone has on disk; `None` for all of it.
    pub(super) fn cone(&self) -> Option<Cone> {
        let more = self.entry.sparse.as_ref()?;
        // What is worked on everywhere needs everything.
        let own = self.entry.folder.as_ref()?;
        Cone::new([own].into_iter().chain(more).cloned().chain([".github".to_owned()]))
    }
}

/// Returns what hides the secrets of a job.
pub(super) fn masker(job: &JobRequest) -> Arc<Masker> {
    let secret: Vec<&str> = job.secret_variables.iter().map(String::as_str).collect();
    Arc::new(Masker::from_environment(&job.variables, &secret, &job.secrets))
}

/// Opens the log of a run in a folder.
pub(super) fn log_in(folder: &Path, masker: &Arc<Masker>) -> Result<Dispatch, WorkError> {
    let path = folder.join("log.txt");
    file_log(&path, Arc::clone(masker)).map_err(|error| WorkError::Write(path, error))
}

/// Makes an empty folder.
pub(super) fn fresh(folder: &Path) -> Result<(), WorkError> {
    let failed = |error| WorkError::Write(folder.to_owned(), error);
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder).map_err(failed)
}
