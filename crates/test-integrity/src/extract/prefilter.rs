//! Files that may hold tests, or what helps them.

use memchr::memmem;

use crate::files::{Language, Role};

/// Returns whether a file of source code may hold tests. Rust's stand next to the code, and other files may be scripts that run
/// some; elsewhere a file of tests has a name of its own, or asks for its library.
pub(crate) fn may_hold_tests(path: &str, text: &str) -> bool {
    let words: &[&str] = match Language::of(path) {
        Some(_) if Role::of(path) == Role::Test => return true,
        Some(Language::Python) => {
            &["import unittest", "import pytest", "from unittest", "from behave", "from pytest_bdd"]
        }
        Some(Language::EcmaScript) => {
            &["node:test", "describe(", "from 'vitest'", "from \"vitest\"", "@cucumber/cucumber"]
        }
        Some(Language::Java) => &["org.junit", "org.testng", "io.cucumber"],
        // What takes a test is a helper of tests, and what a build tool runs fails by its result.
        Some(Language::Go) => &["testing.TB", "*testing.T", "//go:build mage"],
        Some(Language::Rust) | None => return true,
    };
    // All files of a change are asked, so this has to be faster than `str::contains`.
    words.iter().any(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some())
}
