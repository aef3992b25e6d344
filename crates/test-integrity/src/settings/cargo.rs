//! Settings of Cargo that keep tests from being built, or from being run.

use std::collections::HashSet;

use super::flatten::{Entry, flatten};
use crate::Change;
use crate::files::{Format, file_name};
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

/// Returns whether a lint that a manifest allows was allowed by the root of a crate that it is for before, where that no longer stands. The
/// lints of a workspace may be for crates that the change does not touch, unless they are all new.
pub(super) fn was_allowed_in_code(entry: &Entry, manifest: &Change<'_>, changes: &[Change<'_>]) -> bool {
    let is_allowed = matches!(entry.value.as_str(), "allow" | "\"allow\"");
    let of_workspace = entry.key.starts_with("workspace.lints.");
    if !is_allowed || !of_workspace && !entry.key.starts_with("lints.") {
        return false;
    }
    let had_lints = || {
        let before = flatten(manifest.before.unwrap_or_default(), Format::Sections);
        before.iter().any(|known| known.key.starts_with("workspace.lints."))
    };
    if of_workspace && had_lints() {
        return false;
    }
    let folder = manifest.path.strip_suffix("Cargo.toml").unwrap_or_default();
    let is_root = |change: &&Change<'_>| {
        let inner = change.path.strip_prefix(folder).unwrap_or_default();
        let outer = ["src/lib.rs", "src/main.rs"].iter().find_map(|root| inner.strip_suffix(root));
        outer.is_some_and(|outer| outer.is_empty() || of_workspace && outer.ends_with('/'))
    };
    let lint = entry.key.rsplit('.').next().unwrap_or(&entry.key);
    let loses = |change: &Change<'_>, levels: &[&str]| {
        sets_level(change.before, levels, lint) && !sets_level(change.after, levels, lint)
    };
    let mut roots = changes.iter().filter(is_root);
    let is_demanded_no_longer = roots.clone().any(|root| loses(root, &["warn", "deny", "forbid"]));
    !is_demanded_no_longer && roots.any(|root| loses(root, &["allow"]))
}

/// Returns whether the code of a crate sets a lint to one of some levels for all of it: `#![allow(clippy::all)]`.
fn sets_level(text: Option<&str>, levels: &[&str], lint: &str) -> bool {
    let names = |given: &str| {
        let mut names = given.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        names.any(|name| name == lint)
    };
    let mut attributes = text
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("#![")?.split_once('('));
    attributes.any(|(level, given)| levels.contains(&level) && names(given))
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
