//! Subjects of tests: the names of the program that they call, and what they give to it.

use std::collections::BTreeSet;

use super::Bag;
use super::reasons::calls;
use crate::assertion::vocabulary;
use crate::extract::Test;
use crate::weaker::is_keyword;

/// Least share of names and literals in common of two tests that call nothing of the program in common.
const ALIKE: f64 = 0.5;

/// Words of languages and of libraries for tests.
const WORDS: &[&str] = &[
    "fn", "func", "function", "def", "let", "const", "var", "void", "async", "await", "testing", "T",
    "Errorf", "Fatalf", "Error", "Fatal", "nil", "it", "test", "public", "to", "be", "pytest", "Test", "err",
];

/// What a test is about.
pub(super) struct Subject<'a> {
    calls: BTreeSet<&'a str>,
    /// Its names and literals but for those of the language, of libraries for tests, and of its own.
    content: Bag,
}

impl<'a> Subject<'a> {
    pub(super) fn of(test: &'a Test) -> Self {
        let asserting = asserting(test);
        let content = test.body.words.iter().filter(|word| !is_of_runner(test, &asserting, word));
        Self { calls: Self::calls_of(test), content: Bag::of_words(content) }
    }

    /// Returns the names of the program that a test calls.
    pub(super) fn calls_of(test: &'a Test) -> BTreeSet<&'a str> {
        let asserting = asserting(test);
        calls(test).into_iter().filter(|name| !is_of_runner(test, &asserting, name)).collect()
    }

    /// Returns whether a test of another name may be this one: it calls the same of the program, or has most of its names and literals.
    /// Short tests are alike by their signs and keywords alone.
    pub(super) fn is_that_of(&self, other: &Self) -> bool {
        let common = self.calls.intersection(&other.calls).count();
        common > 0 && common * 2 >= self.calls.len() || self.content.likeness(&other.content) >= ALIKE
    }
}

/// Returns the names by which the library for tests is called in a test, without their negation.
fn asserting(test: &Test) -> BTreeSet<String> {
    // A method of what is tested may be read as one that asserts something.
    let is_of_library = |text: &str| {
        ["expect", "assert", "require", "verify"].iter().any(|root| text.starts_with(root))
            || text.contains(" . should . ")
    };
    let own = test.body.assertions.iter().filter(|assertion| is_of_library(&assertion.text));
    own.map(|assertion| vocabulary::plain(&assertion.name))
        .flat_map(|name| [name.strip_prefix("not").map(str::to_owned), Some(name)])
        .flatten()
        .filter(|name| !name.is_empty())
        .collect()
}

/// Returns whether a word of a test is one of the language, of a library for tests, or one that the test gives a meaning itself.
fn is_of_runner(test: &Test, asserting: &BTreeSet<String>, word: &str) -> bool {
    is_keyword(word)
        || vocabulary::is_statement(word)
        || WORDS.contains(&word)
        || test.simple_name() == word
        || test.body.defined.contains_key(word)
        || asserting.contains(&vocabulary::plain(word))
}
