//! Classes of a file that may hold tests, and what they inherit from.

/// Class of a file, with what it inherits from.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) name: String,
    /// Names of what it inherits from, without their paths.
    pub(crate) bases: Vec<String>,
    /// Whether a runner runs its tests.
    pub(crate) runs: bool,
}

impl Class {
    /// Makes a class of its name and of the words after which its bases are listed.
    pub(crate) fn new(name: &str, bases: &str, runs: bool) -> Self {
        // `abc.Base[str]` and `Base<String>` inherit from `Base`.
        let bare = |base: &str| {
            let base = base.split(['<', '[', '=']).next().unwrap_or(base).trim();
            base.rsplit(['.', ' ']).next().unwrap_or(base).to_owned()
        };
        let bases = bases.trim_matches(['(', ')', ' ']).split(',').map(bare).filter(|base| !base.is_empty());
        Self { name: name.to_owned(), bases: bases.collect(), runs }
    }
}

/// Why a test stands in a class that runs nothing itself.
pub(crate) const OF_BASE: &[&str] = &["its name does not mark its class as one of tests", "abstract class"];
