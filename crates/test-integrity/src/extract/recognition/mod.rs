//! Recognizes calls and expressions that assert something, in whatever language: by the words of their names, as parts of
//! chains, or by the failure that a condition leads to.

pub(super) mod chains;
pub(super) mod checks;
pub(super) mod failing;
pub(super) mod learned;
