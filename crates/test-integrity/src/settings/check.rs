//! One command that checks something.

/// One command that checks something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) line: usize,
    /// The tool and what tells its uses apart: `cargo test`, `pytest`.
    pub(super) tool: String,
    pub(super) text: String,
    /// Options by which it checks less.
    pub(super) narrow: Vec<String>,
}
