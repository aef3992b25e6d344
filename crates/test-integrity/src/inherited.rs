//! Tests in classes that run nothing themselves, and that classes which do run inherit: mixins, and abstract classes of contracts.

use std::collections::BTreeSet;

use crate::extract::Test;

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

/// Returns whether a test stands in a class that runs nothing itself.
pub(crate) fn is_of_base(test: &Test) -> bool {
    test.hidden.is_some_and(|why| OF_BASE.contains(&why))
        || test.body.skip.as_ref().is_some_and(|skip| OF_BASE.contains(&skip.text.as_str()))
}

/// Notes which tests run because a class inherits them that runs.
pub(crate) fn settle(tests: &mut [Test], classes: &[Class]) {
    let mut inherited: BTreeSet<&str> = BTreeSet::new();
    let mut waiting: Vec<&Class> = classes.iter().filter(|class| class.runs).collect();
    while let Some(class) = waiting.pop() {
        for base in &class.bases {
            if inherited.insert(base) {
                waiting.extend(classes.iter().filter(|other| other.name == *base));
            }
        }
    }
    for test in tests {
        let class = test.name.rsplit(" > ").nth(1).unwrap_or_default();
        if inherited.contains(class) {
            test.body.is_inherited = true;
            test.hidden = test.hidden.filter(|why| !OF_BASE.contains(why));
            test.body.skip.take_if(|skip| OF_BASE.contains(&skip.text.as_str()));
        }
    }
}
