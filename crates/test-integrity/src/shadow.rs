//! Names that tests are about, or assert with, and that a change gives another meaning in the tests themselves.

use std::collections::{BTreeMap, BTreeSet};

use crate::extract::{Names, Test};
use crate::files::Language;

/// Functions and macros of well-known libraries that assert.
const ASSERTING: &[&str] = &[
    "expect",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "assertEquals",
    "assertNotEquals",
    "assertArrayEquals",
    "assertSame",
    "assertTrue",
    "assertFalse",
    "assertNull",
    "assertNotNull",
    "assertThat",
    "assertThrows",
    "assertEqual",
    "assertIn",
    "assertRaises",
];

/// Most imported names of a file that are compared for each test.
const MAX_IMPORTS: usize = 100;

/// Name that stands for something else than before.
pub(crate) struct Shadow<'a> {
    pub(crate) name: &'a str,
    pub(crate) line: usize,
    /// Whether it is a function that asserts, rather than what the test is about.
    pub(crate) asserts: bool,
}

impl Shadow<'_> {
    /// Returns what it means for a test.
    pub(crate) fn message(&self, test: &str) -> String {
        let role = if self.asserts { "asserts with" } else { "is about" };
        format!("`{}`, which the test `{test}` {role}, is redefined", self.name)
    }
}

/// Returns the first name that a test uses as before, and that the test or its file now defines again.
pub(crate) fn shadow<'a>(before: (&Test, &Names), after: (&'a Test, &'a Names)) -> Option<Shadow<'a>> {
    let ((old, old_names), (new, new_names)) = (before, after);
    let language = Language::of(&new.path);
    let uses = |test: &Test, name: &str| test.body.words.iter().any(|word| word == name);
    // What the test itself defines hides what its file defines.
    let is_new = |name: &str, in_body: bool| {
        !old.body.defined.contains_key(name) && (in_body || !old_names.defined.contains_key(name))
    };
    let asserts = |name: &str| {
        let called = |text: &str| text.split(' ').next() == Some(name);
        let is_of_go = name == "t" && language == Some(Language::Go);
        (ASSERTING.contains(&name) || is_of_go)
            && old.body.assertions.iter().any(|assertion| is_of_go || called(&assertion.text))
    };
    // Rust's tests have the names of the module around them.
    let is_of_rust = language == Some(Language::Rust);
    let is_subject = |name: &str, in_body: bool| {
        let is_imported = old_names.imported.contains_key(name) && new_names.imported.contains_key(name);
        is_imported || is_of_rust && in_body && is_called(new, name)
    };
    let find = |defined: &'a BTreeMap<String, usize>, in_body: bool| {
        defined.iter().find_map(|(name, line)| {
            let asserts = asserts(name);
            let is_meant = uses(old, name) && uses(new, name) && is_new(name, in_body);
            (is_meant && (asserts || is_subject(name, in_body))).then_some(Shadow {
                name,
                line: *line,
                asserts,
            })
        })
    };
    find(&new.body.defined, true).or_else(|| find(&new_names.defined, false))
}

/// Returns the first name that a test uses as before, and that now comes from a double or from a file that the change adds.
pub(crate) fn foreign<'a>(
    before: (&Test, &Names),
    after: (&Test, &'a Names),
    added: &[&str],
) -> Option<&'a str> {
    const DOUBLES: &[&str] = &["fake", "fakes", "mock", "mocks", "stub", "stubs", "dummy", "noop", "quiet"];
    let ((old, old_names), (new, new_names)) = (before, after);
    let uses = |test: &Test, name: &str| test.body.words.iter().any(|word| word == name);
    let is_foreign = |(name, words): &(&'a String, &BTreeSet<String>)| {
        let fresh = old_names.imported.get(*name).map(|known| words.difference(known).collect::<Vec<_>>());
        let is_double =
            |word: &str| DOUBLES.contains(&word.to_ascii_lowercase().as_str()) || added.contains(&word);
        fresh.is_some_and(|fresh| fresh.iter().any(|word| is_double(word)))
            && uses(old, name)
            && uses(new, name)
    };
    new_names.imported.iter().take(MAX_IMPORTS).find(is_foreign).map(|(name, _)| name.as_str())
}

/// Returns whether a test defines a function of this name and calls it.
fn is_called(test: &Test, name: &str) -> bool {
    let words = &test.body.words;
    let defines = words.windows(2).any(|two| two[0] == "fn" && two[1] == name);
    let calls = words.windows(2).any(|two| two[0] == name && two[1] == "(");
    defines && calls
}
