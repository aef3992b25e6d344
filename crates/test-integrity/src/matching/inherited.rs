//! Tests in classes that run nothing themselves, and that classes which do run inherit: mixins, and abstract classes of contracts.

use std::collections::BTreeSet;

use crate::extract::Test;
use crate::extract::classes::{Class, OF_BASE};

/// Returns whether a test stands in a class that runs nothing itself.
pub(crate) fn is_of_base(test: &Test) -> bool {
    test.hidden.is_some_and(|why| OF_BASE.contains(&why))
        || test.body.skip.as_ref().is_some_and(|skip| OF_BASE.contains(&skip.text.as_str()))
}

/// Notes which tests run because a class inherits them that runs.
pub(super) fn settle(tests: &mut [Test], classes: &[Class]) {
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
