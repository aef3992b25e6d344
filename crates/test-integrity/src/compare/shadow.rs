//! Names that tests are about, or assert with, and that a change gives another meaning in the tests themselves.

use std::collections::{BTreeMap, BTreeSet};

use crate::extract::{Names, Test};
use crate::files::{Language, subject};

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
pub(super) struct Shadow<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    /// Whether it is a function that asserts, rather than what the test is about.
    pub(super) asserts: bool,
}

impl Shadow<'_> {
    /// Returns what it means for a test.
    pub(super) fn message(&self, test: &str) -> String {
        let role = if self.asserts { "asserts with" } else { "is about" };
        format!("`{}`, which the test `{test}` {role}, is redefined", self.name)
    }
}

/// Returns the first name that a test uses as before, and that the test or its file now defines again.
pub(super) fn shadow<'a>(before: (&Test, &Names), after: (&'a Test, &'a Names)) -> Option<Shadow<'a>> {
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
        // What helped tests before may have moved here.
        let imported = old_names.imported.get(name);
        let is_imported = imported.is_some_and(|words| {
            new_names.imported.contains_key(name) || !words.iter().any(|word| is_of_helpers(word))
        });
        // Java needs no import for what is in the same package.
        let is_of_java =
            language == Some(Language::Java) && subject(&new.path) == name && subject(&old.path) == name;
        is_imported
            || is_of_rust && in_body && is_called(new, name)
            || is_of_java
            || language == Some(Language::Go) && is_unqualified(old, new, name)
    };
    // A file may define as many names as it has tests, so those that this test uses are looked for among them.
    let used = used_names(new, new_names);
    let find = |defined: &'a BTreeMap<String, usize>, in_body: bool| {
        used.iter().filter_map(|name| defined.get_key_value(*name)).find_map(|(name, line)| {
            let asserts = asserts(name);
            // Few names are those of something else; whether a test used one takes a look at all of its words.
            if !(asserts || is_subject(name, in_body)) || !is_new(name, in_body) {
                return None;
            }
            let mut words = old.body.words.iter();
            let by_helper =
                words.any(|word| old_names.within.get(word).is_some_and(|words| words.contains(name)));
            let is_of_go = language == Some(Language::Go);
            let was_used = by_helper || uses(old, name) || is_of_go && uses(old, &capitalized(name));
            was_used.then_some(Shadow { name, line: *line, asserts })
        })
    };
    find(&new.body.defined, true).or_else(|| find(&new_names.defined, false))
}

/// Returns the names that a test uses, itself or by the helpers that it calls.
fn used_names<'a>(test: &'a Test, names: &'a Names) -> BTreeSet<&'a str> {
    let words: BTreeSet<&str> = test.body.words.iter().map(String::as_str).collect();
    let of_helpers = words.iter().filter_map(|word| names.within.get(*word)).flatten().map(String::as_str);
    of_helpers.chain(words.iter().copied()).collect()
}

/// Returns the first name that a test uses as before, and that now comes from a double or from a file that the change adds.
pub(super) fn foreign<'a>(
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

/// Returns whether a word of an import's path is that of helpers of tests rather than of the program.
fn is_of_helpers(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "util", "helper", "fixture", "support", "common", "conftest", "mock", "fake", "stub", "factor",
        "sample", "typing", "example",
    ];
    let lower = word.to_ascii_lowercase();
    lower.contains("test") || WORDS.iter().any(|part| lower.contains(part))
}

/// Returns a name as Go exports it.
fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns whether a test of Go called a function of a package, and now calls one of its own that has the same name.
fn is_unqualified(old: &Test, new: &Test, name: &str) -> bool {
    let exported = capitalized(name);
    let is_of_package =
        |test: &Test| test.body.words.windows(3).any(|three| three[1] == "." && three[2] == exported);
    let is_called = new.body.words.windows(2).any(|two| two[0] == name && two[1] == "(");
    is_of_package(old) && !is_of_package(new) && is_called
}

/// Returns whether a test defines a function of this name and calls it.
fn is_called(test: &Test, name: &str) -> bool {
    let words = &test.body.words;
    let defines = words.windows(2).any(|two| two[0] == "fn" && two[1] == name);
    let calls = words.windows(2).any(|two| two[0] == name && two[1] == "(");
    defines && calls
}
