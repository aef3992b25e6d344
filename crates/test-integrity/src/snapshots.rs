//! Recorded output that tests compare with.

use std::collections::BTreeMap;

use crate::Change;
use crate::finding::{Finding, Kind};

/// Fewest changed entries that are a rewrite rather than an update.
const MIN_CHANGED: usize = 3;

/// Returns whether most of a snapshot was rewritten, or whether it is gone.
pub(crate) fn compare(change: &Change<'_>, changes: &[Change<'_>]) -> Vec<Finding> {
    let Some(before) = change.before else { return Vec::new() };
    let old = entries(before);
    let Some(after) = change.after else {
        if is_said_by_test(change.path, changes) {
            return Vec::new();
        }
        let message = format!("the snapshot is gone, with {} entries", old.len().max(1));
        return vec![Finding::new(change.path, 1, Kind::RewrittenSnapshot, message)];
    };
    let new = entries(after);
    let changed = old.iter().filter(|(name, text)| new.get(*name).is_some_and(|now| now != *text)).count();
    let gone = old.keys().filter(|name| !new.contains_key(*name)).count();
    let touched = changed + gone;
    if touched >= MIN_CHANGED && touched * 2 > old.len() {
        let message = format!("{touched} of {} entries of the snapshot are rewritten or gone", old.len());
        return vec![Finding::new(change.path, 1, Kind::RewrittenSnapshot, message)];
    }
    Vec::new()
}

/// Returns whether the test that a snapshot was of says itself what it expects, so that the comparison of tests judges it.
fn is_said_by_test(path: &str, changes: &[Change<'_>]) -> bool {
    let Some(test) = path.replace("__snapshots__/", "").strip_suffix(".snap").map(str::to_owned) else {
        return false;
    };
    let asks = |text: Option<&str>| text.is_some_and(|text| text.contains(".toMatchSnapshot("));
    changes.iter().any(|change| {
        change.path == test && change.after.is_some() && asks(change.before) && !asks(change.after)
    })
}

/// Returns the entries of a snapshot by name: Jest's, Vitest's and syrupy's; any other has one.
fn entries(text: &str) -> BTreeMap<String, String> {
    let mut entries: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if line.starts_with("exports[") || line.starts_with("# name:") {
            line.clone_into(&mut name);
        }
        let entry = entries.entry(name.clone()).or_default();
        *entry += line;
        entry.push('\n');
    }
    if entries.len() > 1 {
        entries.remove("");
    }
    entries
}
