//! Words.

/// A word.
pub const WORD: &str = "word";
