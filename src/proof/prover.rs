//! Settings and surroundings of a proof of tests.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use workspace::FileChange;

use super::{ProofError, TestCommand};
use crate::isolation::Isolation;

/// How tests are run.
pub(crate) struct Prover<'a> {
    /// Makes a throw-away state of the disk with some changes.
    pub(crate) isolate: &'a (dyn Fn(&[FileChange]) -> Result<Isolation, ProofError> + Sync),
    /// The command that runs tests.
    pub(crate) command: &'a TestCommand,
    /// The time after which a run of the command is ended.
    pub(crate) timeout: Duration,
    /// Ends everything early.
    pub(crate) cancel: CancellationToken,
}
