//! Reasons why a batch, or the merge of its reports, does not start.

use std::path::PathBuf;

use crate::git::GitError;
use crate::recipe::{ExampleFault, TestError};
use crate::request::InputError;

/// What is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Tasks are to be done again, but of no earlier start.
    #[error("`retry` repeats tasks of an earlier start; set `resume` as well")]
    RetryWithoutResume,
    /// An event that anybody can cause.
    #[error(
        "the event {0}, which anybody can cause, cannot start a batch; use `schedule`, `workflow_dispatch` or `push`"
    )]
    Event(String),
    /// Two lists of tasks.
    #[error("both a batch file and `manifest` are set; remove one of them")]
    TwoLists,
    /// No earlier start that could hold a delivery.
    #[error("{} contains no batch of this user, so there is nothing to deliver; set `out` to the output \
     folder of a batch", .0.display())]
    NothingHeld(PathBuf),
    /// No list of tasks.
    #[error("no batch is set; specify a batch file or a `manifest`")]
    NoList,
    /// A list of tasks that a stranger may have written.
    #[error(
        "the manifest {} is a file of the checkout, which a pull request may have written; put it outside of the \
         checkout, for example below `RUNNER_TEMP`",
        .0.display()
    )]
    UntrustedManifest(PathBuf),
    /// Reports that a stranger may have written.
    #[error(
        "the reports {} (`previous`) are files of the checkout, which a pull request may have written; put them \
         outside of the checkout, for example below `RUNNER_TEMP`",
        .0.display()
    )]
    UntrustedReports(PathBuf),
    /// A folder that tasks cannot share.
    #[error("`shared`: {folder:?}: {reason}")]
    NotShareable {
        /// The folder.
        folder: String,
        /// The reason, and what to do.
        reason: NotShareable,
    },
    /// Nothing to make worktrees from.
    #[error("a batch needs a Git repository with a commit, because each task gets its own worktree")]
    NoCommit,
    /// The tasks are about another state of the repository.
    #[error("the checkout does not contain the commit {0}, for which the tasks were listed")]
    OtherCommit(String),
    /// Git could not list the files, or make a worktree.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A command whose lines are values has no state to run on.
    #[error(transparent)]
    Isolation(#[from] crate::isolation::IsolationError),
    /// A recipe does not do what its tests say.
    #[error("the recipe {recipe} fails its test {test:?}, so no task was started: {fault}")]
    RecipeTest {
        /// Path of the recipe.
        recipe: String,
        /// Name of the test.
        test: String,
        /// What is not as expected.
        fault: Box<ExampleFault>,
    },
    /// A recipe's tests could not be run.
    #[error(transparent)]
    Test(#[from] TestError),
    /// What was planned is not what the jobs that have planned say.
    #[error("none of the plans is written: {0}; run all jobs of this workflow again")]
    Unverified(#[source] super::UnverifiedReport),
    /// The list of tasks is not the one that was put out.
    #[error(
        "the manifest has the digest {found}, but {wanted} was listed (`manifest-digest`); list the tasks again"
    )]
    OtherManifest {
        /// What the job that has listed the tasks put out.
        wanted: String,
        /// What the file has.
        found: String,
    },
    /// Artifacts alone say what is to be written.
    #[error(
        "`plans` needs `{0}` in GitHub Actions, because every job of a workflow run can write artifacts; \
         set it from the outputs of the jobs that listed and planned the tasks"
    )]
    NoDigest(&'static str),
    /// The digests of the reports cannot be read.
    #[error(transparent)]
    Digests(#[from] super::InvalidDigests),
    /// No reports.
    #[error("there is nothing to merge; name the folders with the artifacts")]
    NoReports,
}

/// Why a folder cannot be shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotShareable {
    /// It does not exist, or is not a folder.
    #[error("it is not a folder of the checkout; install what it contains before the batch starts")]
    Missing,
    /// A link leads to it.
    #[error("the link {0} leads to it; use the folder itself")]
    Link(String),
    /// The commit contains a part of it.
    #[error("the commit contains {0}, and only folders that Git ignores can be shared")]
    Tracked(String),
}

impl From<StartError> for InputError {
    fn from(error: StartError) -> Self {
        Self::Batch(Box::new(error))
    }
}
