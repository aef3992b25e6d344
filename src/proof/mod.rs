//! Proof that tests are about a change: the tests that it adds or changes run on the old code, where they have to fail, and
//! on the new, where they have to pass. Both are throw-away states, behind the sandbox that gates have.

mod command;
mod compiled;
mod missing;
mod mutate;
mod observed;
mod prove;
mod prover;
mod rerun;
mod side;
mod since;
mod states;
mod verdict;

pub(crate) use command::{CommandError, TestCommand};
pub(crate) use mutate::{MutationLimits, mutate};
pub(crate) use prove::prove;
pub(crate) use prover::Prover;
pub(crate) use since::changes_since;
pub(crate) use states::{States, names_of_changed_tests};

use crate::isolation::IsolationError;

/// Why nothing can be said about any test.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProofError {
    /// The throw-away state could not be made.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// The state below it could not be read or planned.
    #[error(transparent)]
    File(#[from] workspace::FileError),
    /// The change could not be read.
    #[error(transparent)]
    Git(#[from] crate::git::GitError),
    /// The command is to be told which tests to run, and there are none.
    #[error(
        "the change neither adds nor changes a test; use a command without `{{tests}}`, `{{test}}` and `{{files}}`"
    )]
    NoTests,
    /// What the tests notice cannot be told.
    #[error("the tests fail on the change as it is; make them pass first")]
    FailsWithout,
    /// Nothing of this kind can be started.
    #[error("the test command could not be run: {0}")]
    NotRunnable(String),
    /// A signal came.
    #[error("the run was interrupted")]
    Interrupted,
}

/// Returns whether a path has this extension.
fn has_extension(path: &str, extension: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|found| found == extension)
}
