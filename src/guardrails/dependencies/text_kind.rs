//! Kinds of texts in files of dependencies.

/// What a text is to the program that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, a version, a checksum, or how a package is asked for.
    Spec,
    /// Where something is fetched from.
    Place,
    /// Where something is fetched from, as a host with or without a path.
    Bare,
    /// A part of a place: a name without anything around it.
    Part,
    /// A name that may have slashes, such as that of a branch or of a package with its maker.
    Slashed,
    /// A path within what is fetched, or within the checkout.
    Path,
    /// A text for people.
    People,
}
