//! The branch that keeps the sealed journal of a batch.

use std::path::Path;

use super::sealed_error::SealedJournalError;
use crate::github::{Environment, RecordBranch};
use crate::request::{InputError, Lookup, ledger_branch, ledger_records};

/// Reads the input that names the branch.
pub(super) fn journal_branch(
    lookup: &Lookup,
    github: Option<&Environment>,
) -> Result<Option<RecordBranch>, InputError> {
    let Some(given) = lookup.text("journal") else { return Ok(None) };
    let name = ledger_branch(Path::new(&given)).ok_or_else(|| InputError::Value {
        name: "journal".to_owned(),
        given,
        expected: "`branch` or `branch:NAME`".to_owned(),
    })?;
    ledger_records(github.ok_or(SealedJournalError::NoGitHub)?, &name).map(Some)
}
