//! Proof that tests are about a change: the tests that it adds or changes run on the old code, where they have to fail, and
//! on the new, where they have to pass. Both are throw-away states, behind the sandbox that gates have.

mod command;
mod observed;
mod prove;
mod since;
mod states;

pub use command::{CommandError, TestCommand};
pub use prove::{Prover, prove};
pub use since::changes_since;
pub use states::States;

use crate::workspace::IsolationError;

/// Why nothing can be said about any test.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The throw-away state could not be made.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// The state below it could not be read or planned.
    #[error(transparent)]
    File(#[from] crate::workspace::FileError),
    /// The change could not be read.
    #[error(transparent)]
    Git(#[from] crate::git::GitError),
    /// A signal came.
    #[error("the run was interrupted")]
    Interrupted,
}
