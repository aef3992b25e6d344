//! Flags that make warnings fail, and tests that a build registers, wherever they stand in a text.

use std::sync::LazyLock;

use regex::Regex;

use super::general::Weaker;
use crate::finding::Kind;

/// Returns the flags of compilers and tools that make warnings fail, and are nowhere any more.
pub(super) fn lost_flags(before: &str, after: &str) -> Option<Weaker> {
    const FLAGS: &[&str] = &[
        "-Werror",
        "/WX",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "warnings_as_errors",
        "--warnings-as-errors",
        "-Xlint:all",
        "-Xfatal-warnings",
    ];
    let has = |text: &str, flag: &str| {
        text.split(|letter: char| {
            letter.is_whitespace() || matches!(letter, '"' | '\'' | ',' | '(' | ')' | ':' | '<' | '>')
        })
        .any(|word| word == flag)
    };
    let flag = FLAGS.iter().find(|flag| has(before, flag) && !has(after, flag))?;
    Some((1, Kind::LooserRule, format!("warnings no longer fail: `{flag}` is gone")))
}

/// Returns a test that a build no longer registers.
pub(super) fn lost_registrations(before: &str, after: &str) -> Option<Weaker> {
    static REGISTERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:(?:add_test|gtest_discover_tests|catch_discover_tests|doctest_discover_tests|enable_testing|(?:cc|go|py|java|rust|sh)_test)\s*\(|RSpec::Core::RakeTask|Rake::TestTask)")
            .ok()
    });
    let pattern = REGISTERS.as_ref()?;
    let registered = |text: &str| -> Vec<String> {
        text.lines().filter(|line| pattern.is_match(line)).map(|line| line.trim().to_owned()).collect()
    };
    let (old, new) = (registered(before), registered(after));
    let gone = old.iter().find(|line| !new.contains(line)).filter(|_| new.len() < old.len())?;
    Some((1, Kind::WeakerCheck, format!("a test is no longer registered: `{gone}`")))
}
