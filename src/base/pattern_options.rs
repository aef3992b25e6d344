//! Options of patterns, and the error that both engines share.

/// How a pattern is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PatternOptions {
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Whether `^` and `$` match at every line, whose end may be `\n` or `\r\n`.
    pub multi_line: bool,
}

/// Error for a search that was given up, because the pattern backtracks too much on the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern takes too long on this text; write it without nested repetition")]
pub(crate) struct PatternTimeout;
