//! Rejected rows of lock files and settings, with reasons.

/// Reason why a text is not accepted, to be read behind what it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Reason(pub(super) &'static str);

/// Row that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{row}`, {why}")]
pub(super) struct RejectedRow {
    pub(super) row: String,
    pub(super) why: Reason,
}

impl RejectedRow {
    pub(super) fn new(row: impl Into<String>, why: Reason) -> Self {
        Self { row: row.into(), why }
    }
}
