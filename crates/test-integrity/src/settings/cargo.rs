//! Settings of Cargo that keep tests from being built, or from being run.

use std::collections::HashSet;

use super::flatten::{Entry, flatten};
use crate::Change;
use crate::files::{Format, extension, file_name};
use crate::finding::{Finding, Kind};

/// Programs that do nothing and succeed.
const NOTHING: &[&str] = &["true", "/bin/true", "/usr/bin/true", ":", "echo", "exit"];

/// Returns what `Cargo.toml` or Cargo's configuration leaves out, and did not before.
pub(super) fn compare(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let of_manifest = file_name(path) == "Cargo.toml";
    if !of_manifest && !path.contains(".cargo/") {
        return Vec::new();
    }
    let old = flatten(before, Format::Sections);
    let known: HashSet<(&str, &str)> = old.iter().map(|known| (&*known.key, &*known.value)).collect();
    let is_new = |entry: &Entry| !known.contains(&(&*entry.key, &*entry.value));
    let judge = |entry: &Entry| if of_manifest { manifest(entry) } else { runner(entry) };
    let found = flatten(after, Format::Sections).into_iter().filter(is_new).filter_map(|entry| {
        let message = format!("tests do not run: `{} = {}`", entry.key, entry.value);
        Some(Finding::new(path, entry.line, judge(&entry)?, message))
    });
    found.collect()
}

/// Returns whether a lint that a manifest allows was allowed by the code of a crate before, where that no longer stands.
pub(super) fn was_allowed_in_code(entry: &Entry, changes: &[Change<'_>]) -> bool {
    let lint = entry.key.rsplit('.').next().unwrap_or(&entry.key);
    let allows = |text: Option<&str>| {
        let lines =
            text.unwrap_or_default().lines().filter(|line| line.trim_start().starts_with("#![allow("));
        let mut names =
            lines.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
        names.any(|name| name == lint)
    };
    let mut code = changes.iter().filter(|change| extension(change.path) == "rs");
    let is_allowed = entry.key.contains("lints.") && matches!(entry.value.as_str(), "allow" | "\"allow\"");
    is_allowed && code.any(|change| allows(change.before) && !allows(change.after))
}

fn manifest(entry: &Entry) -> Option<Kind> {
    if entry.key == "test.required-features" {
        return Some(Kind::LooserRule);
    }
    match (entry.key.as_str(), entry.value.as_str()) {
        ("lib.test" | "lib.doctest" | "test.test" | "package.autotests", "false") => Some(Kind::WeakerCheck),
        // A harness of one's own may run them.
        (
            "lib.harness"
            | "test.harness"
            | "bin.test"
            | "profile.test.debug-assertions"
            | "profile.test.overflow-checks",
            "false",
        ) => Some(Kind::LooserRule),
        _ => None,
    }
}

fn runner(entry: &Entry) -> Option<Kind> {
    let program = entry.value.trim_matches(['[', ']', '"', ' ']).split([' ', '"', ',']).next()?;
    (entry.key.starts_with("target.") && entry.key.ends_with(".runner") && NOTHING.contains(&program))
        .then_some(Kind::WeakerCheck)
}
