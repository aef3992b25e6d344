//! Origin of a side of a comparison: the value that it comes from, and what is lost of it on the way to the assertion.

use super::Assertion;

/// The order of items, or how many of them are the same.
pub(crate) const ORDER: u8 = 1;
/// The case of letters.
pub(crate) const CASE: u8 = 2;
/// White space.
pub(crate) const SPACE: u8 = 4;
/// Some items or members.
pub(crate) const PART: u8 = 8;

/// Value that a side of a comparison comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Its tokens, joined by blanks.
    pub(crate) core: String,
    /// What is lost of it, as a sum.
    pub(crate) lost: u8,
}

impl Assertion {
    /// Returns what is lost of the tested value that another assertion compared, or `None` if they are not about the same.
    pub(crate) fn lost_since(&self, before: &Self) -> Option<u8> {
        let (old, new) = before.origins.as_ref().zip(self.origins.as_ref())?;
        (old.0.core == new.0.core).then_some(new.0.lost & !old.0.lost)
    }
}
