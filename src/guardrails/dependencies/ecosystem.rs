//! Description of an ecosystem: its files, and how they name dependencies.

use super::languages::Language;

/// Files of one kind of package manager.
#[derive(Debug)]
pub(super) struct Ecosystem {
    /// Lock files. A name may have one `*`, and folders in front of it; all are in lower case.
    pub(super) locks: &'static [&'static str],
    /// Files that list dependencies, with the keys that do so.
    pub(super) manifests: &'static [Manifest],
    /// Files that say where packages come from.
    pub(super) settings: &'static [&'static str],
    /// Files that name such places beside much else, and that are not in `manifests`, as no lock file belongs to them.
    pub(super) builds: &'static [&'static str],
    /// Places that packages come from where nothing says otherwise.
    pub(super) public: &'static [&'static str],
    /// Whose manifests a lock file serves.
    pub(super) reach: Reach,
    /// Whether packages come from accounts of all kinds of people on code hosts, so that only the host tells anything.
    pub(super) any_account: bool,
    /// Whether a manifest names packages by their addresses, so that each new one has a new address.
    pub(super) is_by_address: bool,
}

/// What most have in common.
pub(super) const DEFAULT: Ecosystem = Ecosystem {
    locks: &[],
    manifests: &[],
    settings: &[],
    public: &[],
    builds: &[],
    reach: Reach::Own,
    any_account: false,
    is_by_address: false,
};

/// File that lists dependencies.
#[derive(Debug)]
pub(super) struct Manifest {
    /// Its name.
    pub(super) name: &'static str,
    /// What of it does so.
    pub(super) how: How,
}

/// What of a manifest lists dependencies.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// The values of some keys, with dots between them: `*` is any key, and `**` any number of them.
    Keys(&'static [&'static str]),
    /// A catalog of versions of Gradle.
    Catalog,
    /// Elements of a project of .NET.
    Xml,
    /// Parts of a program.
    Code(Language, &'static [Part]),
    /// Fields with a colon.
    Fields(&'static [&'static str]),
    /// Sections of `setup.cfg`.
    Setup,
    /// All lines.
    Lines(Language),
    /// Directives of Go.
    Modules,
    /// A comment at the start of a script.
    Script,
}

/// Part of a program that is about dependencies, by a pattern of how it begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// A line, with those that belong to it.
    Line(&'static str),
    /// Everything up to the end of the brackets.
    Block(&'static str),
    /// Lines of that, by a pattern of their own.
    Within(&'static str, &'static str),
    /// Blocks of a function that a pattern finds, by a pattern of their own.
    Function(&'static str, &'static str),
    /// What the pattern's group finds.
    Name(&'static str),
    /// A line that gives a name to a value, by a pattern whose group is the name, if the parts before it use the name.
    Used(&'static str),
}

/// Whose manifests a lock file serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those of its own folder.
    Own,
    /// Those of its folder and of the packages of a workspace below.
    Members,
    /// Those of its folder and of all folders below that have no lock file of their own.
    Below,
    /// Those of its folder, and what all projects below a folder share.
    Shared,
}
